"""The folders of the package in ``gc/README.md``: which there are, what each is for, its modules.

PYTHONPATH=tests python -m support.house      # writes the table anew
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "gc" / "orphangc"
PAGE = PACKAGE.parent / "README.md"
MOST_MODULES = 12
"""In one folder, ``__init__.py`` apart."""

_BEGIN = "<!-- folders: written by tests/support/house.py -->"
_END = "<!-- end of folders -->"


def folders(package: Path = PACKAGE) -> Iterator[Path]:
    """Yield the folders that hold modules, the package itself first."""
    for file in sorted(package.rglob("__init__.py"), key=lambda each: each.parent.parts):
        yield file.parent


def modules(folder: Path) -> list[Path]:
    """Return the modules of one folder, in order, without ``__init__.py``."""
    return sorted(each for each in folder.glob("*.py") if each.name != "__init__.py")


def purpose(folder: Path) -> str:
    """Return the first sentence of a folder's own docstring."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def classes(package: Path = PACKAGE) -> Iterator[tuple[str, Path]]:
    """Yield each class at the top of a module: its name and its module."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, file


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| folder | what it is for | modules |", "|---|---|---|"]
    for folder in folders():
        name = folder.relative_to(PACKAGE.parent).as_posix()
        files = ", ".join(f"`{each.stem}`" for each in modules(folder)) or " "
        lines.append(f"| `{name}/` | {purpose(folder)} | {files} |")
    return "\n".join(lines)


def page_with_table(page: str) -> str:
    """Return the page with its table as it is now."""
    head, _, rest = page.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    return f"{head}{_BEGIN}\n{table()}\n{_END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text()))
