"""Links and paths in the Markdown pages of the repository, and whether each is there."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[2]
_SOURCES = (".github", ".ci", "deploy", "gc", "helm", "tests")
"""Folders with pages; a virtual environment beside them has pages of others."""

_LINK = re.compile(r"\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_HEADING = re.compile(r"^#+ +(.+?) *#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_FOLDER = re.compile(r"(?:\.?[\w-]+/)+")
_OURS = re.compile(r"(?:tests|deploy|helm|gc/flinkstate|gc/orphangc)(?:/[\w.-]+)*/?")
_NAME = re.compile(r"\w+")
_OF_CODE = re.compile(r"_?[A-Z]+(?:_[A-Z]+)+|_[A-Z]{3,}|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
"""A constant of two words, one of a module's own, or a class of two words."""
_MODULE = re.compile(r"(?:\.?[\w-]+/)*[\w-]+\.(?:py|java)")


def pages(top: Path = TOP) -> list[Path]:
    found = [*top.glob("*.md")]
    for name in _SOURCES:
        found += (top / name).rglob("*.md")
    return sorted(found)


def anchor(heading: str) -> str:
    """Return the fragment that GitHub gives a heading."""
    words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return words.replace(" ", "-")


def broken_links(page: Path, top: Path = TOP) -> Iterator[str]:
    """Yield the relative links of a page that lead to no file, or to no heading of it."""
    text = _SPAN.sub("", _FENCE.sub("", page.read_text()))
    for link in _LINK.findall(text):
        if _ELSEWHERE.match(link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_there = target.exists() and target.is_relative_to(top.resolve())
        if not is_there or (fragment and fragment not in _anchors(target)):
            yield link


def _anchors(page: Path) -> set[str]:
    return {anchor(each) for each in _HEADING.findall(_FENCE.sub("", page.read_text()))}


@cache
def _modules(top: Path) -> frozenset[str]:
    """Return every module by each path that may name it: ``a/b/c.py``, ``b/c.py``, ``c.py``."""
    files = (
        each.relative_to(top).parts
        for name in _SOURCES
        for kind in ("*.py", "*.java")
        for each in (top / name).rglob(kind)
    )
    return frozenset("/".join(parts[at:]) for parts in files for at in range(len(parts)))


@cache
def _words(top: Path) -> frozenset[str]:
    files = (each for name in _SOURCES for each in (top / name).rglob("*.py"))
    return frozenset(word for each in files for word in _NAME.findall(each.read_text()))


def lost_names(page: Path, top: Path = TOP) -> Iterator[str]:
    """Yield the constants and classes in code spans of a page that no module has."""
    for span in _SPAN.findall(_FENCE.sub("", page.read_text())):
        if _OF_CODE.fullmatch(span) and span not in _words(top):
            yield span


def lost_paths(page: Path, top: Path = TOP) -> Iterator[str]:
    """Yield the modules and folders in code spans of a page that are nowhere; commands name some.

    A folder counts if it begins with one that is there: of the repository, of the package, of the
    tests, or beside the page; ``a/b/`` of another system does not.
    """
    bases = (top, top / "gc", top / "gc" / "orphangc", top / "tests", page.parent)
    spans = _SPAN.findall(_FENCE.sub("", page.read_text()))
    for word in (word.partition("::")[0] for span in spans for word in span.split()):
        if _MODULE.fullmatch(word):
            if word not in _modules(top) and not (page.parent / word).exists():
                yield word
        elif _OURS.fullmatch(word):
            if not (top / word).exists() and f"{word}.py" not in _modules(top):
                yield word
        elif _FOLDER.fullmatch(word):
            homes = [each for each in bases if (each / word.partition("/")[0]).is_dir()]
            if homes and not any((each / word).exists() for each in homes):
                yield word
