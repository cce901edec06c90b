"""The command line: parse, call, print, exit. Data goes to stdout, logs and progress to stderr."""

import ctypes
import gc
import os
from contextlib import suppress
from typing import NoReturn

from flinkstate.console.exit import open_streams, run_to_exit
from orphangc.app.cli import (  # noqa: F401 - each registers its commands; the help has this order
    checkpoint_commands,
    collect_commands,
    dependency_commands,
    operate_commands,
    retention_commands,
    scheduled_commands,
    world_commands,
)
from orphangc.app.cli.application import app
from orphangc.app.console.exit import complain
from orphangc.hidden_modules import hide

__all__ = ["app", "main"]

_RARELY = (50_000, 20, 20)
"""Python's thresholds of garbage collection: the default ones take a thirtieth of a start, and of a
listing, to find nothing."""

_ONE_ARENA = (-8, 1)
"""glibc's ``M_ARENA_MAX``: with an arena for each thread, a plan holds 90 MiB more."""


def main() -> NoReturn:
    """Run the command line and exit with its code; no error of ours shows a traceback."""
    open_streams()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it would look for some
    gc.set_threshold(*_RARELY)
    with suppress(AttributeError):  # of another C library
        ctypes.CDLL(None).mallopt(*_ONE_ARENA)
    hide("pandas")  # only Spark needs it, whose session shows it again
    run_to_exit(app, complain)
