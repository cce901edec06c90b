"""``discover``: what resources and configuration files say, and the settings that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from orphangc.app.commands.operate.health import CheckStatus
from orphangc.app.config.configuration import Configuration, DiscoverySettings
from orphangc.app.config.load import load_configuration
from orphangc.app.config.validate import first_problem
from orphangc.app.console.text import visible
from orphangc.app.wiring.discovering import Discovered, discovered
from orphangc.core.discovery.discovery_document import discovery_document, equivalent_settings
from orphangc.core.model.redaction import redacted
from orphangc.core.model.settings import without_credentials
from orphangc.errors import SettingsError


def discovery_of_call(config: Path | None, given: Mapping[str, Any]) -> Discovered:
    """Return what is discovered by a configuration file, by options, or by both.

    Raises:
        SettingsError: Nothing says what to read, or a setting is invalid.

    """
    configuration = Configuration() if config is None else load_configuration(config)
    own = configuration.discovery.model_dump(exclude_unset=True)
    chosen = {name: value for name, value in given.items() if value}
    try:
        settings = DiscoverySettings(**{**own, **chosen})
    except ValidationError as err:
        raise SettingsError(first_problem(err)) from err
    if not settings.is_on:
        raise SettingsError("give --namespace, --file, --flink-rest, or --config with discovery")
    return discovered(configuration.model_copy(update={"discovery": settings}))


def document_of(found: Discovered) -> dict[str, Any]:
    """Return the document of the contract, the differences and the equivalent settings beside."""
    return {
        **discovery_document(found.discovery, lost=found.lost, over=found.over),
        "differences": [each.model_dump() for each in found.different],
        "settings": settings_by_hand(found),
    }


def settings_by_hand(found: Discovered) -> dict[str, Any]:
    """Return the configuration that says by hand what was discovered."""
    roots = [
        {
            "root": each.root,
            "state": each.state,
            "closed_world": each.closed_world,
            "ended_job": list(each.ended_job),
            "empty_roots": list(each.empty_roots),
            "alias": list(each.alias),
        }
        for each in found.configuration.storage_roots
    ]
    shown = [without_credentials(each) for each in found.world.clusters]
    return equivalent_settings(found.world.model_copy(update={"clusters": tuple(shown)}), roots)


def yaml_of(found: Discovered) -> str:
    """Return the equivalent configuration as YAML."""
    return yaml.safe_dump(settings_by_hand(found), sort_keys=False, allow_unicode=True)


_COLUMNS: Mapping[str, Sequence[str]] = {
    "storage_roots": ("uri", "use"),
    "extra_roots": ("uri", "use"),
    "clusters": ("uri", "asked"),
    "ha": ("type", "where", "cluster_id"),
    "pins": ("uri",),
    "jobs": ("job_id", "name", "state", "followed_by"),
    "lineage": ("job_id", "continues"),
    "not_understood": ("why", "blocks", "statement"),
    "lost": ("what",),
}


def discovery_tables(found: Discovered) -> list[RenderableType]:
    """Return one table for each kind of fact, then the equivalent configuration."""
    document = discovery_document(found.discovery, lost=found.lost, over=found.over)
    return [*_tables(document), *_different(found), Text(yaml_of(found))]


def _tables(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    for kind, columns in _COLUMNS.items():
        if document[kind]:
            table = Table(*(kind.replace("_", " "), *columns[1:]), "from", "field")
            for each in document[kind]:
                source = each["from"]
                resource = "/".join(p for p in (source["kind"], source["namespace"]) if p)
                shown = f"{resource}/{source['name']}"
                cells = (*(_cell(each[name]) for name in columns), shown, source["field"])
                table.add_row(*(Text(visible(redacted(str(cell)))) for cell in cells))
            yield table


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no", None: ""}.get(value, str(value))


def _different(found: Discovered) -> Iterator[RenderableType]:
    if found.different:
        table = Table("setting", "value", "only in")
        for each in found.different:
            table.add_row(each.setting, visible(redacted(each.value)), each.only_in)
        yield table


def discovery_health(found: Discovered) -> tuple[CheckStatus, str]:
    """Return whether everything that was read is understood."""
    unclear = found.world.unclear
    read = len(found.discovery.present)
    said = f"{read} resources and files read, {len(found.world.known_roots)} storage roots"
    if not read:
        return CheckStatus.WARNING, "nothing of Flink's was found: mistyped?"
    if unclear:
        return CheckStatus.WARNING, f"{said}; not understood: {unclear[0].why}"
    if found.different:
        first = found.different[0]
        return (
            CheckStatus.WARNING,
            f"{said}; {first.setting} {first.value} is only in {first.only_in}",
        )
    return CheckStatus.GOOD, said
