"""A lineage of many runs and savepoints is judged in time: each fact of it is found once."""

from itertools import pairwise
from typing import Any

import pytest

from orphangc.core.lineage.checkpoint_fates import RetentionFacts, fates_of
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, LineageJob, lineages_of
from orphangc.core.lineage.retention_policy import RetentionPolicy
from support.calls import calls_of
from unit.core.lineage.lineage_builders import DAY, NOW, a_checkpoint, a_job, an_edge

FEW, MANY = 20, 80
KEEP_TWO = RetentionPolicy(keep_last=2)

World = tuple[list[LineageJob], list[LineageCheckpoint], list[Any]]


def restored(older: str, newer: str, number: int) -> Any:
    uri = f"{older}/chk-{number}"
    return an_edge(older, newer, checkpoint=uri, checkpoint_id=number)


def redeploys(count: int) -> World:
    """Return jobs that were stopped with a savepoint and started from it, one after the other."""
    names = [f"j{number}" for number in range(count)]
    jobs = [a_job(name, is_running=name == names[-1]) for name in names]
    checkpoints = [a_checkpoint(name, 10 * at, age=90 - at / 10) for at, name in enumerate(names)]
    checkpoints[-1] = a_checkpoint(names[-1], 10 * count, age=0.5)
    edges = []
    for at, (older, newer) in enumerate(pairwise(names)):
        number, place = 10 * at + 5, f"sp-{older}"
        age = 90 - at / 10 - 0.05
        checkpoints.append(a_checkpoint(place, number, age=age, is_savepoint=True))
        edges += [an_edge(older, place), restored(place, newer, number)]
    return jobs, checkpoints, edges


def backfills(count: int) -> World:
    """Return a job whose savepoints each began another one, and the job that took its place."""
    jobs = [a_job("old"), a_job("new", is_running=True)]
    checkpoints, edges = [a_checkpoint("new", 10 * count, age=0.5)], []
    for at in range(count):
        name, number, place = f"b{at}", 10 * at, f"sp-{at}"
        jobs.append(a_job(name))
        checkpoints.append(a_checkpoint(place, number, age=90 - at / 10, is_savepoint=True))
        checkpoints.append(a_checkpoint(name, number + 5, age=90 - at / 10 - 0.05))
        edges += [an_edge("old", place), restored(place, name, number)]
    return jobs, checkpoints, [*edges, restored(f"sp-{count - 1}", "new", 10 * count - 10)]


def judging(world: World, policy: RetentionPolicy | None) -> int:
    facts = RetentionFacts(now=NOW, min_age=3 * DAY, quarantine=DAY, policy=policy)
    return calls_of(lambda: fates_of(lineages_of(*world), facts))


@pytest.mark.parametrize("world", [redeploys, backfills])
def test_without_a_policy_a_checkpoint_takes_as_much_in_a_long_lineage(world) -> None:
    few, many = (judging(world(count), None) for count in (FEW, MANY))
    assert many / MANY < 1.5 * few / FEW


@pytest.mark.parametrize("world", [redeploys, backfills])
def test_with_a_policy_a_checkpoint_takes_as_much_for_each_one_that_may_stand_for_it(world) -> None:
    few, many = (judging(world(count), KEEP_TWO) for count in (FEW, MANY))
    assert many / MANY**2 < 1.5 * few / FEW**2
