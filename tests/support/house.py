"""The folders of our packages in ``gc/README.md``: imports between them, what each is for, modules.

PYTHONPATH=tests python -m support.house      # writes the arrows and the table anew
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
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
    for file in sorted(package.rglob("__init__.py"), key=lambda each: each.parent.parts):
        yield file.parent


def modules(folder: Path) -> list[Path]:
    return sorted(each for each in folder.glob("*.py") if each.name != "__init__.py")


def purpose(folder: Path) -> str:
    """Return the first sentence of a folder's own docstring."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def classes(package: Path = SOURCES) -> Iterator[tuple[str, Path]]:
    for file in sorted(package.rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, file


def table() -> str:
    lines = ["| folder | what it is for | modules |", "|---|---|---|"]
    for folder in folders():
        name = folder.relative_to(SOURCES).as_posix()
        files = ", ".join(f"`{each.stem}`" for each in modules(folder)) or " "
        lines.append(f"| `{name}/` | {purpose(folder)} | {files} |")
    return "\n".join(lines)


def imported(node: Path, beside: Iterable[str]) -> set[str]:
    """Return which of the modules and folders beside a module or folder it imports."""
    files = node.rglob("*.py") if node.is_dir() else [node]
    parent = ".".join(node.parent.relative_to(SOURCES).parts)
    named = {
        name.removeprefix(f"{parent}." if parent else "").partition(".")[0]
        for file in files
        for tree in ast.walk(_parsed(file))
        for name in _modules_named(tree)
        if not parent or name.startswith(f"{parent}.")
    }
    return (named & {*beside}) - {node.stem}


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def _modules_named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{each.name}" for each in node.names]
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    is_lazy = isinstance(node, ast.Call) and ast.unparse(node.func) == "lazily"
    return [ast.literal_eval(each) for each in node.args] if is_lazy else []


def arrows() -> str:
    """Return what imports what in each folder that groups folders, the outermost first."""
    groups = [SOURCES, *(each for each in folders() if len(_folders_in(each)) > 1)]
    return "\n".join(["```", *(line for each in groups for line in _arrows_in(each)), "```"])


def _folders_in(folder: Path) -> list[Path]:
    return [each for each in folders(folder) if each.parent == folder]


def _arrows_in(folder: Path) -> Iterator[str]:
    nodes = {each.stem: each for each in (*_folders_in(folder), *modules(folder))}
    every = {name: imported(each, nodes) for name, each in nodes.items()}
    order = sorted(every, key=lambda name: (-_depth(name, every), name))
    yield f"{folder.relative_to(SOURCES.parent).as_posix()}/"
    for name in (name for name in order if every[name]):
        yield f"  {name:21}->  {', '.join(sorted(every[name], key=order.index))}"


def _depth(name: str, every: dict[str, set[str]]) -> int:
    return 1 + max((_depth(each, every) for each in every[name]), default=0)


def page_with_arrows(page: str) -> str:
    return with_part(page, (_IMPORTS_BEGIN, _IMPORTS_END), arrows())


def page_with_table(page: str) -> str:
    return with_part(page, (_BEGIN, _END), table())


if __name__ == "__main__":
    PAGE.write_text(page_with_arrows(page_with_table(PAGE.read_text())))
