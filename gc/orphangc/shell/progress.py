"""Progress on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from orphangc.ports import Progress as ProgressPort

__all__ = ["shown_progress"]


def _silent(phase: str, done: int, total: int | None = None) -> None:
    """Show nothing."""


@contextmanager
def shown_progress() -> Iterator[ProgressPort]:
    """Yield what runs report their progress to: a bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def show(phase: str, done: int, total: int | None = None) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield show
