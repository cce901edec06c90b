"""How each kind of field is read, with every check that decides whether a file is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orphangc.flink.layouts.handle_layouts import RECORD_LISTS
from orphangc.flink.layouts.record_layouts import RecordLayout, RecordPart
from orphangc.flink.metadata.parser import Reader, Walk, is_plain_name
from orphangc.flink.values.handles import KeyGroupOffsets, KeyGroupRange, SegmentScope, StateMode
from orphangc.flink.values.metadata_values import Subtask

_KEY_GROUPS_LIMIT = 32768
_MODES = tuple(StateMode)
_SCOPES = tuple(SegmentScope)
_FINISHED_OPERATOR = -1
_SMALLEST_FINISHED_SUBTASK = 4


def _index(walk: Walk) -> int:
    at = walk.cursor.position
    value = walk.cursor.i4()
    if value < 0:
        raise walk.cursor.error(f"negative index {value}", at=at)
    return value


def _duration(walk: Walk) -> int:
    """Return the unused duration; behind it Flink 1.1 kept states that nobody reads today."""
    duration = walk.cursor.i8()
    at = walk.cursor.position
    if walk.cursor.i4() != 0:
        raise walk.cursor.error("legacy state of Flink 1.1", at=at)
    return duration


def _optional_utf(walk: Walk) -> str | None:
    return walk.cursor.utf() or None


def _path(walk: Walk) -> str:
    at = walk.cursor.position
    path = walk.cursor.utf()
    if not path:
        raise walk.cursor.error("empty path", at=at)
    return path


def _relative_name(walk: Walk) -> str:
    at = walk.cursor.position
    name = walk.cursor.utf()
    if not is_plain_name(name):
        raise walk.cursor.error(f"relative name {name!r} is no plain file name", at=at)
    return name


def _operator_id(walk: Walk) -> str:
    return walk.cursor.take(16).hex()


def _flag(walk: Walk) -> bool:
    at = walk.cursor.position
    value = walk.cursor.u1()
    if value > 1:
        raise walk.cursor.error(f"flag of value {value}", at=at)
    return value == 1


def _mode(walk: Walk) -> StateMode:
    at = walk.cursor.position
    value = walk.cursor.u1()
    if value >= len(_MODES):
        raise walk.cursor.error(f"unknown distribution mode {value}", at=at)
    return _MODES[value]


def _scope(walk: Walk) -> SegmentScope:
    at = walk.cursor.position
    value = walk.cursor.i4()
    if not 0 <= value < len(_SCOPES):
        raise walk.cursor.error(f"unknown scope {value}", at=at)
    return _SCOPES[value]


def _longs(walk: Walk) -> tuple[int, ...]:
    return walk.cursor.longs(walk.cursor.count(8))


def read_range(walk: Walk) -> tuple[int, int]:
    """Return first key group and number of key groups, both within Flink's bounds."""
    at = walk.cursor.position
    first = walk.cursor.i4()
    count = walk.cursor.i4()
    if first < 0 or count < 0 or first + count > _KEY_GROUPS_LIMIT:
        raise walk.cursor.error(f"key groups {first} and {count} from there", at=at)
    return first, count


def _key_group_range(walk: Walk) -> KeyGroupRange:
    first, count = read_range(walk)
    return KeyGroupRange(first=first, count=count)


def _key_group_offsets(walk: Walk) -> KeyGroupOffsets:
    first, count = read_range(walk)
    return KeyGroupOffsets(first=first, offsets=walk.cursor.longs(count))


def _stream(walk: Walk) -> Any:
    return walk.coded(walk.tables.streams, "stream handle here")


def _segment_stream(walk: Walk) -> Any:
    return walk.coded(walk.tables.segments, "segment handle")


def _coordinator(walk: Walk) -> Any:
    """Return the coordinator's state; Flink's own reader throws on anything but 0 and 1."""
    walk.has_coordinator = not _none_follows(walk)
    if not walk.has_coordinator:
        return None
    return walk.coded(walk.tables.coordinators, "coordinator state")


def _none_follows(walk: Walk) -> bool:
    """Return whether the code for "none" stands next, and move over it if so."""
    cursor = walk.cursor
    if cursor.position < cursor.end and cursor.data[cursor.position] == 0:
        cursor.position += 1
        return True
    return False


def _keyed(walk: Walk) -> Any:
    return None if _none_follows(walk) else walk.coded(walk.tables.keyed, "keyed handle")


def _optional_operator(walk: Walk) -> Any:
    at = walk.cursor.position
    flag = walk.cursor.i4()
    if flag not in {0, 1}:
        raise walk.cursor.error(f"{flag} operator state handles", at=at)
    if flag == 0:
        return None
    return walk.coded(walk.tables.operator_handles, "operator state handle")


def list_of(read: Callable[[Walk], Any], smallest: int) -> Callable[[Walk], tuple[Any, ...]]:
    """Return the reader of a list whose elements are read by ``read``."""

    def elements(walk: Walk) -> tuple[Any, ...]:
        return tuple([read(walk) for _ in range(walk.cursor.count(smallest))])

    return elements


def _records(layout: RecordLayout) -> Callable[[Walk], tuple[Any, ...]]:
    return list_of(lambda walk: walk.record(walk, layout), layout.smallest)


read_named = _records(RECORD_LISTS[RecordPart.NAMED_STREAMS])


