"""The check of ``doctor`` for the search: what it will list, before the first run does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import counted, visible
from orphangc.adapters.open import open_storage
from orphangc.app.wiring.compose import state_of
from orphangc.app.wiring.searched_places import storage_here
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.world.memory_files import read_memory
from orphangc.core.memory.lost_facts import STORAGE
from orphangc.core.model.codes import SearchScope
from orphangc.core.model.settings import StorageRootSettings

_ENOUGH = 20_000
"""Keys up to which a storage is counted: twenty pages of S3."""
_PAGE = 1000
_USD = 0.005 / 1000
"""Price of a LIST request of S3 in most regions."""


def search_estimate(settings: StorageRootSettings) -> str:
    """Return what a search lists, in a sentence for each storage.

    Raises:
        OrphanGcError: A storage cannot be listed, or the memory cannot be read.
    """
    if settings.search is SearchScope.PLACES:
        return "the named places alone are searched (search: places)"
    known = {
        each.uri: each.keys
        for each in read_memory(state_of(settings)).memory.places
        if each.kind == STORAGE
    }
    return "; ".join(_sentences(settings, known))


def _sentences(settings: StorageRootSettings, known: Mapping[str, int | None]) -> Iterator[str]:
    root, named = settings.location, map(storage_here, settings.own_places)
    for place in dict.fromkeys((*filter(None, named), *map(canonical, known))):
        keys = known.get(str(place))
        beside = " beside the storage root" if place.contains(root) else ""
        if keys is None:
            what = _probed(place)
        else:
            what = f"{keys:,} keys{beside} in the last run, {_cost(keys)}"
        if settings.inventory is not None and place.contains(root):
            what += ", less what is below the storage root: the inventory lists that"
        yield f"all of {visible(str(place))} is searched: {what}"


def _probed(place: Location) -> str:
    found = estimated_objects(open_storage(place), _ENOUGH)
    if found.is_exact:
        return f"{found.objects:,} keys, {_cost(found.objects)}"
    return f"more than {_ENOUGH:,} keys; each million takes {_cost(1_000_000)}"


def _cost(keys: int) -> str:
    requests = -(-keys // _PAGE)
    return f"{counted(requests, 'LIST request')}, {requests * _USD:.3f} USD on S3"
