"""Storage roots with the world that discovery describes, and with what others of a file say."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from flinkstate.places.locations import canonical
from orphangc.core.discovery.discovered_world import DiscoveredWorld
from orphangc.core.model.settings import StorageRootSettings

_Root = TypeVar("_Root", bound=StorageRootSettings)


def in_world(root: _Root, world: DiscoveredWorld) -> _Root:
    """Return a storage root with the places and pins of a world, and what is unclear in it.

    What is unclear already is so for this run: it knows better than one of earlier cycles.
    """
    own, named = root.own_places, (*world.extra_roots, *world.known_roots)
    added = {
        "pin": world.pins,
        "siblings": [each for each in named if canonical(each) not in own],
        "named_by_flink": named,
        "without_checkpoints": _not_around(root, world.without_checkpoints),
        "unclear": () if root.unclear else [each.block for each in world.unclear],
    }
    return joined(root, added)


def joined(root: _Root, added: Mapping[str, Iterable[str]]) -> _Root:
    """Return a storage root with more values of some settings, each value once.

    Others may state that this storage root holds no checkpoint; it is searched here anyway.
    """
    more = {**added, "empty_roots": _not_around(root, added.get("empty_roots", ()))}
    update = {name: (*getattr(root, name), *values) for name, values in more.items()}
    return root.model_copy(update={name: tuple(dict.fromkeys(e)) for name, e in update.items()})


def _not_around(root: StorageRootSettings, places: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in places if not canonical(each).contains(root.location))
