"""From facts to one world: places, clusters and pins of everything that was discovered."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from flinkstate.places.locations import canonical
from orphangc.core.discovery.discovered_facts import (
    SEARCHED_USES,
    DirectoryUse,
    Discovery,
    Origin,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.model.frozen_part import FrozenPart

_STATELESS_USES = frozenset({DirectoryUse.CHANGELOG, DirectoryUse.FORST, DirectoryUse.HA})


class DiscoveredWorld(FrozenPart):
    """The world that all resources and files together describe.

    Attributes:
        storage_roots: Directories of checkpoints to collect that are not configured by hand.
        without_checkpoints: Those of changelogs, ForSt and HA, in which no checkpoint is expected.
        unclear: Parts that cannot be read, and that no person acknowledged: each blocks everything.
    """

    storage_roots: tuple[str, ...] = ()
    known_roots: tuple[str, ...] = ()
    extra_roots: tuple[str, ...] = ()
    without_checkpoints: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    kubernetes_ha: tuple[str, ...] = ()
    zookeeper_ha: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    unclear: tuple[UnclearFact, ...] = ()


def world_of_discovery(
    discovery: Discovery,
    *,
    configured: Sequence[str] = (),
    acknowledged: Collection[str] = (),
    namespaces: Iterable[str] = (),
) -> DiscoveredWorld:
    """Return the world of a discovery.

    A storage root inside another one, or around it, is searched but collected by none: two runs
    would judge the same files by different evidence.
    """
    roots = _unique(_named(discovery, {DirectoryUse.CHECKPOINTS}))
    chosen, nested = _outermost(discovery, roots, configured)
    extra = _named(discovery, SEARCHED_USES | _STATELESS_USES)
    searched = {*_named(discovery, SEARCHED_USES)}
    parts = (
        *(each for one in discovery.resources for each in one.unclear),
        *_unread_defaults(discovery),
        *_unseen_sessions(discovery),
        *_shared_addresses(discovery),
        *nested,
    )
    first = {each.what: each for each in reversed(parts)}  # once, as its first place shows it
    return DiscoveredWorld(
        storage_roots=tuple(chosen),
        known_roots=roots,
        extra_roots=_unique(each for each in extra if each not in {*chosen, *configured}),
        without_checkpoints=_unique(
            each for each in _named(discovery, _STATELESS_USES) if each not in searched
        ),
        clusters=_unique(
            each.uri for one in discovery.present for each in one.clusters if each.is_asked
        ),
        kubernetes_ha=_unique((*namespaces, *_where(discovery, "kubernetes"))),
        zookeeper_ha=_unique(_where(discovery, "zookeeper")),
        pins=_unique(each.uri for one in discovery.resources for each in one.pins),
        unclear=(
            *discovery.unclear,
            *(
                each
                for what, each in reversed(first.items())
                if what not in acknowledged and each.word not in acknowledged
            ),
        ),
    )


def _named(discovery: Discovery, uses: Collection[DirectoryUse]) -> list[str]:
    found = (each for one in discovery.resources for each in one.directories)
    return [each.uri for each in found if each.use in uses]


def _where(discovery: Discovery, kind: str) -> Iterator[str]:
    return (each.where for one in discovery.resources for each in one.ha if each.type == kind)


def _outermost(
    discovery: Discovery, roots: Sequence[str], configured: Sequence[str]
) -> tuple[list[str], list[UnclearFact]]:
    chosen: list[str] = []
    nested: list[UnclearFact] = []
    origins = {e.uri: e.origin for o in discovery.resources for e in o.directories[::-1]}
    known = [*configured, *sorted(roots, key=len)]
    for uri in roots:
        around = [each for each in known if each != uri and _overlap(each, uri)]
        if around and (len(uri) > len(around[0]) or around[0] in configured):
            why = f"the storage roots {uri} and {around[0]} contain each other: separate them"
            nested.append(UnclearFact(why=why, origin=origins[uri]))
        elif uri not in configured:
            chosen.append(uri)
    return chosen, nested


def _overlap(one: str, other: str) -> bool:
    first, second = canonical(one), canonical(other)
    return first.contains(second) or second.contains(first)


def _unread_defaults(discovery: Discovery) -> Iterator[UnclearFact]:
    """Yield the deployments whose clusters showed no cycle the operator's defaults.

    Those of one that runs are read in each cycle: its operator may have changed them.
    """
    for one in discovery.resources:
        is_missing = not one.is_made_read and one.is_running and one.is_present
        if one.made and (is_missing or not one.is_effective):
            yield UnclearFact(
                why=f"the operator's defaults are not known: no ConfigMap {' or '.join(one.made)}"
                " was read; it is once its cluster runs",
                is_present=one.is_present,
                uid=one.uid,
                origin=one.origin,
            )


def _unseen_sessions(discovery: Discovery) -> Iterator[UnclearFact]:
    """Yield the session jobs whose cluster is not seen: its defaults and HA are not known."""
    seen = {each.origin.resource for each in discovery.present}
    for one in discovery.present:
        cluster = f"FlinkDeployment/{one.origin.namespace}/{one.session}"
        if one.session and cluster not in seen:
            why = f"runs in the session cluster {one.session}, which is not seen: restore it"
            where = one.origin.of("spec.deploymentName")
            yield UnclearFact(why=why, uid=one.uid, origin=where)


def _shared_addresses(discovery: Discovery) -> Iterator[UnclearFact]:
    """Yield the addresses of REST at which several resources have their clusters.

    Only one of them answers there, and nothing asks the others. An address that is also configured
    by hand, or in a file, is one cluster.
    """
    first: dict[str, ResourceFacts] = {}
    for resource in discovery.present:
        for each in resource.clusters if resource.origin.namespace else ():
            known = first.setdefault(each.uri, resource) if each.is_asked else resource
            if known.origin.resource != resource.origin.resource:
                yield UnclearFact(
                    why=f"its REST service {each.uri} is that of {known.origin.resource}, too: only"
                    " one of them answers there; give each its own address (discovery.rest)",
                    uid=resource.uid,
                    origin=each.origin,
                )


def silent_sources(
    speaking: Collection[str], namespaces: Iterable[str], selection: str, seen: Collection[str]
) -> Iterator[UnclearFact]:
    """Yield the namespaces, and the selection of namespaces, that show nothing of Flink.

    The API server answers with an empty list for a namespace that does not exist. One that showed
    something in an earlier cycle is spelled as it was then, and its resources are remembered.

    Args:
        speaking: Namespaces that show something, or that could not be read.
        namespaces: Namespaces that a setting names.
        selection: Label selector of namespaces, or a word for all of them; "" without one.
        seen: Namespaces of which earlier cycles saw a resource.
    """
    named = tuple(namespaces)
    silent = [Origin(kind="Namespace", namespace="", name=name) for name in named]
    silent = [each for each in silent if each.name not in {*speaking, *seen}]
    if selection and not ({*speaking, *seen} - {*named}):
        silent.append(Origin(kind="Namespaces", namespace="", name=selection))
    why = (
        "shows nothing of Flink: correct its name (that of the deployments' namespace, not of the"
        " operator's), or take it out of the configuration"
    )
    yield from (UnclearFact(why=why, origin=each) for each in silent)


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
