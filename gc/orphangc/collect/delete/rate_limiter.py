"""Rate limiter of deletion requests: many threads, one rate."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Self

from orphangc.collect.runs.held_run import HeldRun, RunStoppedError
from orphangc.core.model.rate import DeletionRate

_CHECK_SECONDS = 1.0
"""Seconds after which a waiting thread asks again how long to wait."""


@dataclass(slots=True)
class RateLimiter:
    """Keeps the rate of all threads that delete.

    Attributes:
        clock: Seconds that never go back.
        stopped: Set once nothing may go any more; waiting threads learn it at once.
    """

    rate: DeletionRate
    clock: Callable[[], float] = monotonic
    stopped: threading.Event = field(default_factory=threading.Event)
    _queue: threading.Lock = field(default_factory=threading.Lock)
    _changing: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, run: HeldRun, most_at_once: int) -> Self:
        """Return the rate limiter of a run, which ends its waits."""
        return cls(DeletionRate.of(run.settings.delete_rate, most_at_once), stopped=run.stopped)

    @property
    def refusals(self) -> int:
        """Return how many times in a row the store has asked for less."""
        return self.rate.refusals

    def keys(self) -> int:
        """Return how many keys the next request should hold."""
        return self.rate.keys(self.clock())

    def take_turn(self, keys: int) -> float:
        """Return when a request of so many keys may go, or raise ``RunStoppedError``."""
        with self._queue:
            while not self.stopped.wait(min(_CHECK_SECONDS, self.rate.wait(self.clock()))):
                with self._changing:
                    now = self.clock()
                    if not self.rate.wait(now):
                        turn = self.rate.turn(now)
                        self.rate = self.rate.after_turn(keys, now)
                        return turn
        raise RunStoppedError

    def await_turn(self, turn: float) -> bool:
        """Return whether a request may go, when its turn has come: not in a pause."""
        if self.stopped.wait(max(0.0, turn - self.clock())):
            raise RunStoppedError
        return self.rate.paused_until <= self.clock()

    def wait_for_turn(self, keys: int) -> None:
        """Return once so many keys may go, or raise ``RunStoppedError``."""
        while not self.await_turn(self.take_turn(keys)):
            pass

    def note_success(self, sent_at: float) -> None:
        """Record that every key of a request was answered."""
        with self._changing:
            self.rate = self.rate.after_success(sent_at)

    def note_refusal(self, sent_at: float) -> None:
        """Record that the store asked for less.

        Of many requests that hit the same wall together, one lowers the rate.
        """
        with self._changing:
            self.rate = self.rate.after_refusal(sent_at, self.clock())

    def note_failure(self) -> None:
        """Record that a request timed out, or failed for a part of its keys."""
        with self._changing:
            self.rate = self.rate.after_failure()
