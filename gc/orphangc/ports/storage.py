"""Storages: list, read, HEAD and delete objects below one storage root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

import pyarrow as pa

from orphangc.core.model.locations import Location
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange

LISTING_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("modified_at", pa.timestamp("us", tz="UTC")),
        pa.field("etag", pa.string()),
    ]
)
"""One row for each object. On stores with real folders, a row whose key ends in "/" and whose
size is null is a folder: no object, but an empty folder in ``shared/`` is evidence of a layout."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One level of a storage.

    Attributes:
        folders: Names of sub-folders, without slash.
        objects: Objects of this level.
        closed: Names that may hold objects and are never opened: links to folders, and a nameless
            prefix. Deletion must not follow them; marking must not overlook them.

    """

    folders: tuple[str, ...]
    objects: tuple[StoredObject, ...]
    closed: tuple[str, ...] = ()


class Lister(Protocol):
    """Lists a storage without cache: every page, or an error.

    Attributes:
        is_ordered: Whether ``pages`` yields keys in the order of their UTF-8 bytes and can start
            anywhere. If not (local folders, HDFS, S3 directory buckets), one cursor lists all.

    """

    is_ordered: bool

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield every object at or below the folder ``prefix`` once, as ``LISTING_SCHEMA``.

        ``prefix`` is "" or a folder key without trailing slash; it matches whole path parts only
        (``dmf_2`` never lists ``dmf_27``). A folder that does not exist yields nothing, but a
        storage *root* (bucket, top folder) that does not exist raises.

        Raises:
            StorageUnreachableError: The root is absent, access is denied, or a page failed.

        """
        ...

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield the objects of one key range once, a batch each request, as ``LISTING_SCHEMA``.

        Keys ascend by their UTF-8 bytes. The adapter checks this: a store that breaks the order is
        an error, never a shorter listing. May be called from several threads at once.

        Raises:
            StorageUnreachableError: As ``objects``; also pages that are out of order.
            ValueError: The store is not ordered and ``within`` is not ``EVERYTHING``.

        """
        ...

    def folder(self, prefix: str = "") -> Folder:
        """Return one level; same matching and errors as ``objects``."""
        ...


class Reader(Protocol):
    """Reads bytes and facts of single objects."""

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        """Return the whole object, or ``None`` if it is absent.

        Raises:
            StorageUnreachableError: Anything but absence, also an object over ``max_bytes``.

        """
        ...

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, or ``None`` if the object is absent.

        Returns fewer bytes at the end of the object, and none behind it.

        Raises:
            StorageUnreachableError: Anything but absence.

        """
        ...

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the present facts of each key in order, ``None`` for an absent one."""
        ...


class DeletionStatus(StrEnum):
    """Answer of the storage about one key."""

    DELETED = "deleted"
    GONE = "gone"
    CHANGED = "changed"
    FAILED = "failed"
    REFUSED = "refused"
    """The store throttles requests, and has not touched the object: retry later, more slowly."""
    UNKNOWN = "unknown"
    """Outcome unknown: no usable answer came, so the object may be deleted now or soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionResult:
    """Outcome of the deletion of one key.

    Attributes:
        key: The requested key, exactly.
        status: ``GONE`` if the object was already absent, where the store reports this;
            ``CHANGED`` if the store refused because another object has the key now (``If-Match``).
        error: Code and message of the store, without credentials; ``None`` unless failed,
            refused or unknown.
        version_id: Version id of the delete marker in a versioned bucket, for ``Undeleter``.

    """

    key: ObjectKey
    status: DeletionStatus
    error: str | None = None
    version_id: str | None = None


class Deleter(Protocol):
    """Deletes exactly the keys it is given: no glob, no prefix, no recursion, no folder.

    Attributes:
        batch_size: Maximum number of objects in one call.
        at_once: Number of concurrent calls that hides the latency of each; 1 without latency.

    """

    batch_size: int
    at_once: int

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Return one result for each object, in order; never raise for a single object.

        Takes at most ``batch_size`` objects and revalidates each first. Sends one request: the
        caller retries what was throttled or got no answer, more slowly. May be called from several
        threads at once.

        Raises:
            StorageUnreachableError: The objects could not be revalidated, or the store refused the
                whole request (credentials, bucket): nothing was deleted.

        """
        ...


class Undeleter(Protocol):
    """Restores objects that a delete marker of a versioned bucket hides."""

    def undelete(
        self, markers: Sequence[tuple[ObjectKey, str]], *, is_dry: bool = False
    ) -> list[DeletionResult]:
        """Remove exactly these delete markers (key, version id); one result each.

        Status ``DELETED`` means that the marker is gone and the object is visible again; ``GONE``
        that the marker was gone before, and an object has the key.

        Args:
            markers: Delete markers.
            is_dry: Whether nothing is removed; ``DELETED`` means that the marker is there.

        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTime:
    """Time of the store's clock and of this machine at one moment.

    Attributes:
        now: Time of the store, aware UTC; ``None`` if the store reports none.
        local: Time of this machine at the same moment.
        source: Origin of the time, for people: ``Date header``, ``file system of this host``, ...

    """

    now: datetime | None
    local: datetime
    source: str

    @property
    def skew(self) -> timedelta | None:
        """Return how far the store is ahead of this machine."""
        return None if self.now is None else self.now - self.local


class StoreClock(Protocol):
    """Reads the store's clock without writing anything."""

    def now(self) -> StoreTime:
        """Return the present time of the store and of this machine."""
        ...


class Storage(Lister, Reader, Deleter, StoreClock, Protocol):
    """One storage root, opened.

    Attributes:
        location: Location of the storage root.
        is_tested: Whether this kind of file system is in the tested list (R27). If not, plans are
            made but nothing is deleted.
        list_requests: Number of list requests (or folder reads) sent so far.

    """

    location: Location
    list_requests: int
    is_tested: bool

    @property
    def is_versioned(self) -> bool:
        """Return whether deletions can be undone: whether the bucket is versioned.

        Raises:
            StorageUnreachableError: The bucket does not answer.

        """
        ...
