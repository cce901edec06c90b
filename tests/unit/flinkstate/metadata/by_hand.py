"""Metadata bytes put together by hand, to aim at one slot; no code of the writer's."""

import struct

MAGIC = struct.pack(">I", 0x4960672D)
NULL_PROPERTIES = bytes.fromhex("aced000570")
NONE = b"\0"


def i4(value: int) -> bytes:
    return struct.pack(">i", value)


def i8(value: int) -> bytes:
    return struct.pack(">q", value)


def utf(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


def blob(data: bytes) -> bytes:
    return i4(len(data)) + data


def longs(*values: int) -> bytes:
    return i4(len(values)) + b"".join(map(i8, values))


def listed(*elements: bytes) -> bytes:
    return i4(len(elements)) + b"".join(elements)


def file_handle(path: str = "s3://b/c", size: int = 5) -> bytes:
    return b"\x02" + i8(size) + utf(path)


def relative_handle(name: str = "n", size: int = 5) -> bytes:
    return b"\x06" + utf(name) + i8(size)


def bytes_handle(data: bytes = b"abc") -> bytes:
    return b"\x01" + utf("name") + blob(data)


def segment_handle(path: str = "s3://b/m", scope: int = 1) -> bytes:
    return b"\x0f" + i8(3) + i8(4) + i4(scope) + utf(path) + utf("id")


EMPTY_SEGMENT = b"\x10"


def key_groups(delegate: bytes, *, code: int = 3, first: int = 0, count: int = 1) -> bytes:
    tail = utf("id") if code == 12 else b""
    return bytes([code]) + i4(first) + i4(count) + i8(7) * max(count, 0) + delegate + tail


def incremental(shared: bytes, *, code: int = 11, meta: bytes = b"", private: bytes = b"") -> bytes:
    head = bytes([code]) + i8(3) + utf("backend") + i4(0) + i4(1)
    size, tail = (i8(9), utf("id")) if code == 11 else (b"", b"")
    return head + size + (meta or file_handle()) + shared + (private or listed()) + tail


def changelog_bytes(*, key_group: int = -1) -> bytes:
    changes = listed(i4(key_group) + blob(b"xy"))
    return b"\x09" + i4(0) + i4(1) + i8(1) + i8(2) + changes + utf("id")


def changelog_files(handle: bytes, *, code: int = 13) -> bytes:
    tail = utf("filesystem") if code == 13 else b""
    files = listed(i8(4) + handle)
    return bytes([code]) + i4(0) + i4(1) + files + i8(1) + i8(2) + utf("id") + tail


def changelog(materialized: bytes, increments: bytes, *, code: int = 14) -> bytes:
    ids = i8(1) + (i8(2) if code == 14 else b"") + utf("id")
    return bytes([code]) + i4(0) + i4(1) + i8(1) + materialized + increments + ids


def states(mode: int = 0) -> bytes:
    return listed(utf("state") + bytes([mode]) + longs(0, 8))


def operator_handle(delegate: bytes, *, mode: int = 0) -> bytes:
    return b"\x04" + states(mode) + delegate


def merged_operator_handle(
    delegate: bytes, *, empty: int = 0, directory: str = "s3://b/d"
) -> bytes:
    return b"\x11" + listed() + utf(directory) + utf("s3://b/e") + bytes([empty]) + delegate


def channel(delegate: bytes, *, subtask: int = 0, a: int = 1, b: int = 2) -> bytes:
    return i4(subtask) + i4(a) + i4(b) + longs(5) + i8(6) + delegate


def merged_channel(delegate: bytes, *, table: bytes | None = None) -> bytes:
    entries = listed(i4(1) + i4(2) + i8(3) + longs(4)) if table is None else table
    return i4(0) + i8(6) + delegate + blob(entries)


def subtask(
    version: int = 3,
    *,
    index: int = 0,
    operator: bytes = i4(0),
    raw_operator: bytes = i4(0),
    keyed: bytes = NONE,
    raw_keyed: bytes = NONE,
    inputs: bytes = i4(0),
    outputs: bytes = i4(0),
    reference: bytes = b"\0",
) -> bytes:
    old = i8(-1) + i4(0) if version == 2 else b""
    channels = b"" if version == 2 else inputs + outputs
    tail = reference if version >= 7 else b""
    return i4(index) + old + operator + raw_operator + keyed + raw_keyed + channels + tail


def operator(
    version: int, subtasks: bytes, *, coordinator: bytes = NONE, chain_length: int = 1
) -> bytes:
    names = utf("name") + utf("uid") if version >= 5 else b""
    middle = i4(chain_length) if version == 2 else coordinator
    return names + bytes(range(16)) + i4(4) + i4(128) + middle + subtasks


def metadata(
    version: int,
    operators: bytes,
    *,
    checkpoint_id: int = 7,
    masters: bytes = i4(0),
    properties: bytes = NULL_PROPERTIES,
) -> bytes:
    tail = properties if version >= 4 else b""
    return MAGIC + i4(version) + i8(checkpoint_id) + masters + operators + tail


def with_subtask(version: int, record: bytes) -> bytes:
    return metadata(version, listed(operator(version, listed(record))))


def with_keyed(handle: bytes, version: int = 4) -> bytes:
    return with_subtask(version, subtask(version, keyed=handle))


def with_stream(handle: bytes, version: int = 4) -> bytes:
    return with_keyed(key_groups(handle), version)


def master(*, magic: int = 0xC96B1696, extra: int = 0, payload: bytes = b"pp") -> bytes:
    body = i4(1) + utf("hook") + blob(payload)
    return struct.pack(">I", magic) + i4(len(body) + extra) + body


def in_stream(handle: bytes) -> bytes:
    return with_stream(handle)


def in_meta(handle: bytes) -> bytes:
    return with_keyed(incremental(listed(), meta=handle))


def in_shared(handle: bytes) -> bytes:
    return with_keyed(incremental(listed(utf("000001.sst") + handle)))


def in_operator_delegate(handle: bytes) -> bytes:
    return in_operator(operator_handle(handle))


def in_changelog_file(handle: bytes) -> bytes:
    return with_keyed(changelog_files(handle))


def in_channel_delegate(handle: bytes) -> bytes:
    return in_input(b"\x01" + channel(handle))


def in_keyed(handle: bytes) -> bytes:
    return with_keyed(handle)


def in_raw_keyed(handle: bytes) -> bytes:
    return with_subtask(4, subtask(4, raw_keyed=handle))


def in_materialized(handle: bytes) -> bytes:
    return with_keyed(changelog(listed(handle), listed()))


def in_increments(handle: bytes) -> bytes:
    return with_keyed(changelog(listed(), listed(handle)))


def in_operator(handle: bytes) -> bytes:
    return with_subtask(4, subtask(4, operator=i4(1) + handle))


def in_raw_operator(handle: bytes) -> bytes:
    return with_subtask(4, subtask(4, raw_operator=i4(1) + handle))


def in_merged_delegate(handle: bytes) -> bytes:
    return in_operator(merged_operator_handle(handle))


def in_input(handle: bytes) -> bytes:
    return with_subtask(6, subtask(6, inputs=listed(handle)))


def in_output(handle: bytes) -> bytes:
    return with_subtask(6, subtask(6, outputs=listed(handle)))


def in_coordinator(handle: bytes) -> bytes:
    return metadata(4, listed(operator(4, listed(), coordinator=handle)))
