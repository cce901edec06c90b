"""Fields of a JSON document, read by name and type: what has another type is never guessed at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orphangc.core.discovery.discovered_facts import Fact, Origin, UnclearFact


class UnclearFieldError(Exception):
    """A field has another type than its schema says, or is missing where it must not be.

    Attributes:
        field: Path of the field.
        is_until_read: Whether what it names could only not be read.

    """

    def __init__(self, field: str, why: str, *, is_until_read: bool = False) -> None:
        """Keep the path beside the reason."""
        super().__init__(why)
        self.field = field
        self.is_until_read = is_until_read


@dataclass(frozen=True, slots=True)
class DocumentField:
    """A value in a document, and its path."""

    value: Any
    path: str = ""

    def child(self, *names: str) -> DocumentField:
        """Return a field below this one; one that is absent has the value ``None``.

        Raises:
            UnclearFieldError: A field around it is no mapping.

        """
        found = self
        for name in names:
            found = DocumentField(found.mapping().get(name), f"{found.path}.{name}".lstrip("."))
        return found

    def mapping(self) -> Mapping[str, Any]:
        """Return the value as a mapping, an absent one as an empty mapping.

        Raises:
            UnclearFieldError: It is of another type.

        """
        if self.value is None:
            return {}
        if not isinstance(self.value, Mapping) or not all(isinstance(k, str) for k in self.value):
            raise UnclearFieldError(self.path, "is no mapping")
        return self.value

    def items(self) -> Iterator[DocumentField]:
        """Yield the items of a list, none if it is absent.

        Raises:
            UnclearFieldError: It is no list.

        """
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise UnclearFieldError(self.path, "is no list")
        for each in self.value:
            yield DocumentField(each, self.path)

    def text(self) -> str:
        """Return the value as a text, "" if it is absent.

        Raises:
            UnclearFieldError: It is of another type.

        """
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            raise UnclearFieldError(self.path, "is no text")
        return self.value.strip()

    def word(self, known: frozenset[str]) -> str:
        """Return one of the known words, "" if it is absent.

        Raises:
            UnclearFieldError: It is another one.

        """
        found = self.text()
        if found and found not in known:
            why = f"says {found[:40]!r}, which is no known word"
            raise UnclearFieldError(self.path, why, is_until_read=True)  # a word names no place
        return found

    def parsed(self) -> DocumentField:
        """Return the document inside a JSON text, an absent one if there is none.

        Raises:
            UnclearFieldError: It is no JSON.

        """
        text = self.text()
        try:
            return DocumentField(json.loads(text) if text else None, self.path)
        except (ValueError, RecursionError) as err:
            raise UnclearFieldError(self.path, "is no JSON") from err


def guarded(origin: Origin, facts: Iterator[Fact]) -> Iterator[Fact]:
    """Yield facts until a field is not understood; that field could touch any place."""
    try:
        yield from facts
    except UnclearFieldError as err:
        yield UnclearFact(
            why=f"{err.field or 'the document'} {err}: correct it, or wait for its owner",
            is_everywhere=True,
            is_until_read=err.is_until_read,
            origin=origin.of(err.field),
        )
