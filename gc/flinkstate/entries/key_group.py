"""The entries of one key group in the format of full snapshots, which canonical savepoints share.

A key group is a state's number, then its entries: key and value, each with its length. The first
bit of a key says that a state's number follows the value: that of the next state, or the mark of
the end. A key begins with the number of its key group. The states have numbers in the order of the
header, so the numbers stay when a state loses its entries.

Source: Flink 1.8-2.3, ``FullSnapshotAsyncWriter.writeKVStateData``, ``FullSnapshotUtil``,
``CompositeKeySerializationUtils.writeKeyGroup``.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from flinkstate.errors import UnreadableMetadataError

_END = 0xFFFF
_STATE_FOLLOWS = 0x80
_NUMBER = struct.Struct(">H")
_LENGTH = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntries:
    """Entries of one state: their number and their size in bytes, lengths included."""

    count: int = 0
    bytes: int = 0

    def __add__(self, other: StateEntries) -> StateEntries:
        """Return the sum of both."""
        return StateEntries(count=self.count + other.count, bytes=self.bytes + other.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGroupEntries:
    """One key group.

    Attributes:
        parts: Entries of each state by its number, as bytes; the first bits of all keys are clear,
            and each entry begins at its offset.
        offsets: Offset of each entry in its part, by the state's number.
    """

    parts: Mapping[int, bytes] = field(default_factory=dict)
    offsets: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    def tallies(self) -> dict[int, StateEntries]:
        """Return number and size of the entries by state."""
        return {
            number: StateEntries(count=len(self.offsets[number]), bytes=len(part))
            for number, part in self.parts.items()
        }

    def without(self, gone: Collection[int]) -> bytes:
        """Return the key group as Flink writes it, without some states; empty if none is left."""
        kept = [number for number in self.parts if number not in gone]
        written = bytearray()
        for position, number in enumerate(kept):
            part = bytearray(self.parts[number])
            part[self.offsets[number][-1] + _LENGTH.size] |= _STATE_FOLLOWS
            written += (_NUMBER.pack(number) if position == 0 else b"") + part
            following = kept[position + 1] if position + 1 < len(kept) else _END
            written += _NUMBER.pack(following)
        return bytes(written)


def read_key_group(data: bytes, *, group: int, groups: int, states: int) -> KeyGroupEntries:
    """Return the entries of one key group, which ``data`` holds to the last byte.

    Args:
        data: Bytes from the offset of the key group to the next one.
        group: Number of the key group, with which each key begins.
        groups: Number of all key groups, the maximum parallelism.

    Raises:
        UnreadableMetadataError: The bytes are not exactly one such key group.
    """
    prefix = group.to_bytes(2 if groups > _ONE_BYTE_GROUPS else 1)
    reader = _Reader(data, prefix)
    parts: dict[int, bytes] = {}
    offsets: dict[int, tuple[int, ...]] = {}
    number = reader.number()
    while number != _END:
        if number >= states or number in parts:
            raise reader.error(f"state number {number} of {states}")
        parts[number], offsets[number] = reader.state()
        number = reader.number()
    if reader.position != len(data) or not parts:
        raise reader.error(f"{len(data) - reader.position} bytes behind the key group")
    return KeyGroupEntries(parts=parts, offsets=offsets)


_ONE_BYTE_GROUPS = 128
"""Source: ``CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix``: numbers up to
127 take one byte, of which the first bit is free."""


class _Reader:
    def __init__(self, data: bytes, prefix: bytes) -> None:
        self.position = 0
        self._data = data
        self._prefix = prefix

    def number(self) -> int:
        if self.position + _NUMBER.size > len(self._data):
            raise self.error("no state number")
        (found,) = _NUMBER.unpack_from(self._data, self.position)
        self.position += _NUMBER.size
        return int(found)

    def state(self) -> tuple[bytes, tuple[int, ...]]:
        first, offsets, is_last = self.position, [], False
        while not is_last:
            offsets.append(self.position - first)
            key = self.position + _LENGTH.size
            self._skip_blob()
            is_last = self._checked_key(key)
            self._skip_blob()
        part = bytearray(self._data[first : self.position])
        part[offsets[-1] + _LENGTH.size] &= ~_STATE_FOLLOWS & 0xFF
        return bytes(part), tuple(offsets)

    def _skip_blob(self) -> None:
        if self.position + _LENGTH.size > len(self._data):
            raise self.error("no length")
        (length,) = _LENGTH.unpack_from(self._data, self.position)
        end = self.position + _LENGTH.size + int(length)
        if length < 0 or end > len(self._data):
            raise self.error(f"an entry of {length} bytes")
        self.position = end

    def _checked_key(self, start: int) -> bool:
        head = self._data[start : min(start + len(self._prefix), self.position)]
        if len(head) < len(self._prefix):
            raise self.error("a key without its key group")
        if bytes([head[0] & ~_STATE_FOLLOWS & 0xFF]) + head[1:] != self._prefix:
            raise self.error("a key of another key group")
        return bool(head[0] & _STATE_FOLLOWS)

    def error(self, what: str) -> UnreadableMetadataError:
        return UnreadableMetadataError(f"{what} in a key group", offset=self.position)
