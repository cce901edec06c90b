"""``discover``: what resources and configuration files say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flinkstate.text.problems import first_problem
from flinkstate.text.shown_text import counted
from orphangc.app.commands.discover.equivalent_settings import settings_by_hand
from orphangc.app.commands.health import CheckStatus
from orphangc.app.config.configuration import Configuration, DiscoverySettings
from orphangc.app.config.load import load_configuration
from orphangc.app.wiring.discovering import Discovered, block_of, discovered
from orphangc.core.discovery.discovered_facts import Discovery
from orphangc.core.discovery.discovery_document import discovery_document
from orphangc.errors import SettingsError


def discovery_of_call(config: Path | None, given: Mapping[str, Any]) -> Discovered:
    """Return what is discovered by a configuration file, by options, or by both.

    Raises:
        SettingsError: Nothing says what to read, or a setting is invalid.
    """
    configuration = Configuration() if config is None else load_configuration(config)
    own = configuration.discovery.model_dump(exclude_unset=True)
    chosen = {name: value for name, value in given.items() if value}
    missing = [each for each in chosen.get("files", ()) if not Path(each).is_file()]
    if missing:
        raise SettingsError(f"--file {missing[0]}: there is no such file; nothing is shown")
    try:
        settings = DiscoverySettings(**{**own, **chosen})
    except ValidationError as err:
        raise SettingsError(f"discovery.{first_problem(err)}") from err
    if not settings.is_on:
        raise SettingsError("give --namespace, --file, --flink-rest, or --config with discovery")
    return discovered(configuration.model_copy(update={"discovery": settings}))


def document_of(found: Discovered) -> dict[str, Any]:
    """Return the document of the contract, and the equivalent settings beside."""
    return {
        **discovery_document(found.discovery, unclear=found.world.unclear, over=found.over),
        "settings": settings_by_hand(found),
    }


def unnamed_text(discovery: Discovery) -> str:
    """Return the workloads that look like Flink, and what may be missing of them."""
    shown = ", ".join(each.resource for each in discovery.unnamed)
    return (
        f"looks like Flink, and no configuration names it: {shown}; if it runs jobs, name its REST"
        " service in discovery.flink_rest"
    )


def discovery_health(found: Discovered) -> tuple[CheckStatus, str]:
    """Return whether everything can be read, and is named."""
    unclear = found.world.unclear
    read = counted(len(found.discovery.present), "resource or file", "resources and files")
    said = f"{read} read, {counted(len(found.world.known_roots), 'storage root')}"
    if not found.discovery.present:
        return CheckStatus.WARNING, "nothing of Flink's was found: mistyped?"
    if unclear:
        return CheckStatus.WARNING, f"{said}; blocks deletion: {block_of(unclear[0])}"
    if found.discovery.unnamed:
        return CheckStatus.WARNING, f"{said}; {unnamed_text(found.discovery)}"
    return CheckStatus.GOOD, said
