"""One look for many who ask at the same time, never an old one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Result(Generic[_T]):
    """How a look ended."""

    number: int
    found: _T | None
    error: BaseException | None


@dataclass(slots=True)
class SingleFlight(Generic[_T]):
    """A look that several threads may ask for.

    Everybody gets one that *began* after the question, so nothing is older than if each had
    looked alone; and there is never more than one under way.
    """

    check: Callable[[], _T]
    _begun: int = 0
    _is_running: bool = False
    _seen: _Result[_T] | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def fresh(self, *, patience: float = 0.0) -> _T:
        """Return what a look that begins now or later finds; raise what it raises.

        Args:
            patience: Seconds to wait for somebody else who is in a hurry, whose look will do.

        """
        until = monotonic() + patience
        with self._changed:
            wanted = self._begun + 1
            while self._seen is None or self._seen.number < wanted:
                if self._is_running:
                    self._changed.wait()
                elif monotonic() >= until:
                    return self._run()
                else:
                    self._changed.wait(until - monotonic())
            seen = self._seen
        if seen.error is not None:
            raise seen.error
        return seen.found  # type: ignore[return-value] # found if there was no error

    def _run(self) -> _T:
        """Look, without the lock that the caller holds, and tell those who wait."""
        self._begun += 1
        number = self._begun
        self._is_running = True
        found: _T | None = None
        error: BaseException | None = RuntimeError("the look was broken off")
        self._changed.release()
        try:
            found = self.check()
            error = None
        except BaseException as err:
            error = err
            raise
        finally:
            self._changed.acquire()
            self._is_running = False
            self._seen = _Result(number, found, error)
            self._changed.notify_all()
        return found
