"""Records of states in the headers of keyed and operator state files.

The end of a record with a serializer of an unknown class is unknown. The next record is then found
by a landmark that only records have, and the counts must match; otherwise the header is refused.

Source: Flink 1.8-2.3, ``StateMetaInfoSnapshotReadersWriters``, ``StateMetaInfoSnapshot``.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

from flinkstate.errors import UnreadableMetadataError
from flinkstate.metadata.cursor import Cursor, decode_utf
from flinkstate.state.contents import Serializer
from flinkstate.state.serializer_snapshots import (
    UnknownSerializerError,
    outermost_class,
    read_serializer,
)

_SMALLEST_RECORD = 14
_SMALLEST_OPTION = 4
_SMALLEST_SERIALIZER = 12
_LANDMARK = re.compile(
    rb"\x00{3}[\x00-\x04]"
    rb"(?:\x00{3}\x01\x00(?:\x10KEYED_STATE_TYPE|\x20OPERATOR_STATE_DISTRIBUTION_MODE)"
    rb"\x00[\x01-\x7f][A-Z_0-9]{1,127}|\x00{4})"
    rb"\x00{3}[\x01-\x04]"
    rb"\x00(?:\x0eKEY_SERIALIZER|\x14NAMESPACE_SERIALIZER|\x10VALUE_SERIALIZER"
    rb"|\x13USER_KEY_SERIALIZER)\x00{3}\x02"
)
"""Start of a record behind its name: kind, at most one option, role of the first serializer."""

_LONGEST_NAME = 4096
"""Maximum size of a name searched backwards; every length is tried, for the file may be hostile."""

_ROLES = {
    "KEY_SERIALIZER": "key",
    "NAMESPACE_SERIALIZER": "namespace",
    "VALUE_SERIALIZER": "value",
    "USER_KEY_SERIALIZER": "user_key",
}


class StateRecordKind(IntEnum):
    """Kind of the state that a record describes.

    Source: Flink 1.8-2.3, ``StateMetaInfoSnapshot.BackendStateType``.
    """

    KEY_VALUE = 0
    OPERATOR = 1
    BROADCAST = 2
    PRIORITY_QUEUE = 3
    KEY_VALUE_V2 = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """Record of one state in a header.

    Attributes:
        serializers: Serializers whose classes are known.
    """

    name: str
    kind: StateRecordKind
    options: dict[str, str]
    serializers: tuple[Serializer, ...]


class RecordReader:
    """Reads the records of one header, from the cursor's position to the end of the bytes."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._is_lost = False
        self._first_lost: int | None = None
        self._read_since = 0

    def serializer(self) -> str:
        """Return the next serializer; after an unknown one the position is lost."""
        cursor = self._cursor
        at = cursor.position
        try:
            return read_serializer(cursor)
        except UnknownSerializerError:
            cursor.position = at
            self._is_lost = True
            if self._first_lost is None:
                self._first_lost = at
            return outermost_class(cursor)

    def section(self, kinds: Collection[StateRecordKind]) -> tuple[StateRecord, ...]:
        """Return the records of one section: a count and as many records.

        Args:
            kinds: Kinds that this section of a header can hold.

        Raises:
            UnreadableMetadataError: The section does not match its count.
        """
        count = self._count()
        records = tuple([self._record(kinds) for _ in range(count)])
        names = {record.name for record in records}
        if len(names) < count:
            raise self._cursor.error("two states of one name")
        return records

    def finish(self) -> None:
        """Check that all bytes are read, and that no landmark was skipped.

        Raises:
            UnreadableMetadataError: Bytes are left, or a landmark was skipped.
        """
        cursor = self._cursor
        if not self._is_lost and not cursor.at_end():
            raise cursor.error(f"{cursor.end - cursor.position} bytes behind the last state")
        if self._first_lost is not None:
            found = sum(1 for _ in _LANDMARK.finditer(cursor.data, self._first_lost, cursor.end))
            if found != self._read_since:
                raise cursor.error(f"{found} states look like {self._read_since}")

    def _count(self) -> int:
        """Return the number of next records; if the position is lost, find the next count."""
        cursor = self._cursor
        if self._is_lost:
            found = self._landmark()
            if found is None:
                if cursor.data[-2:] != b"\0\0":
                    raise cursor.error("no state behind a serializer of an unknown class")
                cursor.position, self._is_lost = cursor.end, False
                return 0
            cursor.position = self._name_start(found, cursor.position + 2) - 2
            self._is_lost = False
        at = cursor.position
        count = cursor.u2()
        if count * _SMALLEST_RECORD > cursor.end - cursor.position:
            raise cursor.error(f"{count} states in {cursor.end - cursor.position} bytes", at=at)
        return count

    def _record(self, kinds: Collection[StateRecordKind]) -> StateRecord:
        cursor = self._cursor
        if self._is_lost:
            found = self._landmark()
            if found is None:
                raise cursor.error("a state is missing behind a serializer of an unknown class")
            cursor.position = self._name_start(found, cursor.position)
            self._is_lost = False
        self._read_since += self._first_lost is not None
        name = cursor.utf()
        at = cursor.position
        kind = cursor.i4()
        if kind not in kinds:
            raise cursor.error(f"a state of kind {kind} here", at=at)
        return StateRecord(
            name=name,
            kind=StateRecordKind(kind),
            options={cursor.utf(): cursor.utf() for _ in range(cursor.count(_SMALLEST_OPTION))},
            serializers=self._serializers(),
        )

    def _serializers(self) -> tuple[Serializer, ...]:
        cursor = self._cursor
        read: list[Serializer] = []
        for _ in range(cursor.count(_SMALLEST_SERIALIZER)):
            at = cursor.position
            role = cursor.utf()
            if role not in _ROLES:
                raise cursor.error(f"serializer of role {role[:80]!r}", at=at)
            read.append(Serializer(role=_ROLES[role], snapshot=self.serializer()))
            if self._is_lost:
                break
        return tuple(read)

    def _landmark(self) -> int | None:
        cursor = self._cursor
        found = _LANDMARK.search(cursor.data, cursor.position, cursor.end)
        return None if found is None else found.start()

    def _name_start(self, end: int, earliest: int) -> int:
        """Return where the length of the name that ends at ``end`` is; one must fit."""
        data = self._cursor.data
        # no text has a zero: only the length may hold one
        last_zero = data.rfind(b"\0", earliest, end)
        fitting = [
            start
            for start in range(max(earliest, last_zero - 1, end - 2 - _LONGEST_NAME), end - 1)
            if int.from_bytes(data[start : start + 2], "big") == end - 2 - start
            and _is_text(data[start + 2 : end])
        ]
        if len(fitting) != 1:
            raise self._cursor.error(f"{len(fitting)} names fit before a state", at=end)
        return fitting[0]


def _is_text(raw: bytes) -> bool:
    try:
        decode_utf(raw)
    except UnreadableMetadataError:
        return False
    return True
