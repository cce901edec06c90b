"""A search that has a time and no natural end: once it is over, no test begins any more."""

import os
import time
from collections.abc import Callable

import pytest

ENVIRONMENT = "ORPHANGC_TESTS_SECONDS"
"""Seconds from the start of the session to its last test's start; ``.ci/nightly`` sets it."""


class Ending:
    """Skips each test whose turn comes too late; what was searched until then counts."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock
        self._end = clock() + seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Skip the test, before any of its fixtures is made."""
        if self.clock() >= self._end:
            pytest.skip(f"not begun: the {self.seconds:.0f} s of this search are over")


def ending() -> Ending | None:
    """Return what the environment asks for, ``None`` if every test is to run."""
    seconds = os.environ.get(ENVIRONMENT)
    return None if seconds is None else Ending(float(seconds))
