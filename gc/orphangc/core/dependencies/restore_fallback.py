"""Does a job need a checkpoint of its own to go back to?"""

from __future__ import annotations

from collections.abc import Iterable

from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.locations import Location


def is_restore_fallback(
    place: Location, checkpoint_id: int | None, roots: Iterable[Checkpoint]
) -> bool:
    """Return whether a job that is not over may need the checkpoint at ``place`` itself.

    It does unless a newer one of its own stands, and none of the others names a file below it.

    Args:
        place: The checkpoint's folder.
        checkpoint_id: Its id, ``None`` if unknown.
        roots: The job's own roots, savepoints and the checkpoint itself among them.

    """
    others = [root for root in roots if root.folder != place and not root.is_savepoint]
    if checkpoint_id is None or not any(root.checkpoint_id > checkpoint_id for root in others):
        return True
    return any(place.contains(folder) for root in others for folder in root.files)
