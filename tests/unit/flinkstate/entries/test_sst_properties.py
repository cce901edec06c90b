"""The properties block at the end of RocksDB's table files."""

from contextlib import suppress

import pytest

from flinkstate.entries.sst_properties import TableProperties, read_properties
from orphangc.errors import UnreadableMetadataError


def varint(value: int) -> bytes:
    written = b""
    while value > 0x7F:
        written, value = written + bytes([value & 0x7F | 0x80]), value >> 7
    return written + bytes([value])


def block(*entries: tuple[bytes, bytes]) -> bytes:
    """Return a block with its restart point and its trailer; keys share what they can."""
    data, before = b"", b""
    for key, value in entries:
        shared = next(
            (n for n, (a, b) in enumerate(zip(before, key, strict=False)) if a != b),
            min(len(before), len(key)),
        )
        data += varint(shared) + varint(len(key) - shared) + varint(len(value))
        data += key[shared:] + value
        before = key
    return data + bytes(4) + (1).to_bytes(4, "little") + bytes(5)


def table(*, name: bytes = b"orders", version: int = 5, extra: bytes = b"data" * 50) -> bytes:
    properties = block(
        (b"rocksdb.column.family.name", name),
        (b"rocksdb.deleted.keys", varint(3)),
        (b"rocksdb.num.entries", varint(70_000)),
    )
    metaindex = block((b"rocksdb.properties", varint(len(extra)) + varint(len(properties) - 5)))
    start = len(extra) + len(properties)
    handles = (varint(start) + varint(len(metaindex) - 5) + varint(0) + varint(0)).ljust(40, b"\0")
    magic = 0x88E241B785F4CFF7
    footer = b"\x01" + handles + version.to_bytes(4, "little") + magic.to_bytes(8, "little")
    return extra + properties + metaindex + footer


def test_the_tail_of_a_table_says_whose_it_is_and_how_many_entries_it_has():
    data = table()
    expected = TableProperties(column_family="orders", entries=70_000, deletions=3)
    assert read_properties(data, size=len(data)) == expected
    assert read_properties(data[-300:], size=len(data)) == expected


@pytest.mark.parametrize(
    "data",
    [b"", b"x" * 60, table(version=6), table(version=0), table()[-100:], table()[:-1] + b"\0"],
)
def test_other_bytes_are_no_table(data):
    with pytest.raises(UnreadableMetadataError):
        read_properties(data, size=10_000)


@pytest.mark.parametrize("at", range(200, 330, 3))
def test_a_damaged_table_is_refused_or_read_and_never_hangs(at):
    data = bytearray(table())
    data[at % len(data)] ^= 0xFF
    with suppress(UnreadableMetadataError):
        read_properties(bytes(data), size=len(data))
