"""The one style of tables: light lines, and no word or id is ever broken.

Where a terminal is too narrow, columns are left out in a stated order; where even that does not
help, each row becomes a paragraph of ``column: value`` lines, which the terminal itself wraps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Column, Table
    from rich.text import Text

DROPPED = (
    *("exactly", "share", "device", "compressed", "serializers", "known since", "live", "listed"),
    *(
        "mode",
        "kind",
        "offset",
        "partitions",
        "retained",
        "since",
        "at",
        "from",
        "newest",
        "stored",
    ),
    *("bytes", "files"),
)
"""Columns that a narrow terminal leaves out, the first one first; their table must have others."""

_GAP = 2
_WORD = re.compile(r"(?:orphangc (?:world )?[a-z-]+|--[a-z-]+ [A-Z])\S*|\S+")
"""A word, the name of a command, or an option with its value: nothing breaks it."""


def fitted(table: Table, width: int) -> list[RenderableType]:
    """Return a table in the light style that fits, or the paragraphs of its rows.

    Args:
        table: The table; it is changed.
        width: Columns of the terminal.

    """
    from rich import box  # noqa: PLC0415 - JSON needs none
    from rich.text import Text  # noqa: PLC0415

    title, caption = table.title, table.caption
    table.title = table.caption = None
    before = [Text(str(title), style="bold")] if title else []
    after = [Text(str(caption), style="dim")] if caption else []
    table.box, table.pad_edge, table.padding = box.SIMPLE_HEAD, False, (0, 1, 0, 0)
    table.show_edge = False
    least = {id(column): _least(column) for column in table.columns}

    def spare() -> int:
        return width + 1 - sum(least[id(column)] + _GAP for column in table.columns)

    for name in DROPPED:
        if spare() >= 0:
            break
        _drop(table, name)
    if spare() < 0:
        return [*before, *_paragraphs(table), *after]
    _share_out(table.columns, least, spare())
    return [*before, table, *after]


def _share_out(columns: Sequence[Column], least: Mapping[int, int], spare: int) -> None:
    """Give each column the width that its words need, and more where its cells are longer."""
    wanted = sorted((_most(column) - least[id(column)], n) for n, column in enumerate(columns))
    for position, (more, number) in enumerate(wanted):
        given = min(more, spare // (len(wanted) - position))
        columns[number].width = least[id(columns[number])] + given
        spare -= given


def _most(column: Column) -> int:
    from rich.cells import cell_len  # noqa: PLC0415

    lines = (line for text in _texts(column) for line in text.splitlines())
    return max(map(cell_len, lines), default=0)


def _texts(column: Column) -> Iterator[str]:
    """Yield the header and every cell of a column as plain text."""
    from rich.text import Text  # noqa: PLC0415

    for cell in (column.header, *column.cells):
        yield cell.plain if isinstance(cell, Text) else str(cell)


def _least(column: Column) -> int:
    """Return the width in which no word of a column is broken; numbers with units are one word."""
    from rich.cells import cell_len  # noqa: PLC0415

    is_whole = column.no_wrap or column.justify == "right"
    words = (
        word
        for text in _texts(column)
        for word in (text.splitlines() if is_whole else text.split())
    )
    return max(map(cell_len, words), default=0)


def _drop(table: Table, name: str) -> None:
    from rich.text import Text  # noqa: PLC0415

    def is_named(column: Column) -> bool:
        header = column.header
        return (header.plain if isinstance(header, Text) else str(header)) == name

    if len(table.columns) > 1:
        table.columns = [each for each in table.columns if not is_named(each)]
        for number, column in enumerate(table.columns):
            column._index = number  # noqa: SLF001 - Rich asks it which column is the last


def _paragraphs(table: Table) -> Iterator[RenderableType]:
    """Yield a table's rows as text, one value a line."""
    from rich.text import Text  # noqa: PLC0415

    headers, *rows = zip(*map(_texts, table.columns), strict=True)
    for row in rows:
        yield Text("\n".join(_lines(headers, row)))


def _lines(headers: Sequence[str], row: Iterable[str]) -> Iterator[str]:
    for number, (header, value) in enumerate(zip(headers, row, strict=True)):
        if value := ", ".join(value.splitlines()):
            lead = "" if number == 0 else "  "
            yield f"{lead}{header}: {value}" if header else f"{lead}{value}"


def filled(line: Text, width: int) -> Iterator[Text]:
    """Yield a line in parts of at most a width; a longer word is a part of its own."""
    from rich.cells import cell_len  # noqa: PLC0415

    start, used, begin = 0, 0, 0
    plain = line.plain
    for match in _WORD.finditer(plain):
        end = match.end()
        size = cell_len(plain[start:end].rstrip())
        if used and size > width:
            yield _cut(line, start, begin)
            start = match.start()
        used, begin = 1, end
    yield _cut(line, start, len(plain))


def _cut(line: Text, start: int, end: int) -> Text:
    part = line[start:end]
    part.rstrip()
    return part
