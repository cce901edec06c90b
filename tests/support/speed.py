"""How fast this machine is, and every lease, timeout and patience of the tests, scaled by it.

A test waits for a fact and goes on as soon as it holds: a longer patience costs nothing on a
machine that is fast, and only on a failure on one that is slow. What must be told apart by time,
such as a lease that runs out, needs the scale all the more: seconds that are ample for an idle
machine are none on a crowded one.
"""

import os
import statistics
import time
from collections.abc import Callable
from functools import cache

ENVIRONMENT = "ORPHANGC_TESTS_SLOWNESS"
"""Holds the factor for the processes that a session starts, so that all agree on one."""

REFERENCE_SECONDS = 0.0055
"""Processor time of ``_work`` on the machine for which the limits below were chosen."""
MOST = 8.0
"""Greatest factor: a test that hangs must end, however crowded the machine is."""
_SAMPLES = 9


def factor() -> float:
    """Return how many times longer than on the reference machine things take here, 1.0 or more.

    Measured once a session, in a twentieth of a second.
    """
    if ENVIRONMENT not in os.environ:
        os.environ[ENVIRONMENT] = f"{measured():.2f}"
    return float(os.environ[ENVIRONMENT])


def slowness(*, processor: float, elapsed: float, load: float) -> float:
    """Return the factor that follows from what was measured, from 1 to ``MOST``.

    Args:
        processor: Seconds of processor time that the work took.
        elapsed: Seconds that passed meanwhile.
        load: Processes that wait for a processor, for each processor.

    """
    slow = max(1.0, processor / REFERENCE_SECONDS)
    crowded = max(1.0, elapsed / processor, load)
    return min(MOST, slow * crowded)


def scaled(seconds: float) -> float:
    """Return what so many seconds of the reference machine are here."""
    return seconds * factor()


def measured() -> float:
    """Return the factor of this very moment, which ``factor`` keeps for a whole session."""
    timings = [_timed(_work) for _ in range(_SAMPLES)]
    return slowness(
        processor=statistics.median(processor for processor, _ in timings),
        elapsed=statistics.fmean(elapsed for _, elapsed in timings),
        load=os.getloadavg()[0] / len(os.sched_getaffinity(0)),
    )


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    processor, elapsed = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - processor, time.perf_counter() - elapsed


def _work() -> int:
    return sum(hash((number, str(number))) & 1 for number in range(40_000))


@cache
def patience() -> float:
    """Return how long a test waits for a fact that another process brings about."""
    return scaled(120)


@cache
def command() -> float:
    """Return how long a command that a test starts may take to its end."""
    return scaled(120)


@cache
def answer() -> float:
    """Return how long a server on this machine may take to answer one request."""
    return scaled(20)
