"""``gc/SAFETY.md`` promises nothing that no test holds."""

import ast
import re
from functools import cache

import pytest

from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.guards import GUARDS
from safety.rules.rules import PAGE, PROMISES, RULES, TESTS, guards_of, page_with_table
from support.grouped import for_each, grouped

_TEST = re.compile(r"`((?:[a-z0-9_]+/)+test_\w+\.py(?:::\w+)?)`")
_BEFORE, _, _FROM_HERE = PAGE.read_text().partition("### Where the controls run")
_CONTROLS, _, _AFTER = _FROM_HERE.partition("\n## ")
_CITED = re.compile(r"\b(?:R\d{1,2}a?|T[1-8])\b")
_STATED = re.compile(r"\*\*[RT]\d.*?\*\*(?:, \*\*R\d.*?\*\*)*")
BY_FOLDER = grouped(
    sorted(set(_TEST.findall(_BEFORE + _AFTER))), by=lambda named: named.partition("/")[0]
)
CONTROLS = re.findall(r"^\| (.+?) \| `(.+?)` \| (\w+) \|$", _CONTROLS, re.MULTILINE)
"""Proof, control and class of each row."""


def test_the_tables_are_current() -> None:
    """``PYTHONPATH=tests python -m safety.rules.rules`` writes them."""
    assert page_with_table(PAGE.read_text()) == PAGE.read_text()


def test_every_rule_is_there() -> None:
    """R1 to R30, R3a, and these of R31 to R56."""
    beside = {"R31", "R33", "R34", "R35", "R37", "R39", "R45", "R46", "R50", "R51", "R56"}
    assert set(RULES) == {f"R{number}" for number in range(1, 31)} | {"R3a"} | beside


def test_the_page_of_reasons_states_each_rule_that_is_cited() -> None:
    """A docstring cites only what is in the repository."""
    source = PAGE.parent
    modules = [each.read_text() for each in source.rglob("*.py")]
    cited = set(_CITED.findall("\n".join((PAGE.read_text(), *modules))))
    stated = set(_CITED.findall(" ".join(_STATED.findall((source / "RULES.md").read_text()))))
    assert cited - stated == set()
    assert stated >= {*RULES}


def test_every_guard_and_condition_belongs_to_a_rule() -> None:
    named = {name for rule in RULES for name in guards_of(rule)}
    assert named == {str(each) for each in (*GUARDS, *CONDITIONS)}


@for_each("named", BY_FOLDER)
def test_every_test_that_the_page_names_is_there(named: str) -> None:
    """A sentence without its test is a wish."""
    file, _, function = named.partition("::")
    assert f"def {function}(" in (TESTS / file).read_text() if function else (TESTS / file).exists()


def larger_classes(file: str, function: str) -> list[str]:
    """Return what takes every case of a test out of README's command: markers of other classes.

    Without a function, what takes each test of the file out.
    """
    module = _module(file)
    marks = [
        ast.unparse(each.value)
        for each in module.body
        if isinstance(each, ast.Assign) and "pytestmark" in ast.unparse(each.targets[0])
    ]
    classes = [each for each in module.body if isinstance(each, ast.ClassDef)]
    tests = [
        (each, of.decorator_list if isinstance(of, ast.ClassDef) else [])
        for of in (module, *classes)
        for each in of.body
        if isinstance(each, ast.FunctionDef)
        and (each.name == function if function else each.name.startswith("test_"))
    ]
    own = [[ast.unparse(mark) for mark in (*e.decorator_list, *above)] for e, above in tests]
    found = [_OTHER_CLASS.findall(" ".join([*marks, *map(_whole, each)])) for each in own]
    return min(found, key=len, default=["no test at all"])


@cache
def _module(file: str) -> ast.Module:
    return ast.parse((TESTS / file).read_text())


_OTHER_CLASS = re.compile(r"\bmark\.(ci|nightly)\b")


def _whole(decorator: str) -> str:
    """Return a decorator that holds for all cases of a test, nothing for one that lists them."""
    return "" if ".parametrize(" in decorator else decorator


@for_each("named", BY_FOLDER)
def test_readmes_command_exercises_what_the_page_names(named: str) -> None:
    """A promise whose test runs later only is none for whoever changes the code."""
    file, _, function = named.partition("::")
    assert larger_classes(file, function) == []


@pytest.mark.parametrize(("_", "named", "runs_in"), CONTROLS)
def test_a_control_runs_on_each_submission(_: str, named: str, runs_in: str) -> None:
    """A proof that could fail only by night would be none for a submission."""
    classes = larger_classes(*named.split("::"))
    assert classes == {"command": [], "ci": ["ci"]}[runs_in]


def test_every_proof_has_a_control_that_runs() -> None:
    """Each row of the table of proofs, by the word or words that it begins with."""
    rows = _BEFORE.partition("| proof | where, below `tests/` |")[2].splitlines()[2:]
    proofs = [each.split("|")[1].strip() for each in rows if each.startswith("|")]
    controlled = {proof for proof, _, _ in CONTROLS}
    assert len(proofs) > 10
    assert [each for each in proofs if not any(map(each.startswith, controlled))] == []


def test_a_test_of_a_larger_class_is_seen() -> None:
    """By its own marker; one among its cases leaves the others."""
    larger = "test_a_state_that_cannot_be_read_is_no_reason_to_stop"
    assert larger_classes("cli/test_serve.py", larger) == ["ci"]
    some = "test_a_sweep_killed_before_any_step_of_its_deletions_is_finished_by_the_next"
    assert larger_classes("cli/test_crash.py", some) == []
    assert larger_classes("cli/test_crash.py", "test_of_no_such_name") == ["no test at all"]


def test_every_promise_is_one_sentence_with_its_tests() -> None:
    """Every item of the page's lists, but for what is not covered; the table names the tests."""
    promise = PAGE.read_text().partition("## What it does not cover")[0]
    items = re.findall(r"^- (?:\*([a-z-]+)\*: )?(.*(?:\n  .*)*)", promise, re.MULTILINE)
    assert [name for name, _ in items] == [*PROMISES]
    assert [name for name, tests in PROMISES.items() if not tests] == []
    assert [name for name, said in items if re.search(r"\.\s+[A-Z`]|test_", said)] == []


def test_a_proof_lies_where_the_page_says() -> None:
    """The second column of the table of proofs names folders and files below ``tests``."""
    rows = PAGE.read_text().partition("| proof | where, below `tests/` |")[2].partition("\n\n")[0]
    places = [re.findall(r"`([^`]+)`", each.split("|")[2]) for each in rows.splitlines()[2:]]
    assert all(places)
    assert [each for row in places for each in row if not (TESTS / each).exists()] == []
