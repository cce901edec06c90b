"""A storage whose full listing was made earlier; all else comes from the storage itself."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from orphangc.core.documents.plan import Plan
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.ports import (
    LISTING_SCHEMA,
    DeletionResult,
    EarlierListing,
    Folder,
    Storage,
    StoreTime,
)


class EarlierStorage(Storage):
    """A storage with the rows of an earlier listing."""

    def __init__(
        self,
        storage: Storage,
        earlier: EarlierListing,
        rows: Callable[[], Iterable[pa.RecordBatch]],
        *,
        is_inventoried: bool = False,
    ) -> None:
        """Take the storage that answers for all but the listing.

        Args:
            rows: Reads its rows: at least the columns of a listing.
            is_inventoried: Whether an inventory is the listing: then nothing is listed in
                ``shared/``. Else the facts of objects that lie close together are shown by a page,
                which costs less than a request for each of them.
        """
        if is_inventoried:
            storage.avoid_listing()
        self.location = storage.location
        self.is_tested, self.proof = storage.is_tested, storage.proof
        self.batch_size = storage.batch_size
        self.at_once = storage.at_once
        self.earlier = earlier
        self._storage = storage
        self._rows = rows

    @property
    def is_versioned(self) -> bool:
        """Return whether the storage keeps what is deleted; see ``Storage``."""
        return self._storage.is_versioned

    @property
    def list_requests(self) -> int:
        """Return the number of list requests sent to the storage itself."""
        return self._storage.list_requests

    @list_requests.setter
    def list_requests(self, count: int) -> None:
        self._storage.list_requests = count

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield the earlier listing, or the present objects of a folder; see ``Storage``."""
        return self._storage.objects(prefix) if prefix else self._listed()

    def _listed(self) -> Iterator[pa.RecordBatch]:
        for batch in self._rows():
            columns = [batch[name] for name in LISTING_SCHEMA.names]
            yield pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield the objects of the earlier listing; see ``objects``."""
        if within != EVERYTHING:
            raise ValueError("an earlier listing has no order, so no key ranges")
        return self._listed()

    def folder(self, prefix: str = "") -> Folder:
        """Return the present level; see ``Storage``."""
        return self._storage.folder(prefix)

    def nameless(self, prefix: str) -> Iterator[pa.RecordBatch]:
        """Yield the present objects of a nameless folder; see ``Storage``."""
        return self._storage.nameless(prefix)

    def later_folders(self, prefix: str, after: str) -> list[str]:
        """Return the last sub-folders of a folder, or all; see ``Storage``."""
        return self._storage.later_folders(prefix, after)

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        """Return the bytes of an object; see ``Storage``."""
        return self._storage.read(key, max_bytes=max_bytes)

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of an object; see ``Storage``."""
        return self._storage.part(key, start=start, size=size)

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        return self._storage.stat(keys)

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Delete the objects that are still the same; see ``Storage``."""
        return self._storage.delete(objects)

    def now(self) -> StoreTime:
        """Return the store's time; see ``Storage``."""
        return self._storage.now()


def planned_storage(
    storage: Storage, plan: Plan, rows: Callable[[], Iterable[pa.RecordBatch]]
) -> Storage:
    """Return a storage listed by the verdicts of a plan, which hold one row for each object."""
    inventory = plan.inventory
    earlier = EarlierListing(
        source=f"plan {plan.plan_id[:12]}" if inventory is None else f"inventory {inventory.uri}",
        begun_at=plan.listed_at or plan.created_at,
        directories=frozenset(each for job in plan.jobs for each in job.directories),
    )
    return EarlierStorage(storage, earlier, rows, is_inventoried=inventory is not None)
