"""Which searched places count as searched, and what the statement of a closed world covers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flinkstate.places.locations import is_within
from orphangc.core.world.known_world import ClosedWorld, PlaceKind, SearchedPlace
from orphangc.core.world.storages import SearchedStorage

_ASKED = frozenset({PlaceKind.EXTRA_ROOT, PlaceKind.SIBLING})


def lacks_checkpoints(place: SearchedPlace, *, is_stated_empty: bool) -> bool:
    """Return whether a place has no checkpoint, so it may not be the place that was meant.

    An unmounted folder, a text file and a mistyped prefix are all found empty.
    """
    return place.kind in _ASKED and place.checkpoints == 0 and not is_stated_empty


def closed_world_of(
    places: Iterable[SearchedPlace],
    storages: Iterable[SearchedStorage] = (),
    *,
    is_stated: bool,
    is_empty: Callable[[str], bool],
) -> ClosedWorld:
    """Return the statement, bound to the storages and places that count as searched.

    Args:
        places: Every searched place.
        storages: Every searched storage; a place in one is covered with it.
        is_stated: Whether the operator made the statement.
        is_empty: Returns whether the operator stated that a place has no checkpoint.

    """
    whole = [each.uri for each in storages if each.problem is None]
    covered = (
        each.uri
        for each in places
        if each.checkpoints is not None
        and not lacks_checkpoints(each, is_stated_empty=is_empty(each.uri))
        and not is_within(each.uri, whole)
    )
    return ClosedWorld(stated=is_stated, covers=(*whole, *covered))
