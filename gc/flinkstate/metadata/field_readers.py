"""Readers of each kind of field, with every check that decides whether a file is accepted."""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

from flinkstate.layouts.handle_layouts import RECORD_LISTS
from flinkstate.layouts.record_layouts import RecordLayout, RecordPart
from flinkstate.metadata.parser import Parser, Reader, is_plain_name
from flinkstate.values.handles import KeyGroupOffsets, KeyGroupRange, SegmentScope, StateMode
from flinkstate.values.metadata_values import Subtask

_KEY_GROUPS_LIMIT = 32768
_MODES = tuple(StateMode)
_SCOPES = tuple(SegmentScope)
_SMALLEST_FINISHED_SUBTASK = 4


def _index(parser: Parser) -> int:
    at = parser.cursor.position
    value = parser.cursor.i4()
    if value < 0:
        raise parser.cursor.error(f"negative index {value}", at=at)
    return value


def _duration(parser: Parser) -> int:
    """Return the unused duration; Flink 1.1 kept states behind it that no release reads today."""
    duration = parser.cursor.i8()
    at = parser.cursor.position
    if parser.cursor.i4() != 0:
        raise parser.cursor.error("legacy state of Flink 1.1", at=at)
    return duration


def _path(parser: Parser) -> str:
    at = parser.cursor.position
    path = parser.cursor.utf()
    if not path:
        raise parser.cursor.error("empty path", at=at)
    return path


def _relative_name(parser: Parser) -> str:
    at = parser.cursor.position
    name = parser.cursor.utf()
    if not is_plain_name(name):
        raise parser.cursor.error(f"relative name {name!r} is no plain file name", at=at)
    return name


def _flag(parser: Parser) -> bool:
    at = parser.cursor.position
    value = parser.cursor.u1()
    if value > 1:
        raise parser.cursor.error(f"flag of value {value}", at=at)
    return value == 1


def _mode(parser: Parser) -> StateMode:
    at = parser.cursor.position
    value = parser.cursor.u1()
    if value >= len(_MODES):
        raise parser.cursor.error(f"unknown distribution mode {value}", at=at)
    return _MODES[value]


def _scope(parser: Parser) -> SegmentScope:
    at = parser.cursor.position
    value = parser.cursor.i4()
    if not 0 <= value < len(_SCOPES):
        raise parser.cursor.error(f"unknown scope {value}", at=at)
    return _SCOPES[value]


def read_range(parser: Parser) -> tuple[int, int]:
    """Return first key group and number of key groups, both within Flink's bounds."""
    at = parser.cursor.position
    first = parser.cursor.i4()
    count = parser.cursor.i4()
    if first < 0 or count < 0 or first + count > _KEY_GROUPS_LIMIT:
        raise parser.cursor.error(f"key groups {first} and {count} from there", at=at)
    return first, count


def _key_group_range(parser: Parser) -> KeyGroupRange:
    first, count = read_range(parser)
    return KeyGroupRange(first=first, count=count)


def _key_group_offsets(parser: Parser) -> KeyGroupOffsets:
    first, count = read_range(parser)
    return KeyGroupOffsets(first=first, offsets=parser.cursor.longs(count))


def _coordinator(parser: Parser) -> Any:
    """Return the coordinator's state; the flag must be 0 or 1, as in Flink's own reader."""
    parser.has_coordinator = not _none_follows(parser)
    if not parser.has_coordinator:
        return None
    return parser.coded(parser.tables.coordinators, "coordinator state")


def _none_follows(parser: Parser) -> bool:
    cursor = parser.cursor
    if cursor.position < cursor.end and cursor.data[cursor.position] == 0:
        cursor.position += 1
        return True
    return False


def _keyed(parser: Parser) -> Any:
    return None if _none_follows(parser) else parser.coded(parser.tables.keyed, "keyed handle")


def _optional_operator(parser: Parser) -> Any:
    at = parser.cursor.position
    flag = parser.cursor.i4()
    if flag not in {0, 1}:
        raise parser.cursor.error(f"{flag} operator state handles", at=at)
    if flag == 0:
        return None
    return parser.coded(parser.tables.operator_handles, "operator state handle")


def list_of(read: Callable[[Parser], Any], smallest: int) -> Callable[[Parser], tuple[Any, ...]]:
    """Return the reader of a list whose elements ``read`` reads."""

    def elements(parser: Parser) -> tuple[Any, ...]:
        return tuple([read(parser) for _ in range(parser.cursor.count(smallest))])

    return elements


def _records(layout: RecordLayout) -> Callable[[Parser], tuple[Any, ...]]:
    return list_of(lambda parser: parser.record(parser, layout), layout.smallest)


read_named = _records(RECORD_LISTS[RecordPart.NAMED_STREAMS])


def read_channels(parser: Parser) -> tuple[Any, ...]:
    """Return the channel table of a merged handle; it must fill its blob exactly."""
    cursor = parser.cursor
    size = cursor.count(1)
    outer, cursor.end = cursor.end, cursor.position + size
    channels = _channel_records(parser)
    if not cursor.at_end():
        raise cursor.error(f"{cursor.end - cursor.position} bytes behind the channel table")
    cursor.end = outer
    return channels


