"""How a command ends: with a stable code, and one line on stderr for an error."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import visible
from orphangc.app.console.streams import silence_errors
from orphangc.errors import ExitCode, OrphanGcError

_ENDING = (signal.SIGINT, signal.SIGTERM)
_SIGNALLED = 128
"""Base of the exit code of a process that a signal ended; the signal's number is added."""


class Interrupted(SystemExit):
    """A signal ended the work; ``is_said`` once a person was shown what follows from it."""

    is_said = False


def complain(message: str) -> None:
    """Print an error in one line on stderr, if it can be written, without the credentials of any
    URL.
    """
    from rich.console import Console  # noqa: PLC0415 - most commands end without an error
    from rich.markup import escape  # noqa: PLC0415

    line = visible(" ".join(redacted(message).split()))
    try:
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"orphangc: {escape(line)}")
    except OSError:
        silence_errors()  # the exit code says it all the same


def run_to_exit(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its code; no error of ours shows a traceback."""
    for number in _ENDING:
        signal.signal(number, _on_signal)
    try:
        command()
    except OrphanGcError as err:
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
    sys.exit(ExitCode.DONE)


def is_signal(exit_code: int) -> bool:
    """Return whether an exit code means that a signal ended the process."""
    return exit_code > _SIGNALLED


def _on_signal(number: int, _: FrameType | None) -> NoReturn:
    raise Interrupted(_SIGNALLED + number)


class Signals:
    """Holds the signals that are to end the process until work may be interrupted.

    Attributes:
        exit_code: Exit code for the first signal; ``None`` if none came.

    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._may_raise = False

    def take(self, number: int, _: FrameType | None = None) -> None:
        """Hold a signal, or raise it where that is allowed; all but the first are ignored.

        Raises:
            SystemExit: The signal interrupts the work.

        """
        is_first = self.exit_code is None
        if is_first:
            self.exit_code = _SIGNALLED + number
        if is_first and self._may_raise:
            raise SystemExit(self.exit_code)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Let a signal interrupt the block, also one that came before it.

        Raises:
            SystemExit: A signal came.

        """
        self._may_raise = True
        try:
            if self.exit_code is not None:
                raise SystemExit(self.exit_code)
            yield
        finally:
            self._may_raise = False


@contextmanager
def shielded() -> Iterator[Signals]:
    """Hold signals during a block, except where it lets them through."""
    signals = Signals()
    before = {number: signal.signal(number, signals.take) for number in _ENDING}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
