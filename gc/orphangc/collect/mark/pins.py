"""Objects at or below pinned places: they are in use, whatever else refers to them (R4)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkstate.files.paths import spellings
from flinkstate.places.locations import Location
from orphangc.collect.observe.observation import Environment
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.types import ObjectKey
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Storage
from orphangc.ports.engine import ListingPass

_Mask = npt.NDArray[np.bool_]


def pinned_uuids(environment: Environment, places: Sequence[Location]) -> UuidSet:
    """Return the UUIDs of the listed objects at or below some places."""
    base = environment.storage.location
    keys = tuple(key for each in places for key in keys_at(each, base))
    return environment.engine.run(PinnedPass(keys), environment.progress) if keys else UuidSet()


def empty_pins(storage: Storage, places: Iterable[Location]) -> list[str]:
    """Return a warning for each pin below the storage root at which nothing is: it keeps nothing.

    One that cannot be looked at is refused elsewhere.
    """
    return [
        f"the pin {each} keeps nothing, for nothing is there: mistyped?"
        for each in places
        if (keys := [key for key in keys_at(each, storage.location) if key])
        and not any(_is_stored(ObjectKey(key), storage) for key in keys)
    ]


def _is_stored(key: ObjectKey, storage: Storage) -> bool:
    try:
        inside = storage.folder(key)
        return bool(inside.folders or inside.objects) or storage.stat([key]) != [None]
    except StorageUnreachableError:
        return True


def keys_at(place: Location, base: Location) -> Iterator[str]:
    """Yield the keys of a place in a storage root: as it is spelled, and by every other name.

    It is "" for the whole storage root, and there is none for a place outside.
    """
    for each, root in {(place, base), *product(spellings(place), spellings(base))}:
        key = "" if each.contains(root) else root.key_of(each)
        if key is not None:
            yield key


@dataclass(frozen=True, slots=True)
class PinnedPass(ListingPass[UuidSet]):
    """Finds the UUIDs of objects at or below pinned places: they are in use (R4).

    Attributes:
        places: Pinned keys; "" pins the whole storage root.
    """

    places: tuple[str, ...]
    phase: str = "pins"

    def begin(self) -> UuidSet:
        """See ``ListingPass``."""
        return UuidSet()

    def add(self, found: UuidSet, rows: MarkedRows) -> None:
        """See ``ListingPass``."""
        columns = rows.columns
        keys = columns.batch.column("key")
        is_pinned = np.zeros(len(keys), np.bool_)
        for place in self._among(keys):
            below = pa.compute.starts_with(keys, f"{place}/" if place else "")
            is_pinned |= np.asarray(
                pa.compute.or_(below, pa.compute.equal(keys, place)).to_numpy(zero_copy_only=False),
                np.bool_,
            )
        chosen = is_pinned & columns.has_uuid
        found.extend(columns.hi[chosen], columns.lo[chosen])

    def _among(self, keys: pa.Array) -> list[str]:
        """Return the places that may be around some keys: a page in order has those of few jobs."""
        ends = pa.compute.min_max(keys).as_py()
        first, last = ends["min"] or "", ends["max"] or ""
        after_slash = chr(ord("/") + 1)
        return [e for e in self.places if not e or (e <= last and e + after_slash > first)]

    def together(self, found: Iterable[UuidSet]) -> UuidSet:
        """See ``ListingPass``."""
        total = UuidSet()
        for each in found:
            total.extend(*each.columns())
        return total
