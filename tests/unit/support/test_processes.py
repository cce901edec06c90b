"""A thread that outlives its test is an error; one that ends is waited for."""

import threading

import pytest

from support import speed
from support.processes import no_thread_left


def test_a_thread_that_ends_is_waited_for() -> None:
    """The block itself need not wait."""
    ended = []
    with no_thread_left():
        threading.Timer(0.1, ended.append, [True]).start()
    assert ended == [True]


def test_a_thread_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tries again, or waits for nothing."""
    monkeypatch.setattr(speed, "patience", lambda: 0.1)
    go = threading.Event()
    thread = threading.Thread(target=go.wait, name="a loiterer")
    with pytest.raises(AssertionError, match="a loiterer outlives"), no_thread_left():
        thread.start()
    go.set()
    thread.join()
