"""A test that outgrows its class is red, and says where to move it; a slow machine is no reason."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from support import budget
from support.budget import (
    BUDGETS,
    TOLERANCE,
    Budgets,
    ClassError,
    budget_of,
    exceeded,
    left_out,
    processor_seconds,
)

pytest_plugins = ["pytester"]

DEFAULT, CI, NIGHTLY = BUDGETS


def test_the_marker_chooses_the_class() -> None:
    """One at most; no marker is the class of README's command."""
    assert budget_of(["flink", "live"]) is DEFAULT
    assert budget_of(["ci", "flink"]) is CI
    assert budget_of(["nightly"]) is NIGHTLY
    with pytest.raises(ClassError, match="ci and nightly"):
        budget_of(["nightly", "ci"])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", {"ci", "nightly"}),
        ("not live", {"ci", "nightly"}),
        ("circle", {"ci", "nightly"}),
        ("ci", set()),
        ("not nightly", set()),
        ("nightly and flink", set()),
    ],
)
def test_a_class_is_run_where_it_is_asked_for(expression, expected) -> None:
    """By its marker; any other expression leaves larger classes out."""
    assert left_out(expression) == expected


def test_a_class_as_a_whole_has_a_budget_too() -> None:
    """And README's command and the larger class leave two of 25 minutes to all else."""
    assert DEFAULT.all_seconds == 600
    assert DEFAULT.all_seconds + CI.all_seconds <= 23 * 60
    assert not exceeded(DEFAULT, TOLERANCE * 600, 1)
    assert exceeded(DEFAULT, TOLERANCE * 600 + 1, 1)
    assert not exceeded(DEFAULT, TOLERANCE * 1200, 2)


TESTS = """
import pytest
def test_quick(): pass
def test_slow(): pass
@pytest.mark.ci
def test_larger(): pass
@pytest.mark.ci
@pytest.mark.flink
def test_live(): pass
"""


SMALL = [
    replace(each, test_seconds=seconds)
    for each, seconds in zip(BUDGETS, (0.2, 10, 20), strict=True)
]


@pytest.fixture
def tiny(pytester: pytest.Pytester) -> pytest.Pytester:
    """Tests of which one takes longer than its class may."""
    names = ["ci", "nightly", "live", *budget.LIVE]
    pytester.makeini("[pytest]\nmarkers =\n" + "".join(f"  {each}\n" for each in names))
    pytester.makepyfile(TESTS)
    return pytester


def run(
    tiny: pytest.Pytester, *options: str, costs: Sequence[float] = (0, 0.8), factor: float = 1.0
) -> pytest.RunResult:
    """Run the tests in this process, on a machine of some speed; each costs so much."""
    quiet = ("-p", "no:randomly", "-p", "no:cacheprovider", "-n0", "--strict-markers")
    spent = iter([total for cost in costs for total in (0.0, cost)])
    budgets = Budgets(SMALL, lambda: factor, lambda: next(spent))
    return tiny.runpytest(*quiet, *options, plugins=[budgets])


def test_a_test_that_outgrows_its_class_fails_the_build(tiny) -> None:
    """By name, and with the class to move to."""
    done = run(tiny)
    done.assert_outcomes(passed=1, failed=1, deselected=2)
    done.stdout.fnmatch_lines(["*outgrown: it took 0.8 s*mark it 'ci'*"])
    done.stdout.fnmatch_lines(["FAILED *::test_slow*"])


def test_a_larger_class_has_more_time(tiny) -> None:
    """As long as it is asked for."""
    run(tiny, "-m", "ci", costs=(0.8, 0)).assert_outcomes(passed=2, deselected=2)


def test_what_starts_programs_of_others_is_live(tiny) -> None:
    """Without a marker of its own."""
    run(tiny, "-m", "ci and not live", costs=(0,)).assert_outcomes(passed=1, deselected=3)


def test_a_slow_machine_makes_no_test_red(tiny) -> None:
    """What is as slow as its machine is right."""
    run(tiny, factor=8.0).assert_outcomes(passed=2, deselected=2)


def test_what_a_child_worked_counts_once_it_has_ended() -> None:
    """Most tests of commands start one, and wait for it."""
    before = processor_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(2_000_000))"], check=True)
    assert processor_seconds() > before
