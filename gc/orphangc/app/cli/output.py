"""How commands print their results, and exit."""

from __future__ import annotations

from collections.abc import Iterable

import typer

from flinkstate.tables.printing import print_tables
from flinkstate.text.shown_text import visible
from orphangc.app.console.exit import complain
from orphangc.app.console.verbosity import asked
from orphangc.errors import ExitCode


def print_steps(lines: Iterable[str]) -> None:
    """Print what a person does next; nothing where only results are asked for."""
    from rich.text import Text  # noqa: PLC0415 - JSON needs none

    shown = () if asked.is_quiet else tuple(lines)
    print_tables([Text(visible(line)) for line in (*(("",) if shown else ()), *shown)])


def end(code: ExitCode, why: str | None = None) -> None:
    """Exit with a code other than "done", after printing the reason."""
    if code is ExitCode.DONE:
        return
    if why is not None:
        complain(why)
    raise typer.Exit(code)
