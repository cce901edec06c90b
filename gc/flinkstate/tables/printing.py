"""How results are printed: as JSON, or as tables in one light style as wide as the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from flinkstate.tables.command_lines import apart, is_command
from flinkstate.tables.light_table import filled, fitted

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


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
    """Print a document."""
    sys.stdout.write(json.dumps(data, indent=1, default=str) + "\n")


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
