"""Discover the world that a configuration names, and complete its storage roots with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from platformdirs import user_state_path

from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.open import open_state_files
from orphangc.app.config.configuration import (
    Configuration,
    DiscoverySettings,
    ScheduledRoot,
)
from orphangc.app.config.load import load_configuration, with_storage_roots
from orphangc.app.config.paths import resolved
from orphangc.app.config.validate import validated
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import REST_TIMEOUT
from orphangc.collect.state.discovery_memory import (
    DiscoveryRead,
    read_discovery_memory,
    write_discovery_memory,
)
from orphangc.core.cluster.job_facts import ClusterFacts
from orphangc.core.discovery.compared_settings import SettingDifference, differences
from orphangc.core.discovery.discovered_facts import (
    Discovery,
    Origin,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.discovery.discovered_world import DiscoveredWorld, world_of_discovery
from orphangc.core.discovery.one_spelling import spelled_once, spellings
from orphangc.core.discovery.remembered_facts import (
    DiscoveryMemory,
    LostStatement,
    Succession,
    lost_statements,
    memory_of,
    merged_memories,
    successions,
    united,
)
from orphangc.core.discovery.silent_sources import silent_sources
from orphangc.core.discovery.sources.asked_clusters import cluster_resource, confirmed_in_memory
from orphangc.core.discovery.sources.read_resources import (
    FileText,
    NamespaceDocuments,
    discovery_of,
)
from orphangc.core.discovery.texts.flink_options import Reading, host_of
from orphangc.core.model.locations import Alias, canonical, parse_alias
from orphangc.core.model.settings import UnclearPart, without_credentials
from orphangc.errors import OrphanGcError, RegistryUnavailableError, SettingsError
from orphangc.ports import StateFiles

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_LISTED = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What was discovered, and the configuration that it completes.

    Attributes:
        configuration: Configuration with discovered storage roots.
        discovery: Facts of this cycle and earlier ones.
        world: World that they describe.
        lost: What earlier cycles read and nothing states now.
        over: Jobs that are over by their successors.
        different: What only the configuration or only discovery names.

    """

    configuration: Configuration
    discovery: Discovery = field(default_factory=Discovery)
    world: DiscoveredWorld = field(default_factory=DiscoveredWorld)
    lost: tuple[LostStatement, ...] = ()
    over: tuple[Succession, ...] = ()
    different: tuple[SettingDifference, ...] = ()


@dataclass(frozen=True, slots=True)
class _Memories:
    """What the state locations remember, and why some of them cannot be read."""

    reads: tuple[DiscoveryRead, ...]
    problems: tuple[UnclearFact, ...]

    @property
    def before(self) -> DiscoveryMemory:
        """Return what all of them remember together."""
        return merged_memories(each.memory for each in self.reads)


def load_and_discover(path: Path, *, is_remembered: bool = False) -> Discovered:
    """Return the configuration of a file, completed, and what is discovered.

    Args:
        path: The configuration file.
        is_remembered: Whether the memory for later cycles is written.

    Raises:
        SettingsError: The configuration is not usable, or names no storage root, and none is
            discovered.
        RegistryUnavailableError: None is discovered, as a namespace cannot be read, or shows
            nothing.

    """
    configuration = load_configuration(path)
    if not configuration.discovery.is_on:
        return Discovered(configuration=configuration)
    found = discovered(configuration, is_remembered=is_remembered)
    if not found.configuration.storage_roots and found.discovery.unclear:
        first = found.discovery.unclear[0]
        raise RegistryUnavailableError(f"{first.origin}: {first.why}")
    if not found.configuration.storage_roots:
        raise SettingsError(
            f"{path}: discovery names no storage root; orphangc discover shows what it reads"
        )
    return found


