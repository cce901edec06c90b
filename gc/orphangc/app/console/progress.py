"""Progress: a line a phase with rate and remaining time on a terminal, elsewhere a log line every
half minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

from orphangc.app.console.verbosity import asked
from orphangc.ports import Progress as ProgressPort

if TYPE_CHECKING:
    from rich.progress import Task

log = structlog.get_logger()

_SECONDS_PER_LINE = 30.0
_SHORT_SECONDS = 1.0
"""Time that a phase lasts at least that has a line of its own on a terminal."""


@dataclass(slots=True)
class LoggedProgress:
    """Logs the progress of a phase at most every half minute, so that a short run logs nothing.

    Attributes:
        clock: Monotonic clock, in seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _phase: str = ""
    _since: float = 0.0
    _done_then: int = 0
    _said: float = field(default=0.0)

    def __call__(self, phase: str, done: int, total: int | None = None) -> None:
        """Log a line if it is time."""
        now = self.clock()
        if phase != self._phase:
            self._phase, self._since, self._said, self._done_then = phase, now, now, done
        if now - self._said < _SECONDS_PER_LINE:
            return
        self._said = now
        rate = (done - self._done_then) / (now - self._since)
        facts: dict[str, Any] = {"phase": phase, "done": done, "per_second": round(rate)}
        if total is not None:
            facts["about_total"] = total
            facts["about_seconds_left"] = round((total - done) / rate) if rate > 0 else None
        log.info("progress", **facts)


def _rate(task: Task) -> str:
    speed = task.finished_speed or task.speed
    return f"{speed:,.0f}/s" if speed else ""


@contextmanager
def shown_progress() -> Iterator[ProgressPort]:
    """Yield the progress reporter of a run: bars on stderr if that is a terminal."""
    if asked.is_quiet:
        yield lambda *_: None
        return
    if not sys.stderr.isatty():
        yield LoggedProgress()
        return
    with _bars() as show:
        yield show


@contextmanager
def _bars() -> Iterator[ProgressPort]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal shows bars
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Task] = {}
        begun: dict[str, float] = {}

        def show(phase: str, done: int, total: int | None = None) -> None:
            since = begun.setdefault(phase, time.monotonic())
            if phase not in tasks:
                if time.monotonic() - since < _SHORT_SECONDS:
                    return
                number = bars.add_task(phase, total=total, rate="")
                tasks[phase] = next(each for each in bars.tasks if each.id == number)
            task = tasks[phase]
            bars.update(task.id, completed=done, total=total, rate=_rate(task))

        yield show
