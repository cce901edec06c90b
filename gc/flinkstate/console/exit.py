"""How a command ends: with a stable code, and one line on stderr for an error."""

import io
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from flinkstate.errors import ExitCode, FlinkStateError
from flinkstate.tables.printing import print_text
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import visible

ENDING = (signal.SIGINT, signal.SIGTERM)
"""Signals that end a process in order."""

SIGNALLED = 128
"""Base of the exit code of a process that a signal ended; the signal's number is added."""


class Interrupted(SystemExit):
    """A signal ended the work; ``is_said`` once a person was shown what follows from it."""

    is_said = False


def complain_as(program: str, message: str) -> None:
    """Print an error in one line on stderr, if it can be written, without the credentials of any
    URL; on a terminal as every other text.
    """
    from rich.console import Console  # noqa: PLC0415 - most commands end without an error
    from rich.text import Text  # noqa: PLC0415

    line = Text(f"{program}: {visible(' '.join(redacted(message).split()))}")
    try:
        console = Console(stderr=True, soft_wrap=True, highlight=False)
        if console.is_terminal:
            print_text(console, line)
        else:
            console.print(line)
    except OSError:
        silence_errors()  # the exit code says it all the same


def run_to_exit(command: Callable[[], object], complain: Callable[[str], object]) -> NoReturn:
    """Run a command and exit with its code; no error of ours shows a traceback."""
    for number in ENDING:
        signal.signal(number, _on_signal)
    try:
        command()
    except FlinkStateError as err:
        complain(str(err))
        sys.exit(err.exit_code)
    except Interrupted as err:
        if not err.is_said:
            complain("interrupted: the same command begins again")
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.FAILED)
    except OSError as err:
        complain(str(err))
        sys.exit(ExitCode.FAILED)
    finally:
        for number in ENDING:  # no frame of ours is left to raise into
            signal.signal(number, signal.SIG_DFL)
    sys.exit(ExitCode.DONE)


def _on_signal(number: int, _: FrameType | None) -> NoReturn:
    raise Interrupted(SIGNALLED + number)


def open_streams() -> None:
    """Open each standard stream that the caller closed, and spell out what one cannot encode.

    A file opened later would take the number of a closed stream, and a terminal without UTF-8 has
    no sign for half of our tables: what was deleted must be shown all the same.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_errors() -> None:
    """Send to nowhere what else goes to stderr, which cannot be written any more."""
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
