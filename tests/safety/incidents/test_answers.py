"""Every story here names what answers it, or why nothing can be taken away from it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.helpers import Ran
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.guards import GUARDS
from safety.incidents.essential import must_be_there, why_no_loss
from safety.incidents.removals import REMOVALS
from support.leaks import SECRETS

HERE = Path(__file__).parent


def stories() -> dict[str, set[str]]:
    """Return the names of what answers each test."""
    found: dict[str, set[str]] = {}
    for file in sorted(HERE.glob("test_*.py")):
        if file == Path(__file__):
            continue
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            marks = [
                mark
                for mark in node.decorator_list
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("answered_by")
            ]
            found[node.name] = {ast.literal_eval(each) for mark in marks for each in mark.args}
    return found


def test_every_story_is_answered_or_says_why_nothing_can_be_taken_away() -> None:
    """The table of README.md has the others, and nothing else."""
    unanswered = {name for name, answers in stories().items() if not answers}
    page = (HERE / "README.md").read_text().partition("## Without an answer to take away")[2]
    assert set(re.findall(r"`(test_\w+)`", page)) == unanswered


def taken_away() -> set[str]:
    """Return all that some test takes away, and fails without."""
    return {
        each for answers in stories().values() for name in answers for each in name.split(" + ")
    }


def test_every_removal_is_of_use() -> None:
    """And none is misspelled."""
    known = {f"guard:{each}" for each in GUARDS} | {f"condition:{each}" for each in CONDITIONS}
    assert taken_away() <= known | set(REMOVALS)
    assert set(REMOVALS) <= taken_away()


@pytest.mark.parametrize(
    "name", [*(f"guard:{each}" for each in GUARDS), *(f"condition:{each}" for each in CONDITIONS)]
)
def test_a_loss_is_told_for_every_guard_and_condition(name) -> None:
    """One that is added without a loss of its own fails here."""
    assert name in taken_away()


def a_failure(check: Callable[[], object]) -> str | None:
    """Return why a failure is no loss."""
    with pytest.raises(AssertionError) as caught:
        check()
    return why_no_loss(caught.value, Path(__file__))


def test_only_the_fate_of_files_is_a_loss() -> None:
    """What a helper asserts is none, nor what a test asks besides."""

    def of_a_file() -> None:
        assert Path("/no such file").exists()

    def of_something_else() -> None:
        assert not str(HERE)

    assert a_failure(of_a_file) is None
    assert a_failure(lambda: must_be_there(HERE / "no such file")) is None
    assert "asks for no fate" in (a_failure(of_something_else) or "")
    assert "fails in helpers.py" in (a_failure(lambda: Ran(0, SECRETS[0], "")) or "")
