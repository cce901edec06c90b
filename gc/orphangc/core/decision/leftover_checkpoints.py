"""A leftover checkpoint, and the files that it alone keeps back (issue 13, U2)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.model.types import JobState


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What would be collected if one old checkpoint of a job did not exist.

    Attributes:
        names: UUIDs of files in the job's directories that it names and no other checkpoint does.
    """

    checkpoint_id: int
    cutoff: datetime
    names: UuidSet


def oldest_left_behind(job: JobEvidence, *, before: datetime) -> Checkpoint | None:
    """Return the oldest checkpoint of a job if it was stored before an instant, and others since.

    An ended job's oldest checkpoint is one of its last, not one that was left behind.
    """
    times = {checkpoint.modified_at for checkpoint in job.own_checkpoints}
    if job.state is JobState.ENDED or None in times or len(job.retained_ids) < 2:  # noqa: PLR2004
        return None
    own = [
        (checkpoint.modified_at, checkpoint)
        for checkpoint in job.own_checkpoints
        if checkpoint.modified_at is not None
    ]
    (oldest_at, oldest), *_ = sorted(own, key=lambda each: (each[0], each[1].checkpoint_id))
    has_newer = any(checkpoint.checkpoint_id != oldest.checkpoint_id for _, checkpoint in own)
    return oldest if oldest_at < before and has_newer else None


def named_by_it_alone(
    checkpoint: Checkpoint, job: JobEvidence, checkpoints: Iterable[Checkpoint]
) -> UuidSet:
    """Return the UUIDs that a checkpoint names and no other of ``checkpoints`` does.

    Other checkpoints count that name anything in the job's directories. Registry snapshots and
    pins do not count, so in registry mode the figure may be too large: it is for people.
    """
    others = UuidSet()
    for other in checkpoints:
        is_near = any(place.contains(f) for place in job.directories for f in other.files)
        if other.folder != checkpoint.folder and is_near:
            for names in other.files.values():
                others.extend(*names.uuids)
    alone = UuidSet()
    for names in checkpoint.files.values():
        hi, lo = names.uuids
        is_alone = ~others.contains(hi, lo)
        alone.extend(hi[is_alone], lo[is_alone])
    return alone
