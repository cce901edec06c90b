"""A signal ends a test's work as it ends a command's."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _a_signal_raises() -> Iterator[None]:
    def interrupt(*_: object) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, interrupt)
    yield
    signal.signal(signal.SIGTERM, before)
