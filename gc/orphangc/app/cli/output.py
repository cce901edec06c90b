"""How commands print their results, and exit."""

from __future__ import annotations

import sys
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

    from orphangc.app.render.sentences.next_steps import COMMAND  # noqa: PLC0415 - loads the documents

    for number, line in enumerate(() if asked.is_quiet else lines):
        if number == 0:
            sys.stdout.write("\n")
        if line.startswith(COMMAND):
            sys.stdout.write(f"{visible(line)}\n")
        else:
            print_tables([Text(visible(line))])


def end(code: ExitCode, why: str | None = None) -> None:
    """Exit with a code other than "done", after printing the reason."""
    if code is ExitCode.DONE:
        return
    if why is not None:
        complain(why)
    raise typer.Exit(code)
