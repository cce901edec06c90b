"""Is a savepoint pending? It is only in a JobManager that counts it (R33).

A savepoint is not aborted when a newer checkpoint completes, so ids prove nothing of it. Flink's
history of checkpoints is bounded, its counter of pending ones is not.
Source: Flink 1.15-2.3, ``CheckpointCoordinator.dropSubsumedCheckpoints``,
``PendingCheckpoint.canBeSubsumed``, ``CheckpointStatsCounts``.
"""

from collections.abc import Iterable
from datetime import timedelta

from orphangc.core.cluster.job_facts import CheckpointFacts, ClusterFacts, JobFacts

_IN_PROGRESS = "IN_PROGRESS"


def pending_savepoint_problem(clusters: Iterable[ClusterFacts]) -> str | None:
    """Return which job may be writing a savepoint, ``None`` if no visible one does."""
    shown = (job for cluster in clusters for job in cluster.jobs.values())
    return next((problem for job in shown if (problem := _problem(job)) is not None), None)


def longest_checkpoint_timeout(clusters: Iterable[ClusterFacts]) -> timedelta | None:
    """Return after which time every pending checkpoint is aborted, ``None`` if a job hides it."""
    longest = timedelta(0)
    for job in (each for cluster in clusters for each in cluster.jobs.values()):
        if job.is_globally_terminal or job.max_concurrent is None:
            continue
        if job.checkpoint_timeout_ms is None:
            return None
        longest = max(longest, timedelta(milliseconds=job.checkpoint_timeout_ms))
    return longest


def _problem(job: JobFacts) -> str | None:
    """Return why a job may be writing a savepoint; one that is over writes none."""
    if job.is_globally_terminal:
        return None
    pending = [each for each in job.checkpoints if each.status == _IN_PROGRESS]
    if any(each.is_savepoint for each in pending):
        return f"job {job.job_id} is writing a savepoint"
    if job.in_progress_count != len(_ids(pending)):
        return (
            f"job {job.job_id} counts {job.in_progress_count} pending checkpoints and shows"
            f" {len(_ids(pending))}: one that is hidden may be a savepoint"
        )
    return None


def _ids(pending: Iterable[CheckpointFacts]) -> set[int]:
    return {each.id for each in pending}