def read_channels(walk: Walk) -> tuple[Any, ...]:
    """Return the channel table of a merged handle; its blob must be used up exactly."""
    cursor = walk.cursor
    size = cursor.count(1)
    outer, cursor.end = cursor.end, cursor.position + size
    channels = _channel_records(walk)
    if not cursor.at_end():
        raise cursor.error(f"{cursor.end - cursor.position} bytes behind the channel table")
    cursor.end = outer
    return channels


_channel_records = _records(RECORD_LISTS[RecordPart.CHANNELS])


def _increment(walk: Walk) -> Any:
    return walk.coded(walk.tables.increments, "changelog increment")


def _channel_handle(walk: Walk, slot: dict[int, RecordLayout], plain_code: int) -> Any:
    if walk.tables.has_channel_kinds:
        return walk.coded(slot, "channel state handle here")
    return walk.handle(slot[plain_code])


def _channel_handles(walk: Walk, slot: dict[int, RecordLayout], plain_code: int) -> tuple[Any, ...]:
    count = walk.cursor.count(walk.tables.smallest_channel)
    return tuple([_channel_handle(walk, slot, plain_code) for _ in range(count)])


def _inputs(walk: Walk) -> tuple[Any, ...]:
    return _channel_handles(walk, walk.tables.inputs, 1)


def _outputs(walk: Walk) -> tuple[Any, ...]:
    return _channel_handles(walk, walk.tables.outputs, 2)


def _subtasks(walk: Walk) -> tuple[Any, ...] | None:
    """Return the subtasks, or None if the operator has fully finished.

    Source: Flink 1.14-2.3, ``MetadataV3Serializer.deserializeOperatorState``.
    """
    cursor = walk.cursor
    has_markers = walk.tables.has_finished_markers
    at = cursor.position
    if has_markers and cursor.data.startswith(b"\xff\xff\xff\xff", at):
        cursor.skip(4)
        if walk.has_coordinator:
            raise cursor.error("a finished operator with coordinator state", at=at)
        return None
    smallest = _SMALLEST_FINISHED_SUBTASK if has_markers else walk.tables.subtask.smallest
    return tuple([_subtask(walk) for _ in range(cursor.count(smallest))])


def _subtask(walk: Walk) -> Any:
    """Return a subtask; a negative index marks one that has finished and left no state."""
    cursor = walk.cursor
    at = cursor.position
    if walk.tables.has_finished_markers:
        index = cursor.i4()
        if index < 0:
            return Subtask(index=-(index + 1), is_finished=True)
        cursor.position = at
    return walk.record(walk, walk.tables.subtask)


def _reference(walk: Walk) -> int | None:
    """Return the older checkpoint that the state was taken from; it must be kept as long.

    Source: Flink's development branch after 2.3, ``MetadataV7Serializer``.
    """
    if not _flag(walk):
        return None
    at = walk.cursor.position
    checkpoint_id = walk.cursor.i8()
    if checkpoint_id < 0:
        raise walk.cursor.error(f"negative checkpoint id {checkpoint_id}", at=at)
    return checkpoint_id


READERS: dict[RecordPart, Reader] = {
    RecordPart.I4: lambda walk: walk.cursor.i4(),
    RecordPart.I8: lambda walk: walk.cursor.i8(),
    RecordPart.INDEX: _index,
    RecordPart.DURATION: _duration,
    RecordPart.UTF: lambda walk: walk.cursor.utf(),
    RecordPart.OPTIONAL_UTF: _optional_utf,
    RecordPart.PATH: _path,
    RecordPart.DIRECTORY: _path,
    RecordPart.RELATIVE_NAME: _relative_name,
    RecordPart.OPERATOR_ID: _operator_id,
    RecordPart.BLOB: lambda walk: walk.cursor.blob(),
    RecordPart.FLAG: _flag,
    RecordPart.MODE: _mode,
    RecordPart.SCOPE: _scope,
    RecordPart.LONGS: _longs,
    RecordPart.KEY_GROUP_RANGE: _key_group_range,
    RecordPart.KEY_GROUP_OFFSETS: _key_group_offsets,
    RecordPart.STREAM: _stream,
    RecordPart.SEGMENT_STREAM: _segment_stream,
    RecordPart.COORDINATOR: _coordinator,
    RecordPart.KEYED: _keyed,
    RecordPart.OPTIONAL_OPERATOR: _optional_operator,
    RecordPart.KEYED_LIST: list_of(_keyed, RecordPart.KEYED.smallest),
    RecordPart.INCREMENTS: list_of(_increment, RecordPart.KEYED.smallest),
    RecordPart.INPUTS: _inputs,
    RecordPart.OUTPUTS: _outputs,
    RecordPart.NAMED_STREAMS: read_named,
    RecordPart.CHANGES: _records(RECORD_LISTS[RecordPart.CHANGES]),
    RecordPart.CHANGELOG_FILES: _records(RECORD_LISTS[RecordPart.CHANGELOG_FILES]),
    RecordPart.STATES: _records(RECORD_LISTS[RecordPart.STATES]),
    RecordPart.CHANNELS: read_channels,
    RecordPart.SUBTASKS: _subtasks,
    RecordPart.REFERENCE: _reference,
}
"""The readers of the full pass; a faster pass replaces those whose values it does not want."""
