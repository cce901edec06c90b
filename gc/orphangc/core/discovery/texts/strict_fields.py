"""Fields of a JSON document, read by name and type: what has another type is never guessed at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from orphangc.core.discovery.discovered_facts import Origin, UnclearFact, digest_of


class UnclearFieldError(Exception):
    """A field has another type than its schema says, or is missing where it must not be.

    Attributes:
        field: Path of the field.
        value: The value that is not understood.
        is_until_read: Whether what it names could only not be read.
        source: What it names, if that could not be read.

    """

    def __init__(
        self,
        field: str,
        why: str,
        *,
        value: object = None,
        is_until_read: bool = False,
        source: str = "",
    ) -> None:
        """Keep the path and the value beside the reason."""
        super().__init__(why)
        self.field = field
        self.value = value
        self.is_until_read = is_until_read
        self.source = source

    def fact(self, origin: Origin, *, hint: str, field: str = "") -> UnclearFact:
        """Return the error as a part of a resource that is not understood.

        Args:
            origin: The resource.
            hint: What lifts it.
            field: Field of the resource, if the error names none.

        """
        where = self.field or field
        return UnclearFact(
            why=f"{where or 'the document'} {self}: {hint}",
            is_everywhere=True,
            is_until_read=self.is_until_read,
            source=self.source,
            digest=digest_of(self.value),
            origin=origin.of(where),
        )


@dataclass(frozen=True, slots=True)
class DocumentField:
    """A value in a document, and its path."""

    value: Any
    path: str = ""

    def error(self, why: str) -> UnclearFieldError:
        """Return that the value is not understood."""
        return UnclearFieldError(self.path, why, value=self.value)

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
            raise self.error("is no mapping")
        return self.value

    def items(self) -> Iterator[DocumentField]:
        """Yield the items of a list, none if it is absent.

        Raises:
            UnclearFieldError: It is no list.

        """
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise self.error("is no list")
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
            raise self.error("is no text")
        return self.value.strip()

    def truth(self) -> bool:
        """Return the value as a truth value, ``False`` if it is absent.

        Raises:
            UnclearFieldError: It is of another type.

        """
        if not isinstance(self.value, bool | None):
            raise self.error("is neither true nor false")
        return bool(self.value)

    def word(self, known: frozenset[str]) -> str:
        """Return one of the known words, "" if it is absent.

        Raises:
            UnclearFieldError: It is another one.

        """
        found = self.text()
        if found and found not in known:
            why = f"says {found[:40]!r}, which is no known word"
            raise UnclearFieldError(
                self.path, why, value=found, is_until_read=True
            )  # a word names no place
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
            raise self.error("is no JSON") from err


Found = TypeVar("Found")
_HINT = "correct it, and state in discovery.explained where it was"


def attempted(origin: Origin, read: Callable[[], str]) -> tuple[str, tuple[UnclearFact, ...]]:
    """Return a text, "" where it is not understood, and then why."""
    try:
        return read(), ()
    except UnclearFieldError as err:
        return "", (err.fact(origin, hint=_HINT),)


def guarded(origin: Origin, facts: Iterator[Found]) -> Iterator[Found | UnclearFact]:
    """Yield facts until a field is not understood; that field could touch any place."""
    try:
        yield from facts
    except UnclearFieldError as err:
        yield err.fact(origin, hint=_HINT)
