"""Checkpoints that cannot be restored any more, and how their files may come back (R8, R51)."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

from flinkstate.places.locations import Location
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.model.types import DirectoryLayout

_MOST = 20


def lost_checkpoints(job: JobEvidence, absent: Collection[str], base: Location) -> Iterator[str]:
    """Yield a warning for each checkpoint of a job that lacks files, a few of many.

    Nothing is done about them: a checkpoint that lacks files still protects the others.

    Args:
        absent: Keys of files that its checkpoints name and nothing shows.
    """
    if not absent:
        return
    shown = 0
    for checkpoint in job.own_checkpoints:
        lacking = [key for key in absent if _names(checkpoint, base.child(key))]
        if lacking and (shown := shown + 1) <= _MOST:
            yield (
                f"{checkpoint.folder} cannot be restored any more: {len(lacking)} of its"
                f" {checkpoint.references} files are gone, {lacking[0]} first."
                f"{_why(checkpoint)} {_remedy(base.child(lacking[0]))}"
            )


def _names(checkpoint: Checkpoint, file: Location) -> bool:
    return file.name in checkpoint.files.get(file.parent, ())


def _why(checkpoint: Checkpoint) -> str:
    """Return what Flink does to such checkpoints.

    Source: Flink 1.20-2.3, ``FileMergingOperatorStreamStateHandle``, ``SharedStateRegistry``: the
    registry deletes the registered directories with all that is in them.
    """
    if DirectoryLayout.MERGED not in checkpoint.layouts:
        return ""
    return (
        " A job that claims a checkpoint with merged files deletes their whole directories, and so"
        " the files of the other checkpoints of the same job."
    )


def _remedy(file: Location) -> str:
    """Return where the file may still be: a versioned bucket keeps what is deleted for a while."""
    if file.scheme != "s3":
        return "If the storage keeps versions or backups, bring them back before they expire."
    bucket, key = shlex.quote(file.authority), shlex.quote(file.path.lstrip("/"))
    return (
        "If the bucket is versioned, bring them back before the versions expire. To see the delete"
        f" marker, run: aws s3api list-object-versions --bucket {bucket} --prefix {key}; to remove"
        f" it, run: aws s3api delete-object --bucket {bucket} --key {key} --version-id MARKER"
    )
