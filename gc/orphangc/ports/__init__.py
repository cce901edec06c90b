"""What the collection needs from outside, one verb each; adapters provide it.

Keys are relative to the storage root that an adapter was opened for. Every method translates
the failures of its library: what cannot be reached raises ``StorageUnreachableError``, and no
error is ever turned into an empty answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, runtime_checkable

import pyarrow as pa

from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.decision.kernel import VERDICT_SCHEMA
from orphangc.core.documents.s3_inventory import Inventory
from orphangc.core.model.locations import Location
from orphangc.core.model.types import JobId, ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange

__all__ = [
    "HIDDEN_SCHEMA",
    "LISTING_SCHEMA",
    "OUTCOME_SCHEMA",
    "VERDICT_SCHEMA",
    "Deleter",
    "DeletionResult",
    "DeletionStatus",
    "ExportFolder",
    "Exports",
    "Extras",
    "Folder",
    "HaMetadata",
    "HiddenKind",
    "Inventoried",
    "JobRegistry",
    "Lister",
    "Nonces",
    "OutcomeSink",
    "Pile",
    "Reader",
    "Scratch",
    "StateFiles",
    "Storage",
    "StoreClock",
    "StoreTime",
    "Undeleter",
]

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


@runtime_checkable
class Inventoried(Protocol):
    """A storage whose listing is an inventory of it: older than now, by hours or days.

    All that it lists is a candidate at most. What is looked at one by one is as fresh as ever.

    Attributes:
        inventory: What stands in for the listing; ``objects`` are those of the last listing.

    """

    @property
    def inventory(self) -> Inventory:
        """Return what stands in for the listing."""
        ...


class HiddenKind(StrEnum):
    """What costs money and stands in no listing, or is no object of Flink's in one."""

    UPLOAD = "upload"
    """A multipart upload that was neither completed nor aborted; its parts cost."""
    NONCURRENT = "noncurrent"
    """A version that a newer one or a delete marker hides."""
    DELETE_MARKER = "delete_marker"
    """What a deletion leaves in a versioned bucket."""
    DIRECTORY_MARKER = "directory_marker"
    """An empty object that some tool made to look like a folder."""


HIDDEN_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("size", pa.int64()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
    ]
)
"""One row a hidden thing; ``size`` is null where nobody counted its bytes."""


class Extras(Protocol):
    """Tells what a listing does not show, for a report (R28); nothing of it is ever touched."""

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield the unfinished uploads below the storage root, as ``HIDDEN_SCHEMA``.

        Raises:
            NotToldError: The store does not tell.
            StorageUnreachableError: Anything else; what was yielded before is a part.

        """
        ...

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and delete markers; as costly as a listing, else alike."""
        ...


class StateFiles(Protocol):
    """The state location: tombstones, journal, history and lock; never inside a storage root."""

    location: Location

    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; empty if it does not exist."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return a whole file, or ``None`` if it is not there."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically, over an older one if there is one."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; return whether this call made it (exactly one does)."""
        ...

    def remove(self, name: str) -> None:
        """Remove one file; absent is fine."""
        ...

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file, ``None`` if absent: a probe of the store's clock."""
        ...


class JobRegistry(Protocol):
    """Tells what a cluster says of its jobs (Flink's REST API).

    Attributes:
        uri: Where it is asked, without credentials.

    """

    uri: str

    def observe(self) -> ClusterFacts:
        """Return the facts of this moment about every job that the cluster lists.

        Raises:
            RegistryUnavailableError: One answer is missing or unusable; never a part of them.

        """
        ...