_channel_records = _records(RECORD_LISTS[RecordPart.CHANNELS])


def _channel_handle(parser: Parser, slot: dict[int, RecordLayout], plain_code: int) -> Any:
    if parser.tables.has_channel_kinds:
        return parser.coded(slot, "channel state handle here")
    return parser.handle(slot[plain_code])


def _channel_handles(
    parser: Parser, slot: dict[int, RecordLayout], plain_code: int
) -> tuple[Any, ...]:
    count = parser.cursor.count(parser.tables.smallest_channel)
    return tuple([_channel_handle(parser, slot, plain_code) for _ in range(count)])


def read_subtasks(parser: Parser) -> Iterator[Any] | None:
    """Return an iterator that reads the subtasks, or None if the operator has fully finished.

    Source: Flink 1.14-2.3, ``MetadataV3Serializer.deserializeOperatorState``.
    """
    cursor = parser.cursor
    has_markers = parser.tables.has_finished_markers
    at = cursor.position
    if has_markers and cursor.data[at : at + 4] == b"\xff\xff\xff\xff":
        cursor.skip(4)
        if parser.has_coordinator:
            raise cursor.error("a finished operator with coordinator state", at=at)
        return None
    smallest = _SMALLEST_FINISHED_SUBTASK if has_markers else parser.tables.subtask.smallest
    return map(_subtask, repeat(parser, cursor.count(smallest)))


def _subtasks(parser: Parser) -> tuple[Any, ...] | None:
    subtasks = read_subtasks(parser)
    return None if subtasks is None else tuple(subtasks)


def _subtask(parser: Parser) -> Any:
    """Return a subtask; a negative index marks a finished subtask without state."""
    cursor = parser.cursor
    cursor.let_go()
    at = cursor.position
    if parser.tables.has_finished_markers:
        index = cursor.i4()
        if index < 0:
            return Subtask(index=-(index + 1), is_finished=True)
        cursor.position = at
    return parser.record(parser, parser.tables.subtask)


def _reference(parser: Parser) -> int | None:
    """Return the older checkpoint whose state this one uses; it must be kept as long.

    Source: Flink's development branch after 2.3, ``MetadataV7Serializer``.
    """
    if not _flag(parser):
        return None
    at = parser.cursor.position
    checkpoint_id = parser.cursor.i8()
    if checkpoint_id < 0:
        raise parser.cursor.error(f"negative checkpoint id {checkpoint_id}", at=at)
    return checkpoint_id


READERS: dict[RecordPart, Reader] = {
    RecordPart.I4: lambda parser: parser.cursor.i4(),
    RecordPart.I8: lambda parser: parser.cursor.i8(),
    RecordPart.INDEX: _index,
    RecordPart.DURATION: _duration,
    RecordPart.UTF: lambda parser: parser.cursor.utf(),
    RecordPart.OPTIONAL_UTF: lambda parser: parser.cursor.utf() or None,
    RecordPart.PATH: _path,
    RecordPart.DIRECTORY: _path,
    RecordPart.RELATIVE_NAME: _relative_name,
    RecordPart.OPERATOR_ID: lambda parser: parser.cursor.take(16).hex(),
    RecordPart.BLOB: lambda parser: parser.cursor.blob(),
    RecordPart.FLAG: _flag,
    RecordPart.MODE: _mode,
    RecordPart.SCOPE: _scope,
    RecordPart.LONGS: lambda parser: parser.cursor.longs(parser.cursor.count(8)),
    RecordPart.KEY_GROUP_RANGE: _key_group_range,
    RecordPart.KEY_GROUP_OFFSETS: _key_group_offsets,
    RecordPart.STREAM: lambda parser: parser.coded(parser.tables.streams, "stream handle here"),
    RecordPart.SEGMENT_STREAM: lambda parser: parser.coded(
        parser.tables.segments, "segment handle"
    ),
    RecordPart.COORDINATOR: _coordinator,
    RecordPart.KEYED: _keyed,
    RecordPart.OPTIONAL_OPERATOR: _optional_operator,
    RecordPart.KEYED_LIST: list_of(_keyed, RecordPart.KEYED.smallest),
    RecordPart.INCREMENTS: list_of(
        lambda parser: parser.coded(parser.tables.increments, "changelog increment"),
        RecordPart.KEYED.smallest,
    ),
    RecordPart.INPUTS: lambda parser: _channel_handles(parser, parser.tables.inputs, 1),
    RecordPart.OUTPUTS: lambda parser: _channel_handles(parser, parser.tables.outputs, 2),
    RecordPart.NAMED_STREAMS: read_named,
    RecordPart.CHANGES: _records(RECORD_LISTS[RecordPart.CHANGES]),
    RecordPart.CHANGELOG_FILES: _records(RECORD_LISTS[RecordPart.CHANGELOG_FILES]),
    RecordPart.STATES: _records(RECORD_LISTS[RecordPart.STATES]),
    RecordPart.CHANNELS: read_channels,
    RecordPart.SUBTASKS: _subtasks,
    RecordPart.REFERENCE: _reference,
}
"""Readers of the full pass; the fast pass replaces readers of values that it does not need."""
