"""``world``: the places, clusters and memories that a deletion relies on."""

from __future__ import annotations

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
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.text_table import as_text
from orphangc.app.render.world_tables import world_tables
from orphangc.app.wiring.compose import opened, start_of, state_place
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.app.wiring.sharing import shared_checkpoints
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.unlisted_cycle import ShortCycle, unlisted_cycle
from orphangc.core.lineage.continuation import resources_by_job
from orphangc.core.memory.acknowledgement import acknowledging_command
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.known_states import KnownState
from orphangc.core.world.known_world import World, WorldChange, united_world, without_unasked
from orphangc.errors import NotReportedError, OrphanGcError

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
) -> ShortCycle:
    """Return what is known about a storage root without listing its objects; change nothing.

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.
    """
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

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.
    """
    registries = [str(canonical(source)) for source in settings.registry]
    found = _named(settings)
    world, unasked = without_unasked(found.world, registries)
    return replace(found, world=world, unasked=unasked)


def worlds_of(config: Path) -> dict[str, NamedWorld]:
    """Return the world of each configured storage root, by its URI.

    Raises:
        SettingsError: The configuration is not usable.
        OrphanGcError: A storage root, an extra root or a state location cannot be read.
    """
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
