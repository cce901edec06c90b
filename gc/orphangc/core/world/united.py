"""The worlds of several storage roots as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orphangc.core.world.known_world import (
    ClosedWorld,
    KnownCluster,
    OutsidePath,
    PlaceKind,
    SearchedPlace,
    World,
    WorldChange,
)
from orphangc.core.world.storages import SearchedStorage

_BEST_FIRST = tuple(PlaceKind)


def united_world(worlds: Sequence[World]) -> World:
    """Return one world: each place, path, cluster and change once.

    A place that is one root's storage root and another one's sibling is a storage root. The
    closed world is stated if it is stated for every storage root; what one of them covers, all do.
    """
    return World(
        places=_places(each for world in worlds for each in world.places),
        storages=_storages(each for world in worlds for each in world.storages),
        outside=_outside(each for world in worlds for each in world.outside),
        clusters=_clusters(each for world in worlds for each in world.clusters),
        changed=_changed(each for world in worlds for each in world.changed),
        closed_world=ClosedWorld(
            stated=all(world.closed_world.stated for world in worlds),
            covers=tuple(dict.fromkeys(uri for w in worlds for uri in w.closed_world.covers)),
        ),
    )


def _places(found: Iterable[SearchedPlace]) -> tuple[SearchedPlace, ...]:
    by_uri: dict[str, SearchedPlace] = {}
    for place in found:
        known = by_uri.setdefault(place.uri, place)
        if _BEST_FIRST.index(place.kind) < _BEST_FIRST.index(known.kind):
            by_uri[place.uri] = place
    return tuple(by_uri.values())


def _storages(found: Iterable[SearchedStorage]) -> tuple[SearchedStorage, ...]:
    """Return each storage once; one that a single storage root could not search counts so."""
    by_uri: dict[str, SearchedStorage] = {}
    for each in found:
        if by_uri.setdefault(each.uri, each).problem is None:
            by_uri[each.uri] = each
    return tuple(by_uri.values())


def _outside(found: Iterable[OutsidePath]) -> tuple[OutsidePath, ...]:
    by_uri: dict[str, OutsidePath] = {}
    for path in found:
        known = by_uri.get(path.uri, path)
        by_uri[path.uri] = OutsidePath(
            uri=path.uri,
            named_by=tuple(dict.fromkeys((*known.named_by, *path.named_by))),
            jobs=tuple(dict.fromkeys((*known.jobs, *path.jobs))),
        )
    return tuple(by_uri.values())


def _clusters(found: Iterable[KnownCluster]) -> tuple[KnownCluster, ...]:
    by_uri: dict[str, KnownCluster] = {}
    for cluster in found:
        known = by_uri.get(cluster.uri, cluster)
        by_uri[cluster.uri] = KnownCluster(
            uri=cluster.uri,
            jobs=tuple(sorted({*known.jobs, *cluster.jobs})),
            answers=known.answers and cluster.answers,
            problem=known.problem or cluster.problem,
        )
    return tuple(by_uri.values())


def _changed(found: Iterable[WorldChange]) -> tuple[WorldChange, ...]:
    """Return each change once; one that a single storage root waits for is not acknowledged."""
    by_fact: dict[tuple[str, str], WorldChange] = {}
    for change in found:
        known = by_fact.setdefault((change.condition, change.what), change)
        if known.acknowledged and not change.acknowledged:
            by_fact[change.condition, change.what] = change
    return tuple(by_fact.values())
