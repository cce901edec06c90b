"""Writes a metadata value as the bytes that Flink would write."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flinkstate.layouts.format_versions import (
    MAGIC,
    MASTER_MAGIC,
    MASTER_STATE,
    NO_PROPERTIES,
    Tables,
    tables_of,
)
from flinkstate.layouts.handle_layouts import RECORD_LISTS
from flinkstate.layouts.record_layouts import RecordLayout, RecordPart
from flinkstate.metadata.cursor import encode_utf
from flinkstate.values.handles import Channel, KeyGroupOffsets
from flinkstate.values.metadata_values import (
    LayoutVariant,
    MasterState,
    Metadata,
    Operator,
    Subtask,
)

_MERGED_CHANNELS_SINCE = 6
_PLAIN_CODES = (1, 2)


@dataclass(slots=True)
class _Output:
    tables: Tables
    data: bytearray = field(default_factory=bytearray)

    def pack(self, form: str, *values: int) -> None:
        self.data += struct.pack(form, *values)

    def blob(self, value: bytes) -> None:
        self.pack(">i", len(value))
        self.data += value

    def record(self, layout: RecordLayout, value: Any) -> None:
        for name, part in layout.fields:
            _WRITERS[part](self, getattr(value, name))

    def records(self, layout: RecordLayout, values: Sequence[Any]) -> None:
        self.pack(">i", len(values))
        for value in values:
            self.record(layout, value)

    def coded(self, slot: dict[int, RecordLayout], handle: Any) -> None:
        layout = slot.get(handle.code)
        if layout is None:
            raise ValueError(f"code {handle.code} is not legal in this slot")
        self.data.append(handle.code)
        self.record(layout, handle)


def write_metadata(metadata: Metadata) -> bytes:
    """Return the bytes of the file; for a value that was read, exactly its original bytes.

    Raises:
        ValueError: The value is illegal in its version: an unknown version, a code not legal in
            its slot, a text too long for Java.
        struct.error: A number does not fit its field.

    Source: Flink 1.8-2.3, ``Checkpoints.storeCheckpointMetadata``, ``MetadataSerializer``.
    """
    tables = tables_of(metadata.format_version, metadata.variant)
    out = _Output(tables)
    out.pack(">Iiq", MAGIC, metadata.format_version, metadata.checkpoint_id)
    out.pack(">i", len(metadata.master_states))
    for state in metadata.master_states:
        _master(out, state)
    out.pack(">i", len(metadata.operators))
    for operator in metadata.operators:
        _operator(out, operator)
    if tables.has_properties:
        out.data += NO_PROPERTIES if metadata.properties is None else metadata.properties.block
    return bytes(out.data)


def _master(out: _Output, state: MasterState) -> None:
    inner = _Output(out.tables)
    inner.record(MASTER_STATE, state)
    out.pack(">I", MASTER_MAGIC)
    out.blob(bytes(inner.data))


def _operator(out: _Output, operator: Operator) -> None:
    if operator.is_fully_finished and operator.coordinator is not None:
        raise ValueError("a finished operator has no coordinator state")
    out.record(out.tables.operator, operator)


def _utf(out: _Output, text: str | None) -> None:
    raw = encode_utf(text or "")
    out.pack(">H", len(raw))
    out.data += raw


def _offsets(out: _Output, groups: KeyGroupOffsets) -> None:
    count = len(groups.offsets)
    out.pack(f">ii{count}q", groups.first, count, *groups.offsets)


def _or_none(out: _Output, slot: dict[int, RecordLayout], handle: Any) -> None:
    if handle is None:
        out.data.append(0)
    else:
        out.coded(slot, handle)


def _keyed(out: _Output, handle: Any) -> None:
    _or_none(out, out.tables.keyed, handle)


def _optional_operator(out: _Output, handle: Any) -> None:
    out.pack(">i", 0 if handle is None else 1)
    if handle is not None:
        out.coded(out.tables.operator_handles, handle)


def _list(write: Callable[[_Output, Any], None]) -> Callable[[_Output, Any], None]:
    def elements(out: _Output, values: Sequence[Any]) -> None:
        out.pack(">i", len(values))
        for value in values:
            write(out, value)

    return elements


def _channel(out: _Output, slot: dict[int, RecordLayout], handle: Any) -> None:
    """Write a channel handle; before version 6 its kind is not written."""
    if out.tables.has_channel_kinds:
        out.coded(slot, handle)
    elif handle.code not in _PLAIN_CODES:
        raise ValueError("merged channel handles begin with version 6")
    else:
        out.record(slot[handle.code], handle)


def channel_table_bytes(channels: Sequence[Channel]) -> bytes:
    """Return the channel table of a merged channel handle, without the length of the blob."""
    out = _Output(tables_of(_MERGED_CHANNELS_SINCE, LayoutVariant.FINAL))
    out.records(RECORD_LISTS[RecordPart.CHANNELS], channels)
    return bytes(out.data)


def _subtasks(out: _Output, subtasks: tuple[Subtask, ...] | None) -> None:
    has_markers = out.tables.has_finished_markers
    if not has_markers and (subtasks is None or any(each.is_finished for each in subtasks)):
        raise ValueError("finished markers begin with version 3")
    if subtasks is None:
        out.pack(">i", -1)
        return
    out.pack(">i", len(subtasks))
    for subtask in subtasks:
        if subtask.is_finished:
            out.pack(">i", -(subtask.index + 1))
        else:
            out.record(out.tables.subtask, subtask)


def _reference(out: _Output, checkpoint_id: int | None) -> None:
    if checkpoint_id is None:
        out.data.append(0)
    else:
        out.pack(">Bq", 1, checkpoint_id)


_WRITERS: dict[RecordPart, Callable[[_Output, Any], None]] = {
    RecordPart.I4: lambda out, value: out.pack(">i", value),
    RecordPart.I8: lambda out, value: out.pack(">q", value),
    RecordPart.INDEX: lambda out, value: out.pack(">i", value),
    RecordPart.DURATION: lambda out, value: out.pack(">qi", value, 0),
    RecordPart.UTF: _utf,
    RecordPart.OPTIONAL_UTF: _utf,
    RecordPart.PATH: _utf,
    RecordPart.DIRECTORY: _utf,
    RecordPart.RELATIVE_NAME: _utf,
    RecordPart.OPERATOR_ID: lambda out, value: out.data.extend(bytes.fromhex(value)),
    RecordPart.BLOB: _Output.blob,
    RecordPart.FLAG: lambda out, value: out.pack(">B", value),
    RecordPart.MODE: lambda out, value: out.pack(">B", value),
    RecordPart.SCOPE: lambda out, value: out.pack(">i", value),
    RecordPart.LONGS: lambda out, value: out.pack(f">i{len(value)}q", len(value), *value),
    RecordPart.KEY_GROUP_RANGE: lambda out, value: out.pack(">ii", value.first, value.count),
    RecordPart.KEY_GROUP_OFFSETS: _offsets,
    RecordPart.STREAM: lambda out, value: out.coded(out.tables.streams, value),
    RecordPart.SEGMENT_STREAM: lambda out, value: out.coded(out.tables.segments, value),
    RecordPart.COORDINATOR: lambda out, value: _or_none(out, out.tables.coordinators, value),
    RecordPart.KEYED: _keyed,
    RecordPart.OPTIONAL_OPERATOR: _optional_operator,
    RecordPart.KEYED_LIST: _list(_keyed),
    RecordPart.INCREMENTS: _list(lambda out, value: out.coded(out.tables.increments, value)),
    RecordPart.INPUTS: _list(lambda out, value: _channel(out, out.tables.inputs, value)),
    RecordPart.OUTPUTS: _list(lambda out, value: _channel(out, out.tables.outputs, value)),
    RecordPart.NAMED_STREAMS: lambda out, value: out.records(
        RECORD_LISTS[RecordPart.NAMED_STREAMS], value
    ),
    RecordPart.CHANGES: lambda out, value: out.records(RECORD_LISTS[RecordPart.CHANGES], value),
    RecordPart.CHANGELOG_FILES: lambda out, value: out.records(
        RECORD_LISTS[RecordPart.CHANGELOG_FILES], value
    ),
    RecordPart.STATES: lambda out, value: out.records(RECORD_LISTS[RecordPart.STATES], value),
    RecordPart.CHANNELS: lambda out, value: out.blob(channel_table_bytes(value)),
    RecordPart.SUBTASKS: _subtasks,
    RecordPart.REFERENCE: _reference,
}
