"""What a storage answers with: listings, levels, times, outcomes, and what no listing shows."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

import pyarrow as pa

from orphangc.core.model.types import ObjectKey, StoredObject

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
        closed: Names that may hold objects and are never opened: links to folders. Deletion must
            not follow them; marking must not overlook them.
        has_nameless: Whether there is a sub-folder without a name, which no key names; see
            ``Storage.nameless``.
    """

    folders: tuple[str, ...]
    objects: tuple[StoredObject, ...]
    closed: tuple[str, ...] = ()
    has_nameless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierListing:
    """A listing that is older than the cycle that uses it.

    Attributes:
        begun_at: Start of the listing, by the store's clock.
        directories: URIs of the job directories that were known then, with objects or without.
    """

    source: str
    begun_at: datetime
    directories: frozenset[str] = frozenset()


class EarlierPart(Protocol):
    """A part of an earlier listing; picklable, because another process may read it."""

    @property
    def weight(self) -> int:
        """Return how long the part takes to read, as a number to compare with that of others."""

    def read(self, take: Callable[[pa.RecordBatch], None]) -> int:
        """Give each batch of objects below the storage root to ``take``, as ``LISTING_SCHEMA``.

        Returns:
            Number of objects in the part, also of those that are not below the storage root.

        Raises:
            RefusedError: The part is absent or damaged; nothing was planned.
            StorageUnreachableError: It cannot be read.
        """


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
        status: ``GONE`` if the object was already absent, where the store reports this;
            ``CHANGED`` if the store refused because another object has the key now (``If-Match``).
        error: Code and message of the store, without credentials; ``None`` unless failed,
            refused or unknown.
        version_id: Version id of the delete marker in a versioned bucket, for ``Storage.undelete``.
    """

    key: ObjectKey
    status: DeletionStatus
    error: str | None = None
    version_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTime:
    """Time of the store's clock and of this machine at one moment.

    Attributes:
        now: Time of the store, aware UTC; ``None`` if the store reports none.
        source: Origin of the time, for people: ``Date header``, ``file system of this host``, ...
    """

    now: datetime | None
    local: datetime
    source: str

    @property
    def skew(self) -> timedelta | None:
        """Return how far the store is ahead of this machine."""
        return None if self.now is None else self.now - self.local


class HiddenKind(StrEnum):
    """Kinds of stored data that cost money and are no objects of Flink's in a listing."""

    UPLOAD = "upload"
    """A multipart upload that was neither completed nor aborted; its parts cost money."""
    DEAD_UPLOAD = "dead_upload"
    """An upload that nothing completes any more; it is counted as ``UPLOAD`` too."""
    NONCURRENT = "noncurrent"
    """A version that a newer one or a delete marker hides, or what a soft deletion keeps."""
    DELETE_MARKER = "delete_marker"
    """The marker that a deletion leaves in a versioned bucket."""
    DIRECTORY_MARKER = "directory_marker"
    """An empty object that a tool created to represent a folder."""


HIDDEN_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
    ]
)
"""One row for each hidden entry; ``size`` is null if its bytes were not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An unfinished multipart upload.

    Attributes:
        key: Key relative to the storage root.
        upload_id: Identifier that the store gave it; no other upload ever has the same one.
    """

    key: str
    upload_id: str
    begun_at: datetime | None
