"""A fleet that is redeployed each day asks for no acknowledgement in a month (issue 13, point 2).

Two hundred jobs, ten ways to redeploy one, JobManagers that restart in between; and a fleet of
which one cluster is silent, which asks. What is asked about what else is hidden,
``unit/core/memory`` says fact by fact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest

from orphangc.core.memory.compare_cycles import compared
from orphangc.core.memory.remembered import WorldMemory
from safety.fleets.redeployed_jobs import HOUR, STAYING, Course, Fleet, Slot, a_fleet

DAYS = 30
NIGHT = 3 * HOUR
"""Time of the first cycle of a day; ``serve`` in the README runs one then."""


@dataclass(frozen=True)
class Month:
    """What the cycles of a month asked."""

    # number of the day, condition and name of every fact that blocked
    asked: Sequence[tuple[int, str, str]]
    cycles: int  # how many there were
    redeploys: int  # how many jobs were redeployed, all in all
    memory: WorldMemory  # what the last cycle left


MOST_BYTES = 2_300_000
"""Of the written memory of 200 jobs, a week of ended ones among them."""


def lived(fleet: Fleet, *, days: int = DAYS, a_day: int = 1, seed: int = 1) -> Month:
    """Return what the cycles of a month ask: so many each day, one redeploy of each job a day."""
    random = Random(seed)
    memory, asked, redeploys = WorldMemory(), [], 0
    for number in range(days * a_day):
        at = NIGHT + number / a_day
        done = compared(memory, fleet.sighting(at))
        memory = done.memory
        asked += [
            (int(at), str(each.condition), each.what)
            for each in done.facts
            if not each.is_acknowledged
        ]
        if number % a_day == 0:
            todays = _timetable(fleet, int(at), random)
        until = at + 1 / a_day
        for when, slot, is_redeploy in [each for each in todays if each[0] <= until]:
            slot.redeploy(when) if is_redeploy else slot.restart(when)
            redeploys += is_redeploy
        todays = [each for each in todays if each[0] > until]
    return Month(asked, days * a_day, redeploys, memory)


HIDDEN_BY_A_RESTART = frozenset(set(Course) - {Course.LAST_STATE, Course.STATELESS, *STAYING})
"""Courses whose redeploy REST alone shows, until another JobManager begins a new history."""


def _timetable(fleet: Fleet, day: int, random: Random) -> list[tuple[float, Slot, bool]]:
    """Return when each job is redeployed in the day after a cycle, and when JobManagers restart."""
    events = []
    start, end = day + NIGHT, day + 1 + NIGHT
    for slot in fleet.slots:
        when = random.uniform(start + 0.01, end - 0.01)
        events.append((when, slot, True))
        until = when if slot.course in HIDDEN_BY_A_RESTART else end
        if random.random() < 0.1:
            events.append((random.uniform(start, until), slot, False))
    return sorted(events, key=lambda each: each[0])


@pytest.mark.parametrize("seed", [0, *(pytest.param(e, marks=pytest.mark.ci) for e in (1, 2))])
@pytest.mark.parametrize("a_day", [1, 4])
def test_a_small_fleet_asks_nothing(seed, a_day) -> None:
    """Whatever time of the day its jobs are redeployed at."""
    month = lived(a_fleet(jobs=20, seed=seed), a_day=a_day, seed=seed)
    assert month.asked == []
    assert month.redeploys == 20 * DAYS


@pytest.mark.parametrize(
    ("seed", "a_day"),
    [(1, 1), *[pytest.param(seed, 4, marks=pytest.mark.nightly) for seed in (2, 3)]],
)
def test_two_hundred_jobs_ask_nothing_in_a_month_and_their_memory_stays_small(seed, a_day) -> None:
    """6,000 redeploys; what went a week ago is forgotten. By night as the chart's schedule runs."""
    month = lived(a_fleet(jobs=200, seed=seed), a_day=a_day, seed=seed)
    assert month.asked == []
    assert month.redeploys == 200 * DAYS
    assert len(month.memory.model_dump_json(exclude_defaults=True)) < MOST_BYTES


def a_slot(fleet: Fleet, course: Course) -> Slot:
    """Return the first job of a course that retains one checkpoint, whose files no other names."""
    return next(
        each
        for each in fleet.slots
        if each.course is course and each.kept == 1 and each.number % 2 == 1
    )


@pytest.mark.parametrize("course", [Course.SAVEPOINT, Course.STATELESS, Course.SAVEPOINT_CLAIM])
def test_a_redeploy_that_nothing_shows_asks_each_day(course) -> None:
    """A resource alone does not say what its job was restored from."""
    fleet = a_fleet(jobs=60, seed=5)
    slot = a_slot(fleet, course)
    fleet.silent = slot.rest
    month = lived(fleet, days=5, seed=5)
    assert {condition for _, condition, _ in month.asked} == {"job_directory_emptied"}
    assert len({what for _, _, what in month.asked}) == 4
