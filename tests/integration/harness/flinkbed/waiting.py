"""Bounded waits and the harness's errors."""

import time
from collections.abc import Callable
from typing import TypeVar

import httpx

from support import speed

Answer = TypeVar("Answer")

PAUSE_SECONDS = 0.1


class FlinkbedError(Exception):
    """Flink did not do what the test asked for; the message ends with its logs."""


class ResourceMissingError(FlinkbedError):
    """Java or Flink's jars cannot be had here, so no Flink can be started."""


def without_frames(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(("\tat ", "\t... ")))


def wait_until(
    what: str,
    probe: Callable[[], Answer | None],
    *,
    seconds: float | None = None,
    pause: float = PAUSE_SECONDS,
) -> Answer:
    """Return the probe's first truthy answer; a REST request that fails counts as no answer yet.

    Args:
        what: The fact, for the error.
        probe: Answers with anything truthy once the fact holds.
        seconds: Patience, on the reference machine; ``None``: as long as all tests have.
        pause: Seconds between two probes.

    """
    seconds = speed.patience() if seconds is None else speed.scaled(seconds)
    end = time.monotonic() + seconds
    unanswered: httpx.HTTPError | None = None
    while True:
        try:
            if answer := probe():
                return answer
        except httpx.HTTPError as err:
            unanswered = err
        if time.monotonic() > end:
            because = f"; last failed request: {unanswered}" if unanswered else ""
            raise FlinkbedError(f"waited {seconds:.0f} s in vain for {what}{because}")
        time.sleep(pause)
