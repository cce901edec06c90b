"""What one call left out of the world, though earlier cycles asked it: unasked is not lost."""

from __future__ import annotations

from collections.abc import Iterable

from flinkstate.places.locations import is_within
from orphangc.core.model.codes import Condition
from orphangc.core.world.known_world import World, WorldChange

_ASKED_BY_OPTION = frozenset({Condition.PLACE_LOST, Condition.CLUSTER_SILENT})


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
