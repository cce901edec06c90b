"""Restore fallback: which checkpoint may a job go back to, one of its own or its origin?"""

from collections.abc import Collection, Iterable

from flinkstate.places.locations import Location
from orphangc.core.cluster.ha_facts import Hold
from orphangc.core.cluster.job_facts import JobFacts, latest_known_id
from orphangc.core.decision.evidence import Checkpoint


def is_restore_fallback(
    place: Location,
    checkpoint_id: int | None,
    checkpoints: Iterable[Checkpoint],
    *,
    facts: Iterable[JobFacts] = (),
    holds: Iterable[Hold] = (),
) -> bool:
    """Return whether a job that is not over may need the checkpoint at ``place`` itself.

    It does where it is the newest one that Flink shows, or that HA metadata retains. It does as
    well unless a newer one of its own exists, and none of the others names a file below it. A
    higher number alone may be left from another life of the job: a newer one was stored later, too.
    """
    held = (max(each.retained_ids, default=None) for each in holds)
    if checkpoint_id in {*map(latest_known_id, facts), *held}:
        return True
    own = [checkpoint for checkpoint in checkpoints if not checkpoint.is_savepoint]
    others = [checkpoint for checkpoint in own if checkpoint.folder != place]
    if checkpoint_id is None or not any(_is_newer(e, checkpoint_id, own) for e in others):
        return True
    return any(place.contains(folder) for checkpoint in others for folder in checkpoint.files)


def _is_newer(checkpoint: Checkpoint, checkpoint_id: int, own: Iterable[Checkpoint]) -> bool:
    """Return whether a checkpoint has a higher id than another one, and was stored later, too."""
    at = checkpoint.modified_at
    times = (each.modified_at for each in own if each.checkpoint_id == checkpoint_id)
    is_later = all(at is not None and each is not None and at > each for each in times)
    return checkpoint.checkpoint_id > checkpoint_id and is_later


def recovers_from_its_own(
    facts: Collection[JobFacts], holds: Iterable[Hold], own_ids: Collection[int]
) -> bool:
    """Return whether a lost JobManager goes on from a checkpoint of the job's own.

    Every cluster that shows it has high availability, and HA metadata names one that Flink shows
    the present JobManager complete: an earlier run may have left metadata, too. Without any, a
    JobManager starts again from its first origin.

    Args:
        holds: HA metadata of the job; of an id that comes back only that of the cluster which
            shows the job, for another one may have the id, too.
    """
    living = [each for each in facts if not each.is_globally_terminal]
    shown = (each for job in living for each in job.checkpoints)
    completed = {e.id for e in shown if e.is_completed and not e.is_savepoint}
    held = {number for hold in holds for number in hold.retained_ids}
    is_held = not completed.isdisjoint(held.intersection(own_ids))
    return is_held and all(job.has_high_availability for job in living)
