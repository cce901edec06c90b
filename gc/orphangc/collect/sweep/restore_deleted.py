"""Bringing back what a sweep deleted from a versioned bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.model.types import Action, ObjectKey, Outcome
from orphangc.errors import RefusedError
from orphangc.ports import DeletionResult, DeletionStatus, Storage

_BATCH = 1000


def undelete(
    storage: Storage, rows: Callable[[], Iterable[pa.RecordBatch]], *, is_dry: bool = False
) -> Iterator[DeletionResult]:
    """Yield a result for each object that the sweep deleted; ``DELETED`` means it is back.

    ``GONE`` means that it was back before.

    Only the delete markers that the sweep itself made are removed, each by its version id, so
    an object that was written or deleted since then stays as it is. An object that the next
    sweep found gone, and that has a version id, was deleted by a crashed run.

    Raises:
        RefusedError: The sweep deleted nothing, or the storage kept no version of it.
        StorageUnreachableError: The store does not answer; what came back before stays.
    """
    markers = lost = 0
    for batch in rows():
        markers += _made(batch).num_rows
        lost += len(_lost(batch))
    if not markers + lost:
        raise RefusedError("that run deleted nothing: there is nothing to bring back")
    if not markers:
        raise RefusedError("the storage is not versioned: what that run deleted is gone for good")
    for batch in rows():
        made = _made(batch)
        for start in range(0, made.num_rows, _BATCH):
            some = made.slice(start, _BATCH)
            keys, versions = some["key"].to_pylist(), some["version_id"].to_pylist()
            markers_of = list(zip(map(ObjectKey, keys), versions, strict=True))
            yield from storage.undelete(markers_of, is_dry=is_dry)
        for key in _lost(batch).to_pylist():
            error = "no version was kept"
            yield DeletionResult(key=ObjectKey(key), status=DeletionStatus.FAILED, error=error)


def _made(rows: pa.RecordBatch) -> pa.RecordBatch:
    is_deletion = pc.equal(rows["action"], Action.DELETE)
    return rows.filter(pc.and_(is_deletion, pc.is_valid(rows["version_id"])))


def _lost(rows: pa.RecordBatch) -> pa.Array:
    is_deletion = pc.equal(rows["action"], Action.DELETE)
    is_done = pc.and_(is_deletion, pc.equal(rows["outcome"], Outcome.DONE))
    return rows["key"].filter(pc.and_not(is_done, pc.is_valid(rows["version_id"])))