def discovered(configuration: Configuration, *, is_remembered: bool = False) -> Discovered:
    """Return what a configuration's discovery finds.

    Raises:
        SettingsError: The extra ``kubernetes`` is not installed, or a discovered storage root
            cannot be configured.

    """
    documents = _documents(configuration.discovery)
    memories = _memories(configuration)
    shown, before = _shown(configuration, documents, memories), memories.before
    aliases = _spellings(configuration, (*shown.resources, *before.resources))
    if aliases:
        shown, before = _spelled_once(shown, aliases), _spelled_once(before, aliases)
        configuration = _with_aliases(configuration, aliases)
    known = united(shown, before, configuration.discovery.forgotten)
    world = _world(configuration, known, documents)
    over = _confirmed(successions(known), world.clusters)
    if is_remembered and not memories.problems:
        for read in memories.reads:
            write_discovery_memory(memory_of(known), read)
    return Discovered(
        configuration=_completed(configuration, world, over),
        discovery=known,
        world=world,
        lost=lost_statements(shown, before),
        over=over,
        different=differences(configuration.storage_roots, world),
    )


_Facts = TypeVar("_Facts", Discovery, DiscoveryMemory)


def _spelled_once(found: _Facts, aliases: Sequence[Alias]) -> _Facts:
    resources = tuple(spelled_once(each, aliases) for each in found.resources)
    return found.model_copy(update={"resources": resources})


def _spellings(configuration: Configuration, found: Iterable[ResourceFacts]) -> tuple[Alias, ...]:
    """Return what other spellings of discovered local directories mean."""
    roots = [each.root for each in configuration.storage_roots]
    return spellings(found, roots, real=resolved)


def _with_aliases(configuration: Configuration, aliases: Sequence[Alias]) -> Configuration:
    """Return a configuration in which paths mean places under their one spelling."""
    settings = configuration.discovery
    stated = [parse_alias(each) for each in settings.alias]
    meant = [Alias(each.source, canonical(str(each.target), aliases)) for each in stated]
    texts = tuple(f"{each.source}={each.target}" for each in (*meant, *aliases))
    known = settings.model_copy(update={"alias": tuple(dict.fromkeys(texts))})
    return configuration.model_copy(update={"discovery": known})


def _shown(
    configuration: Configuration, documents: Sequence[NamespaceDocuments], memories: _Memories
) -> Discovery:
    """Return what all sources show now, and which of them are not understood."""
    settings, reading = configuration.discovery, _reading(configuration)
    found = discovery_of(documents, [_file(each) for each in settings.files], reading)
    asked = [_asked(url, reading) for url in settings.flink_rest]
    resources = [
        answered
        for each in found.resources
        for answered in _with_configuration(_with_confirmations(each, settings), settings, reading)
    ]
    seen = {each.origin.namespace for each in memories.before.resources} - {""}
    silent = [
        each
        for each in silent_sources(documents, _selection(settings), seen)
        if each.origin.resource not in settings.without_state
    ]
    return Discovery(
        resources=(*resources, *asked),
        unclear=(*found.unclear, *memories.problems, *silent),
    )


def _world(
    configuration: Configuration, known: Discovery, documents: Iterable[NamespaceDocuments]
) -> DiscoveredWorld:
    settings = configuration.discovery
    world = world_of_discovery(
        known,
        configured=[each.root for each in configuration.storage_roots],
        without_state=settings.without_state,
        explained=settings.explained,
        namespaces=[each.namespace for each in documents],
        by_hand=[uri for each in configuration.storage_roots for uri in each.extra_roots],
    )
    clusters = _with_credentials(world.clusters, settings)
    return world.model_copy(update={"clusters": clusters})


def _documents(settings: DiscoverySettings) -> list[NamespaceDocuments]:
    if not (settings.namespaces or settings.all_namespaces or settings.namespace_selector):
        return []
    from orphangc.adapters.kubernetes.discovered_documents import read_namespace  # noqa: PLC0415
    from orphangc.adapters.kubernetes.namespace_listing import (  # noqa: PLC0415
        selected_namespaces,
    )

    problems: list[NamespaceDocuments] = []
    selected: list[str] = []
    if settings.all_namespaces or settings.namespace_selector:
        try:
            selected = selected_namespaces(settings.namespace_selector, timeout=REST_TIMEOUT)
        except OrphanGcError as err:
            if isinstance(err, SettingsError):
                raise
            problems.append(NamespaceDocuments(namespace="", problems=(str(err),)))
    return [
        *(
            replace(read_namespace(each, timeout=REST_TIMEOUT), is_selected=each in selected)
            for each in dict.fromkeys((*settings.namespaces, *selected))
        ),
        *problems,
    ]


