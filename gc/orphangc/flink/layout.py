"""The layout of every record in ``_metadata``, as tables that reader, scanner and writer share.

Source: Flink 1.8-2.3, ``MetadataV2V3SerializerBase``, ``MetadataV2Serializer`` to
``MetadataV7Serializer``, ``ChannelStateHandleSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from orphangc.flink import model
from orphangc.flink.model import HandleKind, LayoutVariant

__all__ = [
    "ALL_LAYOUTS",
    "KEY_GROUPS_LIMIT",
    "MAGIC",
    "MASTER_MAGIC",
    "MASTER_STATE",
    "NO_PROPERTIES",
    "RECORD_LISTS",
    "VERSIONS",
    "Layout",
    "Part",
    "Tables",
    "tables_of",
]

MAGIC = 0x4960672D
MASTER_MAGIC = 0xC96B1696
VERSIONS = range(2, 8)
KEY_GROUPS_LIMIT = 32768
NO_PROPERTIES = b"\xac\xed\x00\x05\x70"
"""The Java stream of a null, which stands for properties that are not there."""


class Part(Enum):
    """How a field lies in the file; the number is the bytes of its shortest form."""

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
class Layout:
    """One kind of record: its fields in file order, behind its code if it has one.

    Attributes:
        make: Gives the model's value for the fields by name.
        fields: Pairs of the model's field and how it lies in the file.
        kind: What a handle is; None for records that are no handles.
        smallest: Bytes of the shortest record, without its code.

    """

    make: Callable[..., Any]
    fields: tuple[tuple[str, Part], ...]
    kind: HandleKind | None
    smallest: int


def _layout(
    make: Callable[..., Any], kind: HandleKind | None = None, /, **fields: Part
) -> Layout:
    smallest = sum(part.smallest for part in fields.values())
    return Layout(make, tuple(fields.items()), kind, smallest)


def _coded(code: int, make: Callable[..., Any], kind: HandleKind, /, **fields: Part) -> Layout:
    return _layout(partial(make, code=code), kind, **fields)


_ID = {"state_handle_id": Part.UTF}
_GROUPS = {"groups": Part.KEY_GROUP_OFFSETS, "delegate": Part.STREAM}
_SNAPSHOT = {
    "checkpoint_id": Part.I8,
    "backend_id": Part.UTF,
    "groups": Part.KEY_GROUP_RANGE,
}
_FILES = {"meta": Part.STREAM, "shared": Part.NAMED_STREAMS, "private": Part.NAMED_STREAMS}
_RANGE = {"groups": Part.KEY_GROUP_RANGE}
_SIZED = {"checkpointed_size": Part.I8}
_BOTH = {"materialized": Part.KEYED_LIST, "increments": Part.INCREMENTS}
_CHANGES = {
    **_RANGE,
    "from_sequence": Part.I8,
    "to_sequence": Part.I8,
    "changes": Part.CHANGES,
}
_CHANGE_FILES = {**_RANGE, "files": Part.CHANGELOG_FILES, "size": Part.I8}
_CHANNEL = {
    "gate": Part.INDEX,
    "channel": Part.INDEX,
    "offsets": Part.LONGS,
    "size": Part.I8,
    "delegate": Part.STREAM,
}

_KEY_GROUPS = _coded(3, model.KeyGroupsHandle, HandleKind.KEY_GROUPS, **_GROUPS)

_STREAMS = {
    1: _coded(1, model.BytesHandle, HandleKind.BYTES, name=Part.UTF, data=Part.BLOB),
    2: _coded(2, model.FileHandle, HandleKind.FILE, size=Part.I8, path=Part.PATH),
    3: _KEY_GROUPS,
    6: _coded(
        6, model.RelativeHandle, HandleKind.RELATIVE, name=Part.RELATIVE_NAME, size=Part.I8
    ),
    15: _coded(
        15,
        model.SegmentHandle,
        HandleKind.SEGMENT,
        start=Part.I8,
        size=Part.I8,
        scope=Part.SCOPE,
        path=Part.PATH,
        logical_id=Part.UTF,
    ),
    16: _coded(16, model.EmptySegmentHandle, HandleKind.EMPTY_SEGMENT),
}

_KEYED = {
    3: _KEY_GROUPS,
    5: _coded(5, model.IncrementalHandle, HandleKind.INCREMENTAL, **_SNAPSHOT, **_FILES),
    7: _coded(7, model.KeyGroupsHandle, HandleKind.KEY_GROUPS_SAVEPOINT, **_GROUPS),
    8: _coded(
        8,
        model.ChangelogHandle,
        HandleKind.CHANGELOG,
        **_RANGE,
        **_SIZED,
        **_BOTH,
        materialization_id=Part.I8,
        **_ID,
    ),
    9: _coded(9, model.ChangelogBytesHandle, HandleKind.CHANGELOG_BYTES, **_CHANGES, **_ID),
    10: _coded(
        10,
        model.ChangelogFilesHandle,
        HandleKind.CHANGELOG_FILES,
        **_CHANGE_FILES,
        **_SIZED,
        **_ID,
    ),
    11: _coded(
        11,
        model.IncrementalHandle,
        HandleKind.INCREMENTAL,
        **_SNAPSHOT,
        **_SIZED,
        **_FILES,
        **_ID,
    ),
    12: _coded(12, model.KeyGroupsHandle, HandleKind.KEY_GROUPS, **_GROUPS, **_ID),
    13: _coded(
        13,
        model.ChangelogFilesHandle,
        HandleKind.CHANGELOG_FILES,
        **_CHANGE_FILES,
        **_SIZED,
        **_ID,
        storage=Part.UTF,
    ),
    14: _coded(
        14,
        model.ChangelogHandle,
        HandleKind.CHANGELOG,
        **_RANGE,
        **_SIZED,
        **_BOTH,
        materialization_id=Part.I8,
        checkpoint_id=Part.I8,
        **_ID,
    ),
}

_KEYED_1_14 = _KEYED | {
    8: _coded(8, model.ChangelogHandle, HandleKind.CHANGELOG, **_RANGE, **_BOTH),
    9: _coded(9, model.ChangelogBytesHandle, HandleKind.CHANGELOG_BYTES, **_CHANGES),
    10: _coded(10, model.ChangelogFilesHandle, HandleKind.CHANGELOG_FILES, **_CHANGE_FILES),
}

_INCREMENT_CODES = (9, 10, 13)

_OPERATOR_HANDLES = {
    4: _coded(
        4, model.OperatorHandle, HandleKind.OPERATOR, states=Part.STATES, delegate=Part.STREAM
    ),
    17: _coded(
        17,
        model.MergedOperatorHandle,
        HandleKind.OPERATOR,
        states=Part.STATES,
        taskowned_directory=Part.DIRECTORY,
        shared_directory=Part.DIRECTORY,
        is_empty=Part.FLAG,
        delegate=Part.SEGMENT_STREAM,
    ),
}


def _plain_channel(code: int) -> Layout:
    return _coded(
        code, model.ChannelHandle, HandleKind.CHANNEL, subtask=Part.INDEX, **_CHANNEL
    )


def _merged_channel(code: int) -> Layout:
    return _coded(
        code,
        model.MergedChannelHandle,
        HandleKind.CHANNEL,
        subtask=Part.INDEX,
        size=Part.I8,
        delegate=Part.STREAM,
        channels=Part.CHANNELS,
    )


_INPUTS = {1: _plain_channel(1), 3: _merged_channel(3)}
_OUTPUTS = {2: _plain_channel(2), 4: _merged_channel(4)}
_INPUTS_1_11 = {1: _coded(1, model.ChannelHandle, HandleKind.CHANNEL, **_CHANNEL)}
_OUTPUTS_1_11 = {2: _coded(2, model.ChannelHandle, HandleKind.CHANNEL, **_CHANNEL)}

MASTER_STATE = _layout(model.MasterState, version=Part.I4, name=Part.UTF, payload=Part.BLOB)

RECORD_LISTS = {
    Part.NAMED_STREAMS: _layout(model.NamedHandle, name=Part.UTF, handle=Part.STREAM),
    Part.CHANGES: _layout(model.ChangelogChange, key_group=Part.I4, change=Part.BLOB),
    Part.CHANGELOG_FILES: _layout(model.ChangelogFile, offset=Part.I8, handle=Part.STREAM),
    Part.STATES: _layout(
        model.OperatorState, name=Part.UTF, mode=Part.MODE, offsets=Part.LONGS
    ),
    Part.CHANNELS: _layout(
        model.Channel, gate=Part.INDEX, channel=Part.INDEX, size=Part.I8, offsets=Part.LONGS
    ),
}
"""Lists whose elements are plain records, each by its element's layout."""


