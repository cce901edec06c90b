"""``world acknowledge``: a person's statement that one fact of an earlier cycle has ended."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Sequence
from pathlib import Path

from orphangc.app.config.load import load_configuration
from orphangc.app.config.validate import settings_from
from orphangc.app.telemetry.logs import always_shown
from orphangc.app.wiring.clock import now, this_process
from orphangc.app.wiring.compose import state_of
from orphangc.app.wiring.discovering import discovered, load_and_discover, memory_files
from orphangc.collect.state.discovery_memory import forget_discovery, remember
from orphangc.collect.state.memory_documents import DamagedMemoryError
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import (
    keep_acknowledgement,
    read_acknowledgements,
    read_memory,
    set_aside,
)
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.remembered import StandingFact
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import SettingsError


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
        remember(found.discovery, memories, (*memories.before.acknowledged, word))
    always_shown().info("world.acknowledged", **word.model_dump(mode="json"))
    return word


def _person() -> str:
    """Return the account and the host of this process; a container's account may have no name."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):
        account = "unknown"
    return f"{account}@{this_process().host}"
