"""How options show a setting, said at its field; no Pydantic, which help does not load."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args

Panel = Literal["Safety margins", "Evidence", "Listing", "Limits"]
"""Group of the help."""


class Shown(NamedTuple):
    """How an option shows its setting.

    Attributes:
        panel: Its group in the help; what is in none stands first.
        metavar: Word for its value, where its type says less.
        is_seldom: Whether ``--help`` leaves it out where a command has more than fit a screen.
        is_hidden: Whether no help has it.
        is_one: Whether its word, in a file too, is the singular of the field's name, which is the
            old spelling.
        least: Smallest value that the option itself takes.
    """

    panel: Panel | None = None
    metavar: str | None = None
    is_seldom: bool = False
    is_hidden: bool = False
    is_one: bool = False
    least: int | None = None


class SearchScope(StrEnum):
    """What is searched for checkpoints that may refer here."""

    STORAGE = "storage"
    """Whole storages."""
    PLACES = "places"
    """Named places."""


class RunMode(StrEnum):
    """How far a scheduled run may go; each mode does all that the one before it does."""

    REPORT = "report"
    """Plan only: nothing is written but the plan and this record."""
    QUARANTINE = "quarantine"
    """Also lay tombstones."""
    DELETE = "delete"
    """Also delete objects whose quarantine is over."""


def shown_fields(model: Any) -> Mapping[str, Shown]:
    """Return how options show the fields of a model of settings; the others are no options."""
    marks = ((name, each.metadata) for name, each in model.model_fields.items())
    return {name: mark for name, each in marks for mark in each if isinstance(mark, Shown)}


def marked(model: Any, mark: object) -> frozenset[str]:
    """Return the fields of a model of settings that have a mark in their type, at any depth."""
    fields = model.model_fields.items()
    return frozenset(
        name for name, each in fields if mark in (*each.metadata, *_parts(each.annotation))
    )


def _parts(hint: Any) -> Iterator[object]:
    yield hint
    for each in get_args(hint):
        yield from _parts(each)
