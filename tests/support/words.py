"""Words that the package should not hold: the project's own where the field has one, and riddles.

PYTHONPATH=tests python -m support.words    # lists what is left, with file and line
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from support.house import SOURCES

ROOT = SOURCES.parent
MOST: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("orphangc/collect/mark", "orphangc/collect/state"), 1),
        **dict.fromkeys(("orphangc/core/decision", "orphangc/core/dependencies"), 1),
        **dict.fromkeys(("orphangc/core/documents", "orphangc/core/memory"), 1),
        **dict.fromkeys(("orphangc/collect/sweep", "orphangc/core/iam", "orphangc/core/ranges"), 2),
        "orphangc/core/model": 1,
    }
)
"""How many words a folder still holds; no other folder may hold any, and a number only falls."""

MODULE_WORDS = frozenset({
    "outside", "gate", "look", "recheck", "asking", "feeds", "far", "crew", "due", "minding",
    "board", "pile", "scratch", "pace", "boundary", "parts", "walk", "gathering", "stride",
    "pieces", "given", "places", "lazy", "lazily", "kinds", "words", "needs", "claiming", "using",
    "policing", "needing", "surroundings", "examining", "showing", "commanding", "amounts",
    "midpoint", "rows", "stored", "exported", "looking", "claims"})  # fmt: skip
"""Names that a module, or the alias of an import, does not have."""

NAME_WORDS = frozenset({
    "asking", "board", "crew", "doubtful", "feeds", "lazily", "look", "looked", "looks",
    "midpoint", "minding", "nobody", "pile", "pace", "recheck", "rechecked", "scratch", "somebody",
    "stray", "stride", "sustaining", "tell", "tells", "told", "vain", "void", "watched",
    "whoever"})  # fmt: skip
"""Parts of names of classes, functions, fields and constants."""

PROSE = re.compile(
    r"\b(?:nobody(?:'s)?|whoever|whomever|somebody(?:'s)?|tells?|telling|told|lies"
    r"|takes? (?:note|down)|taken down|let no|for good|has a say"
    r"|(?:first|second|one|last|two) looks?(?! alike)|in vain|void|crew|minding|anew)\b",
    re.IGNORECASE,
)
"""What docstrings, comments and help texts do not say."""

CONTRACT: Mapping[str, str] = MappingProxyType(
    {
        "looks": "Key of plans and run records.",
        "looked_at": "Key of the document of self-sustained.",
        "tell": "Method of Python's files.",
        "look_up": "To look up in a table is the standard verb.",
        "VOID": "HTML's name of elements without an end tag.",
    }
)
"""Names that keep such a word, with the reason: mostly columns, JSON keys or options."""

_HELP = frozenset({"help", "epilog", "description", "short_help"})
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Found:
    """One word in one place."""

    file: str  # path of the module below the package
    line: int  # number of its line, or of the first line of its docstring; 0 for a module's name
    word: str  # the word, in lower case
    text: str  # the name or the sentence that holds it

    @property
    def folder(self) -> str:
        """Return the folder of its module below the package."""
        return Path(self.file).parent.as_posix()


def words_of(package: Path = SOURCES) -> list[Found]:
    """Return every word that is left in a package, in the order of its files."""
    return sorted(
        found
        for file in package.rglob("*.py")
        for found in words_in(file.read_text(), file.relative_to(package).as_posix())
    )


def words_in(source: str, file: str) -> Iterator[Found]:
    tree = ast.parse(source)
    yield from _of_module(Path(file).stem, file, 0)
    for line, name in _aliases(tree):
        yield from _of_module(name, file, line)
    for line, name in _names(tree):
        for part in _PART.findall(name):
            if part.lower() in NAME_WORDS and name not in CONTRACT:
                yield Found(file=file, line=line, word=part.lower(), text=name)
    for line, text in (*_texts(tree), *_comments(source)):
        for match in PROSE.finditer(text):
            yield Found(file=file, line=line, word=match[0].lower(), text=_around(text, match))


def words_in_page(text: str) -> list[str]:
    prose = re.sub(r"```.*?```|`[^`]*`|\"[^\"]*\"", "", text, flags=re.DOTALL)
    return [_around(prose, match) for match in PROSE.finditer(prose)]


def _of_module(name: str, file: str, line: int) -> Iterator[Found]:
    if name in MODULE_WORDS:
        yield Found(file=file, line=line, word=name, text=f"module {name}")


def _aliases(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            yield from ((node.lineno, each.asname) for each in node.names if each.asname)


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names of classes, functions, fields and constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name
        if isinstance(node, ast.ClassDef | ast.Module):
            for each in node.body:
                targets = each.targets if isinstance(each, ast.Assign) else ()
                if isinstance(each, ast.AnnAssign):
                    targets = (each.target,)
                yield from ((each.lineno, to.id) for to in targets if isinstance(to, ast.Name))


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield docstrings, those of attributes too, and help texts."""
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.keyword) and node.arg in _HELP:
            value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.value


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _around(text: str, match: re.Match[str]) -> str:
    return " ".join(text[max(match.start() - 40, 0) : match.end() + 40].split())


if __name__ == "__main__":
    sys.stdout.writelines(
        f"{each.file}:{each.line}: {each.word}: {each.text}\n" for each in words_of()
    )
