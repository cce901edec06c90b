"""Restore fallback: may a job need a checkpoint of its own to restore from?"""

from __future__ import annotations

from collections.abc import Iterable

from flinkstate.places.locations import Location
from orphangc.core.decision.evidence import Checkpoint


def is_restore_fallback(
    place: Location, checkpoint_id: int | None, checkpoints: Iterable[Checkpoint]
) -> bool:
    """Return whether a job that is not over may need the checkpoint at ``place`` itself.

    It does unless a newer one of its own exists, and none of the others names a file below it.

    Args:
        checkpoints: The job's own checkpoints, savepoints and the checkpoint itself among them.
    """
    others = [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.folder != place and not checkpoint.is_savepoint
    ]
    if checkpoint_id is None or not any(
        checkpoint.checkpoint_id > checkpoint_id for checkpoint in others
    ):
        return True
    return any(place.contains(folder) for checkpoint in others for folder in checkpoint.files)
