"""Which checkpoints the run of a job knows that a cluster shows, and which are another writer's.

Ids begin at 1 again where a job with a fixed id is started without state, so a directory may hold
``chk-4711`` of an earlier run beside ``chk-12`` of the present one (ownership-and-safety, 2.7).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from orphangc.core.gate import JobFacts


def retained_by(facts: Iterable[JobFacts]) -> frozenset[int]:
    """Return the ids that a run may retain: those it completed, and those it was restored from."""
    known = tuple(facts)
    restored = (each.restored.id for each in known if each.restored is not None)
    return completed_by(known).union(restored)


def completed_by(facts: Iterable[JobFacts]) -> frozenset[int]:
    """Return the ids that a run is shown to have completed itself."""
    ids: set[int | None] = set()
    for each in facts:
        ids |= {shown.id for shown in each.checkpoints if shown.is_completed}
        ids.add(each.latest_completed_id)
    return frozenset(each for each in ids if each is not None)


def is_anothers(
    checkpoint_id: int, stored_at: datetime | None, facts: JobFacts, slack: timedelta
) -> bool:
    """Return whether a checkpoint was written by another JobManager than the one that answered.

    It was stored after that JobManager began to count, and its answer, which is newer, lacks the
    id. An id may be missing because the history is bounded; it is not where an older id is in it,
    or where no known id is as new. A JobManager that has completed nothing has not shown that it
    writes here at all, so there the slack of clocks is a doubt against it.

    Args:
        checkpoint_id: Of a checkpoint in the job's directory.
        stored_at: Store time of its ``_metadata``; ``None`` proves nothing.
        facts: The answer, asked for after the checkpoint was seen.
        slack: How far the clocks of store and JobManager may differ.

    Source: Flink 1.14-2.3, ``CheckpointStatsHistory``: a checkpoint enters when it is triggered,
    and the oldest one leaves.
    """
    known = {shown.id for shown in facts.checkpoints} | retained_by((facts,))
    began = max(facts.started_at, facts.graph_built_at or facts.started_at)
    margin = -slack if facts.latest_completed_id is None else slack
    if checkpoint_id in known or stored_at is None or stored_at <= began + margin:
        return False
    listed = (shown.id for shown in facts.checkpoints if not shown.is_savepoint)
    return checkpoint_id > max(known, default=-1) or checkpoint_id > min(listed, default=2**63)
