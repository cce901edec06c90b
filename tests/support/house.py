"""The folders of our packages in ``gc/README.md``: imports between them, what each is for, modules.

PYTHONPATH=tests python -m support.house      # writes the arrows and the table anew
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from support.generated import with_part

SOURCES = Path(__file__).parents[2] / "gc"
PACKAGES = (SOURCES / "flinkstate", SOURCES / "orphangc")
PAGE = SOURCES / "README.md"
MOST_MODULES = 12
"""In one folder, ``__init__.py`` apart."""

_BEGIN = "<!-- folders: written by tests/support/house.py -->"
_END = "<!-- end of folders -->"
_IMPORTS_BEGIN = "<!-- imports: written by tests/support/house.py -->"
_IMPORTS_END = "<!-- end of imports -->"


def folders(package: Path = SOURCES) -> Iterator[Path]:
    """Yield the folders that hold modules, each package before what is in it."""
    for file in sorted(package.rglob("__init__.py"), key=lambda each: each.parent.parts):
        yield file.parent


def modules(folder: Path) -> list[Path]:
    """Return the modules of one folder, in order, without ``__init__.py``."""
    return sorted(each for each in folder.glob("*.py") if each.name != "__init__.py")


def purpose(folder: Path) -> str:
    """Return the first sentence of a folder's own docstring."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def classes(package: Path = SOURCES) -> Iterator[tuple[str, Path]]:
    """Yield each class at the top of a module: its name and its module."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, file


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| folder | what it is for | modules |", "|---|---|---|"]
    for folder in folders():
        name = folder.relative_to(SOURCES).as_posix()
        files = ", ".join(f"`{each.stem}`" for each in modules(folder)) or " "
        lines.append(f"| `{name}/` | {purpose(folder)} | {files} |")
    return "\n".join(lines)


def imported(folder: Path) -> set[str]:
    """Return which of the collector's folders, and whether the other package, a folder imports."""
    named = {
        name
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in _modules_named(node)
    }
    found = {name.removeprefix("orphangc.").partition(".")[0] for name in named}
    return (found & {each.name for each in _tops()}) - {folder.name}


def _tops() -> list[Path]:
    """Return the folders at the top of the collector, and the other package."""
    flinkstate, collector = PACKAGES
    return [flinkstate, *(each for each in folders(collector) if each.parent == collector)]


def _modules_named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{each.name}" for each in node.names]
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    is_lazy = isinstance(node, ast.Call) and ast.unparse(node.func) == "lazily"
    return [ast.literal_eval(each) for each in node.args] if is_lazy else []


def arrows() -> str:
    """Return which folder at the top imports which, the outermost first, as a fenced block."""
    lines = [f"{name:14}->  {', '.join(imports)}" for name, imports in _layers()]
    return "\n".join(["```", *lines, "```"])


def _layers() -> list[tuple[str, list[str]]]:
    every = {each.name: imported(each) for each in _tops()}
    order = sorted(every, key=lambda name: (-_depth(name, every), name))
    return [(name, sorted(every[name], key=order.index)) for name in order if every[name]]


def _depth(name: str, every: dict[str, set[str]]) -> int:
    return 1 + max((_depth(each, every) for each in every[name]), default=0)


def page_with_arrows(page: str) -> str:
    """Return the page with its arrows as they are now."""
    return with_part(page, (_IMPORTS_BEGIN, _IMPORTS_END), arrows())


def page_with_table(page: str) -> str:
    """Return the page with its table as it is now."""
    return with_part(page, (_BEGIN, _END), table())


if __name__ == "__main__":
    PAGE.write_text(page_with_arrows(page_with_table(PAGE.read_text())))
