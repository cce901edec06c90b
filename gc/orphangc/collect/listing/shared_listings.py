"""Listings that the storage roots of one run share: a bucket is listed once for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from flinkstate.places.locations import Location
from orphangc.collect.listing.storage_metadata import ListedMetadata
from orphangc.core.model.types import ObjectKey, StoredObject


@dataclass(slots=True)
class SharedListings:
    """Listings of storages that the storage roots of one run share.

    Attributes:
        others: By storage and left-out prefixes: the storage root that was left out, and the rest.
        own: What the listings of the storage roots themselves show.

    """

    others: dict[tuple[Location, tuple[Location, ...]], tuple[Location, ListedMetadata]] = field(
        default_factory=dict
    )
    own: dict[Location, ListedMetadata] = field(default_factory=dict)

    def note_own(self, root: Location, keys: int, metadata: Iterable[StoredObject]) -> None:
        """Record what the listing of a storage root shows; keys are relative to the root."""
        self.own[root] = ListedMetadata(keys=keys, objects=tuple(metadata))

    def own_in(self, place: Location, root: Location | None) -> ListedMetadata:
        """Return what a storage root's listing shows, with keys relative to the storage."""
        listed = None if root is None else self.own.get(root)
        above = None if root is None else place.key_of(root)
        if listed is None or above is None:
            return ListedMetadata()
        below = f"{above}/" if above else ""
        objects = (replace(each, key=ObjectKey(below + each.key)) for each in listed.objects)
        return replace(listed, objects=tuple(objects))
