"""Which searched places count as searched, what a closed world covers, and what a call left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flinkstate.places.locations import is_within
from orphangc.core.model.codes import Condition
from orphangc.core.world.known_world import (
    ClosedWorld,
    PlaceKind,
    SearchedPlace,
    World,
    WorldChange,
)
from orphangc.core.world.storages import SearchedStorage

_ASKED_BY_OPTION = frozenset({Condition.PLACE_LOST, Condition.CLUSTER_SILENT})
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
        storages: Every searched storage; a place in one is covered with it.
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


def without_unasked(
    world: World, registries: Iterable[str]
) -> tuple[World, tuple[WorldChange, ...]]:
    """Return the world of the places that the call names, and the changes of all others.

    A plan does not distinguish these: it is blocked until they are searched and asked again.

    Args:
        world: World as one call of ``orphangc world ROOT`` finds it.
        registries: Locations of registry snapshots that the call named.
    """
    named = [each.uri for each in world.places]
    named += [*(each.uri for each in world.clusters), *registries]
    unasked = tuple(
        each
        for each in world.changed
        if each.condition in _ASKED_BY_OPTION and not is_within(each.what, named)
    )
    changed = tuple(each for each in world.changed if each not in unasked)
    return world.model_copy(update={"changed": changed}), unasked
