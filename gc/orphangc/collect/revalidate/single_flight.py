"""One check shared by concurrent callers, never an old one."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Result(Generic[_T]):
    number: int
    found: _T | None
    error: BaseException | None


@dataclass(slots=True)
class SingleFlight(Generic[_T]):
    """A check that several threads may request.

    Each caller gets a check that *began* after its call, so no result is older than its own
    check would be; and at most one runs at a time.
    """

    check: Callable[[], _T]
    _begun: int = 0
    _is_running: bool = False
    _seen: _Result[_T] | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def fresh(self, *, patience: float = 0.0) -> _T:
        """Return the result of a check that begins now or later; raise what it raises."""
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
        """Check, without the lock that the caller holds, and notify the waiting callers."""
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
