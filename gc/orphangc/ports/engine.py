"""What a cycle asks of an engine: to list a storage root, and to pass over what it listed.

One decision, two drivers: the passes are the same for both engines, and know nothing of how the
rows reach them. The local engine hands them batches of a spool; on Spark the rows are joined
with the live set and the tombstones, and the executors run the passes over their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import StoredObject
from orphangc.ports import Progress, Storage

_T = TypeVar("_T")

EngineName = Literal["local", "spark"]


class ListingPass(Protocol[_T]):
    """One pass over everything that was listed; picklable, for it may run in other processes.

    Several workers may each take a part of the rows; what they found is put together at the end.
    """

    @property
    def phase(self) -> str:
        """Return what it does, for progress."""
        ...

    def begin(self) -> _T:
        """Return what a worker has found before its first row."""
        ...

    def add(self, found: _T, rows: MarkedRows) -> None:
        """Take a batch into what a worker has found."""
        ...

    def end(self, found: _T) -> None:
        """Close whatever a worker has opened, after its last row or after an error."""
        ...

    def together(self, found: Iterable[_T]) -> _T:
        """Return what all workers have found."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingHints:
    """What is known of the key space before it is listed.

    Attributes:
        directories: Keys of the job directories.
        names: A sample of the base names that roots refer to, by the key of their folder.
        counts: How many names a folder's sample stands for, where it is not all of them.

    """

    directories: tuple[str, ...] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """How the listing went.

    Attributes:
        objects: How many objects were listed.
        is_resumed: Whether a part of it is older than this cycle: of a run that was interrupted.
        ranges: In how many key ranges it was listed.

    """

    objects: int
    is_resumed: bool = False
    ranges: int = 1


class Engine(Protocol):
    """Lists a storage root, and runs passes over what it listed: here, or on a cluster.

    Attributes:
        name: ``local`` or ``spark``.

    """

    name: EngineName

    def list_all(self, storage: Storage, hints: ListingHints, progress: Progress) -> Listed:
        """List everything below the storage root.

        Raises:
            StorageUnreachableError: It could not be listed completely.

        """
        ...

    def objects_named(self, name: str) -> Iterator[StoredObject]:
        """Yield the listed objects of one base name; there are few."""
        ...

    def mark(self, live: LiveSet, tombstones: Tombstones) -> None:
        """From now on show the rows with what these say of them; before, nothing is live."""
        ...

    def run(self, work: ListingPass[_T], progress: Progress) -> _T:
        """Return what a pass over all rows finds."""
        ...
