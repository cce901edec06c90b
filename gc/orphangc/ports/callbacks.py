"""Callbacks of a run: progress and waiting."""

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Receives the progress of a run, and may show it."""

    def __call__(self, phase: str, done: int, total: int | None = None) -> None:
        """Report ``done`` objects of ``total`` in ``phase``.

        A ``total`` of ``None`` is unknown. The total of a listing is an estimate that changes.
        """


Waiter = Callable[[float], None]
"""Returns after some seconds."""
