"""How a command ends: with a stable code, and one line on stderr where something went wrong."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.markup import escape

from orphangc.app.console.text import visible
from orphangc.core.model.redaction import redacted
from orphangc.errors import ExitCode, OrphanGcError

_ENDING = (signal.SIGINT, signal.SIGTERM)


def complain(message: str) -> None:
    """Say in one line on stderr what went wrong, without the credentials of any URL."""
    line = visible(" ".join(redacted(message).split()))
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"orphangc: {escape(line)}")


def run_to_exit(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its code; no error of ours shows a traceback."""
    for number in _ENDING:
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


class Signals:
    """Signals that are to end the process, kept until something may be broken off.

    Attributes:
        exit_code: What the process is to exit with because of the first; ``None``: none came.

    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._may_raise = False

    def take(self, number: int, _: FrameType | None = None) -> None:
        """Keep a signal, or raise it where that is allowed; all but the first are ignored.

        Raises:
            SystemExit: It ends what is going on.

        """
        is_first = self.exit_code is None
        if is_first:
            self.exit_code = 128 + number
        if is_first and self._may_raise:
            raise SystemExit(self.exit_code)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Let a signal break off the block, also one that came before.

        Raises:
            SystemExit: One did.

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
    """Keep signals from breaking off a block, but where it lets them through."""
    signals = Signals()
    before = {number: signal.signal(number, signals.take) for number in _ENDING}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
