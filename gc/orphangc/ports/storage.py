"""A storage: everything below one storage root, whatever keeps it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.core.documents.bucket_settings import BucketSettings
from orphangc.core.documents.s3_inventory import Inventory
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import NotReportedError, RefusedError, StorageUnreachableError
from orphangc.ports.storage_values import (
    DeletionResult,
    DeletionStatus,
    EarlierListing,
    EarlierPart,
    Folder,
    StoreTime,
    Upload,
)


class Storage(ABC):
    """One storage root, opened.

    What every storage can do is abstract here. What only some can do has a default that refuses, or
    that says the same more slowly. All methods may be called from several threads at once.

    Attributes:
        is_tested: Whether this kind of storage is tested, or this very one proven (R27): its
            listing is complete and shows at once what was written. If not, plans are made but
            nothing is deleted.
        proof: What was proven of this very storage, for people; "" for a tested kind.
        client: Package that speaks to the storage, and its version; "" for a tested kind.
        server: Where its requests go, "" where the location says it all: one location is different
            storages at different servers.
        is_ordered: Whether ``pages`` yields keys in the order of their UTF-8 bytes and can start
            anywhere. If not (local folders, HDFS, S3 directory buckets), one cursor lists all.
        is_versioned: Whether a deletion can be undone (``undelete``). To ask may raise
            ``StorageUnreachableError``.
        has_folders: Whether folders are real, and stay when they are empty (R53).
        has_hidden: Whether there may be data that no listing shows: uploads, noncurrent versions.
        batch_size: Maximum number of objects in one call of ``delete``.
        at_once: Number of concurrent calls that hides the latency of each; 1 without latency.
        list_requests: Number of list requests (or folder reads) sent so far.
        earlier: Listing from before the cycle that ``objects`` shows, ``None`` without one.
            Everything that it shows is at most a candidate. Facts of single objects are fresh.
    """

    location: Location
    is_tested: bool = False
    proof: str = ""
    client: str = ""
    server: str = ""
    is_ordered: bool = False
    has_folders: bool = False
    has_hidden: bool = False
    batch_size: int = 1
    at_once: int = 1
    list_requests: int = 0
    earlier: EarlierListing | None = None

    # --- list: without cache; every page, or an error

    @abstractmethod
    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield every object at or below the folder ``prefix`` once, as ``LISTING_SCHEMA``.

        ``prefix`` is "" or a folder key without trailing slash; it matches whole path parts only
        (``dmf_2`` never lists ``dmf_27``). A folder that does not exist yields nothing, but a
        storage *root* (bucket, top folder) that does not exist raises.

        Raises:
            StorageUnreachableError: The root is absent, access is denied, or a page failed.
        """

    @abstractmethod
    def folder(self, prefix: str = "") -> Folder:
        """Return one level; same matching and errors as ``objects``."""

    def nameless(self, prefix: str) -> Iterator[pa.RecordBatch]:
        """Yield every object below the nameless sub-folder of a folder; same errors as ``objects``.

        Keys are ``a//x`` in a folder ``a``: file systems have none.
        """
        del prefix
        yield from ()

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield the objects of one key range once, a batch each request, as ``LISTING_SCHEMA``.

        Keys ascend by their UTF-8 bytes. The adapter checks this: a store that breaks the order is
        an error, never a shorter listing.

        Raises:
            StorageUnreachableError: As ``objects``; also pages that are out of order.
            ValueError: The store is not ordered and ``within`` is not ``EVERYTHING``.
        """
        if within != EVERYTHING:
            raise ValueError(f"{self.location} is listed in no order, so not by key range")
        return self.objects()

    def later_folders(self, prefix: str, after: str) -> list[str]:
        """Return the names of a folder's sub-folders that sort after a name, or of all."""
        del after
        return list(self.folder(prefix).folders)

    def all_folders(self) -> Callable[[str], Folder] | None:
        """Return what ``folder`` does, for all folders at one moment: now.

        Returns:
            ``None`` if one request cannot show that, as of a large storage root.

        Raises:
            StorageUnreachableError: As ``folder``.
        """
        return None

    def avoid_listing(self) -> None:  # noqa: B027 - there is nothing to avoid
        """Ask for the facts of each object by itself from now on, in no listing."""

    def earlier_parts(self) -> Sequence[EarlierPart]:
        """Return the parts of the earlier listing, none if only this process can read it.

        Together they hold each object once, in no order.
        """
        return ()

    def took_parts(self, objects: int) -> None:  # noqa: B027 - there are no parts
        """Record how many objects all parts hold, once they were read elsewhere."""

    @property
    def inventory(self) -> Inventory | None:
        """Return the inventory report that is the listing, which is hours or days old.

        Its ``objects`` are those of the last listing.
        """
        return None

    # --- read

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        """Return the whole object, or ``None`` if it is absent.

        Raises:
            StorageUnreachableError: Anything but absence, also an object over ``max_bytes``.
        """
        data = self.part(key, start=0, size=max_bytes + 1)
        if data is not None and len(data) > max_bytes:
            raise StorageUnreachableError(f"{key!r} has over {max_bytes} bytes")
        return data

    @abstractmethod
    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, or ``None`` if the object is absent.

        Returns fewer bytes at the end of the object, and none behind it. All else is a
        ``StorageUnreachableError``.
        """

    @abstractmethod
    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the present facts of each key in order, ``None`` for an absent one."""

    @abstractmethod
    def now(self) -> StoreTime:
        """Return the present time of the store and of this machine, without writing anything."""

    def last_change(self, key: ObjectKey) -> str:
        """Return what else differs after any write to an object, "" where its ETag says all."""
        del key
        return ""

    # --- delete: exactly the given keys; no glob, no prefix, no recursion

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Return one result for each object, in order; never raise for a single object.

        Takes at most ``batch_size`` objects and revalidates each first. Sends one request: the
        caller retries what was throttled or got no answer, more slowly.

        Raises:
            StorageUnreachableError: The objects could not be revalidated, or the store refused the
                whole request (credentials, bucket): nothing was deleted.
        """
        return [self._failed(wanted.key, "deletes nothing") for wanted in objects]

    @property
    def is_versioned(self) -> bool:
        """Return whether a deletion can be undone, or raise ``StorageUnreachableError``."""
        return False

    def undelete(
        self, markers: Sequence[tuple[ObjectKey, str]], *, is_dry: bool = False
    ) -> list[DeletionResult]:
        """Bring back exactly what these deletions hid (key, version id); one result each.

        Status ``DELETED`` means that the marker is gone and the object is visible again; ``GONE``
        that the marker was gone before, and an object has the key.

        Args:
            markers: Keys, and what ``DeletionResult.version_id`` said of their deletion, or the
                ETags of what was deleted.
            is_dry: Whether nothing is removed; ``DELETED`` means that the marker is there.

        Raises:
            RefusedError: The storage keeps no versions.
            StorageUnreachableError: The store does not answer, and nothing was restored.
        """
        del markers, is_dry
        raise RefusedError(f"{self.location} keeps no versions: what was deleted is gone for good")

    def empty_folders(self, folders: Iterable[str], may_go: Callable[[str], bool]) -> list[str]:
        """Return which of some folders, and of those below them, hold nothing; inner ones first.

        A folder that holds nothing but such folders is one too. A link is no folder. Without real
        folders (``has_folders``) there are none.

        Args:
            folders: Keys of folders, none of which is below another.
            may_go: Returns whether a folder is looked into at all.

        Raises:
            StorageUnreachableError: One of them cannot be read.
        """
        del folders, may_go
        return []

    def remove_empty(self, folder: str) -> DeletionResult:
        """Remove a folder that holds nothing; never raise.

        Status ``CHANGED`` means that it holds something, or is no folder, and stays.
        """
        return self._failed(ObjectKey(folder), "has no folders")

    # --- what no listing shows (R28, R50)

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield the unfinished uploads below the storage root, as ``HIDDEN_SCHEMA``.

        Raises:
            NotReportedError: The store does not report uploads.
            StorageUnreachableError: Any other error; the rows yielded before are incomplete.
        """
        raise self._not_reported("uploads")

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and delete markers, as ``uploads``; it costs a listing."""
        raise self._not_reported("versions")

    def unfinished(self) -> Iterator[Upload]:
        """Yield the unfinished uploads one by one, with their ids; see ``uploads``."""
        raise self._not_reported("uploads")

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; return whether it was still unfinished. It cannot be brought back.

        Raises:
            StorageUnreachableError: The store refused, or gave no answer: it may be aborted.
        """
        del upload
        raise self._not_reported("uploads")

    def bucket_settings(self) -> BucketSettings | None:
        """Return what the bucket itself does to its objects, ``None`` where it can do nothing.

        Raises:
            StorageUnreachableError: The store gives no usable answer.
        """
        return None

    def buckets(self) -> tuple[str, ...] | None:
        """Return the URIs of all buckets of the account, ``None`` where a storage has none beside.

        An account that may not list them gives a ``NotReportedError``.
        """
        return None

    def _failed(self, key: ObjectKey, why: str) -> DeletionResult:
        error = f"{self.location.scheme}:// {why}"
        return DeletionResult(key=key, status=DeletionStatus.FAILED, error=error)

    def _not_reported(self, what: str) -> NotReportedError:
        return NotReportedError(f"{self.location} reports no {what}", is_forbidden=False)
