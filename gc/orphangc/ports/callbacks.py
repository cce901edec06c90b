"""Callbacks of a run: progress and waiting."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told how far a run has come; shows it to a person, or to nobody."""

    def __call__(self, phase: str, done: int, total: int | None = None) -> None:
        """Take note: ``done`` objects of ``total`` in ``phase``.

        ``None`` is unknown; a listing's total is an estimate that changes as it goes on.
        """
        ...


class Waiter(Protocol):
    """Waits."""

    def __call__(self, seconds: float, /) -> None:
        """Return after ``seconds``."""
        ...
