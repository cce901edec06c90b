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
"""One row an object. On stores that have real folders, a row whose key ends in "/" and whose
size is null is a folder: it is no object, but an empty folder in ``shared/`` tells of a layout."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One level of a storage.

    Attributes:
        folders: Names of sub-folders, no slash.
        objects: What lies beside them.
        closed: Names of what may hold objects and is not looked into: links to folders, and a
            nameless prefix. Deletion must not follow them; marking must not overlook them.

    """

    folders: tuple[str, ...]
    objects: tuple[StoredObject, ...]
    closed: tuple[str, ...] = ()


class Lister(Protocol):
    """Lists what is stored, uncached, all pages or an error.

    Attributes:
        is_ordered: Whether ``pages`` comes in the order of the keys' UTF-8 bytes and can start
            anywhere; where not (local folders, HDFS, S3 directory buckets), one stream lists all.

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

        In ascending order of the keys' UTF-8 bytes, which is checked: a store that breaks it is
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
        """Return the whole object, or ``None`` if it is not there.

        Raises:
            StorageUnreachableError: Anything but absence, also an object over ``max_bytes``.

        """
        ...

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, or ``None`` if the object is not there.

        Fewer where the object ends; none behind its end.

        Raises:
            StorageUnreachableError: Anything but absence.

        """
        ...

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key in order, ``None`` for one that is not there."""
        ...


class DeletionStatus(StrEnum):
    """What the storage said of one key."""

    DELETED = "deleted"
    GONE = "gone"
    CHANGED = "changed"
    FAILED = "failed"
    REFUSED = "refused"
    """For now: the store wants less asked of it, and has not touched the object."""
    UNKNOWN = "unknown"
    """No answer, or none that says what became of the object: it may be gone by now, or soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionResult:
    """What became of one key.

    Attributes:
        key: The key that was asked for, exactly.
        status: ``GONE`` if it was absent already where the store can tell; ``CHANGED`` if the
            store refused because the object is another one by now (``If-Match``).
        error: Code and message of the store, without credentials; ``None`` unless failed,
            refused or unknown.
        version_id: The delete marker that a versioned bucket made, for ``Undeleter``.

    """

    key: ObjectKey
    status: DeletionStatus
    error: str | None = None
    version_id: str | None = None


class Deleter(Protocol):
    """Deletes exactly the keys it is given: no glob, no prefix, no recursion, no folder.

    Attributes:
        batch_size: Most objects of one call.
        at_once: How many calls at a time hide what each of them waits; 1 where none waits.

    """

    batch_size: int
    at_once: int

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Return one result for each object, in order; never raise for a single object.

        At most ``batch_size`` objects, each looked at again first. Asks once: what was refused
        for now, or got no answer, is the caller's to ask again, more slowly. May be called from
        several threads at once.

        Raises:
            StorageUnreachableError: The objects could not be looked at, or the request as a whole
                was refused (credentials, bucket): nothing was deleted.

        """
        ...


class Undeleter(Protocol):
    """Brings back what a delete marker of a versioned bucket hides."""

    def undelete(self, markers: Sequence[tuple[ObjectKey, str]]) -> list[DeletionResult]:
        """Remove exactly these delete markers (key, version id); one result each.

        Status ``DELETED`` means that the marker is gone, so the object is back.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTime:
    """One reading of the store's clock beside ours.

    Attributes:
        now: The store's time, aware UTC; ``None`` if the store does not tell it.
        local: This machine's time at the same moment.
        source: How it was read, for people: ``Date header``, ``file system of this host``, ...

    """

    now: datetime | None
    local: datetime
    source: str

    @property
    def skew(self) -> timedelta | None:
        """Return how far the store is ahead of this machine."""
        return None if self.now is None else self.now - self.local


class StoreClock(Protocol):
    """Tells the store's time without writing anything."""

    def now(self) -> StoreTime:
        """Return the store's present time beside ours."""
        ...


class Storage(Lister, Reader, Deleter, StoreClock, Protocol):
    """One storage root, opened.

    Attributes:
        location: The root.
        is_tested: Whether this kind of file system is in the tested list (R27); where it is
            not, plans are made but nothing is deleted.
        is_versioned: Whether deletions can be undone (a versioned bucket).
        list_requests: How many list requests (or folder reads) it has sent so far.

    """

    location: Location
    list_requests: int
    is_tested: bool
    is_versioned: bool
