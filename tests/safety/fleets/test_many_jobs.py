"""A fleet that is redeployed each day asks nothing in a month, and what that takes (issue 13).

In which courses, and in which order with cycles, is explored by ``model_checking/forgetting.py``.
"""

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.memory.sighting import Sighting, StoppingSavepoint
from support.calls import calls_of
from unit.core.memory.memory_builders import EXTRA, ROOT, a_directory, a_job, day, seen

MOST_BYTES = 1_400_000
"""Of the written memory of 200 jobs, a week of ended ones among them."""


def sighting(jobs: int, at: int) -> Sighting:
    """Return a cycle's: each job was stopped with a savepoint since the one before, and started."""
    new = [f"{number * 100 + at:06x}" + "0" * 26 for number in range(1, jobs + 1)]
    old = [f"{EXTRA}/savepoint-{int(each[:6], 16) - 1:06x}-{at:012x}" for each in new]
    return seen(
        at,
        *(a_directory(at + 1, job=each, stored=at - 0.1) for each in new),
        jobs=tuple(
            a_job(
                each,
                by=f"http://job-{number}:8081",
                started_at=day(at - 0.5),
                directories=(f"{ROOT}/{each}",),
                is_restored_from_savepoint=at > 0,
                **({"restored": source} if at else {}),
            )
            for number, (each, source) in enumerate(zip(new, old, strict=True))
        ),
        others=tuple(old) if at else (),
        stops={
            source: StoppingSavepoint(checkpoint_id=at + 1, stored_at=day(at - 0.5))
            for source in (old if at else ())
        },
    )


def remembered(jobs: int, days: int) -> WorldMemory:
    memory = WorldMemory()
    for at in range(days):
        done = compared(memory, sighting(jobs, at))
        assert done.facts == (), done.facts[:3]
        memory = done.memory
    return memory


def test_two_hundred_jobs_ask_nothing_in_a_month_and_their_memory_stays_small() -> None:
    """6,000 redeploys; what went a week ago is forgotten."""
    memory = remembered(200, 30)
    assert len(memory.model_dump_json(exclude_defaults=True)) < MOST_BYTES


def test_what_a_job_takes_does_not_grow_with_the_fleet() -> None:
    """Each was redeployed since the cycle before: every checkpoint that is gone is explained."""
    few, many = 40, 640
    assert comparing(many) / many < 1.5 * comparing(few) / few


def comparing(jobs: int) -> int:
    memory, then = remembered(jobs, 2), sighting(jobs, 2)
    return calls_of(lambda: compared(memory, then))