def _selection(settings: DiscoverySettings) -> str:
    """Return how namespaces are selected, for people; "" if they are only named."""
    if settings.namespace_selector:
        return settings.namespace_selector
    return "every namespace" if settings.all_namespaces else ""


def _file(path: Path) -> FileText:
    try:
        with path.open(encoding="utf-8") as file:
            return FileText(path=str(path.absolute()), text=file.read(_LISTED + 1))
    except (OSError, UnicodeDecodeError) as err:
        return FileText(path=str(path.absolute()), text=None, problem=f"cannot be read: {err}")


def _asked(url: str, reading: Reading) -> ResourceFacts:
    """Return the facts of a cluster that no resource stands for."""
    try:
        shown: ClusterFacts | str = FlinkRest(url, timeout=REST_TIMEOUT, now=now).observe()
    except OrphanGcError as err:
        shown = str(err)
    return cluster_resource(without_credentials(url), shown, reading)


def _with_confirmations(resource: ResourceFacts, settings: DiscoverySettings) -> ResourceFacts:
    """Return a resource without the parts that REST explains: all its jobs keep none in storage."""
    is_open = any(each.is_until_asked for each in resource.unclear)
    is_confirmed = is_open and _keeps_all_in_memory(resource, settings)
    return resource.confirmed_by_rest() if is_confirmed else resource


def _with_configuration(
    resource: ResourceFacts, settings: DiscoverySettings, reading: Reading
) -> Iterator[ResourceFacts]:
    """Yield a resource, and its clusters where only they show a configuration."""
    shown: list[ResourceFacts] = []
    if any(each.is_until_shown for each in resource.unclear):
        urls = (each.uri for each in resource.clusters if each.is_asked)
        shown = [_asked(each, reading) for each in _with_credentials(urls, settings)]
    is_shown = bool(shown) and not any(p.is_until_read for one in shown for p in one.unclear)
    yield resource.shown_by_rest() if is_shown else resource
    yield from shown if is_shown else ()


def _keeps_all_in_memory(resource: ResourceFacts, settings: DiscoverySettings) -> bool:
    urls = _with_credentials((e.uri for e in resource.clusters if e.is_asked), settings)
    try:
        shown = [FlinkRest(url, timeout=REST_TIMEOUT, now=now).observe() for url in urls]
    except OrphanGcError:
        return False
    return bool(shown) and all(map(confirmed_in_memory, shown))


def _with_credentials(clusters: Iterable[str], settings: DiscoverySettings) -> tuple[str, ...]:
    """Return the addresses as they are asked: with the credentials of the configuration."""
    known = {without_credentials(each): each for each in settings.flink_rest}
    return tuple(known.get(each, each) for each in clusters)


def _reading(configuration: Configuration) -> Reading:
    """Return how paths are read: aliases of all storage roots hold for discovered paths, too."""
    settings = configuration.discovery
    texts = (*settings.alias, *(a for each in configuration.storage_roots for a in each.alias))
    here = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    hosts = {host_of(each) for each in (here, *settings.s3_endpoints) if each}
    return Reading(
        aliases=tuple(parse_alias(each) for each in dict.fromkeys(texts)),
        endpoints=frozenset(hosts),
        rest=settings.rest,
    )


def _memory_files(configuration: Configuration) -> list[StateFiles]:
    """Return every state location: each remembers all, so that none of them may be the first."""
    states = (configuration.discovery.state, *(r.state for r in configuration.storage_roots))
    places = dict.fromkeys(str(canonical(each)) for each in states if each)
    own = str(user_state_path("orphangc") / "discovered")
    return [open_state_files(each) for each in places or (own,)]


