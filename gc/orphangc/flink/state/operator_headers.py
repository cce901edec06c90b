"""The header of an operator state file: the states' kinds and serializers.

Names, modes and offsets stand in ``_metadata`` too; only here stands who wrote the values.

Source: Flink 1.8-2.3, ``OperatorBackendSerializationProxy``.
"""

from __future__ import annotations

from dataclasses import dataclass

from orphangc.flink.metadata.cursor import Cursor
from orphangc.flink.state.state_meta_info import RecordReader, StateRecord, StateRecordKind

_VERSIONS = (5, 6)
_TELLS_COMPRESSION = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorHeader:
    """What an operator backend says of its states.

    Attributes:
        version: Of the header's form.
        is_compressed: Whether the values behind it are.
        operator_states: List states, split or union, in the order of the file.
        broadcast_states: In the order of the file.

    """

    version: int
    is_compressed: bool
    operator_states: tuple[StateRecord, ...]
    broadcast_states: tuple[StateRecord, ...]


def read_operator_header(data: bytes) -> OperatorHeader:
    """Return the header that ``data`` is, to the last byte.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one header of a known form, or its
            states cannot be told for certain.

    """
    cursor = Cursor(data)
    version = cursor.i4()
    if version not in _VERSIONS:
        raise cursor.error(f"operator state of version {version} is unknown", at=0)
    flag = cursor.u1() if version >= _TELLS_COMPRESSION else 0
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
