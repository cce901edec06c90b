"""Many times as many jobs take a cycle as many times as long to compare with the memory."""

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import WorldMemory
from safety.fleets.redeployed_jobs import a_fleet
from support.calls import calls_of


def test_what_a_job_takes_does_not_grow_with_the_fleet() -> None:
    """Each was redeployed since the cycle before: every checkpoint that is gone is explained."""
    few, many = 40, 640
    assert comparing(many) / many < 1.5 * comparing(few) / few


def comparing(jobs: int) -> int:
    fleet = a_fleet(jobs=jobs, seed=1)
    memory = compared(WorldMemory(), fleet.sighting(0.1)).memory
    for slot in fleet.slots:
        slot.redeploy(0.5)
    memory = compared(memory, fleet.sighting(1.1)).memory
    for slot in fleet.slots:
        slot.redeploy(1.5)
    seen = fleet.sighting(2.1)
    return calls_of(lambda: compared(memory, seen))