def _memories(configuration: Configuration) -> _Memories:
    """Return what every state location remembers; one that cannot be read is not understood."""
    reads: list[DiscoveryRead] = []
    problems: list[UnclearFact] = []
    for files in _memory_files(configuration):
        try:
            reads.append(read_discovery_memory(files))
        except OrphanGcError as err:
            origin = Origin(kind="State", namespace="", name=str(files.location), field="discovery")
            problems.append(
                UnclearFact(why=str(err), is_everywhere=True, is_until_read=True, origin=origin)
            )
    return _Memories(tuple(reads), tuple(problems))


def _confirmed(candidates: Sequence[Succession], clusters: Iterable[str]) -> tuple[Succession, ...]:
    """Return the jobs whose successors REST shows running, while no cluster shows the job itself.

    A cluster without an answer may run it: then none of them is confirmed.
    """
    if not candidates:
        return ()
    try:
        shown = [FlinkRest(url, timeout=REST_TIMEOUT, now=now).observe() for url in clusters]
    except OrphanGcError:
        return ()
    living = {job for each in shown for job in _living(each)}
    running = {j for each in shown for j, facts in each.jobs.items() if facts.status == "RUNNING"}
    return tuple(
        each for each in candidates if each.successor in running and each.job_id not in living
    )


def _living(cluster: ClusterFacts) -> Iterable[str]:
    return (job for job, facts in cluster.jobs.items() if not facts.is_globally_terminal)


def _completed(
    configuration: Configuration, world: DiscoveredWorld, over: Sequence[Succession]
) -> Configuration:
    """Return the configuration with discovered storage roots, each with the whole world."""
    settings = configuration.discovery
    ended = tuple(each.job_id for each in over)
    new = [
        validated(
            ScheduledRoot,
            {
                **settings.defaults,
                "root": uri,
                "state": settings.state,
                "closed_world": settings.closed_world,
            },
        )
        for uri in world.storage_roots
    ]
    roots = [
        _with_world(each, world, settings, ended) for each in (*configuration.storage_roots, *new)
    ]
    completed = with_storage_roots(configuration, roots)
    searched = tuple(_with_places(each, world) for each in completed.storage_roots)
    return completed.model_copy(update={"storage_roots": searched})


def _with_world(
    root: ScheduledRoot, world: DiscoveredWorld, settings: DiscoverySettings, ended: Sequence[str]
) -> ScheduledRoot:
    place = canonical(root.root)
    empty = [
        each
        for each in (*settings.empty_roots, *world.without_checkpoints)
        if not canonical(each).contains(place)
    ]
    added = {
        "empty_roots": empty,
        "flink_rest": world.clusters,
        "kubernetes_ha": [each for each in world.kubernetes_ha if each],
        "zookeeper_ha": world.zookeeper_ha,
        "alias": settings.alias,
        "pin": world.pins,
        "ended_job": ended,
    }
    update = {
        name: tuple(dict.fromkeys((*getattr(root, name), *values)))
        for name, values in added.items()
    }
    return root.model_copy(update=update)


def _with_places(root: ScheduledRoot, world: DiscoveredWorld) -> ScheduledRoot:
    """Return a storage root that searches every discovered place."""
    own = {canonical(uri) for uri in (root.root, *root.extra_roots)}
    found = [
        each for each in (*world.extra_roots, *world.known_roots) if canonical(each) not in own
    ]
    siblings = tuple(dict.fromkeys((*root.siblings, *found)))
    return root.model_copy(
        update={
            "siblings": siblings,
            "named_by_flink": (*world.extra_roots, *world.known_roots),
            "unclear": tuple(each for each in world.unclear if _touches(each, root)),
        }
    )


def _touches(part: UnclearPart, root: ScheduledRoot) -> bool:
    return part.concerns((root.root,))
