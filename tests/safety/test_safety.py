"""``gc/SAFETY.md`` promises nothing that no test holds."""

from __future__ import annotations

import re

import pytest

from orphangc.core.conditions import CONDITIONS
from orphangc.core.guards import GUARDS
from safety.rules import PAGE, RULES, TESTS, guards_of, page_with_table

PROMISED = re.findall(r"`((?:[a-z_]+/)+test_\w+\.py(?:::\w+)?)`", PAGE.read_text())


def test_the_table_of_rules_is_current() -> None:
    """``PYTHONPATH=tests python -m safety.rules`` writes it."""
    assert page_with_table(PAGE.read_text()) == PAGE.read_text()


def test_every_rule_is_there() -> None:
    """R1 to R30, and R3a."""
    assert set(RULES) == {f"R{number}" for number in range(1, 31)} | {"R3a"}


def test_every_guard_and_condition_belongs_to_a_rule() -> None:
    """Its docstring says to which."""
    named = {name for rule in RULES for name in guards_of(rule)}
    assert named == {str(each) for each in (*GUARDS, *CONDITIONS)}


@pytest.mark.parametrize("named", sorted(set(PROMISED)))
def test_every_test_that_the_page_names_is_there(named: str) -> None:
    """A sentence without its test is a wish."""
    file, _, function = named.partition("::")
    assert f"def {function}(" in (TESTS / file).read_text() if function else (TESTS / file).exists()


def test_every_sentence_of_the_promise_names_its_test() -> None:
    """Every item of the page's lists ends in one, but for what is not covered."""
    promise = PAGE.read_text().partition("## What it does not cover")[0]
    items = re.findall(r"^- (.*(?:\n  .*)*)", promise, re.MULTILINE)
    assert len(items) > 10
    assert [each for each in items if "test_" not in each] == []
