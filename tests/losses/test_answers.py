"""Every story here names what answers it, or why nothing can be taken away from it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from losses.removals import REMOVALS
from orphangc.core.conditions import CONDITIONS
from orphangc.core.guards import GUARDS

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


def test_every_removal_is_of_use() -> None:
    """And none is misspelled."""
    used = {
        each for answers in stories().values() for name in answers for each in name.split(" + ")
    }
    known = {f"guard:{each}" for each in GUARDS} | {f"condition:{each}" for each in CONDITIONS}
    assert used <= known | set(REMOVALS)
    assert set(REMOVALS) <= used
