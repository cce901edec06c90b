"""Engines: list a storage root, and run passes over the listing.

The passes are the same for both engines and do not know how the rows reach them. The local
engine passes batches of a spool; Spark joins the rows with the live set and the tombstones, and
its executors run the passes over their parts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Protocol, TypeVar

from flinkstate.places.locations import Location
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.ports import Progress, Storage

_T = TypeVar("_T")

EngineName = Literal["local", "spark"]

MAX_RESUMED_AGE = timedelta(hours=6)
"""A listing that was interrupted longer ago than this is not resumed."""


class ListingPass(Protocol[_T]):
    """One pass over the whole listing; picklable, because it may run in other processes.

    Several workers may each process a part of the rows; ``together`` merges their results.
    """

    @property
    def phase(self) -> str:
        """Return the name of the phase, for progress."""

    def begin(self) -> _T:
        """Return the empty result of a worker."""

    def add(self, found: _T, rows: MarkedRows) -> None:
        """Add a batch to the result of a worker."""

    def end(self, found: _T) -> None:
        """Close the files that a worker opened, after its last row or after an error."""
        del found  # most open none

    def together(self, found: Iterable[_T]) -> _T:
        """Return the merged result of all workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingHints:
    """What is known about the key space before the listing.

    Attributes:
        directories: Keys of the job directories.
        names: Sample of the base names that checkpoints refer to, by the key of their folder.
        counts: Number of names that a folder's sample represents, if it is not all of them.
    """

    directories: tuple[str, ...] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Summary of a listing.

    Attributes:
        is_resumed: Whether a part is older than this cycle: an interrupted run listed it.
    """

    objects: int
    is_resumed: bool = False
    ranges: int = 1


class Engine(Protocol):
    """Lists a storage root and runs passes over the listing, on this machine or on a cluster."""

    name: EngineName

    def read_apart(
        self,
        read: Callable[[Storage, StoredObject], _T],
        base: Location,
        objects: Sequence[StoredObject],
    ) -> Mapping[StoredObject, _T]:
        """Return what other processes read of the large ones among some objects.

        They open the storage by themselves. Nothing is returned if this process works alone.

        Args:
            read: Picklable, as are its results.

        Raises:
            StorageUnreachableError: The other processes did not answer for each object.
        """
        del read, base, objects
        return {}

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """List everything below the storage root, or raise ``StorageUnreachableError``."""

    def metadata_objects(self) -> Iterator[StoredObject]:
        """Yield the listed objects that may be a ``_metadata``; there are few."""

    def links(self) -> Iterator[str]:
        """Yield the keys of what was listed and is neither a file nor a folder; there are few."""

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """Set the live set and the tombstones that later passes see; before, nothing is live."""

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """Return the result of a pass over all rows."""
