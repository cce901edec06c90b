"""Fields of a JSON document, read by a schema: what has another type is never guessed at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from orphangc.core.discovery.discovered_facts import Origin, UnclearFact, digest_of


class UnclearFieldError(Exception):
    """A field has another type than its schema says, or is missing where it must not be."""

    def __init__(self, field: str, why: str, *, value: object = None) -> None:
        """Keep the path and the value beside the reason."""
        super().__init__(why)
        self.field = field
        self.value = value

    def fact(self, origin: Origin) -> UnclearFact:
        """Return the error as a part of a resource that cannot be read."""
        return UnclearFact(
            why=f"{self}: correct it", digest=digest_of(self.value), origin=origin.of(self.field)
        )


class Holds(StrEnum):
    """What a field holds; all but a configuration are texts."""

    CONFIGURATION = "configuration"
    PIN = "pin"
    TARGET = "target"
    JOB = "job"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class JsonText:
    """A text that holds a document, itself or in its field ``spec``."""

    inside: Schema


Schema = Mapping[str, "Schema"] | list["Schema"] | JsonText | Holds


@dataclass(frozen=True, slots=True)
class FoundField:
    """A field that is there, with its path and its value."""

    holds: Holds
    path: str
    value: Any


def fields_of(
    value: Any, schema: Schema, path: str = ""
) -> Iterator[FoundField | UnclearFieldError]:
    """Yield each field of a schema that is there, or why it cannot be read."""
    if value is None:
        return
    kind, name = _expected(schema)
    if not isinstance(value, kind):
        yield UnclearFieldError(path, f"is no {name}", value=value)
    elif isinstance(schema, Holds):
        found = value.strip() if kind is str else value
        yield from (FoundField(schema, path, found),) if found else ()
    else:
        for below, inside, each in _below(value, schema):
            yield from fields_of(each, inside, f"{path}.{below}".strip("."))


def _below(value: Any, schema: Schema) -> Iterator[tuple[str, Schema, Any]]:
    if isinstance(schema, JsonText):
        yield from _parsed(value, schema)
    elif isinstance(schema, Mapping):
        yield from ((name, inside, value.get(name)) for name, inside in schema.items())
    elif isinstance(schema, list):
        yield from (("", schema[0], each) for each in value)


def _expected(schema: Schema) -> tuple[type[Any], str]:
    if isinstance(schema, Mapping) or schema is Holds.CONFIGURATION:
        return Mapping, "mapping"
    return (list, "list") if isinstance(schema, list) else (str, "text")


def _parsed(text: str, schema: JsonText) -> Iterator[tuple[str, Schema, Any]]:
    """Yield the document in a text; of another text, a value that no schema allows."""
    try:
        found = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        found = [text]
    whole = found["spec"] if isinstance(found, Mapping) and "spec" in found else found
    yield "", schema.inside, whole


def value_at(document: Any, *path: str) -> Any:
    """Return what a document holds at a path, ``None`` if it holds nothing there."""
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document


def text_at(document: Any, *path: str) -> str:
    """Return the text that a document holds at a path, "" if it holds none there."""
    found = value_at(document, *path)
    return found if isinstance(found, str) else ""


Found = TypeVar("Found")


def guarded(origin: Origin, facts: Iterator[Found]) -> Iterator[Found | UnclearFact]:
    """Yield facts until a field cannot be read; that field could name any place."""
    try:
        yield from facts
    except UnclearFieldError as err:
        yield err.fact(origin)
