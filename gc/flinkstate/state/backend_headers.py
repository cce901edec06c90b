"""The headers of keyed state and of operator state: names, kinds and serializers of the states.

That of keyed state is the whole meta file of an incremental snapshot, and the bytes before the
first key group in any other snapshot. ``_metadata`` also holds names, modes and offsets of operator
states; only the header names their serializers.

Source: Flink 1.8-2.3, ``KeyedBackendSerializationProxy``, ``OperatorBackendSerializationProxy``.
"""

from dataclasses import dataclass

from flinkstate.metadata.cursor import Cursor
from flinkstate.state.contents import KeyedStateContents, KeyedStateKind
from flinkstate.state.state_meta_info import RecordReader, StateRecord, StateRecordKind

_VERSION = 6
KEYED_KINDS = (
    StateRecordKind.KEY_VALUE,
    StateRecordKind.PRIORITY_QUEUE,
    StateRecordKind.KEY_VALUE_V2,
)
_TYPE_OPTION = "KEYED_STATE_TYPE"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedHeader:
    """Header of a keyed backend."""

    version: int
    is_compressed: bool
    key_serializer: str
    states: tuple[StateRecord, ...]


def read_keyed_header(data: bytes) -> KeyedHeader:
    """Return the header that ``data`` holds, to the last byte.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one header of a known form, or its
            states are ambiguous. All its states are then unknown.
    """
    cursor = Cursor(data)
    version = cursor.i4()
    if version != _VERSION:
        raise cursor.error(f"keyed state of version {version} is unknown", at=0)
    is_compressed, reader = _is_flagged(cursor), RecordReader(cursor)
    header = KeyedHeader(
        version=version,
        is_compressed=is_compressed,
        key_serializer=reader.serializer(),
        states=reader.section(KEYED_KINDS),
    )
    reader.finish()
    return header


def _is_flagged(cursor: Cursor) -> bool:
    flag = cursor.u1()
    if flag > 1:
        raise cursor.error(f"flag of value {flag}", at=4)
    return flag == 1


def keyed_contents(record: StateRecord) -> KeyedStateContents:
    """Return a state as a value of the checkpoint's contents, without its size.

    Source: Flink 1.8-2.3, ``StateDescriptor.Type``; the timers of an operator are the only
    priority queues that Flink writes.
    """
    return KeyedStateContents(name=record.name, kind=_kind(record), serializers=record.serializers)


def _kind(record: StateRecord) -> KeyedStateKind:
    if record.kind is StateRecordKind.PRIORITY_QUEUE:
        return KeyedStateKind.TIMERS
    word = record.options.get(_TYPE_OPTION, "").lower()
    try:
        return KeyedStateKind(word)
    except ValueError:
        return KeyedStateKind.UNKNOWN


_VERSIONS = (5, 6)
_STATES_COMPRESSION = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorHeader:
    """Header of an operator backend."""

    version: int
    is_compressed: bool
    operator_states: tuple[StateRecord, ...]
    broadcast_states: tuple[StateRecord, ...]


def read_operator_header(data: bytes) -> OperatorHeader:
    """Return the header that ``data`` holds, to the last byte.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one header of a known form, or its
            states are ambiguous.
    """
    cursor = Cursor(data)
    version = cursor.i4()
    if version not in _VERSIONS:
        raise cursor.error(f"operator state of version {version} is unknown", at=0)
    is_compressed = version >= _STATES_COMPRESSION and _is_flagged(cursor)
    reader = RecordReader(cursor)
    header = OperatorHeader(
        version=version,
        is_compressed=is_compressed,
        operator_states=reader.section((StateRecordKind.OPERATOR,)),
        broadcast_states=reader.section((StateRecordKind.BROADCAST,)),
    )
    reader.finish()
    return header
