"""Chains of jobs, as small values."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from orphangc.core.lineage.checkpoint_fates import (
    CheckpointFate,
    HiddenOrigin,
    RetentionFacts,
    fates_of,
)
from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, LineageJob, lineages_of
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.types import JobState

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = timedelta(days=1)
RETAINED = frozenset({"FINISHED", "SUBSUMED"})
"""Ends upon which Flink deletes a checkpoint that it retains on cancellation."""


def a_job(name: str, *, is_running: bool = False, **changes: Any) -> LineageJob:
    """Return a job that ended long ago, or one that runs and needs nothing of any other."""
    values: dict[str, Any] = {
        "key": name,
        "job_id": name,
        "places": (name,),
        "state": JobState.RUNNING if is_running else JobState.ENDED,
        "is_over": not is_running,
        "last_life_at": NOW if is_running else NOW - 90 * DAY,
        "first_life_at": NOW - (1 if is_running else 90) * DAY,
        "started_at": NOW - 300 * DAY if is_running else None,
        "is_running_throughout": is_running,
        "is_self_sustained": True,
        "recovers_from_its_own": True,
        "ended_between": (NOW - 300 * DAY, NOW),
    }
    return LineageJob(**(values | changes))


def a_checkpoint(place: str, number: int, *, age: float = 90, **changes: Any) -> LineageCheckpoint:
    """Return a checkpoint of a job that was stored some days ago."""
    values: dict[str, Any] = {
        "uri": f"{place}/chk-{number}",
        "place": place,
        "checkpoint_id": number,
        "is_savepoint": False,
        "stored_at": NOW - age * DAY,
        "sha256": f"{place}{number}",
        "deleted_on": RETAINED,
    }
    return LineageCheckpoint(**(values | changes))


def a_hidden_origin(name: str = "clone", *, age: float = 0) -> HiddenOrigin:
    return HiddenOrigin(key=name, job_id=name, until=NOW - age * DAY)


def an_edge(older: str, newer: str, **changes: Any) -> Continuation:
    """Return one edge: to a savepoint, or a restore from what the older job completed last."""
    values: dict[str, Any] = {"source": ContinuationSource.REST, "seen_at": NOW}
    if not newer.startswith("sp"):
        is_savepoint = older.startswith("sp")
        values |= {"checkpoint": older if is_savepoint else f"{older}/chk-999", "restored_at": NOW}
    return Continuation(older=older, newer=newer, **(values | changes))


def fates(
    jobs: list[LineageJob],
    checkpoints: list[LineageCheckpoint],
    edges: list[Continuation],
    policy: RetentionPolicy | None = None,
    *,
    hidden: tuple[HiddenOrigin, ...] = (),
) -> dict[str, CheckpointFate]:
    facts = RetentionFacts(now=NOW, min_age=3 * DAY, quarantine=DAY, policy=policy, hidden=hidden)
    found = fates_of(lineages_of(jobs, checkpoints, edges), facts)
    return {each.checkpoint.uri: each for each in found}


def expired(*args: Any, **more: Any) -> set[str]:
    return {uri for uri, each in fates(*args, **more).items() if each.action == "expire"}


def reasons(*args: Any, **more: Any) -> dict[str, str]:
    return {uri: each.reason.value for uri, each in fates(*args, **more).items()}


def a_chain(length: int = 4) -> tuple[list[LineageJob], list[LineageCheckpoint], list[Any]]:
    """Return a chain of redeploys, ``j0`` oldest, of which the last one runs."""
    names = [f"j{number}" for number in range(length)]
    jobs = [
        a_job(name, is_running=name == names[-1], first_life_at=NOW - (95 - 10 * number) * DAY)
        for number, name in enumerate(names)
    ]
    checkpoints = [a_checkpoint(name, 5, age=90 - 10 * number) for number, name in enumerate(names)]
    edges = [an_edge(older, newer) for older, newer in itertools.pairwise(names)]
    return jobs, checkpoints, edges
