"""Vocabulary of the layout tables: fields and records of ``_metadata``."""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import fields as fields_of
from enum import Enum
from functools import partial
from typing import Any

from flinkstate.values.metadata_values import HandleKind


class RecordPart(Enum):
    """Encoding of a field in the file; the number is the size of its shortest form in bytes."""

    I4 = ("i4", 4)
    I8 = ("i8", 8)
    INDEX = ("i4, not negative", 4)
    UTF = ("utf", 2)
    OPTIONAL_UTF = ("utf, empty if not set", 2)
    PATH = ("utf, absolute path of a file", 3)
    DIRECTORY = ("utf, absolute path of a directory", 3)
    RELATIVE_NAME = ("utf, one path component", 3)
    OPERATOR_ID = ("16 bytes", 16)
    BLOB = ("blob", 4)
    FLAG = ("u1, 0 or 1", 1)
    MODE = ("u1, StateMode", 1)
    SCOPE = ("i4, SegmentScope", 4)
    DURATION = ("i8, then i4 0", 12)
    LONGS = ("list of i8", 4)
    KEY_GROUP_RANGE = ("i4 first, i4 count", 8)
    KEY_GROUP_OFFSETS = ("i4 first, i4 count, count times i8", 8)
    STREAM = ("stream handle", 1)
    SEGMENT_STREAM = ("stream handle, whole or empty segment", 1)
    COORDINATOR = ("stream handle, none or bytes", 1)
    KEYED = ("keyed handle or none", 1)
    OPTIONAL_OPERATOR = ("i4 0, or i4 1 and an operator handle", 4)
    KEYED_LIST = ("list of keyed handles", 4)
    INCREMENTS = ("list of keyed handles 9, 10, 13", 4)
    INPUTS = ("list of input channel handles", 4)
    OUTPUTS = ("list of output channel handles", 4)
    NAMED_STREAMS = ("list of NamedHandle", 4)
    CHANGES = ("list of ChangelogChange", 4)
    CHANGELOG_FILES = ("list of ChangelogFile", 4)
    STATES = ("list of OperatorState", 4)
    CHANNELS = ("blob of a list of Channel", 8)
    SUBTASKS = ("list of Subtask, or -1", 4)
    REFERENCE = ("u1 0, or u1 1 and i8", 1)

    def __init__(self, word: str, smallest: int) -> None:
        self.word = word
        self.smallest = smallest


@dataclass(frozen=True, slots=True, eq=False)
class RecordLayout:
    """One kind of record: its fields in file order, behind its code if it has one.

    Attributes:
        make: Constructor of the model's value, with the fields by name.
        fields: Pairs of the model's field and its encoding in the file.
        kind: Kind of the handle; None for records that are no handles.
        smallest: Size of the shortest record in bytes, without its code.
    """

    make: Callable[..., Any]
    fields: tuple[tuple[str, RecordPart], ...]
    kind: HandleKind | None
    smallest: int


def layout_of(
    make: Callable[..., Any], kind: HandleKind | None = None, /, **fields: RecordPart
) -> RecordLayout:
    """Return the layout of a record with these fields, in file order."""
    smallest = sum(part.smallest for part in fields.values())
    return RecordLayout(make, tuple(fields.items()), kind, smallest)


def coded_layout(code: int, make: type, kind: HandleKind, /, **fields: RecordPart) -> RecordLayout:
    """Return the layout of a handle; classes with several codes receive the code."""
    is_only_code = any(each.name == "code" and each.default == code for each in fields_of(make))
    return layout_of(make if is_only_code else partial(make, code=code), kind, **fields)
