"""The command line: parse, call, print, exit. Data goes to stdout, logs and progress to stderr."""

from __future__ import annotations

from typing import NoReturn

from orphangc.app.cli import checkpoint_commands as examining
from orphangc.app.cli import collect_commands as collecting
from orphangc.app.cli import dependency_commands as needing
from orphangc.app.cli import operate_commands as surroundings
from orphangc.app.cli import scheduled_commands as scheduled
from orphangc.app.cli import world_commands as world
from orphangc.app.cli.application import app
from orphangc.app.console.exit import run_to_exit

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = (collecting, examining, needing, scheduled, surroundings, world)
"""What registers commands, in the order in which the help shows them."""


def main() -> NoReturn:
    """Run the command line and exit with its code; no error of ours shows a traceback."""
    run_to_exit(app)
