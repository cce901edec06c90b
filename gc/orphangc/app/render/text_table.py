"""Foreign text, and tables of it, for a terminal."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from flinkstate.text.shown_text import visible


def as_text(value: object, style: str = "") -> Text:
    """Return foreign text with its control characters escaped."""
    return Text(visible(str(value)), style=style)


def text_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """Return a table whose texts have their control characters escaped."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else as_text(cell) for cell in row))
    return table
