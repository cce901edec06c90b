"""Work that no signal breaks off."""

import os
import signal
import threading

import pytest

from orphangc.collect.runs.undisturbed import undisturbed
from support import speed


def _signalled() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_result_is_returned_and_an_error_raised() -> None:
    """As if the work were done here."""
    assert undisturbed(lambda: 3, lambda: None, "work") == 3
    with pytest.raises(KeyError, match="lost"):
        undisturbed(lambda: {}["lost"], lambda: None, "work")


def test_a_signal_asks_the_work_to_stop_and_waits_for_its_end() -> None:
    """Only then is it raised."""
    asked, ended = threading.Event(), threading.Event()

    def work() -> None:
        _signalled()
        assert asked.wait(speed.patience())
        ended.set()

    with pytest.raises(SystemExit):
        undisturbed(work, asked.set, "work")
    assert ended.is_set()


def test_a_signal_that_does_not_wake_the_main_thread_is_noticed_while_the_work_goes_on() -> None:
    """The kernel may hand it to any thread; else it would be noticed hours later."""
    asked, was_asked = threading.Event(), []

    def work() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        was_asked.append(asked.wait(speed.answer()))

    with pytest.raises(SystemExit):
        undisturbed(work, asked.set, "work")
    assert was_asked == [True]


def test_a_signal_while_the_thread_starts_breaks_nothing_off(monkeypatch) -> None:
    """The work has begun by then and is waited for, or it never begins."""
    start, events, asked = threading.Thread.start, [], threading.Event()

    def signalled_once_started(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "work":
            assert not begun.wait(0.05)  # the work waits until this thread waits

    monkeypatch.setattr(threading.Thread, "start", signalled_once_started)
    begun = threading.Event()

    def work() -> None:
        begun.set()
        events.append("begun")
        _signalled()
        assert asked.wait(speed.patience())
        events.append("ended")

    def stop() -> None:
        events.append("asked")
        asked.set()

    with pytest.raises(SystemExit):
        undisturbed(work, stop, "work")
    assert events == ["begun", "asked", "ended"]


def test_what_is_signalled_before_it_began_never_begins(monkeypatch) -> None:
    """Nothing was deleted, and the thread ends."""
    start, events, threads = threading.Thread.start, [], []

    def signalled_after(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "work":
            threads.append(thread)
            _signalled()

    monkeypatch.setattr(threading.Thread, "start", signalled_after)
    with pytest.raises(SystemExit):
        undisturbed(lambda: events.append("begun"), lambda: events.append("asked"), "work")
    threads[0].join(speed.patience())
    assert not events
    assert not threads[0].is_alive()
