"""What each class of tests may take; a test that takes more fails, and names where to move it.

What counts of a single test is processor time, its own and that of the commands which it starts and
waits for: a machine that is busy with other work, or stops for a while, gives no other verdict.

A class is chosen by one marker:

- none: README's command runs it, and ``.ci/run`` does so first;
- ``ci``: ``.ci/run`` runs it afterwards, as ``pytest -m ci`` does;
- ``nightly``: only ``.ci/nightly`` runs it, as ``pytest -m nightly`` does.

An expression after ``-m`` that names neither marker leaves both classes out.

    PYTHONPATH=tests python -m support.budget CLASS SECONDS     # may all tests of a class take so
    long?
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

import pytest

from support import speed

LIVE = ("flink", "spark", "s3", "azurite", "testbench", "chromium", "prometheus", "image")
"""Markers of tests that start a program of a third party. Each of them is ``live``, too."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What the tests of a class may take, on the reference machine when it is idle."""

    name: str  # of the class; its marker, but for the first one
    test_seconds: float  # processor time of one test, without what its fixtures take
    all_seconds: float  # of all tests of the class, two at a time


BUDGETS = (
    Budget(name="default", test_seconds=25, all_seconds=600),
    Budget(name="ci", test_seconds=240, all_seconds=600),
    Budget(name="nightly", test_seconds=14_400, all_seconds=28_800),
)
"""The quickest first. ``.ci/run`` has 25 minutes: the first two, their installation, the hooks."""


TOLERANCE = 3.0
"""How far a budget may be exceeded before it turns anything red: what else a machine does while
one test runs is measured only before and after it."""


class ClassError(Exception):
    """A test has the markers of two classes."""


def budget_of(markers: Iterable[str], budgets: Sequence[Budget] = BUDGETS) -> Budget:
    names = set(markers)
    found = [each for each in budgets[1:] if each.name in names]
    if len(found) > 1:
        raise ClassError(f"a test is of one class, not of {' and '.join(b.name for b in found)}")
    return found[0] if found else budgets[0]


def left_out(expression: str) -> frozenset[str]:
    """Return the classes that ``-m EXPRESSION`` leaves out without a word about them."""
    words = set(re.findall(r"\w+", expression))
    markers = {each.name for each in BUDGETS[1:]}
    return frozenset() if words & markers else frozenset(markers)


def outgrown(
    budget: Budget, seconds: float, factor: float, budgets: Sequence[Budget] = BUDGETS
) -> str | None:
    """Return what is wrong with a test that cost so much, ``None`` if it fits its class.

    Args:
        budget: Of its class.
        seconds: Processor time that it took here.
        factor: How many times longer things take here than on the reference machine.
        budgets: All there are.

    """
    cost = seconds / factor
    if cost <= TOLERANCE * budget.test_seconds:
        return None
    larger = next((each for each in budgets if each.test_seconds >= cost), None)
    move = f"mark it {larger.name!r}, or make it quicker" if larger else "make it quicker"
    return (
        f"outgrown: it took {seconds:.1f} s of processor time here, {cost:.1f} s on a machine as"
        f" fast as the reference; a test of the class {budget.name!r} has"
        f" {budget.test_seconds:.0f} s: {move}"
    )


def processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Budgets:
    """Leaves out the classes that are not asked for, and fails what has outgrown its own."""

    def __init__(
        self,
        budgets: Sequence[Budget] = BUDGETS,
        factor: Callable[[], float] = lambda: max(speed.factor(), speed.measured()),
        processor: Callable[[], float] = processor_seconds,
    ) -> None:
        self.budgets = budgets
        self.factor = factor
        self.processor = processor
        self._cost = 0.0

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Add the marker ``live``, after folders have added theirs; deselect classes."""
        for item in items:
            if any(mark.name in LIVE for mark in item.iter_markers()):
                item.add_marker(pytest.mark.live)
        absent = left_out(config.getoption("markexpr"))
        is_gone = [self._budget_of(item).name in absent for item in items]
        if any(is_gone):
            config.hook.pytest_deselected(items=[*compress(items, is_gone)])
            items[:] = compress(items, map(not_, is_gone))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        before = self.processor()
        try:
            return (yield)
        finally:
            self._cost = self.processor() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Turn a test red that cost too much; the machine is measured again before."""
        report = yield
        if report.when == "call" and report.passed:
            mine = self._budget_of(item)
            if self._cost > mine.test_seconds:
                complaint = outgrown(mine, self._cost, self.factor(), self.budgets)
                if complaint is not None:
                    report.outcome, report.longrepr = "failed", complaint
        return report

    def _budget_of(self, item: pytest.Item) -> Budget:
        try:
            return budget_of((mark.name for mark in item.iter_markers()), self.budgets)
        except ClassError as err:
            raise pytest.UsageError(f"{item.nodeid}: {err}") from err


def exceeded(budget: Budget, seconds: float, factor: float) -> bool:
    return seconds / factor > TOLERANCE * budget.all_seconds


def main(name: str, seconds: str) -> int:
    """Say what the tests of a class took, and what they may; end with 1 if it is too much."""
    budget = next(each for each in BUDGETS if each.name == name)
    factor = speed.factor()
    print(
        f"class {name!r}: {seconds} s on a machine that takes {factor:.1f} times as long as the"
        f" reference; the budget is {budget.all_seconds:.0f} s there"
    )
    return int(exceeded(budget, float(seconds), factor))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
