"""What an interrupted command says: what is done, what is not, and how to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flinkstate.console.exit import Interrupted
from orphangc.app.console.exit import complain, is_signal


@contextmanager
def saying(sentence: Callable[[], str]) -> Iterator[None]:
    """Print a sentence if a signal interrupts the block, before the process ends.

    Raises:
        SystemExit: A signal came.
    """
    try:
        yield
    except SystemExit as err:
        if isinstance(err.code, int) and is_signal(err.code):
            complain(f"interrupted: {sentence()}")
            if isinstance(err, Interrupted):
                err.is_said = True
        raise
