"""Listings that the storage roots of one run share: a bucket is listed once for all of them.

The search of a storage lists everything beside the storage root at hand. What it shows of the other
storage roots of the run is kept on disk, and is their listing: one that is older than their cycles.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.collect.listing.storage_metadata import KeptRows, ListedMetadata, metadata_in
from orphangc.core.columns.stored_objects import rows_below
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.ports import Progress, Spool, Storage
from orphangc.ports.engine import MAX_RESUMED_AGE


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptListing:
    """What the search of a storage listed of some storage roots.

    Attributes:
        begun_at: Time of the store's clock before it was listed.
        begun_here: Time of this machine at the same moment.
    """

    place: Location
    begun_at: datetime
    begun_here: datetime
    spool: Spool

    def rows(self, root: Location) -> Iterator[pa.RecordBatch]:
        """Yield the objects of one of the storage roots, with keys relative to it."""
        prefix = _prefix(self.place, root)
        within = KeyRange(prefix[:-1], f"{prefix[:-1]}0") if prefix else EVERYTHING
        for batch in self.spool.batches(within):
            below = rows_below(batch, prefix)
            if below.num_rows:
                yield below


@dataclass(slots=True)
class SharedListings:
    """Listings of storages that the storage roots of one run share.

    Attributes:
        others: By storage and left-out prefixes: the storage root that was left out, and the rest.
    """

    roots: Sequence[Location] = ()
    new_spool: Callable[[], Spool] | None = None
    others: dict[tuple[Location, tuple[Location, ...]], tuple[Location, ListedMetadata]] = field(
        default_factory=dict
    )
    own: dict[Location, ListedMetadata] = field(default_factory=dict)
    kept: dict[Location, KeptListing] = field(default_factory=dict)

    def note_own(
        self,
        root: Location,
        keys: int,
        metadata: Iterable[StoredObject],
        scanned: Iterable[str] = (),
        *,
        links: Iterable[str] = (),
    ) -> None:
        """Record what the listing of a storage root shows; keys are relative to the root.

        Args:
            scanned: Folders of checkpoints that were seen besides.
            links: What the listing does not follow.
        """
        objects = tuple(metadata)
        checkpoints = (*(each.key.rpartition("/")[0] for each in objects), *scanned)
        folders = {each.rpartition("/")[0] for each in checkpoints}
        self.own[root] = ListedMetadata(
            keys=keys, objects=objects, links=tuple(links), directories=tuple(sorted(folders))
        )

    def forget(self, place: Location, left_out: tuple[Location, ...]) -> None:
        """Have a storage listed again when it is searched next."""
        self.others.pop((place, left_out), None)

    def own_in(self, place: Location, root: Location | None) -> ListedMetadata:
        """Return what a storage root's listing shows, with keys relative to the storage."""
        listed = None if root is None else self.own.get(root)
        above = None if root is None else place.key_of(root)
        if listed is None or above is None:
            return ListedMetadata()
        below = f"{above}/" if above else ""
        objects = (replace(each, key=ObjectKey(below + each.key)) for each in listed.objects)
        folders = (below + each if each else above for each in listed.directories)
        links = (below + each for each in listed.links)
        return replace(
            listed, objects=tuple(objects), links=tuple(links), directories=tuple(folders)
        )

    def listed_beside(
        self, storage: Storage, places: Collection[Location], progress: Progress
    ) -> ListedMetadata:
        """List a storage, some places aside; keep what it shows of the run's storage roots.

        Raises:
            StorageUnreachableError: It could not be listed to its end.
        """
        place = storage.location
        aside = [key for each in places if (key := place.key_of(each)) is not None]
        roots = self._to_keep(storage, places)
        time = storage.now() if roots else None
        if self.new_spool is None or time is None or time.now is None:
            return metadata_in(storage, aside, progress)
        kept = KeptRows(self.new_spool(), [_prefix(place, each) for each in roots])
        found = metadata_in(storage, aside, progress, kept=kept)
        listing = KeptListing(
            place=place, begun_at=time.now, begun_here=time.local, spool=kept.spool
        )
        self.kept |= dict.fromkeys(roots, listing)
        return found

    def _to_keep(self, storage: Storage, aside: Collection[Location]) -> list[Location]:
        """Return the storage roots that the listing of a storage shows whole.

        None of a storage without an order: there, a second listing costs no request.
        """
        return [
            root
            for root in self.roots
            if storage.is_ordered
            and root not in self.kept
            and storage.location.contains(root)
            and not any(each.contains(root) or root.contains(each) for each in aside)
        ]

    def listing_of(self, root: Location, now: datetime) -> KeptListing | None:
        """Return the kept listing of a storage root, ``None`` if it is to be listed."""
        kept = self.kept.get(root)
        if kept is None or not timedelta(0) <= now - kept.begun_here <= MAX_RESUMED_AGE:
            return None
        return kept


def _prefix(place: Location, root: Location) -> str:
    key = place.key_of(root)
    return f"{key}/" if key else ""