def _operator(version: int) -> Layout:
    named = {"name": Part.OPTIONAL_UTF, "uid": Part.OPTIONAL_UTF} if version >= 5 else {}
    middle = {"chain_length": Part.I4} if version == 2 else {"coordinator": Part.COORDINATOR}
    return _layout(
        model.Operator,
        **named,
        id=Part.OPERATOR_ID,
        parallelism=Part.I4,
        max_parallelism=Part.I4,
        **middle,
        subtasks=Part.SUBTASKS,
    )


def _subtask(version: int) -> Layout:
    unused = {"duration": Part.DURATION} if version == 2 else {}
    channels = {"input_channels": Part.INPUTS, "output_channels": Part.OUTPUTS}
    return _layout(
        model.Subtask,
        index=Part.INDEX,
        **unused,
        managed_operator=Part.OPTIONAL_OPERATOR,
        raw_operator=Part.OPTIONAL_OPERATOR,
        managed_keyed=Part.KEYED,
        raw_keyed=Part.KEYED,
        **(channels if version >= 3 else {}),
        **({"ref_checkpoint_id": Part.REFERENCE} if version >= 7 else {}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The layouts that are legal in one file, by slot and code."""

    version: int
    variant: LayoutVariant
    operator: Layout
    subtask: Layout
    streams: dict[int, Layout]
    keyed: dict[int, Layout]
    increments: dict[int, Layout]
    operator_handles: dict[int, Layout]
    inputs: dict[int, Layout]
    outputs: dict[int, Layout]

    @property
    def has_channel_kinds(self) -> bool:
        """Whether a channel handle begins with its kind; before, all were plain."""
        return self.version >= 6

    @property
    def has_finished_markers(self) -> bool:
        """Whether subtasks and operators may be marked as finished."""
        return self.version >= 3

    @property
    def has_properties(self) -> bool:
        """Whether the checkpoint's properties follow the operators."""
        return self.version >= 4


def _tables(version: int, variant: LayoutVariant) -> Tables:
    keyed = _KEYED_1_14 if variant is LayoutVariant.FLINK_1_14 else _KEYED
    is_1_11 = variant is LayoutVariant.FLINK_1_11
    return Tables(
        version=version,
        variant=variant,
        operator=_operator(version),
        subtask=_subtask(version),
        streams=_STREAMS,
        keyed=keyed,
        increments={code: keyed[code] for code in _INCREMENT_CODES},
        operator_handles=_OPERATOR_HANDLES,
        inputs=_INPUTS_1_11 if is_1_11 else _INPUTS,
        outputs=_OUTPUTS_1_11 if is_1_11 else _OUTPUTS,
    )


_TABLES = {
    (version, variant): _tables(version, variant)
    for version in VERSIONS
    for variant in (LayoutVariant if version == 3 else (LayoutVariant.FINAL,))
}


def tables_of(version: int, variant: LayoutVariant) -> Tables | None:
    """Return what is legal in a file of that version, or None if nobody knows."""
    return _TABLES.get((version, variant))


def _layouts(tables: Tables) -> list[Layout]:
    slots = (
        tables.streams,
        tables.keyed,
        tables.operator_handles,
        tables.inputs,
        tables.outputs,
    )
    return [tables.operator, tables.subtask, *(layout for slot in slots for layout in slot.values())]


ALL_LAYOUTS = (
    MASTER_STATE,
    *RECORD_LISTS.values(),
    *dict.fromkeys(layout for tables in _TABLES.values() for layout in _layouts(tables)),
)
"""Every layout once, so that a pass can prepare its steps before it meets a file."""
