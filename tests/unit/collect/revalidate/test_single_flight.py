"""One look for many: never an old one, never two at a time."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from orphangc.collect.revalidate import single_flight
from orphangc.collect.revalidate.single_flight import SingleFlight
from support import speed
from support.processes import until


def waiting(shared: SingleFlight[int]) -> int:
    """Return how many callers wait for a look of another one."""
    with shared._changed:
        return len(shared._changed._waiters)  # type: ignore[attr-defined] # of every Condition


class Counted:
    """A look that counts, and can be held up."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Event()
        self.may_end.set()
        self.has_begun = threading.Event()
        self.at_once = 0

    def __call__(self) -> int:
        self.begun += 1
        self.at_once += 1
        assert self.at_once == 1
        number = self.begun
        self.has_begun.set()
        assert self.may_end.wait(speed.patience())
        self.at_once -= 1
        return number


def test_whoever_asks_alone_looks_each_time() -> None:
    """Nothing is remembered."""
    shared = SingleFlight(Counted())
    assert [shared.fresh() for _ in range(3)] == [1, 2, 3]


def test_a_look_that_began_before_the_question_is_not_an_answer() -> None:
    """It may have passed the very place already where something is new."""
    check = Counted()
    check.may_end.clear()
    shared = SingleFlight(check)
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(shared.fresh)
        assert check.has_begun.wait(speed.patience())
        others = [pool.submit(shared.fresh) for _ in range(8)]
        until(lambda: waiting(shared) == len(others))
        assert check.begun == 1
        check.may_end.set()
        assert first.result(speed.patience()) == 1
        assert {each.result(speed.patience()) for each in others} == {2}
    assert check.begun == 2


def test_an_error_reaches_everybody_who_shares_the_look_and_nobody_else() -> None:
    """None of them takes it for a look that found nothing; the next look is a new one."""
    check = Counted()
    check.may_end.clear()
    shared = SingleFlight(check)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(shared.fresh)
        assert check.has_begun.wait(speed.patience())
        others = [pool.submit(shared.fresh) for _ in range(3)]
        until(lambda: waiting(shared) == len(others))
        shared.check = lambda: check() and (_ for _ in ()).throw(OSError("no"))
        check.may_end.set()
        assert first.result(speed.patience()) == 1
        for each in others:
            with pytest.raises(OSError, match="no"):
                each.result(speed.patience())
    shared.check = check
    assert shared.fresh() == 3


def test_who_is_in_a_hurry_does_not_wait(monkeypatch) -> None:
    """Not for a moment, whatever the clock says."""
    monkeypatch.setattr(single_flight, "monotonic", lambda: 0.0)
    shared = SingleFlight(Counted())
    monkeypatch.setattr(shared._changed, "wait", lambda *_: pytest.fail("it waits"))
    assert shared.fresh() == 1


def test_who_has_patience_takes_the_next_look_of_somebody_else() -> None:
    """The look after one batch is the look before another."""
    check = Counted()
    shared = SingleFlight(check)
    with ThreadPoolExecutor(2) as pool:
        patient = pool.submit(shared.fresh, patience=threading.TIMEOUT_MAX / 2)
        until(lambda: waiting(shared) == 1)
        assert check.begun == 0
        assert shared.fresh() == 1
        assert patient.result(speed.patience()) == 1


def test_patience_ends() -> None:
    """The last batch has no check after it."""
    assert SingleFlight(Counted()).fresh(patience=0.05) == 1


def test_many_threads_get_looks_that_began_after_they_asked() -> None:
    """Under any timing."""
    clock = [0]
    guard = threading.Lock()

    def tick() -> int:
        with guard:
            clock[0] += 1
            return clock[0]

    def check() -> int:
        began = tick()
        time.sleep(0.001)
        return began

    shared = SingleFlight(check)

    def ask(number: int) -> bool:
        asked = tick()
        return shared.fresh(patience=0.002 * (number % 3)) > asked

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(400)))
