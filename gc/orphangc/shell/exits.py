"""How a command ends: with a stable code, and one line on stderr where something went wrong."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

from orphangc.errors import ExitCode, OrphanGcError

__all__ = ["complain", "run_to_exit"]


def complain(message: str) -> None:
    """Say in one line on stderr what went wrong."""
    line = " ".join(message.split())
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"orphangc: {escape(line)}")


def run_to_exit(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its code; no error of ours shows a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _on_signal)
    try:
        command()
    except OrphanGcError as err:
        complain(str(err))
        sys.exit(err.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.FAILED)
    except OSError as err:
        complain(str(err))
        sys.exit(ExitCode.FAILED)
    sys.exit(ExitCode.DONE)


def _on_signal(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
