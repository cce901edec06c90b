"""The map of the tests in ``tests/README.md``: a line for each folder, written from the folders.

PYTHONPATH=tests python -m support.tests_map      # writes the table anew
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.budget import BUDGETS, LIVE
from support.generated import with_part

TESTS = Path(__file__).parents[1]
PAGE = TESTS / "README.md"
CLASSES = tuple(each.name for each in BUDGETS[1:])

PURPOSES = {
    "bench": "Measurements: listing, planning, deleting and reading metadata, beside other tools.",
    "cli": "Whole commands, from arguments to output, exit code and what is left on disk.",
    "contracts/cluster": "What adapters make of Flink's REST API and of HA metadata.",
    "contracts/object_stores": "Answers of clouds that no server here gives.",
    "contracts/policy": "Generated policies suffice, and allow no more, on a real server.",
    "contracts/s3": "Requests to S3 and the reading of its answers; servers misbehave.",
    "contracts/servers": "The servers of the contracts, from moto to a stub that misbehaves.",
    "contracts/state": "What a state location must do, for each kind of one.",
    "contracts/storage": "What a storage must do (list, read, delete), for each kind of one.",
    "flink_fixtures": "Storages that real Flink wrote are planned and read as Flink's classes say.",
    "integration/browser": "The status page and the page of a checkpoint in a real Chromium.",
    "integration/flink": "A real Flink: what is collected, kept, exported and restored.",
    "integration/harness": "The real programs as fixtures: Flink, its jobs, Spark, Chromium.",
    "integration/spark": "A real Spark gives the rows of the local engine, and deletes as it does.",
    "properties": "Properties of the rule, over examples that Hypothesis draws.",
    "robustness/fuzz": "Damaged inputs of every reader: an error by name, never a wrong answer.",
    "safety/fleets": "Fleets with years of leftovers: orphans go, live files stay, no false alarm.",
    "safety/rules": "Each rule names the guard, the loss and the tests that hold it.",
    "safety/simulation": "The collector's real code over ports in memory: a fault at every call.",
    "support": "What tests share: builders, strategies, fakes, budgets, limits of time.",
    "unit/adapters": "Parts of adapters that need no server.",
    "unit/app": "Configuration, pages, status and metrics, without a command line.",
    "unit/bench": "The model of what a plan costs on a cluster, as the page shows it.",
    "unit/collect": "Each phase of a collection, over ports in memory.",
    "unit/core": "The pure core: each guard, condition and verdict, columns, documents, policies.",
    "unit/flinkstate": "Flink's formats, state declared in Python, places, single checkpoints.",
    "unit/support": "The tests' own tools, the names in the package, the links in the documents.",
}
"""Of the folders that have neither a docstring nor a README."""

_BEGIN = "<!-- folders: written by tests/support/tests_map.py -->"
_END = "<!-- end of folders -->"


def _has_tests(folder: Path) -> bool:
    return any(folder.rglob("test_*.py"))


def folders(top: Path = TESTS) -> Iterator[str]:
    for folder in sorted(top.iterdir()):
        if not folder.is_dir() or folder.name == "__pycache__":
            continue
        is_group = _has_tests(folder) and not any(folder.glob("test_*.py"))
        parts = sorted(folder.iterdir()) if is_group else [folder]
        for each in parts:
            if each.is_dir() and each.name != "__pycache__":
                yield each.relative_to(top).as_posix()


def purpose(name: str, top: Path = TESTS) -> str:
    """Return what a folder says of itself, else what is written here of it; "" if nothing."""
    package, page = top / name / "__init__.py", top / name / "README.md"
    text = ast.get_docstring(ast.parse(package.read_text())) if package.is_file() else None
    if text:
        return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")
    if page.is_file():
        return page.read_text().partition("\n")[0].lstrip("# ") + "."
    return PURPOSES.get(name, "")


def _modules(name: str, top: Path) -> Iterator[ast.Module]:
    """Yield the modules of a folder, and each ``conftest.py`` that marks its tests from above."""
    files = sorted((top / name).rglob("*.py"))
    files += [top / above / "conftest.py" for above in Path(name).parents if above.name]
    yield from (_parsed(each.read_text()) for each in files if each.is_file())


@cache
def _parsed(code: str) -> ast.Module:
    return ast.parse(code)


@cache
def marks(node: ast.AST) -> set[str]:
    """Return the names of pytest's marks in some code; text about marks has none."""
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute) and _is_named_mark(each.value)
    }


def _is_named_mark(node: ast.expr) -> bool:
    name = getattr(node, "id", None) or getattr(node, "attr", "")
    return isinstance(name, str) and name.endswith("mark")


def _of_all_tests(module: ast.Module) -> set[str]:
    assigned = (each for each in module.body if isinstance(each, ast.Assign))
    return set().union(
        *(marks(each.value) for each in assigned if ast.unparse(each.targets[0]) == "pytestmark")
    )


def starts(name: str, top: Path = TESTS) -> list[str]:
    found = set().union(*map(marks, _modules(name, top)))
    return [each for each in LIVE if each in found]


def classes(name: str, top: Path = TESTS) -> list[str]:
    """Return the classes that tests of a folder have; nothing if it has no tests."""
    tests = [_parsed(each.read_text()) for each in (top / name).rglob("test_*.py")]
    if not tests:
        return []
    found = set().union(*map(marks, _modules(name, top)))
    has_default = any(not _of_all_tests(each) & set(CLASSES) for each in tests)
    return [*(["command"] if has_default else []), *(each for each in CLASSES if each in found)]


def table(top: Path = TESTS) -> str:
    lines = ["| folder | what it holds | starts | class |", "|---|---|---|---|"]
    for name in folders(top):
        programs = ", ".join(f"`{each}`" for each in starts(name, top)) or " "
        known = ", ".join(classes(name, top)) or "no tests"
        has_page = (top / name / "README.md").is_file()
        label = f"[`{name}/`]({name}/README.md)" if has_page else f"`{name}/`"
        lines.append(f"| {label} | {purpose(name, top)} | {programs} | {known} |")
    return "\n".join(lines)


def page_with_table(page: str, top: Path = TESTS) -> str:
    return with_part(page, (_BEGIN, _END), table(top))


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
