"""How results are printed: as JSON, or as tables in one light style as wide as the terminal.

No value is ever broken. A column without values is left out. Where a terminal is too narrow,
columns are left out in a stated order; where even that does not help, each row becomes a paragraph
of ``column: value`` lines with all of its columns. A command in a text stands on a line of its own,
whole, so that it can be copied: behind ``run:``, up to a semicolon, or as a line that begins with
two spaces.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Column, Table
    from rich.text import Text

COMMAND_IN_TEXT = r"""(?<=[Rr]un: )(?:orphangc|flinkstate|aws) (?:'[^']*'|"[^"]*"|[^;'"\n])+"""
"""Pattern of a command in a sentence."""

_IN_TEXT = re.compile(f"({COMMAND_IN_TEXT})")
_LINE = re.compile(r" {2,}(?:orphangc |flinkstate |aws |--)")


def split_commands(text: str) -> list[str]:
    """Return the parts of a text; every second one is a command."""
    return _IN_TEXT.split(text)


def followed(text: str, sentence: str) -> str:
    """Return a text with one more sentence, which is no part of a command at the text's end."""
    *_, end = split_commands(text)
    return f"{text}{'.' if end else ';'} {sentence}"


def is_command(line: str) -> bool:
    """Return whether a line is a command, which may not be broken."""
    return _LINE.match(line) is not None


def apart(text: Text) -> Text:
    """Return a text with each of its commands on a line of its own."""
    from rich.text import Text  # noqa: PLC0415 - JSON needs none

    shown, at = Text(style=text.style), 0
    for number, part in enumerate(split_commands(text.plain)):
        is_last = at + len(part) == len(text.plain)
        if number % 2:
            shown += Text("\n  ") + text[at : at + len(part)] + ("" if is_last else "\n")
        else:
            skipped = len(part) - len(part.lstrip("; ")) if number else 0
            prose = text[at + skipped : at + len(part)]
            prose.rstrip()
            shown += prose
        at += len(part)
    return shown


class Output(StrEnum):
    """Format of a command's result on stdout."""

    TABLE = "table"
    JSON = "json"


class InspectOutput(StrEnum):
    """Format of checkpoints on stdout."""

    TABLE = "table"
    TREE = "tree"
    JSON = "json"
    JSONL = "jsonl"


def print_json(data: Any) -> None:
    """Print a document; times are spelled as models spell them."""
    sys.stdout.write(json.dumps(data, indent=1, default=_spelled) + "\n")


def _spelled(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


def print_tables(tables: list[RenderableType]) -> None:
    """Print tables as wide as the terminal, or 120 columns, in the one light style.

    No word is broken: the end of a path is what identifies it. No text is markup: the name of a
    folder may look like it.
    """
    from rich.console import Console  # noqa: PLC0415 - JSON needs none

    width = None if sys.stdout.isatty() else 120
    console = Console(soft_wrap=False, width=width, markup=False, emoji=False, highlight=False)
    for table in tables:
        _print(console, table)


def _print(console: Console, shown: RenderableType) -> None:
    from rich.console import Group  # noqa: PLC0415 - JSON needs none
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    match shown:
        case Group():
            for each in shown.renderables:
                _print(console, each)
        case Table():
            for each in fitted(shown, console.width):
                if isinstance(each, Text):
                    print_text(console, each)
                else:
                    console.print(each, crop=False)
        case Padding(renderable=Text() as text):
            print_text(console, text, shown.left)
        case Text():
            print_text(console, shown)
        case _:
            console.print(shown)


def print_text(console: Console, text: Text, indent: int = 0) -> None:
    """Print a text with its lines filled; commands, and words longer than a line, stay whole."""
    for line in apart(text).split("\n", allow_blank=True):
        lead = indent + len(line.plain) - len(line.plain.lstrip(" "))
        words = line[lead - indent :]
        room = max(console.width - lead, 20)
        for part in [words] if is_command(line.plain) else filled(words, room):
            part.pad_left(lead)
            console.print(part, crop=False, no_wrap=True, overflow="ignore")


def show(output: Output | None, document: Any, shown: Callable[[], list[RenderableType]]) -> None:
    """Print a document as JSON or, on a terminal, as tables."""
    if is_json(output):
        print_json(document)
    else:
        print_tables(shown())


def is_json(output: Output | None) -> bool:
    """Return whether JSON is asked for; it is the default if stdout is no terminal."""
    return not sys.stdout.isatty() if output is None else output is Output.JSON


DROPPED = (
    *("inline", "exactly", "share", "device", "compressed", "serializers", "known since", "live"),
    *("listed", "mode", "kind", "offset", "partitions", "retained", "since", "at", "from"),
    *("newest", "stored", "bytes", "files", "jobs"),
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
    paragraphs = list(_paragraphs(table, width))
    _keep(table, (each for each in table.columns if any(list(_texts(each))[1:])))
    for name in DROPPED:
        if _is_within(table, width):
            break
        _keep(table, (each for each in table.columns if next(_texts(each)) != name))
    shown = [table] if _is_within(table, width) else paragraphs
    return [*before, *shown, *after]


def _is_within(table: Table, width: int) -> bool:
    return sum(_width(column) + _GAP for column in table.columns) <= width + 1


def _width(column: Column) -> int:
    from rich.cells import cell_len  # noqa: PLC0415

    lines = (line for text in _texts(column) for line in text.splitlines())
    return max(map(cell_len, lines), default=0)


def _texts(column: Column) -> Iterator[str]:
    from rich.text import Text  # noqa: PLC0415

    for cell in (column.header, *column.cells):
        yield cell.plain if isinstance(cell, Text) else str(cell)


def _keep(table: Table, columns: Iterable[Column]) -> None:
    table.columns = list(columns) or table.columns
    for number, column in enumerate(table.columns):
        column._index = number  # noqa: SLF001 - Rich asks it which column is the last


def _paragraphs(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield a table's rows as text: the first value, and below it the others, together if short."""
    from rich.text import Text  # noqa: PLC0415

    headers, *rows = zip(*map(_texts, table.columns), strict=True)
    for row in rows:
        first, *others = map(_labelled, headers, row)
        more = [each for each in others if each]
        short = ", ".join(more)
        lines = [short] if len(short) + _GAP <= width else more
        yield Text("\n".join(each for each in (first, *(f"  {line}" for line in lines)) if each))


def _labelled(header: str, value: str) -> str:
    value = ", ".join(value.splitlines())
    return f"{header}: {value}" if header and value else value


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
