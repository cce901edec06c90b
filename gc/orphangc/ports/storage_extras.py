"""What a storage offers beyond a listing: an inventory, and objects that no listing shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

import pyarrow as pa

from orphangc.core.documents.s3_inventory import Inventory
from orphangc.ports.storage import DeletionResult, Folder, Lister


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierListing:
    """A listing that is older than the cycle that uses it.

    Attributes:
        source: Name of the listing in messages.
        begun_at: Start of the listing, by the store's clock.
        directories: URIs of the job directories that were known then, with objects or without.

    """

    source: str
    begun_at: datetime
    directories: frozenset[str] = frozenset()


@runtime_checkable
class ListedEarlier(Protocol):
    """A storage with a listing from before the cycle: an inventory report, or a saved plan's.

    Everything it lists is at most a candidate. Facts of single objects are fresh.

    Attributes:
        earlier: The listing that is used.

    """

    @property
    def earlier(self) -> EarlierListing:
        """Return the listing that is used."""
        ...


@runtime_checkable
class MayAvoidListing(Protocol):
    """A storage that may look facts of many objects up in a listing."""

    def avoid_listing(self) -> None:
        """Ask for the facts of each object by itself from now on."""
        ...


@runtime_checkable
class ShowsLaterFolders(Protocol):
    """A storage that lists the end of a folder without its beginning."""

    def later_folders(self, prefix: str, after: str) -> list[str]:
        """Return the names of a folder's sub-folders that sort after a name, or of all.

        Raises:
            StorageUnreachableError: As ``Lister.folder``.

        """
        ...


def last_folders(storage: Lister, prefix: str, after: str) -> list[str]:
    """Return the sub-folders of a folder that sort after a name.

    A storage that cannot list the end alone shows all of them.

    Raises:
        StorageUnreachableError: As ``Lister.folder``.

    """
    if isinstance(storage, ShowsLaterFolders):
        return storage.later_folders(prefix, after)
    return list(storage.folder(prefix).folders)


@runtime_checkable
class Inventoried(Protocol):
    """A storage listed by an inventory report, which is hours or days old.

    Attributes:
        inventory: Inventory report used as the listing; ``objects`` are those of the last listing.

    """

    @property
    def inventory(self) -> Inventory:
        """Return the inventory report used as the listing."""
        ...


@runtime_checkable
class SmallRoot(Protocol):
    """A storage that can show all its folders by one request, if it is small."""

    def all_folders(self) -> Callable[[str], Folder] | None:
        """Return what ``Lister.folder`` does, for all folders at one moment: now.

        Returns:
            ``None`` if the storage root is too large for that.

        Raises:
            StorageUnreachableError: As ``Lister.folder``.

        """
        ...


@runtime_checkable
class EmptyFolders(Protocol):
    """A storage whose folders are real, and stay when they are empty (R53)."""

    def empty_folders(self, folders: Iterable[str], may_go: Callable[[str], bool]) -> list[str]:
        """Return which of some folders, and of those below them, hold nothing; inner ones first.

        A folder that holds nothing but such folders is one too. A link is no folder.

        Args:
            folders: Keys of folders, none of which is below another.
            may_go: Returns whether a folder is looked into at all.

        Raises:
            StorageUnreachableError: One of them cannot be read.

        """
        ...

    def remove_empty(self, folder: str) -> DeletionResult:
        """Remove a folder that holds nothing; never raise.

        Status ``CHANGED`` means that it holds something, or is no folder, and stays.
        """
        ...


class HiddenKind(StrEnum):
    """Kinds of stored data that cost money and are no objects of Flink's in a listing."""

    UPLOAD = "upload"
    """A multipart upload that was neither completed nor aborted; its parts cost money."""
    DEAD_UPLOAD = "dead_upload"
    """An upload that nothing completes any more; it is counted as ``UPLOAD`` too."""
    NONCURRENT = "noncurrent"
    """A version that a newer one or a delete marker hides."""
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
        begun_at: Time when it was begun by the store's clock, ``None`` if unknown.

    """

    key: str
    upload_id: str
    begun_at: datetime | None


class Extras(Protocol):
    """Lists what a listing does not show, for a report (R28), and aborts uploads (R50)."""

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield the unfinished uploads below the storage root, as ``HIDDEN_SCHEMA``.

        Raises:
            NotReportedError: The store does not report uploads.
            StorageUnreachableError: Any other error; the rows yielded before are incomplete.

        """
        ...

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and delete markers; it costs as much as a listing."""
        ...

    def unfinished(self) -> Iterator[Upload]:
        """Yield the unfinished uploads below the storage root, one by one, with their ids.

        Raises:
            NotReportedError: The store does not report uploads.
            StorageUnreachableError: Any other error; the uploads yielded before are incomplete.

        """
        ...

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; return whether it was still unfinished. It cannot be brought back.

        Raises:
            StorageUnreachableError: The store refused, or gave no answer: it may be aborted.

        """
        ...