class Exports(Protocol):
    """A folder that exporters inside JobManagers write registry snapshots into.

    Attributes:
        location: The folder; it has one folder for each job.

    """

    location: Location

    def jobs(self) -> list[JobId]:
        """Return the jobs that have a folder, sorted.

        Raises:
            StorageUnreachableError: The folder cannot be listed.

        """
        ...

    def names(self, job_id: JobId) -> list[str]:
        """Return the names of a job's finished snapshots, oldest first."""
        ...

    def read(self, job_id: JobId, name: str) -> bytes | None:
        """Return one snapshot's bytes, ``None`` if the exporter has removed it by now."""
        ...

    def owners(self, job_id: JobId) -> Mapping[str, datetime | None]:
        """Return the markers of the JobManagers that export a job: store times by name."""
        ...

    def nonce(self, job_id: JobId) -> str | None:
        """Return the nonce that stands there for the exporter to repeat, ``None`` if none does."""
        ...


class Nonces(Protocol):
    """Asks the exporters for a new snapshot: the only thing that is ever written beside theirs."""

    def write(self, job_id: JobId, nonce: str) -> None:
        """Let the job's exporter find ``nonce``, in place of whatever stands there.

        Raises:
            StorageUnreachableError: It cannot be written.

        """
        ...


class ExportFolder(Exports, Nonces, Protocol):
    """Both sides of one folder."""


class HaMetadata(Protocol):
    """Tells who is not over, though no cluster shows it (Kubernetes, ZooKeeper).

    Attributes:
        uri: Where it is asked, without credentials.

    """

    uri: str

    def observe(self) -> HaFacts:
        """Return the facts of this moment.

        Raises:
            RegistryUnavailableError: One answer is missing, forbidden or unusable; never a part
                of them.

        """
        ...


OUTCOME_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("outcome", pa.string(), nullable=False))
    .append(pa.field("error", pa.string()))
    .append(pa.field("version_id", pa.string()))
)
"""One row for each verdict of a plan that asked for something: what became of it."""


class Pile(Protocol):
    """Rows put aside on disk; picklable once it is closed."""

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; not after ``close``."""
        ...

    def close(self) -> None:
        """Take note that there are no more; may be called twice."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all that was appended, in order; closes; may be asked more than once."""
        ...


class Scratch(Protocol):
    """Gives room for what is too much for memory, as long as a run lasts; picklable."""

    def pile(self, schema: pa.Schema) -> Pile:
        """Return an empty pile for rows of a schema."""
        ...


class OutcomeSink(Protocol):
    """Takes what became of each verdict, batch by batch."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``OUTCOME_SCHEMA``."""
        ...


class SpoolPart(Protocol):
    """Takes the rows of one key range; used by one thread at a time.

    Attributes:
        rows: How many it has taken.

    """

    rows: int

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch of ``LISTING_SCHEMA``."""
        ...

    def finish(self, within: KeyRange) -> None:
        """Take note that these are all rows of a range: from now on it is listed.

        A part that is not finished was never there.
        """
        ...


class Spool(Protocol):
    """Holds one listing on disk, so that memory does not grow with the bucket.

    Attributes:
        rows: How many rows the finished ranges have.

    """

    @property
    def rows(self) -> int: ...

    def part(self) -> SpoolPart:
        """Return a new part; may be called from several threads at once."""
        ...

    def finished(self) -> list[KeyRange]:
        """Return the ranges that are listed; also those of an interrupted run that left them."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield each row of the finished ranges once, in large batches; may be asked again."""
        ...


class VerdictSink(Protocol):
    """Takes verdicts, batch by batch; picklable once it is closed."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``VERDICT_SCHEMA``."""
        ...

    def close(self) -> None:
        """Take note that there are no more; may be called twice."""
        ...


class Progress(Protocol):
    """Is told how far a run has come; shows it to a person, or to nobody."""

    def __call__(self, phase: str, done: int, total: int | None = None) -> None:
        """Take note: ``done`` objects of ``total`` in ``phase``.

        ``None`` is unknown; a listing's total is an estimate that changes as it goes on.
        """
        ...


class Waiter(Protocol):
    """Waits."""

    def __call__(self, seconds: float, /) -> None:
        """Return after ``seconds``."""
        ...
