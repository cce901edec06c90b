"""Open what a configuration's discovery names, ask each of it once, and complete the settings."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from platformdirs import user_state_path

from flinkstate.files.paths import resolved
from flinkstate.places.locations import canonical, parse_alias
from orphangc.adapters.flink.flink_rest import FlinkRest
from orphangc.adapters.open import open_state_files, server_of
from orphangc.app.config.configuration import Configuration, DiscoverySettings
from orphangc.app.config.load import load_configuration, with_world
from orphangc.app.wiring.compose import REST_TIMEOUT
from orphangc.collect.discovery import ClusterAnswer, shown_now
from orphangc.collect.state.discovery_memory import Memories, read_memories, remember
from orphangc.core.discovery.discovered_facts import Discovery
from orphangc.core.discovery.discovered_world import DiscoveredWorld, world_of_discovery
from orphangc.core.discovery.one_spelling import spelled_once, spellings
from orphangc.core.discovery.remembered_facts import Succession, memory_of, successions, united
from orphangc.core.discovery.sources.read_resources import FileText, NamespaceDocuments
from orphangc.core.discovery.texts.flink_options import Reading
from orphangc.core.model.settings import without_credentials
from orphangc.core.world.store_servers import host_of
from orphangc.errors import OrphanGcError, RegistryUnavailableError, SettingsError
from orphangc.ports import StateFiles

_LISTED = 1 << 20
_PATIENCE = timedelta(seconds=10)
"""Time limit of the one question to each cluster; cycles ask it again, with more patience."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What was discovered, and the configuration that it completes."""

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
    if found.configuration.storage_roots:
        return found
    for first in found.discovery.unclear:
        raise RegistryUnavailableError(f"{first.origin}: {first.why}")
    raise SettingsError(
        f"{path}: discovery names no storage root; orphangc discover shows what it reads"
    )


def discovered(
    configuration: Configuration, *, is_remembered: bool = False, lists_jobs: bool = False
) -> Discovered:
    """Return what a configuration's discovery finds: load, discover, complete.

    Args:
        lists_jobs: Whether to show the jobs that clusters list now; cycles ask for themselves.

    Raises:
        SettingsError: The extra ``kubernetes`` is not installed, or a discovered storage root
            cannot be configured.
    """
    settings, reading = configuration.discovery, _reading(configuration)
    documents, memories = _documents(settings), read_memories(memory_files(configuration))
    every = "every namespace" if settings.all_namespaces else ""
    by_hand = {without_credentials(each): each for each in settings.flink_rest}
    shown = shown_now(
        documents,
        map(_file, settings.files),
        [*by_hand],
        partial(_answer, by_hand, lists_jobs=lists_jobs),
        reading=reading,
        memories=memories,
        selection=settings.namespace_selector or every,
    )
    before, roots = memories.before, [each.root for each in configuration.storage_roots]
    aliases = spellings((*shown.resources, *before.resources), roots, real=resolved)
    shown, before = spelled_once(shown, aliases), spelled_once(before, aliases)
    known = united(shown, before)
    found = world_of_discovery(
        known,
        configured=roots,
        acknowledged={each.what for each in before.acknowledged},
        namespaces=[each.namespace for each in documents],
    )
    clusters = tuple(by_hand.get(each, each) for each in found.clusters)
    world = found.model_copy(update={"clusters": clusters})
    over = _confirmed(successions(known), clusters)
    if is_remembered and not memories.problems:
        remember(memory_of(known, before.acknowledged), memories)
    return Discovered(
        configuration=with_world(configuration, world, [each.job_id for each in over], aliases),
        discovery=known,
        world=world,
        over=over,
        memories=memories,
    )


def _answer(by_hand: Mapping[str, str], address: str, *, lists_jobs: bool) -> ClusterAnswer:
    client = FlinkRest(by_hand.get(address, address), timeout=_PATIENCE)
    try:
        answer = ClusterAnswer(options=client.options())
    except OrphanGcError as err:
        answer = ClusterAnswer(problem=str(err))
    with suppress(OrphanGcError):
        if lists_jobs:
            return replace(answer, jobs=client.listed())
    return answer


def _documents(settings: DiscoverySettings) -> list[NamespaceDocuments]:
    if not (settings.namespaces or settings.all_namespaces or settings.namespace_selector):
        return []
    from orphangc.adapters.kubernetes.namespace_listing import read_namespace, selected_namespaces  # noqa: PLC0415

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


def _reading(configuration: Configuration) -> Reading:
    """Return how paths are read: aliases of all storage roots hold for discovered paths, too."""
    settings = configuration.discovery
    texts = (*settings.alias, *(a for each in configuration.storage_roots for a in each.alias))
    return Reading(
        aliases=tuple(parse_alias(each) for each in dict.fromkeys(texts)),
        server_of=server_of,
        endpoints=frozenset(map(host_of, settings.s3_endpoints)) - {""},
        rest=settings.rest,
    )


def memory_files(configuration: Configuration) -> list[StateFiles]:
    """Return every state location: each remembers all, so that none of them may be the first."""
    states = (configuration.discovery.state, *(r.state for r in configuration.storage_roots))
    places = dict.fromkeys(str(canonical(each)) for each in states if each)
    own = str(user_state_path("orphangc") / "discovered")
    return [open_state_files(each) for each in places or (own,)]


def _confirmed(candidates: Sequence[Succession], clusters: Iterable[str]) -> tuple[Succession, ...]:
    """Return the jobs whose successors REST shows running, while no cluster shows the job itself.

    A cluster without an answer may run it: then none of them is confirmed.
    """
    if not candidates:
        return ()
    try:
        shown = [FlinkRest(url, timeout=REST_TIMEOUT).observe() for url in clusters]
    except OrphanGcError:
        return ()
    facts = [each for cluster in shown for each in cluster.jobs.items()]
    living = {job for job, each in facts if not each.is_globally_terminal}
    running = {job for job, each in facts if each.status == "RUNNING"}
    return tuple(
        each for each in candidates if each.successor in running and each.job_id not in living
    )
