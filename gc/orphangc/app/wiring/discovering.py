"""Discover the world that a configuration names, and complete its storage roots with it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import TypeVar

from platformdirs import user_state_path

from flinkstate.files.paths import resolved
from flinkstate.places.locations import Alias, canonical, parse_alias
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.open import open_state_files
from orphangc.app.config.configuration import (
    Configuration,
    DiscoverySettings,
    ScheduledRoot,
)
from orphangc.app.config.load import load_configuration, with_storage_roots
from orphangc.app.config.validate import validated
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import REST_TIMEOUT
from orphangc.collect.state.discovery_memory import (
    FOLDER,
    DiscoveryRead,
    read_discovery_memory,
    write_discovery_memory,
)
from orphangc.collect.state.memory_documents import DamagedMemoryError
from orphangc.core.cluster.rest_json import JOBS_PATH
from orphangc.core.discovery.discovered_facts import (
    ClusterFact,
    Discovery,
    JobFact,
    Origin,
    ResourceFacts,
    UnclearFact,
)
from orphangc.core.discovery.discovered_world import (
    DiscoveredWorld,
    silent_sources,
    world_of_discovery,
)
from orphangc.core.discovery.one_spelling import spelled_once, spellings
from orphangc.core.discovery.remembered_facts import (
    DiscoveryMemory,
    Succession,
    memory_of,
    successions,
    united,
)
from orphangc.core.discovery.sources.cluster_services import cluster_resource
from orphangc.core.discovery.sources.plain_workloads import PlainWorkload
from orphangc.core.discovery.sources.read_resources import (
    FileText,
    NamespaceDocuments,
    discovery_of,
    plain_workloads,
)
from orphangc.core.discovery.texts.flink_options import Reading, host_of
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.model.codes import Condition
from orphangc.core.model.joined_facts import joined
from orphangc.core.model.settings import without_credentials
from orphangc.errors import OrphanGcError, RegistryUnavailableError, SettingsError
from orphangc.ports import StateFiles

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_LISTED = 1 << 20
_PATIENCE = timedelta(seconds=10)
"""Time limit of the one question to each cluster; cycles ask it again, with more patience."""
_AT_ONCE = 16
"""Number of clusters that are asked at the same time."""


@dataclass(frozen=True, slots=True)
class Memories:
    """What the state locations remember, and why some of them cannot be read."""

    reads: tuple[DiscoveryRead, ...] = ()
    problems: tuple[UnclearFact, ...] = ()

    @property
    def before(self) -> DiscoveryMemory:
        """Return what all of them remember together."""
        return reduce(joined, (each.memory for each in self.reads), DiscoveryMemory())


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What was discovered, and the configuration that it completes.

    Attributes:
        discovery: Facts of this cycle and earlier ones.
    """

    configuration: Configuration
    discovery: Discovery = field(default_factory=Discovery)
    world: DiscoveredWorld = field(default_factory=DiscoveredWorld)
    over: tuple[Succession, ...] = ()
    memories: Memories = field(default_factory=Memories)


