"""The command line: parses, calls, prints, exits. Data on stdout, logs and progress on stderr."""

from __future__ import annotations

from typing import NoReturn

from orphangc.shell.cli import collecting, examining, needing, scheduled, surroundings, world
from orphangc.shell.cli.application import app
from orphangc.shell.exits import run_to_exit

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = (collecting, examining, needing, scheduled, surroundings, world)
"""What registers commands, in the order in which the help shows them."""


def main() -> NoReturn:
    """Run the command line and exit with its code; no error of ours shows a traceback."""
    run_to_exit(app)
