"""How commands print their results, and exit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from orphangc.app.console import options as o
from orphangc.app.console.exit import complain
from orphangc.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_json(data: Any) -> None:
    """Print a document."""
    sys.stdout.write(json.dumps(data, indent=1, default=str) + "\n")


def print_tables(tables: list[RenderableType]) -> None:
    """Print tables as wide as the terminal, or 120 columns; what is longer goes on below.

    No cell is cut off: the end of a path is what identifies it. No text is markup: the name of a
    folder may look like it.
    """
    from rich.console import Console  # noqa: PLC0415 - JSON needs none

    width = None if sys.stdout.isatty() else 120
    console = Console(soft_wrap=False, width=width, markup=False, emoji=False)
    for table in tables:
        _fold(table)
        console.print(table)


def _fold(shown: RenderableType) -> None:
    from rich.console import Group  # noqa: PLC0415 - JSON needs none
    from rich.table import Table  # noqa: PLC0415

    if isinstance(shown, Group):
        for each in shown.renderables:
            _fold(each)
    if isinstance(shown, Table):
        for column in shown.columns:
            column.overflow = "fold"


def show(output: o.Output | None, document: Any, shown: Callable[[], list[RenderableType]]) -> None:
    """Print a document as JSON or, on a terminal, as tables."""
    if is_json(output):
        print_json(document)
    else:
        print_tables(shown())


def end(code: ExitCode, why: str | None = None) -> None:
    """Exit with a code other than "done", after printing the reason."""
    if code is ExitCode.DONE:
        return
    if why is not None:
        complain(why)
    raise typer.Exit(code)


def is_json(output: o.Output | None) -> bool:
    """Return whether JSON is asked for; it is the default if stdout is no terminal."""
    return o.is_json(output, is_terminal=sys.stdout.isatty)
