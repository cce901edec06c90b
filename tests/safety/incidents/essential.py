"""What counts as the loss when a test is run without its answer: nothing else may make it fail.

Either a live file is gone (``must_be_there``), or an ``assert`` of the test itself fails that asks
for the fate of files: what a plan says of them or of their job, what is left on disk, how a run
ended. A helper that does not find what it needs, or an error, is no loss.
"""

import ast
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["LiveFileLostError", "must_be_there", "why_no_loss"]

FATES = frozenset(
    {
        *("verdict", "rows", "refusal", "blocks", "removals", "outcomes", "json", "code", "codes"),
        *("exists", "is_dir", "contents", "are_there"),
    }
)
"""Names of calls and attributes that tell what becomes of files, and whether a run refused."""


class LiveFileLostError(AssertionError):
    """A file that somebody needs is gone."""


def must_be_there(*files: Path) -> None:
    """Make sure that live files are.

    Raises:
        LiveFileLostError: One is not.

    """
    lost = sorted(path.name for path in files if not path.exists())
    if lost:
        raise LiveFileLostError(f"live files are gone: {lost}")


def why_no_loss(error: AssertionError, test: Path) -> str | None:
    """Return why a failure of a test in a file is no loss, ``None`` if it is one."""
    if isinstance(error, LiveFileLostError):
        return None
    last = traceback.extract_tb(error.__traceback__)[-1]
    if Path(last.filename) != test or last.lineno is None:
        return f"it fails in {Path(last.filename).name}, line {last.lineno}: {error}"
    asked = next((names for lines, names in _asserts(test) if last.lineno in lines), frozenset())
    return None if asked & FATES else f"line {last.lineno} asks for no fate: {error}"


@cache
def _asserts(test: Path) -> tuple[tuple[range, frozenset[str]], ...]:
    """Return the lines of each ``assert`` of a file, and the names in it."""
    return tuple(
        (range(node.lineno, (node.end_lineno or node.lineno) + 1), frozenset(_names(node)))
        for node in ast.walk(ast.parse(test.read_text()))
        if isinstance(node, ast.Assert)
    )


def _names(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.Name):
            yield each.id
