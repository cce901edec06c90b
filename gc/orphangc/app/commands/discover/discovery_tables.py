"""What was discovered, as tables for a terminal: what blocks first, the equivalent file last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import counted, visible
from orphangc.app.commands.discover.equivalent_settings import yaml_of
from orphangc.app.wiring.discovering import Discovered, block_of
from orphangc.core.discovery.discovered_facts import UnclearFact
from orphangc.core.discovery.discovery_document import discovery_document

_COLUMNS: Mapping[str, Sequence[str]] = {
    "storage_roots": ("uri",),
    "extra_roots": ("uri", "use", "searched"),
    "clusters": ("uri", "asked"),
    "ha": ("type", "where", "cluster_id"),
    "pins": ("uri",),
    "jobs": ("job_id", "name", "state", "followed_by"),
    "unnamed": ("name",),
}
_TITLES: Mapping[str, str] = {
    "extra_roots": "other directories",
    "ha": "high availability",
    "pins": "checkpoints and savepoints that are named",
    "unnamed": "looks like Flink, and no configuration names it",
}


def discovery_tables(found: Discovered) -> list[RenderableType]:
    """Return what was found in numbers, what is not understood, all facts, and the same by hand."""
    unclear = found.world.unclear
    document = discovery_document(found.discovery, unclear=unclear, over=found.over)
    return [
        Text(headline(found, document)),
        *map(_unclear, unclear),
        *_tables(document),
        Text(_by_hand(found)),
    ]


def _by_hand(found: Discovered) -> str:
    if not found.configuration.storage_roots:
        return "Nothing that was read names a storage root."
    shown = yaml_of(found, names_parts=False)
    return f"As a configuration file (--as-config prints only this):\n\n{shown}"


def headline(found: Discovered, document: Mapping[str, Any]) -> str:
    """Return what was found, in one sentence."""
    parts = (
        counted(len(found.world.known_roots), "storage root"),
        counted(len(document["clusters"]), "cluster"),
        counted(len(document["jobs"]), "job"),
    )
    read = counted(len(found.discovery.present), "resource or file", "resources and files")
    unclear = len(found.world.unclear)
    blocks = (
        f"; {counted(unclear, 'part')} not understood, which blocks deletion" if unclear else ""
    )
    return f"{', '.join(parts)} in {read}{blocks}"


def _unclear(part: UnclearFact) -> RenderableType:
    return Text(visible(redacted(f"▲ blocks everything: {block_of(part)}")), style="yellow")


def _tables(document: Mapping[str, Any]) -> Iterator[RenderableType]:
    for kind, columns in _COLUMNS.items():
        if document[kind]:
            yield _table(kind, columns, document[kind])


def _table(kind: str, columns: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> Table:
    """Return the entries of one kind; a column that is empty in all of them is left out."""
    first, *others = columns
    filled = [name for name in others if any(each[name] not in {None, ""} for each in entries)]
    has_earlier = not all(each.get("present", True) for each in entries)
    table = Table()
    table.add_column(_TITLES.get(kind, kind.replace("_", " ")), no_wrap=kind == "jobs")
    seen = ["seen"] if has_earlier else []
    for title in (*filled, *seen, "from", "field"):
        table.add_column(title.replace("_", " "))
    for each in entries:
        when = ["now" if each.get("present", True) else "earlier"] if has_earlier else []
        source = each["from"]
        shown = "/".join(p for p in (source["kind"], source["namespace"], source["name"]) if p)
        cells = (*(_cell(each[name]) for name in (first, *filled)), *when, shown, source["field"])
        table.add_row(*(Text(visible(redacted(cell))) for cell in cells))
    return table


def _cell(value: Any) -> str:
    return {True: "yes", False: "no", None: ""}.get(value, str(value))
