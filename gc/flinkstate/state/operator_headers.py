"""The header of an operator state file: kinds and serializers of the states.

``_metadata`` also holds names, modes and offsets; only the header names the serializers.

Source: Flink 1.8-2.3, ``OperatorBackendSerializationProxy``.
"""

from __future__ import annotations

from dataclasses import dataclass

from flinkstate.metadata.cursor import Cursor
from flinkstate.state.state_meta_info import RecordReader, StateRecord, StateRecordKind

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
    flag = cursor.u1() if version >= _STATES_COMPRESSION else 0
    if flag > 1:
        raise cursor.error(f"flag of value {flag}", at=4)
    reader = RecordReader(cursor)
    operator_states = reader.section((StateRecordKind.OPERATOR,))
    broadcast_states = reader.section((StateRecordKind.BROADCAST,))
    reader.finish()
    return OperatorHeader(
        version=version,
        is_compressed=flag == 1,
        operator_states=operator_states,
        broadcast_states=broadcast_states,
    )
