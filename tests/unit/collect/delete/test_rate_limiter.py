"""Keeping to a pace with many threads."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.runs.held_run import RunStoppedError
from orphangc.core.model.rate import DeletionRate
from support import speed


def test_many_threads_keep_to_one_rate() -> None:
    """Eight of them: in all no more than the ceiling, and not much less."""
    limiter = RateLimiter(DeletionRate.of(2_000, 100))

    def work(_: int) -> float:
        assert limiter.await_turn(limiter.take_turn(100))
        return time.monotonic()

    begun = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        sent = sorted(pool.map(work, range(30)))
    took = sent[-1] - begun
    assert 29 * 100 / took <= 2_000 * 1.05
    assert took < speed.patience()


def test_whoever_waits_is_told_at_once_that_nothing_goes_any_more() -> None:
    """A signal must not wait for a slow pace."""
    limiter = RateLimiter(DeletionRate.of(0.00001, 100))  # the next turn is tomorrow
    limiter.take_turn(1)
    threading.Timer(0.1, limiter.stopped.set).start()
    with pytest.raises(RunStoppedError):
        limiter.take_turn(1)
    with pytest.raises(RunStoppedError):
        limiter.await_turn(time.monotonic() + 100_000)


def test_a_turn_that_comes_in_a_pause_is_lost() -> None:
    """What was looked at before the pause is looked at again after it."""
    now = 100.0
    limiter = RateLimiter(DeletionRate.of(1_000, 100), clock=lambda: now)
    turn = limiter.take_turn(100)
    limiter.note_refusal(now)
    limiter.note_refusal(now + 1)
    assert limiter.refusals == 2
    assert limiter.await_turn(turn) is False
    assert limiter.rate.wait(now) > 0.3


def test_who_waits_for_a_turn_goes_neither_before_it_nor_in_a_pause() -> None:
    """The second request waits for the first one's keys, and for the end of a pause."""
    limiter = RateLimiter(DeletionRate.of(1_000, 100))
    begun = time.monotonic()
    limiter.wait_for_turn(100)
    limiter.wait_for_turn(100)
    assert time.monotonic() - begun > 0.09
    limiter.note_refusal(time.monotonic())
    limiter.wait_for_turn(1)
    assert limiter.rate.paused_until <= time.monotonic()


def test_a_slower_pace_holds_for_those_who_wait_already() -> None:
    """Nobody goes by a rate of yesterday."""
    limiter = RateLimiter(DeletionRate.of(100, 100))
    limiter.take_turn(20)
    limiter.take_turn(60)
    assert limiter.keys() == 33
    for number in range(4):
        limiter.note_refusal(time.monotonic() + number)
    assert limiter.keys() < 10
