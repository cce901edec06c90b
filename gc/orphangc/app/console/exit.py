"""How a command ends: with what comes next, a stable code, and one line on stderr for an error."""

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import typer

from flinkstate.console.exit import ENDING, SIGNALLED, Interrupted, complain_as
from flinkstate.tables.printing import print_tables
from flinkstate.text.shown_text import visible
from orphangc.app.console.verbosity import asked
from orphangc.errors import ExitCode

complain = partial(complain_as, "orphangc")
"""Prints an error in one line on stderr; see ``complain_as``."""


def is_signal(exit_code: int) -> bool:
    """Return whether an exit code means that a signal ended the process."""
    return exit_code > SIGNALLED


@contextmanager
def saying(sentence: Callable[[], str]) -> Iterator[None]:
    """Print a sentence if a signal interrupts the block, before its ``SystemExit`` goes on."""
    try:
        yield
    except SystemExit as err:
        if isinstance(err.code, int) and is_signal(err.code):
            complain(f"interrupted: {sentence()}")
            if isinstance(err, Interrupted):
                err.is_said = True
        raise


class Signals:
    """Holds the signals that are to end the process until work may be interrupted.

    Attributes:
        exit_code: Exit code for the first signal; ``None`` if none came.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._may_raise = False

    def take(self, number: int, _: FrameType | None = None) -> None:
        """Hold the first signal, or raise it as ``SystemExit`` where that is allowed."""
        is_first = self.exit_code is None
        if is_first:
            self.exit_code = SIGNALLED + number
        if is_first and self._may_raise:
            raise SystemExit(self.exit_code)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Let a signal interrupt the block by ``SystemExit``, also one that came before it."""
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
    before = {number: signal.signal(number, signals.take) for number in ENDING}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
