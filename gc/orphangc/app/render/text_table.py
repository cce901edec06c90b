"""Tables of foreign text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from flinkstate.text.shown_text import visible


def text_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """Return a table whose texts have their control characters escaped."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*(c if isinstance(c, Text) else Text(visible(str(c))) for c in row))
    return table
