"""From every reachable state: an orphan goes after ``retained + 1`` good cycles."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from safety.model_checking import collector, flink
from safety.model_checking.conduct import Collector
from safety.model_checking.explorer import reachable
from safety.model_checking.flink import Scope
from safety.model_checking.scenario import Scenario
from safety.model_checking.scenarios import AT_ONCE, WITH_TOMBSTONES
from safety.model_checking.world import File, World, canonical

CYCLES = "a checkpoint completes, then a cycle that nothing disturbs: retained + 1 times"


def needed(world: World) -> set[File]:
    """Return what anybody may still refer to: all else that is stored is an orphan."""
    found = {file for root in world.roots for file in root.files}
    for job in world.jobs:
        found |= {entry.file for entry in job.registry}
        found |= {f for task in job.tasks for u in task.uploads for _, f in u.handles}
        found |= {f for flight in job.flights for part in flight.parts for _, f in part.handles}
        found |= {file for _, part in job.late for file in part.fresh}
    return found


def quiet(world: World, scope: Scope) -> World:
    """Return the world after one more checkpoint, all that is pending before it included."""
    number = world.jobs[0].following
    words = ("uploads", "acknowledges", f"trigger {number}", "completes", "hears")
    while world.jobs[0].latest < number:
        following = dict(flink.steps(world, scope))
        label = next(each for word in words for each in following if word in each)
        world = following[label]
    return canonical(world)


def good_cycle(world: World) -> World:
    world = world._replace(collectors=(Collector(),))
    while world.collectors[0].runs == 0:
        (_, world), *_ = collector.steps(world, WITH_TOMBSTONES)
        world = canonical(collector.watching(world))
    return world


def worlds(scope: Scope) -> Iterator[World]:
    """Yield every state that Flink, and a collector that crashed anywhere, can leave behind."""
    crashing = Scenario(
        name="",
        scope=scope,
        conduct=WITH_TOMBSTONES if scope.deaths == 0 else AT_ONCE,
        collectors=int(scope.deaths == 0),
    )
    if not crashing.collectors:
        first = crashing.first()
        yield from reachable(
            [first], lambda w: ((n, canonical(a)) for n, a in flink.steps(w, scope))
        )
    else:
        yield from reachable([crashing.first()], crashing.steps)


@pytest.mark.parametrize(
    "scope",
    [
        Scope(checkpoints=2, deaths=1, aborts=1, changes=1),
        Scope(checkpoints=3, retained=2, deaths=1),
        Scope(checkpoints=2),
    ],
    ids=["one retained", "two retained", "a collector crashed"],
)
def test_an_orphan_goes_after_a_few_good_cycles(scope, tell) -> None:
    """No state is a dead end, whatever died, and whatever tombstones and locks are left."""
    states = orphans = 0
    longer = replace(scope, checkpoints=scope.checkpoints + 9)
    for world in worlds(scope):
        states += 1
        mine = {file for file, _ in world.files} - needed(world)
        if not mine:
            continue
        orphans += len(mine)
        after = world._replace(collectors=(), holder=-1)
        for _ in range(scope.retained + 1):
            after = good_cycle(quiet(after._replace(collectors=()), longer))
        left = mine & {file for file, _ in after.files}
        assert not left, (world, left)
    assert orphans
    tell(f"liveness: {scope.retained} retained", f"{states:>9,} states {orphans:>10,} orphans gone")
