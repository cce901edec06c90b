"""The rules of a safe collector, and what holds each: the tables of ``gc/SAFETY.md``.

    PYTHONPATH=tests python -m safety.rules.rules      # writes the columns of the code anew

A person writes there what a rule or a promise says, and the tests that hold it. Guards, conditions
and losses are found in the code: by the rules that the docstring of a guard, of a condition or of
a removal names, and by what answers each loss.

Their reasons stand in ``gc/RULES.md``.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.guards import GUARDS
from safety.incidents.removals import REMOVALS
from safety.incidents.test_answers import stories
from support.generated import with_part

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "gc" / "SAFETY.md"
_RULE = re.compile(r"\bR\d+a?\b")
_RULES_MARKS = "<!-- generated: rules -->", "<!-- end -->"
_PROMISES_MARKS = "<!-- generated: promises -->", "<!-- end of promises -->"


def _rows(marks: tuple[str, str]) -> list[list[str]]:
    part = PAGE.read_text().partition(marks[0])[2].partition(marks[1])[0]
    return [line[2:-2].split(" | ") for line in part.strip().splitlines()[2:]]


def _named(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`(.+?)`", cell))


RULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    rule: (what, _named(tests)) for rule, what, _, tests, _ in _rows(_RULES_MARKS)
}
"""What each rule says, and the tests that hold it."""
PROMISES: Mapping[str, tuple[str, ...]] = {
    promise: _named(tests) for promise, tests in _rows(_PROMISES_MARKS)
}
"""The tests that hold each promise, by its name."""


def _rules_of(check: Any) -> set[str]:
    return set(_RULE.findall((check.__doc__ or "").splitlines()[0]))


def guards_of(rule: str) -> list[str]:
    """Return the guards and conditions whose docstrings name a rule."""
    every = [*GUARDS.items(), *CONDITIONS.items()]
    return [str(name) for name, check in every if rule in _rules_of(check)]


_stories = cache(stories)


def losses_of(rule: str) -> list[str]:
    """Return the losses that the answers of a rule stand against."""
    answers = {name for name, removal in REMOVALS.items() if rule in _rules_of(removal)}
    answers |= {f"guard:{each}" for each in guards_of(rule)}
    answers |= {f"condition:{each}" for each in guards_of(rule)}
    return [
        name.removeprefix("test_")
        for name, by in _stories().items()
        if answers & {each for one in by for each in one.split(" + ")}
    ]


def _listed(words: Iterable[str]) -> str:
    return "<br>".join(f"`{word}`" for word in words) or " "


def table() -> str:
    lines = [
        "| rule | what | guards, conditions | tests, below `tests/` | losses that it answers |",
        "|---|---|---|---|---|",
    ]
    for rule, (what, tests) in RULES.items():
        columns = (rule, what, *map(_listed, (guards_of(rule), tests, losses_of(rule))))
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    return with_part(page, _RULES_MARKS, table())


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
