"""The kit tells dead mutants from living ones; what is argued to be equivalent still is there."""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from safety.mutation.outcome import (
    KILLED,
    Change,
    Equivalent,
    counted,
    ended,
    equivalents,
    mutmut,
    statuses,
    survivors,
    unexplained,
)
from safety.mutation.tree import BEYOND, PROJECT, files, lay_out

KILLS = "tests/unit/core/dependencies/test_restore_fallback.py"
TESTED, UNTESTED = "dependencies.restore_fallback", "model.flink_versions"  # by that file
BEFORE, AFTER = "if here > there:", "if here >= there:"


def functions(path: Path, module: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of every function of a module, without what indents its lines."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, str]]:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.FunctionDef):
                lines = text.splitlines()[each.lineno - 1 : each.end_lineno]
                yield f"{prefix}.{each.name}", "\n".join(line.strip() for line in lines)
            elif isinstance(each, ast.ClassDef):
                yield from walk(each, f"{prefix}.{each.name}")

    text = path.read_text(encoding="utf-8")
    yield from walk(ast.parse(text), module)


def all_functions() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in (path for name in ("*", *BEYOND) for path in files(name)):
        parts = path.relative_to(PROJECT / "gc").with_suffix("").parts
        found.update(functions(path, ".".join(parts)))
    return found


def test_every_equivalent_is_still_about_code_that_is_there() -> None:
    texts = all_functions()
    for each in equivalents():
        change = each.change
        assert change.function in texts, f"no function {change.function}"
        assert all(line in texts[change.function] for line in change.before.splitlines()), change
        assert change.before != change.after
        assert len(each.why.split()) > 4, f"no argument for {change}"


def test_no_equivalent_is_argued_twice() -> None:
    twice = Counter(each.change for each in equivalents())
    assert not [change for change, times in twice.items() if times > 1]


def test_a_survivor_is_explained_by_its_very_change_alone() -> None:
    change = Change("f", BEFORE, AFTER)
    others = [Change("g", BEFORE, AFTER), Change("f", AFTER, BEFORE), Change("f", BEFORE, "")]
    known = [Equivalent(change, "nobody could tell")]
    found = [(str(number), each) for number, each in enumerate([change, *others])]
    assert unexplained(found, known) == found[1:]


def test_what_takes_too_long_is_interrupted_with_its_children(tmp_path: Path) -> None:
    """That is no error; a command that ends by itself has its own exit code."""
    sleeping = "import subprocess; subprocess.run(['sleep', '600'])"
    assert ended([sys.executable, "-c", sleeping], cwd=tmp_path, seconds=0.5)[0] == 0
    assert ended([sys.executable, "-c", "print(2); exit(3)"]) == (3, "2\n", "")


@pytest.mark.ci
@pytest.mark.timeout(600)
def test_living_mutants_are_found_and_dead_ones_are_dead(tmp_path: Path) -> None:
    lay_out(tmp_path, [each.rpartition(".")[2] for each in (TESTED, UNTESTED)], [KILLS])
    mutmut(tmp_path, "run", "--max-children", "2")
    found = statuses(tmp_path)
    counts = counted(found)
    assert set(counts) == {TESTED, UNTESTED}
    assert counts[TESTED]["killed"] > 0
    alive = {name for name, _ in unexplained(survivors(tmp_path, found), equivalents())}
    assert not {name for name in alive if TESTED in name}
    untested = {name for name, word in found.items() if UNTESTED in name and word not in KILLED}
    assert untested
    assert alive == untested


@pytest.mark.ci
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("kills")
def test_whoever_shares_a_look_is_held_by_its_tests(tmp_path: Path) -> None:
    """Mutants of ``single_flight`` mostly wait for ever: so many at once take little."""
    lay_out(tmp_path, ["single_flight"])
    mutmut(tmp_path, "run", "--max-children", "8")
    found = statuses(tmp_path)
    assert len(found) > 30
    assert unexplained(survivors(tmp_path, found), equivalents()) == []
