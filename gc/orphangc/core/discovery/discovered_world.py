"""From facts to one closed world: places, clusters and pins of everything that was discovered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from orphangc.core.discovery.discovered_facts import (
    SEARCHED_USES,
    DirectoryUse,
    Discovery,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.locations import Location, canonical
from orphangc.core.model.owners import job_directory_of
from orphangc.core.model.settings import UnclearPart

_MENTIONED = (
    "names {}, in the bucket of a searched place: its code may keep checkpoints there; configure it"
    " as extra_roots of a storage root, or explain it"
)
_STATELESS_USES = frozenset({DirectoryUse.CHANGELOG, DirectoryUse.FORST})


class DiscoveredWorld(FrozenPart):
    """The world that all resources and files together describe.

    Attributes:
        storage_roots: Directories of checkpoints to collect that are not configured by hand.
        known_roots: All directories of checkpoints.
        extra_roots: Directories of savepoints, changelogs and ForSt.
        without_checkpoints: Those of changelogs and ForSt, in which no checkpoint is expected.
        clusters: REST services that are asked.
        kubernetes_ha: Namespaces with HA metadata or resources.
        zookeeper_ha: ZooKeepers with HA metadata.
        pins: Checkpoints and savepoints that resources name.
        unclear: Parts that are not understood, each with the places that it blocks.

    """

    storage_roots: tuple[str, ...] = ()
    known_roots: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    without_checkpoints: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    kubernetes_ha: tuple[str, ...] = ()
    zookeeper_ha: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    unclear: tuple[UnclearPart, ...] = ()


def world_of_discovery(
    discovery: Discovery,
    *,
    configured: Sequence[str] = (),
    without_state: Collection[str] = (),
    explained: Collection[str] = (),
    namespaces: Iterable[str] = (),
    by_hand: Collection[str] = (),
) -> DiscoveredWorld:
    """Return the world of a discovery.

    A storage root inside another one, or around it, is searched but collected by none: two runs
    would judge the same files by different evidence.

    Args:
        discovery: Facts of this cycle and of earlier ones.
        configured: Storage roots that are configured by hand: they win.
        without_state: Resources and namespaces that name no place and are stated to keep no state.
        explained: Statements that all that one part could touch is searched.
        namespaces: Namespaces that were asked.
        by_hand: Further places that are configured to be searched.

    """
    roots = _storage_roots(discovery)
    chosen, nested = _outermost(roots, configured)
    extra = _searched_places(discovery, configured)
    return DiscoveredWorld(
        storage_roots=tuple(chosen),
        known_roots=roots,
        extra_roots=tuple(each for each in extra if each not in {*chosen, *configured}),
        without_checkpoints=_without_checkpoints(discovery),
        clusters=_unique(
            each.uri for one in discovery.present for each in one.clusters if each.is_asked
        ),
        kubernetes_ha=_unique((*namespaces, *_where(discovery, "kubernetes"))),
        zookeeper_ha=_unique(_where(discovery, "zookeeper")),
        pins=_unique(each.uri for one in discovery.resources for each in one.pins),
        unclear=(
            *_unclear_parts(discovery, {*without_state, *explained} - {""}),
            *_mentioned_parts(discovery, {*extra, *configured, *by_hand}, explained),
            *_shared_addresses(discovery, explained),
            *nested,
        ),
    )


def _searched_places(discovery: Discovery, configured: Sequence[str]) -> tuple[str, ...]:
    """Return every place to search; one in arguments only where no other place contains it."""
    found = [each for one in discovery.resources for each in one.directories]
    stated = [e.uri for e in found if e.use in SEARCHED_USES - {DirectoryUse.ARGUMENTS}]
    around = [canonical(uri) for uri in (*configured, *stated)]
    return _unique(
        each.uri
        for each in found
        if each.use in SEARCHED_USES | _STATELESS_USES
        and not (
            each.use is DirectoryUse.ARGUMENTS
            and any(place.contains(canonical(each.uri)) for place in around)
        )
    )


def _storage_roots(discovery: Discovery) -> tuple[str, ...]:
    return _unique(
        each.uri for one in discovery.resources for each in one.uses(DirectoryUse.CHECKPOINTS)
    )


def _outermost(
    roots: Sequence[str], configured: Sequence[str]
) -> tuple[list[str], list[UnclearPart]]:
    """Return the storage roots to collect, and what the nested ones block."""
    chosen: list[str] = []
    nested: list[UnclearPart] = []
    known = [*configured, *sorted(roots, key=len)]
    for uri in roots:
        around = [each for each in known if each != uri and _overlap(each, uri)]
        if around and (len(uri) > len(around[0]) or around[0] in configured):
            why = (
                f"the storage roots {uri} and {around[0]} contain each other: configure one of them"
                " by hand"
            )
            nested.append(UnclearPart(why=why, reach=(uri, around[0])))
        elif uri not in configured:
            chosen.append(uri)
    return chosen, nested


def _overlap(one: str, other: str) -> bool:
    first, second = canonical(one), canonical(other)
    return first.contains(second) or second.contains(first)


def _without_checkpoints(discovery: Discovery) -> tuple[str, ...]:
    """Return the directories of changelogs and ForSt that no resource uses for checkpoints too."""
    found = [each for one in discovery.resources for each in one.directories]
    searched = {each.uri for each in found if each.use in SEARCHED_USES}
    return _unique(
        each.uri for each in found if each.use in _STATELESS_USES and each.uri not in searched
    )


def _where(discovery: Discovery, kind: str) -> Iterator[str]:
    return (each.where for one in discovery.resources for each in one.ha if each.type == kind)


def _unclear_parts(discovery: Discovery, stated: Collection[str]) -> Iterator[UnclearPart]:
    sources = ((each, ResourceFacts(origin=each.origin)) for each in discovery.unclear)
    parts = ((each, one) for one in discovery.resources for each in one.unclear)
    for unclear, resource in (*sources, *parts):
        if not _is_explained(unclear, stated):
            yield _part(unclear, resource)


def _mentioned_parts(
    discovery: Discovery, searched: Collection[str], explained: Collection[str]
) -> Iterator[UnclearPart]:
    """Yield the places in the bucket of a searched one that arguments name, and nothing searches.

    Each may be a storage root. In another bucket it is taken for the job's own data.
    """
    places = [canonical(each) for each in searched]
    buckets = {(each.scheme, each.authority) for each in places}
    for resource in discovery.resources:
        for each in resource.uses(DirectoryUse.MENTIONED):
            place = canonical(each.uri)
            is_searched = any(known.contains(place) for known in places)
            if (place.scheme, place.authority) in buckets and not is_searched:
                unclear = UnclearFact(
                    why=_MENTIONED.format(each.uri), reach=(each.uri,), origin=each.origin
                )
                if unclear.statement not in explained:
                    yield _part(unclear, resource)


def _shared_addresses(discovery: Discovery, explained: Collection[str]) -> Iterator[UnclearPart]:
    """Yield the addresses of REST at which several resources have their clusters.

    Only one of them answers there, and nothing asks the others. An address that is also configured
    by hand, or in a file, is one cluster.
    """
    first: dict[str, ResourceFacts] = {}
    for resource in discovery.present:
        if not resource.origin.namespace:
            continue
        for each in resource.clusters:
            known = first.setdefault(each.uri, resource) if each.is_asked else resource
            if known.origin.resource != resource.origin.resource:
                unclear = UnclearFact(
                    why=f"its REST service {each.uri} is that of {known.origin.resource}, too: only"
                    " one of them answers there; give each its own address (discovery.rest)",
                    is_everywhere=True,
                    origin=each.origin,
                )
                if unclear.statement not in explained:
                    yield _part(unclear, resource)


def _is_explained(unclear: UnclearFact, stated: Collection[str]) -> bool:
    by_absence = unclear.is_absence and unclear.origin.resource in stated
    return by_absence or unclear.statement in stated


def _part(unclear: UnclearFact, resource: ResourceFacts) -> UnclearPart:
    """Return what a part that is not understood blocks.

    Its job may have been restored from any place that the resource names, and refer to files there.
    """
    reach = () if unclear.is_everywhere else _unique((*unclear.reach, *places_of(resource)))
    earlier = "" if unclear.is_present else "an earlier cycle read: "
    statement = f" ({unclear.statement})" if unclear.statement else ""
    return UnclearPart(
        why=f"{unclear.origin}: {earlier}{unclear.why}{statement}",
        reach=reach,
        is_everywhere=unclear.is_everywhere,
    )


def places_of(resource: ResourceFacts) -> tuple[str, ...]:
    """Return every place that a resource names: its directories, and where its pins lie."""
    named = [each.uri for each in resource.directories if each.use in SEARCHED_USES]
    return _unique((*named, *(str(_home(canonical(each.uri))) for each in resource.pins)))


def _home(pin: Location) -> Location:
    """Return the storage root of a checkpoint by its path, the folder around any other one."""
    directory = job_directory_of(pin)
    return pin.parent if directory is None else directory.parent


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
