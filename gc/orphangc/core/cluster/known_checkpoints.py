"""Checkpoints of the job's run that a cluster shows, and checkpoints of other writers.

Ids begin at 1 again where a job with a fixed id is started without state, so a directory may hold
``chk-4711`` of an earlier run beside ``chk-12`` of the present one.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from orphangc.core.cluster.job_facts import JobFacts


def retained_by(facts: Iterable[JobFacts]) -> frozenset[int]:
    """Return the ids that a run may retain: those it completed, and those it was restored from."""
    known = tuple(facts)
    restored = (each.restored.id for each in known if each.restored is not None)
    return completed_by(known).union(restored)


def completed_by(facts: Iterable[JobFacts]) -> frozenset[int]:
    """Return the ids of checkpoints that a run is shown to have completed itself.

    A savepoint is in no ``chk-<n>``: what has its id there is a leftover of an earlier run.
    """
    ids: set[int | None] = set()
    for each in facts:
        ids |= {e.id for e in each.checkpoints if e.is_completed and not e.is_savepoint}
        ids.add(each.latest_completed_id)
    return frozenset(each for each in ids if each is not None)


def is_anothers(
    checkpoint_id: int, stored_at: datetime | None, facts: JobFacts, slack: timedelta
) -> bool:
    """Return whether a checkpoint was written by another JobManager than the one that answered.

    It was stored after that JobManager began to count, and its answer, which is newer, lacks the
    id. An id may be missing because the history is bounded; it is not where an older id is in it,
    where no known id is as new, or where the answer shows as many completed checkpoints as it
    counts. A JobManager that has completed nothing has not shown that it writes here at all, so
    there the slack of clocks is a doubt against it where the id is new.

    Args:
        stored_at: Store time of its ``_metadata``; ``None`` proves nothing.

    Source: Flink 1.14-2.3, ``CheckpointStatsHistory``: a checkpoint enters when it is triggered,
    and the oldest one leaves.
    """
    listed = {shown.id for shown in facts.checkpoints if not shown.is_savepoint}
    known = listed | retained_by((facts,))
    margin = -slack if facts.latest_completed_id is None else slack
    if checkpoint_id in known or stored_at is None or stored_at <= _began(facts) + margin:
        return False
    if (
        facts.completed_count == sum(shown.is_completed for shown in facts.checkpoints)
    ) and stored_at > _began(facts) + slack:
        return True  # what it was restored from may be retained beside older ones
    return checkpoint_id > max(known, default=-1) or checkpoint_id > min(listed, default=2**63)


def out_of_order(
    stored: Mapping[int, datetime | None], facts: JobFacts, slack: timedelta
) -> int | None:
    """Return the id of a checkpoint that was stored after one of a higher id, ``None`` if none was.

    Both were stored since the JobManager began to count, and its counter only rises: two counters
    write here, whatever its bounded history still shows.

    Args:
        stored: Store time of each checkpoint in the job's directory, by id.
        slack: Maximum difference between these clocks, and between unordered store times.

    Source: Flink 1.14-2.3, ``CheckpointIDCounter.getAndIncrement``.
    """
    since = _began(facts) + slack
    newer: datetime | None = None
    for checkpoint_id, at in sorted(stored.items(), reverse=True):
        if at is None or at <= since:
            continue
        if newer is not None and at > newer + slack:
            return checkpoint_id
        newer = at if newer is None else min(newer, at)
    return None


def _began(facts: JobFacts) -> datetime:
    return max(facts.started_at, facts.graph_built_at or facts.started_at)
