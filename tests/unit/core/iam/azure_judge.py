"""Judges conditions of Azure role assignments: read by their grammar, and all of it.

There is no engine for them outside Azure. This one knows what Microsoft describes and no more: a
word, an operator or an attribute that it does not know, or one that the action does not have, is
an error; so is a text that is not one whole expression.

Source: "Azure role assignment condition format and syntax", and "Actions and attributes for Azure
role assignment conditions for Azure Blob Storage": listing has a prefix and no path, all other
actions have a path and no prefix; values are compared with regard to case.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_BLOBS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs"
_CONTAINER = "Resource[Microsoft.Storage/storageAccounts/blobServices/containers:name]"
_PATH, _PREFIX = f"Resource[{_BLOBS}:path]", f"Request[{_BLOBS}:prefix]"
_ATTRIBUTES = {_CONTAINER, _PATH, _PREFIX}
_TOKEN = re.compile(
    r"\s*(?:(?P<paren>[()!])|(?P<word>AND|OR|NOT)\b|(?P<verb>String[A-Za-z]+)\b"
    r"|(?P<matches>ActionMatches|SubOperationMatches)\{'(?P<name>[^']*)'\}"
    r"|@(?P<attribute>(?:Resource|Request)\[[A-Za-z./:]+\])|'(?P<text>[^']*)')"
)
_WILD = re.compile(r"\\(?P<literal>[*?\\])|(?P<wild>[*?])|(?P<other>[^\\])", re.DOTALL)


@dataclass(frozen=True)
class Asked:
    action: str
    suboperation: str | None
    attributes: Mapping[str, str]


def _like(pattern: str, value: str) -> bool:
    parts, at = [], 0
    while at < len(pattern):
        match = _WILD.match(pattern, at)
        if match is None:
            raise ValueError(f"no pattern: {pattern!r}")
        wild = match["wild"]
        parts.append({"*": ".*", "?": "."}[wild] if wild else re.escape(match[0][-1]))
        at = match.end()
    return re.fullmatch("".join(parts), value, re.DOTALL) is not None


_VERBS: Mapping[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda text, value: value == text,
    "StringStartsWith": lambda text, value: value.startswith(text),
    "StringLike": _like,
    "StringNotLike": lambda text, value: not _like(text, value),
}


_Says = Callable[[Asked], bool]


def holds(condition: str, asked: Asked) -> bool:
    return _read(condition)(asked)


@lru_cache
def _read(condition: str) -> _Says:
    return _Reader(condition).whole()


class _Reader:
    """Reads a condition, to the last word; NOT binds before AND, AND before OR."""

    def __init__(self, text: str) -> None:
        self._at = 0
        self._tokens: list[re.Match[str]] = []
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"no condition from here: {text[at : at + 40]!r}")
            self._tokens.append(match)
            at = match.end()

    def whole(self) -> _Says:
        says = self._any()
        if self._at != len(self._tokens):
            raise ValueError("more follows")
        return says

    def _next(self) -> re.Match[str]:
        self._at += 1
        return self._tokens[self._at - 1]

    def _has(self, kind: str, value: str) -> bool:
        is_next = self._at < len(self._tokens) and self._tokens[self._at][kind] == value
        self._at += is_next
        return is_next

    def _any(self) -> _Says:
        parts = [self._all()]
        while self._has("word", "OR"):
            parts.append(self._all())
        return lambda asked: any(part(asked) for part in parts)

    def _all(self) -> _Says:
        parts = [self._one()]
        while self._has("word", "AND"):
            parts.append(self._one())
        return lambda asked: all(part(asked) for part in parts)

    def _one(self) -> _Says:
        if self._has("paren", "!") or self._has("word", "NOT"):
            denied = self._one()
            return lambda asked: not denied(asked)
        if self._has("paren", "("):
            says = self._any()
            if not self._has("paren", ")"):
                raise ValueError("a parenthesis is open")
            return says
        return self._test(self._next())

    def _test(self, token: re.Match[str]) -> _Says:
        name = token["name"]
        if token["matches"] == "ActionMatches":
            return lambda asked: asked.action == name
        if token["matches"]:
            return lambda asked: asked.suboperation == name
        attribute, compares, text = token["attribute"], _VERBS[self._next()["verb"]], self._text()
        if attribute not in _ATTRIBUTES:
            raise ValueError(f"no attribute: {attribute}")

        def says(asked: Asked) -> bool:
            value = asked.attributes.get(attribute)
            return value is not None and compares(text, value)

        return says

    def _text(self) -> str:
        text = self._next()["text"]
        if text is None:
            raise ValueError("no text to compare with")
        return text


def allows(document: Mapping[str, Any], action: str, *, container: str, **where: str) -> bool:
    """Return whether a role and the condition of its assignment allow something."""
    is_listing = action == "list"
    full = f"{_BLOBS}/{'read' if is_listing else action}"
    if full not in document["role"]["DataActions"]:
        return False
    attributes = {_CONTAINER: container}
    if is_listing and "prefix" in where:
        attributes[_PREFIX] = where["prefix"]
    elif not is_listing:
        attributes[_PATH] = where["path"]
    asked = Asked(full, "Blob.List" if is_listing else None, attributes)
    return holds(document["assignment"]["condition"], asked)
