"""Writes headers of keyed and operator state, and random serializer snapshots to put in them."""

import struct

from hypothesis import strategies as st

from flinkstate.metadata.cursor import encode_utf
from unit.flinkstate.metadata.by_hand import blob, i4, i8, listed

BASE = "org.apache.flink.api.common.typeutils.base."
RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
STATE = "org.apache.flink.runtime.state."
LONG = f"{BASE}LongSerializer$LongSerializerSnapshot"
USER = "com.example.Odd$Snapshot"

ROLES = ("KEY_SERIALIZER", "NAMESPACE_SERIALIZER", "VALUE_SERIALIZER", "USER_KEY_SERIALIZER")
TYPES = ("VALUE", "LIST", "MAP", "REDUCING", "FOLDING", "AGGREGATING")


def utf(text: str) -> bytes:
    raw = encode_utf(text)
    return struct.pack(">H", len(raw)) + raw


def snapshot(name: str, version: int, content: bytes = b"") -> bytes:
    return utf(name) + i4(version) + content


def serializer(versioned: bytes) -> bytes:
    return i4(2) + versioned


def nested(*inner: bytes) -> bytes:
    return i4(1333245) + i4(1) + listed(*inner)


def composite(name: str, *inner: bytes, outer: bytes = b"", version: int = 3) -> bytes:
    head = i4(911108) + i4(1) if version > 2 else b""
    return snapshot(name, version, head + outer + nested(*inner))


def optional_map(*entries: bytes) -> bytes:
    return i8(0x4F2C69A3D70) + listed(*entries)


def map_entry(key: str, first: bytes | None, second: bytes | None) -> bytes:
    parts = (b"\0" if part is None else b"\1" + blob(part) for part in (first, second))
    return utf(key) + b"".join(parts)


PLAIN = snapshot(LONG, 3)


def record(
    name: str,
    *,
    kind: int = 0,
    options: tuple[tuple[str, str], ...] = (("KEYED_STATE_TYPE", "VALUE"),),
    serializers: tuple[tuple[str, bytes], ...] = (("VALUE_SERIALIZER", PLAIN),),
) -> bytes:
    """Return the record of a state; serializers by role, as versioned snapshots."""
    return (
        utf(name)
        + i4(kind)
        + listed(*(utf(key) + utf(value) for key, value in options))
        + listed(*(utf(role) + serializer(each) for role, each in serializers))
    )


def operator_record(name: str, mode: str, versioned: bytes = PLAIN) -> bytes:
    return record(
        name,
        kind=2 if mode == "BROADCAST" else 1,
        options=(("OPERATOR_STATE_DISTRIBUTION_MODE", mode),),
        serializers=(("VALUE_SERIALIZER", versioned),),
    )


def keyed_header(*records: bytes, key: bytes = PLAIN, count: int | None = None) -> bytes:
    number = struct.pack(">h", len(records) if count is None else count)
    return i4(6) + b"\0" + serializer(key) + number + b"".join(records)


def operator_header(states: tuple[bytes, ...], broadcast: tuple[bytes, ...] = ()) -> bytes:
    sections = (struct.pack(">h", len(each)) + b"".join(each) for each in (states, broadcast))
    return i4(6) + b"\0" + b"".join(sections)


CLASSES = st.sampled_from(["a.Order", "com.example.Ünicode$1", "x"])
LEAVES = st.sampled_from(
    [
        PLAIN,
        snapshot(f"{BASE}StringSerializer$StringSerializerSnapshot", 2, utf("old.Class")),
        snapshot(f"{RUNTIME}Tuple0SerializerSnapshot", 3),
    ]
)
ENTRIES = st.builds(map_entry, CLASSES, *[st.none() | st.binary(max_size=9)] * 2)
MAPS = st.lists(ENTRIES, max_size=3).map(lambda entries: optional_map(*entries))
POJOS = st.builds(
    lambda name, owner, *maps: snapshot(name, 2, utf(owner) + b"".join(maps)),
    st.sampled_from([f"{RUNTIME}PojoSerializerSnapshot", f"{RUNTIME}kryo.KryoSerializerSnapshot"]),
    CLASSES,
    MAPS,
    MAPS,
    MAPS,
)
ENUMS = st.builds(
    lambda owner, names: snapshot(
        f"{BASE}EnumSerializer$EnumSerializerSnapshot", 3, utf(owner) + listed(*map(utf, names))
    ),
    CLASSES,
    st.lists(CLASSES, max_size=3),
)


def _wrapped(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    several = st.lists(inner, max_size=3)
    return st.one_of(
        st.builds(lambda each: composite(f"{BASE}MapSerializerSnapshot", *each), several),
        st.builds(
            lambda each: composite(f"{BASE}ListSerializerSnapshot", *each, version=2), several
        ),
        st.builds(
            lambda each, owner: composite(
                f"{RUNTIME}TupleSerializerSnapshot", *each, outer=utf(owner)
            ),
            several,
            CLASSES,
        ),
        st.builds(
            lambda each, padding: composite(
                f"{RUNTIME}NullableSerializer$NullableSerializerSnapshot", each, outer=i4(padding)
            ),
            inner,
            st.integers(0, 9),
        ),
        st.builds(
            lambda each: snapshot(f"{STATE}ttl.TtlAwareSerializerSnapshot", 1, b"\1" + each), inner
        ),
    )


KNOWN = st.recursive(LEAVES | POJOS | ENUMS, _wrapped, max_leaves=6)
"""Versioned snapshots that can be skipped exactly."""


def odd(content: bytes) -> bytes:
    """Return a snapshot of a user's class, whose content only that class understands."""
    return snapshot(USER, 1, content)
