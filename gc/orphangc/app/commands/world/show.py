"""``world``: the places, clusters and memories that a deletion relies on; and a person's statement
that one fact of an earlier cycle has ended.
"""

import getpass
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from rich.console import RenderableType
from rich.text import Text

from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import visible
from orphangc.adapters.open import open_storage
from orphangc.app.commands.discover.show_discovery import unnamed_text
from orphangc.app.config.load import load_configuration
from orphangc.app.config.validate import settings_from
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.text_table import as_text
from orphangc.app.render.world_tables import world_tables
from orphangc.app.telemetry.logs import always_shown
from orphangc.app.wiring.clock import now, this_process
from orphangc.app.wiring.compose import opened, shared_checkpoints, start_of, state_of, state_place
from orphangc.app.wiring.discovering import discovered, load_and_discover, memory_files
from orphangc.collect.decide.judged_cycle import JudgedCycle
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.state.discovery_memory import forget_discovery, remember
from orphangc.collect.state.memory_documents import DamagedMemoryError
from orphangc.collect.state.store import RootState
from orphangc.collect.unlisted_cycle import unlisted_cycle
from orphangc.collect.world.memory_files import (
    keep_acknowledgement,
    read_acknowledgements,
    read_memory,
    set_aside,
)
from orphangc.core.discovery.remembered_facts import memory_of
from orphangc.core.lineage.continuation import resources_by_job
from orphangc.core.memory.acknowledgement import Acknowledgement, acknowledging_command
from orphangc.core.memory.remembered import StandingFact
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.known_states import KnownState
from orphangc.core.world.known_world import World, WorldChange, united_world, without_unasked
from orphangc.errors import NotReportedError, OrphanGcError, SettingsError

log = structlog.get_logger()

_LONGEST_WAIT = timedelta(seconds=30)
"""Maximum time for an exporter to answer; a person waits for this command."""


def patient(settings: StorageRootSettings) -> StorageRootSettings:
    """Return the settings of a command that a person waits for."""
    wait = min(settings.registry_wait, _LONGEST_WAIT)
    return settings.model_copy(update={"registry_wait": wait})


def unlisted_cycle_of(
    settings: StorageRootSettings,
    shared: SharedCheckpoints | None = None,
    known: Sequence[KnownState] = (),
) -> JudgedCycle:
    """Return what is known about a storage root without listing its objects; change nothing."""
    start = start_of(patient(settings), known)
    with opened(start, lambda *_: None, shared=shared) as environment:
        return unlisted_cycle(environment, halted=start.state.halted(), before=start.before)


def _other_buckets(root: Location, world: World) -> tuple[tuple[str, ...], str | None]:
    """Return the buckets of the account that were not searched, or why they are not known."""
    try:
        found = open_storage(root).buckets() or ()
    except (NotReportedError, OrphanGcError) as err:
        return (), str(err)
    searched = {canonical(each.uri) for each in world.storages if each.problem is None}
    return tuple(each for each in found if canonical(each) not in searched), None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWorld:
    """The world of one storage root, and the names of its jobs.

    Attributes:
        resources: Kubernetes resources that run each job, or ran it, by job id.
        other_buckets: Buckets of the account that were not searched: information, which blocks
            nothing.
        bucket_problem: Reason for which they are not known; ``None`` if they are, or there are
            none.
        unasked: What earlier cycles know about places and clusters that the call did not name.
    """

    settings: StorageRootSettings
    world: World
    resources: Mapping[str, tuple[str, ...]]
    other_buckets: tuple[str, ...]
    bucket_problem: str | None
    unasked: tuple[WorldChange, ...] = ()

    def tables(self) -> Iterator[RenderableType]:
        """Yield it as tables."""
        yield from world_tables(self.world, self.unasked, JobNames(self.resources))
        yield from map(as_text, self._lifting())
        if self.bucket_problem is not None:
            yield Text(f"other buckets are not known: {self.bucket_problem}")
        elif self.other_buckets:
            names = ", ".join(map(visible, self.other_buckets))
            yield Text(f"buckets that this account can list and that are not searched: {names}")

    def _lifting(self) -> Iterator[str]:
        state = str(state_place(self.settings))
        for each in self.world.changed:
            if not each.acknowledged:
                command = acknowledging_command(
                    self.settings.root, each.condition, each.what, state=state
                )
                yield f"{each.condition} blocks; if that is as it should be, run: {command}"

    def document(self) -> dict[str, Any]:
        """Return the world with the buckets beside it."""
        buckets = {"unsearched": self.other_buckets, "problem": self.bucket_problem}
        return {**self.world.model_dump(mode="json"), "buckets": buckets}


def world_of_call(settings: StorageRootSettings) -> NamedWorld:
    """Return the world that the options name, and what earlier cycles know about the rest.

    Another configuration may name what the options leave out: it is neither lost nor silent.
    """
    registries = [str(canonical(source)) for source in settings.registry]
    found = _named(settings)
    world, unasked = without_unasked(found.world, registries)
    return replace(found, world=world, unasked=unasked)