def load_and_discover(path: Path, *, is_remembered: bool = False) -> Discovered:
    """Return the configuration of a file, completed, and what is discovered.

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
    roots = [each.root for each in configuration.storage_roots]
    aliases = spellings((*shown.resources, *before.resources), roots, real=resolved)
    if aliases:
        shown, before = _spelled_once(shown, aliases), _spelled_once(before, aliases)
        configuration = _with_aliases(configuration, aliases)
    known = united(shown, before)
    found = world_of_discovery(
        known,
        configured=roots,
        acknowledged={each.what for each in before.acknowledged},
        namespaces=[each.namespace for each in documents],
    )
    clusters = _with_credentials(found.clusters, configuration.discovery)
    world = found.model_copy(update={"clusters": clusters})
    over = _confirmed(successions(known), world.clusters)
    if is_remembered and not memories.problems:
        remember(known, memories, before.acknowledged)
    return Discovered(
        configuration=_completed(configuration, world, over),
        discovery=known,
        world=world,
        over=over,
        memories=memories,
    )


def with_jobs_of_clusters(found: Discovered) -> Discovered:
    """Return a discovery with the jobs that clusters list now; cycles ask for themselves."""

    def listed(url: str) -> tuple[JobFact, ...]:
        name = without_credentials(url)
        origin = Origin(kind="Cluster", namespace="", name=name, field=JOBS_PATH)
        try:
            jobs = FlinkRest(url, timeout=_PATIENCE, now=now).listed()
        except OrphanGcError:
            return ()
        return tuple(JobFact(job_id=e, state=word, origin=origin) for e, word in jobs.items())

    clusters = found.world.clusters
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = zip(clusters, pool.map(listed, clusters), strict=True)
    shown = {without_credentials(url): jobs for url, jobs in answers}
    resources = tuple(
        each.model_copy(update={"jobs": shown[each.origin.name]})
        if each.is_present and each.origin.kind == "Cluster" and each.origin.name in shown
        else each
        for each in found.discovery.resources
    )
    return replace(found, discovery=found.discovery.model_copy(update={"resources": resources}))


def remember(known: Discovery, memories: Memories, acknowledged: Sequence[Acknowledgement]) -> None:
    """Write what later cycles must know to every state location.

    Raises:
        OrphanGcError: A state location cannot be written.
    """
    memory = memory_of(known).model_copy(update={"acknowledged": tuple(acknowledged)})
    for read in memories.reads:
        write_discovery_memory(memory, read)


_Facts = TypeVar("_Facts", Discovery, DiscoveryMemory)


def _spelled_once(found: _Facts, aliases: Sequence[Alias]) -> _Facts:
    resources = tuple(spelled_once(each, aliases) for each in found.resources)
    return found.model_copy(update={"resources": resources})


def _with_aliases(configuration: Configuration, aliases: Sequence[Alias]) -> Configuration:
    """Return a configuration in which paths mean places under their one spelling."""
    settings = configuration.discovery
    stated = [parse_alias(each) for each in settings.alias]
    meant = [Alias(each.source, canonical(str(each.target), aliases)) for each in stated]
    texts = tuple(f"{each.source}={each.target}" for each in (*meant, *aliases))
    known = settings.model_copy(update={"alias": tuple(dict.fromkeys(texts))})
    return configuration.model_copy(update={"discovery": known})


def _shown(
    configuration: Configuration, documents: Sequence[NamespaceDocuments], memories: Memories
) -> Discovery:
    """Return what all sources show now, and which of them cannot be read."""
    settings, reading = configuration.discovery, _reading(configuration)
    found = discovery_of(documents, [_file(each) for each in settings.files], reading)
    plain = [each for one in documents for each in plain_workloads(one, reading)]
    by_hand = [without_credentials(each) for each in settings.flink_rest]
    asked = (e.uri for one in found.resources for e in one.clusters if e.is_asked)
    possible = (address for each in plain for address in each.addresses)
    answers = _answers((*by_hand, *asked, *possible), settings)
    silent = [
        UnclearFact(why=problem, origin=Origin(kind="Cluster", namespace="", name=each))
        for each in by_hand
        if isinstance(problem := answers[each], str)
    ]
    return Discovery(
        resources=(*found.resources, *_clusters(answers, by_hand, plain, reading)),
        unclear=(
            *found.unclear,
            *memories.problems,
            *silent,
            *_silent_namespaces(settings, documents, plain, memories),
        ),
        unnamed=tuple(
            each.origin
            for each in plain
            if all(isinstance(answers[address], str) for address in each.addresses)
        ),
    )


_Answers = Mapping[str, Mapping[str, str] | str]
"""Configuration by address of a cluster, or the reason why it shows none."""


def _answers(addresses: Iterable[str], settings: DiscoverySettings) -> _Answers:
    def asked(url: str) -> Mapping[str, str] | str:
        try:
            return FlinkRest(url, timeout=_PATIENCE, now=now).options()
        except OrphanGcError as err:
            return str(err)

    unique = tuple(dict.fromkeys(addresses))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(asked, _with_credentials(unique, settings))
        return dict(zip(unique, answers, strict=True))


def _clusters(
    answers: _Answers, by_hand: Iterable[str], plain: Iterable[PlainWorkload], reading: Reading
) -> Iterator[ResourceFacts]:
    """Yield what each cluster says that answers; a new one is to be asked, one by hand always."""
    answering = {uri: options for uri, options in answers.items() if not isinstance(options, str)}
    named = {uri: each.origin for each in plain for uri in each.addresses if uri in answering}
    named |= {each: Origin(kind="Cluster", namespace="", name=each) for each in by_hand}
    for uri in dict.fromkeys((*answering, *named)):
        found = cluster_resource(uri, answering.get(uri, {}), reading)
        new = (ClusterFact(uri=uri, origin=named[uri]),) if uri in named else ()
        yield found.model_copy(update={"clusters": new})


def _silent_namespaces(
    settings: DiscoverySettings,
    documents: Iterable[NamespaceDocuments],
    plain: Iterable[PlainWorkload],
    memories: Memories,
) -> Iterator[UnclearFact]:
    speaking = {each.namespace for each in documents if each.problems or each.has_resources}
    speaking |= {each.origin.namespace for each in plain}
    seen = {each.origin.namespace for each in memories.before.resources} - {""}
    named = [each.namespace for each in documents if not each.is_selected]
    every = "every namespace" if settings.all_namespaces else ""
    yield from silent_sources(speaking, named, settings.namespace_selector or every, seen)


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


def _file(path: Path) -> FileText:
    try:
        with path.open(encoding="utf-8") as file:
            return FileText(path=str(path.absolute()), text=file.read(_LISTED + 1))
    except (OSError, UnicodeDecodeError) as err:
        return FileText(path=str(path.absolute()), text=None, problem=f"cannot be read: {err}")


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


def memory_files(configuration: Configuration) -> list[StateFiles]:
    """Return every state location: each remembers all, so that none of them may be the first."""
    states = (configuration.discovery.state, *(r.state for r in configuration.storage_roots))
    places = dict.fromkeys(str(canonical(each)) for each in states if each)
    own = str(user_state_path("orphangc") / "discovered")
    return [open_state_files(each) for each in places or (own,)]


def _memories(configuration: Configuration) -> Memories:
    """Return what every state location remembers; one that cannot be read is not understood."""
    reads: list[DiscoveryRead] = []
    problems: list[UnclearFact] = []
    for files in memory_files(configuration):
        try:
            reads.append(read_discovery_memory(files))
        except OrphanGcError as err:
            field = FOLDER if isinstance(err, DamagedMemoryError) else ""
            origin = Origin(kind="State", namespace="", name=str(files.location), field=field)
            why = f"{err}: restore it" if field else str(err)
            problems.append(UnclearFact(why=why, origin=origin))
    return Memories(tuple(reads), tuple(problems))


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
    facts = [each for cluster in shown for each in cluster.jobs.items()]
    living = {job for job, each in facts if not each.is_globally_terminal}
    running = {job for job, each in facts if each.status == "RUNNING"}
    return tuple(
        each for each in candidates if each.successor in running and each.job_id not in living
    )


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
    place = root.location
    empty = [each for each in settings.empty_roots if not canonical(each).contains(place)]
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
    own, place = root.own_places, root.location
    without = [each for each in world.without_checkpoints if not canonical(each).contains(place)]
    found = [
        each for each in (*world.extra_roots, *world.known_roots) if canonical(each) not in own
    ]
    siblings = tuple(dict.fromkeys((*root.siblings, *found)))
    return root.model_copy(
        update={
            "siblings": siblings,
            "named_by_flink": (*world.extra_roots, *world.known_roots),
            "without_checkpoints": tuple(without),
            "unclear": tuple(map(block_of, world.unclear)),
        }
    )


def is_source(part: UnclearFact) -> bool:
    """Return whether a whole source could not be read: no word of a person stands for it."""
    kinds = {"Namespace", "Namespaces", "File", "Cluster", "State"}
    return part.origin.kind in kinds and not part.origin.field


def block_of(part: UnclearFact) -> str:
    """Return why a part blocks, and the one thing that lifts it."""
    if is_source(part):
        return f"{part.origin}: {part.why}"
    words = ["world", "acknowledge", "--config", "FILE", Condition.DISCOVERY_UNCLEAR, part.what]
    command = f"run: {shlex.join(['orphangc', *words])}"
    if part.is_present:
        return f"{part.origin}: {part.why}; once its files cannot be elsewhere: {command}"
    return f"{part.origin}: an earlier cycle read: {part.why}; if its files are gone: {command}"
