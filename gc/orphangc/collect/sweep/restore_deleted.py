"""Bringing back what a sweep deleted from a versioned bucket."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.model.types import Action, ObjectKey, Outcome
from orphangc.errors import RefusedError
from orphangc.ports import DeletionResult, Storage

_BATCH = 1000


def undelete(
    storage: Storage, rows: Callable[[], Iterable[pa.RecordBatch]], *, is_dry: bool = False
) -> Iterator[DeletionResult]:
    """Yield a result for each object that the sweep deleted; ``DELETED`` means it is back.

    ``GONE`` means that it was back before.

    Only what hides an object since the sweep's own deletion is removed, by the version id of its
    delete marker or, where no answer named one, by the ETag of what was deleted: an object that was
    written since then stays as it is. An object that the next sweep found gone, and that has a
    version id, was deleted by a crashed run.

    Raises:
        RefusedError: The sweep deleted nothing, or the storage kept no version of it.
        StorageUnreachableError: The store does not answer; what came back before stays.
    """
    deleted = named = 0
    for batch in rows():
        made = _made(batch)
        deleted += made.num_rows
        named += made.num_rows - made["version_id"].null_count
    if not deleted:
        raise RefusedError("that run deleted nothing: there is nothing to bring back")
    if not named and not storage.is_versioned:
        raise RefusedError("the storage is not versioned: what that run deleted is gone for good")
    for batch in rows():
        made = _made(batch)
        identities = pc.coalesce(made["version_id"], made["etag"]).to_pylist()
        objects = list(zip(map(ObjectKey, made["key"].to_pylist()), identities, strict=True))
        for start in range(0, len(objects), _BATCH):
            yield from storage.undelete(objects[start : start + _BATCH], is_dry=is_dry)


def _made(rows: pa.RecordBatch) -> pa.RecordBatch:
    is_gone = pc.or_(pc.is_valid(rows["version_id"]), pc.equal(rows["outcome"], Outcome.DONE))
    return rows.filter(pc.and_(pc.equal(rows["action"], Action.DELETE), is_gone))
