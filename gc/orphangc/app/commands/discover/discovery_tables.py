"""What was discovered, as tables for a terminal: what blocks first, the equivalent file last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from orphangc.app.commands.discover.equivalent_settings import yaml_of
from orphangc.app.console.text import visible
from orphangc.app.render.summary import counted
from orphangc.app.wiring.discovering import Discovered
from orphangc.core.discovery.discovery_document import discovery_document
from orphangc.core.model.redaction import redacted
from orphangc.core.model.settings import UnclearPart

_STATEMENT = re.compile(r" \((\S+#[0-9a-f]{12})\)\Z", re.ASCII)
"""The statement that explains a part, at the end of its message."""

_COLUMNS: Mapping[str, Sequence[str]] = {
    "storage_roots": ("uri",),
    "extra_roots": ("uri", "use", "searched"),
    "clusters": ("uri", "asked"),
    "ha": ("type", "where", "cluster_id"),
    "pins": ("uri",),
    "jobs": ("job_id", "name", "state", "followed_by"),
    "lineage": ("job_id", "continues"),
    "lost": ("what",),
}
_TITLES: Mapping[str, str] = {
    "extra_roots": "other directories",
    "ha": "high availability",
    "pins": "checkpoints and savepoints that are named",
    "lost": "read earlier, stated by nothing now (it still counts)",
}
_WHOLE = frozenset({"jobs", "lineage"})
"""Kinds whose first column, an id, is never folded."""


def discovery_tables(found: Discovered) -> list[RenderableType]:
    """Return what was found in numbers, what is not understood, all facts, and the same by hand."""
    document = discovery_document(found.discovery, lost=found.lost, over=found.over)
    return [
        Text(headline(found, document)),
        *map(_unclear, found.world.unclear),
        *_tables(document),
        *_different(found),
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


def _unclear(part: UnclearPart) -> RenderableType:
    """Return one part: where and what, what follows, and what lifts it."""
    match = _STATEMENT.search(part.why)
    lines = [f"blocks {'everything' if part.is_everywhere else ', '.join(part.reach)}"]
    if match:
        lines.append(
            "or say that everything that it could touch is searched:"
            f" discovery.explained: [{match[1]}]"
        )
    title = f"▲ not understood: {_STATEMENT.sub('', part.why)}"
    shown = [Padding(Text(visible(redacted(each))), (0, 0, 0, 4)) for each in lines]
    return Group(Text(visible(redacted(title)), style="yellow"), *shown)


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
    table.add_column(_TITLES.get(kind, kind.replace("_", " ")), no_wrap=kind in _WHOLE)
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


def _different(found: Discovered) -> Iterator[RenderableType]:
    if found.different:
        table = Table("setting", "value", "only in")
        for each in found.different:
            table.add_row(each.setting, Text(visible(redacted(each.value))), each.only_in)
        yield table
