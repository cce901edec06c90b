"""The header of keyed state: names and kinds of the states of a backend.

The header is the whole meta file of an incremental snapshot, and the bytes before the first key
group in any other snapshot.

Source: Flink 1.8-2.3, ``KeyedBackendSerializationProxy``.
"""

from __future__ import annotations

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
    flag = cursor.u1()
    if flag > 1:
        raise cursor.error(f"flag of value {flag}", at=4)
    reader = RecordReader(cursor)
    key_serializer = reader.serializer()
    states = reader.section(KEYED_KINDS)
    reader.finish()
    return KeyedHeader(
        version=version,
        is_compressed=flag == 1,
        key_serializer=key_serializer,
        states=states,
    )


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
