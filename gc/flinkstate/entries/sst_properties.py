"""The properties block of a RocksDB table file: whose state it holds, and how many entries.

RocksDB writes it into every table file (``.sst``), near its end. Flink keeps each keyed state in a
column family of the state's name.

Source: RocksDB 5.17 to 8.10 (Flink 1.8-2.3), ``table/format.cc`` (footer of format versions 1 to
5), ``table/block_based/block.cc``, ``table/table_properties.cc``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from flinkstate.errors import UnreadableMetadataError

TAIL_BYTES = 64 * 1024
"""Number of bytes at the end of a table file that hold the block, as a rule."""

_MAGIC = 0x88E241B785F4CFF7
_FOOTER = 53
_LAST_VERSION = 5
_TRAILER = 5
"""Bytes behind a block: its compression, and a checksum."""
_PROPERTIES = b"rocksdb.properties"
_NAME = b"rocksdb.column.family.name"
_ENTRIES = b"rocksdb.num.entries"
_DELETED = b"rocksdb.deleted.keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProperties:
    """What one table file holds.

    Attributes:
        entries: Number of entries; a key that was written again may have one in several files.
        deletions: Number of those that delete a key.
    """

    column_family: str
    entries: int
    deletions: int


def read_properties(tail: bytes, *, size: int) -> TableProperties:
    """Return the properties of a table file.

    Args:
        tail: Its last bytes.

    Raises:
        UnreadableMetadataError: The bytes are no end of such a file, or too few.
    """
    first = size - len(tail)
    if len(tail) < _FOOTER or int.from_bytes(tail[-8:], "little") != _MAGIC:
        raise UnreadableMetadataError("no table file of RocksDB", offset=size)
    version = int.from_bytes(tail[-12:-8], "little")
    if not 1 <= version <= _LAST_VERSION:
        raise UnreadableMetadataError(f"table file of format version {version}", offset=size)
    handle = _handle(tail[-_FOOTER + 1 : -12])
    properties = dict(_entries(_block(tail, first, handle))).get(_PROPERTIES)
    if properties is None:
        raise UnreadableMetadataError("a table file without properties", offset=size)
    found = dict(_entries(_block(tail, first, _handle(properties))))
    if _NAME not in found or _ENTRIES not in found:
        raise UnreadableMetadataError("a table file without the name of its state", offset=size)
    return TableProperties(
        column_family=found[_NAME].decode("utf-8", "surrogateescape"),
        entries=_varint(found[_ENTRIES], 0)[0],
        deletions=_varint(found.get(_DELETED, b"\0"), 0)[0],
    )


def _handle(data: bytes) -> tuple[int, int]:
    offset, at = _varint(data, 0)
    return offset, _varint(data, at)[0]


def _block(tail: bytes, first: int, handle: tuple[int, int]) -> bytes:
    offset, size = handle
    start = offset - first
    if start < 0 or start + size + _TRAILER > len(tail) or size < 4:  # noqa: PLR2004
        raise UnreadableMetadataError(f"a block of {size} bytes is not here", offset=offset)
    if tail[start + size] != 0:
        raise UnreadableMetadataError("a compressed block of properties", offset=offset)
    block = tail[start : start + size]
    restarts = 4 * (int.from_bytes(block[-4:], "little") + 1)
    if restarts > size:
        raise UnreadableMetadataError("a block without its restart points", offset=offset)
    return block[: size - restarts]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    key, at = b"", 0
    while at < len(block):
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or at + own + length > len(block):
            raise UnreadableMetadataError("an entry beyond its block", offset=at)
        key = key[:shared] + block[at : at + own]
        at += own
        yield key, block[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 64:  # noqa: PLR2004 - bits
        value |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
        shift += 7
    raise UnreadableMetadataError("a number without an end", offset=at)
