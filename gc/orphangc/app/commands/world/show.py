"""``world``: the places, clusters and memories that a deletion relies on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from orphangc.app.console.text import visible
from orphangc.app.render.world_tables import world_tables
from orphangc.app.wiring.compose import opened, state_of
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.app.wiring.sharing import shared_checkpoints
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.unlisted_cycle import UnlistedCycle, unlisted_cycle
from orphangc.collect.world.recalling import recalled
from orphangc.core.model.locations import canonical
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world import World, WorldChange
from orphangc.core.world.unasked import without_unasked
from orphangc.core.world.united import united_world

_LONGEST_WAIT = timedelta(seconds=30)
"""Maximum time for an exporter to answer; a person waits for this command."""


def unlisted_cycle_of(
    settings: StorageRootSettings, shared: SharedCheckpoints | None = None
) -> UnlistedCycle:
    """Return what is known about a storage root without listing its objects; change nothing.

    Args:
        settings: Settings of the storage root.
        shared: Checkpoints that other storage roots of the same file have read.

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.

    """
    state = state_of(settings)
    wait = min(settings.registry_wait, _LONGEST_WAIT)
    before = recalled(state)
    patient = settings.model_copy(update={"registry_wait": wait})
    with opened(patient, lambda *_: None, memory=before.memory) as root:
        return unlisted_cycle(
            root.environment,
            root.settings,
            reader=CheckpointReader.of(settings, shared),
            halted=state.halted(),
            before=before,
        )


def world_of_call(settings: StorageRootSettings) -> tuple[World, tuple[WorldChange, ...]]:
    """Return the world that the options name, and what earlier cycles know about the rest.

    Another configuration may name what the options leave out: it is neither lost nor silent.

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.

    """
    registries = [str(canonical(source)) for source in settings.registry]
    return without_unasked(unlisted_cycle_of(settings).world, registries)


def worlds_of(config: Path) -> dict[str, World]:
    """Return the world of each configured storage root, by its URI.

    Raises:
        SettingsError: The configuration is not usable.
        OrphanGcError: A storage root, an extra root or a state location cannot be read.

    """
    roots = load_and_discover(config).configuration.storage_roots
    shared = shared_checkpoints()
    return {each.root: unlisted_cycle_of(each.bare, shared).world for each in roots}


def world_document(worlds: dict[str, World]) -> dict[str, Any]:
    """Return all worlds as one document, in ``storage_roots``."""
    parts = {root: world.model_dump(mode="json") for root, world in worlds.items()}
    return {**united_world([*worlds.values()]).model_dump(mode="json"), "storage_roots": parts}


def worlds_shown(worlds: dict[str, World]) -> list[RenderableType]:
    """Return the tables of each world, below the URI of its storage root."""
    return [each for root, world in worlds.items() for each in _shown(root, world)]


def _shown(root: str, world: World) -> Iterator[RenderableType]:
    yield Text(visible(root), style="bold")
    yield from world_tables(world)