def worlds_of(config: Path) -> dict[str, NamedWorld]:
    """Return the world of each configured storage root, by its URI."""
    found = load_and_discover(config)
    if found.discovery.unnamed:
        log.warning("workloads.unnamed", message=unnamed_text(found.discovery))
    roots, shared = found.configuration.storage_roots, shared_checkpoints()
    return {each.root: _named(each.bare, shared) for each in roots}


def _named(settings: StorageRootSettings, shared: SharedCheckpoints | None = None) -> NamedWorld:
    known = unlisted_cycle_of(settings, shared)
    unsearched, problem = _other_buckets(settings.location, known.world)
    return NamedWorld(
        settings=settings,
        world=known.world,
        resources=known.resources,
        other_buckets=unsearched,
        bucket_problem=problem,
    )


def document_of_call(found: NamedWorld) -> dict[str, Any]:
    """Return the world of one storage root as a document."""
    parts = [each.model_dump(mode="json") for each in found.unasked]
    return {**found.document(), "resources": dict(found.resources), "unasked": parts}


def world_document(worlds: dict[str, NamedWorld]) -> dict[str, Any]:
    """Return all worlds as one document, in ``storage_roots``."""
    parts = {root: each.document() for root, each in worlds.items()}
    united = united_world([each.world for each in worlds.values()])
    ran = ((j, n) for each in worlds.values() for j, names in each.resources.items() for n in names)
    return {
        **united.model_dump(mode="json"),
        "resources": resources_by_job(ran),
        "storage_roots": parts,
    }


def worlds_shown(worlds: dict[str, NamedWorld]) -> Iterator[RenderableType]:
    """Yield the tables of each world, below the URI of its storage root."""
    for root, world in worlds.items():
        yield as_text(root, "bold")
        yield from world.tables()


def acknowledge(
    condition: str,
    what: str,
    *,
    root: str | None = None,
    config: Path | None = None,
    state: str | None = None,
) -> list[Acknowledgement]:
    """Write an acknowledgement to the state and the audit log, and return it.

    Args:
        what: The place, directory, checkpoint, cluster, state or file that its message names.
        root: Storage root that it blocks, unless a configuration names it.
        config: Configuration file; the acknowledgement holds for every storage root that the fact
            blocks.

    Raises:
        SettingsError: No such fact blocked the last plan; the message names those that did.
        OrphanGcError: The state location cannot be read or written.
    """
    if condition == Condition.DISCOVERY_UNCLEAR:
        return [_acknowledged_part(config, what)]
    states = [state_of(each) for each in _settings(root, config, state)]
    given = [word for each in states for word in _acknowledged(each, condition, what)]
    if not given:
        standing = [f"{e.condition} {e.what}" for one in states for e in _standing(one)]
        known = "; ".join(standing) or "no such fact"
        raise SettingsError(f"nothing blocks with {condition} {what}; the last plan knows {known}")
    return given


def _settings(
    root: str | None, config: Path | None, state: str | None
) -> Sequence[StorageRootSettings]:
    if (root is None) == (config is None):
        raise SettingsError("give either a storage root or --config")
    if config is not None:
        return load_and_discover(config).configuration.storage_roots or ()
    return [settings_from({"root": root, "state": state})]


def _standing(state: RootState) -> Iterator[StandingFact]:
    try:
        read_acknowledgements(state)
        yield from read_memory(state).memory.standing
    except DamagedMemoryError as err:
        at = state.files.modified_at(err.name) or now()
        yield StandingFact(condition=Condition.MEMORY_UNREADABLE, what=err.name, since=at)


def _acknowledged(state: RootState, condition: str, what: str) -> Iterator[Acknowledgement]:
    for fact in list(_standing(state)):
        if (fact.condition, fact.what) != (condition, what):
            continue
        word = Acknowledgement(
            condition=condition, what=what, since=fact.since, at=now(), by=_person()
        )
        if condition == Condition.MEMORY_UNREADABLE:
            set_aside(state, what)
        keep_acknowledgement(state, word)
        facts = word.model_dump(mode="json")
        always_shown().info("world.acknowledged", root=str(state.root), **facts)
        yield word


def _acknowledged_part(config: Path | None, what: str) -> Acknowledgement:
    """Write that a part of a discovery that cannot be read matters no more, and return that."""
    if config is None:
        raise SettingsError("give --config: what cannot be read is a part of its discovery")
    found = discovered(load_configuration(config))
    parts = {each.word: each for each in found.world.unclear if not each.is_source}
    if what not in parts:
        known = "; ".join(parts) or "nothing that can be acknowledged"
        raise SettingsError(f"no part is called {what}; the discovery knows {known}")
    time = now()
    word = Acknowledgement(
        condition=Condition.DISCOVERY_UNCLEAR, what=what, since=time, at=time, by=_person()
    )
    memories, part = found.memories, parts[what]
    if part.origin.kind == "State":
        for files in memory_files(found.configuration):
            if str(files.location) == part.origin.name:
                forget_discovery(files)
    else:
        words = (*memories.before.acknowledged, word)
        remember(memory_of(found.discovery, words), memories)
    always_shown().info("world.acknowledged", **word.model_dump(mode="json"))
    return word


def _person() -> str:
    """Return the account and the host of this process; a container's account may have no name."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):
        account = "unknown"
    return f"{account}@{this_process().host}"
