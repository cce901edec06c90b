"""Bringing back what a sweep deleted from a versioned bucket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orphangc.core.model import Action, ObjectKey, Outcome
from orphangc.errors import RefusedError
from orphangc.ports import DeletionResult, DeletionStatus, Undeleter

__all__ = ["undelete"]

_BATCH = 1000


def undelete(undeleter: Undeleter, rows: Iterable[Mapping[str, Any]]) -> list[DeletionResult]:
    """Return one result for each object that the sweep deleted; ``DELETED`` means it is back.

    Only the delete markers that the sweep itself made are removed, each by its version id, so
    an object that somebody wrote or deleted since stays as they left it.

    Args:
        undeleter: The versioned bucket.
        rows: Of ``outcomes.parquet``.

    Raises:
        RefusedError: The sweep deleted nothing, or the storage kept no version of it.

    """
    deleted = [
        row for row in rows if row["action"] == Action.DELETE and row["outcome"] == Outcome.DONE
    ]
    if not deleted:
        raise RefusedError("that run deleted nothing: there is nothing to bring back")
    markers = [
        (ObjectKey(row["key"]), str(row["version_id"])) for row in deleted if row["version_id"]
    ]
    if not markers:
        raise RefusedError("the storage is not versioned: what that run deleted is gone for good")
    results = []
    for start in range(0, len(markers), _BATCH):
        results += undeleter.undelete(markers[start : start + _BATCH])
    for row in deleted:
        if not row["version_id"]:
            error = "no version was kept"
            key = ObjectKey(row["key"])
            results.append(DeletionResult(key=key, status=DeletionStatus.FAILED, error=error))
    return results
