"""Reads over Flink's serializer snapshots, whose length is not stored, and names them.

It reads only snapshot classes of Flink itself with known content. After any other class the caller
has to search for the next landmark.

Source: Flink 1.8-2.3, ``TypeSerializerSnapshotSerializationUtil``, ``TypeSerializerSnapshot``,
``SimpleTypeSerializerSnapshot``, ``CompositeTypeSerializerSnapshot``,
``LinkedOptionalMapSerializer``.
"""

from collections.abc import Callable
from typing import NoReturn

from flinkstate.errors import UnreadableMetadataError
from flinkstate.metadata.cursor import Cursor

DEEPEST_SERIALIZERS = 64
"""Maximum depth of nested serializers; real types have a handful of levels."""

LONGEST_WORDS = 500
"""Maximum length of a serializer's description; a longer one is truncated."""

_FORM = 2
_COMPOSITE_MAGIC = 911108
_NESTED_MAGIC = 1333245
_OPTIONAL_MAP_MAGIC = 0x4F2C69A3D70
_SMALLEST_VERSIONED = 6
_SMALLEST_MAP_ENTRY = 4
_ROW_HAS_FLAG_SINCE = 4

_FLINK = "org.apache.flink."
_BASE = f"{_FLINK}api.common.typeutils.base."
_RUNTIME = f"{_FLINK}api.java.typeutils.runtime."
_STREAMING = f"{_FLINK}streaming."
_STATE = f"{_FLINK}runtime.state."


class UnknownSerializerError(UnreadableMetadataError):
    """The class or version of a snapshot is unknown, so its end is unknown."""


def read_serializer(cursor: Cursor) -> str:
    """Return the description of the next serializer snapshot, and move behind it.

    Returns:
        Class of the snapshot without its package, with the serialized class in parentheses if it
        is stored, and nested snapshots in angle brackets.

    Raises:
        UnknownSerializerError: The end of the snapshot is unknown.
        UnreadableMetadataError: The bytes are no serializer snapshot.
    """
    at = cursor.position
    form = cursor.i4()
    if form != _FORM:
        raise cursor.error(f"serializer snapshot of form {form}", at=at)
    return _versioned(cursor, 1)


def outermost_class(cursor: Cursor) -> str:
    """Return the class of the next snapshot, without nested snapshots."""
    cursor.skip(4)
    name = cursor.utf()[:LONGEST_WORDS]
    return _simple_name(name) if name.startswith(_FLINK) else name


def _versioned(cursor: Cursor, depth: int) -> str:
    if depth > DEEPEST_SERIALIZERS:
        raise cursor.error(f"serializers nested deeper than {DEEPEST_SERIALIZERS}")
    at = cursor.position
    name = cursor.utf()
    version = cursor.i4()
    content = _CONTENTS.get(name)
    if content is None:
        _unknown(f"serializer snapshot class {name[:LONGEST_WORDS]!r}", at)
    return (_simple_name(name) + content(cursor, version, depth, at))[:LONGEST_WORDS]


def _unknown(what: str, at: int) -> NoReturn:
    raise UnknownSerializerError(f"{what} cannot be skipped", offset=at)


def _simple_name(name: str) -> str:
    return name.rpartition(".")[2].rpartition("$")[2]


Content = Callable[[Cursor, int, int, int], str]
"""Reader of the content of a class: takes cursor, version, depth and start of the snapshot."""


def _nothing(cursor: Cursor, version: int, _depth: int, at: int) -> str:
    match version:
        case 3:
            return ""
        case 2:
            cursor.utf()  # the serializer's class, until 1.8
            return ""
        case _:
            _unknown(f"version {version} of a simple serializer snapshot", at)


def _composite(outer: Callable[[Cursor, int], str]) -> Content:
    """Return the reader of a class with nested serializers; ``outer`` reads what precedes them."""

    def content(cursor: Cursor, version: int, depth: int, at: int) -> str:
        if version not in {1, 2, 3}:
            _unknown(f"version {version} of a composite serializer snapshot", at)
        outer_version = 0
        if version > 2:  # noqa: PLR2004 - since 1.8.1 the outer part has a version of its own
            _expect(cursor, _COMPOSITE_MAGIC, "composite serializer snapshot")
            outer_version = cursor.i4()
        return outer(cursor, outer_version) + _nested(cursor, depth)

    return content


def _nested(cursor: Cursor, depth: int) -> str:
    _expect(cursor, _NESTED_MAGIC, "nested serializer snapshots")
    _expect(cursor, 1, "version of nested serializer snapshots")
    inner = [_versioned(cursor, depth + 1) for _ in range(cursor.count(_SMALLEST_VERSIONED))]
    return f"<{', '.join(inner)}>" if inner else ""


def _expect(cursor: Cursor, value: int, what: str) -> None:
    at = cursor.position
    found = cursor.i4()
    if found != value:
        raise cursor.error(f"{what}: {found} instead of {value}", at=at)


def _no_outer(_cursor: Cursor, _version: int) -> str:
    return ""


def _class(cursor: Cursor, _version: int = 0) -> str:
    return f"({cursor.utf()[:LONGEST_WORDS]})"


def _padding(cursor: Cursor, _version: int) -> str:
    cursor.i4()
    return ""


def _row_kind(cursor: Cursor, version: int) -> str:
    if version >= _ROW_HAS_FLAG_SINCE:
        _flag(cursor)
    return ""


def _flag(cursor: Cursor) -> bool:
    at = cursor.position
    value = cursor.u1()
    if value > 1:
        raise cursor.error(f"flag of value {value}", at=at)
    return value == 1


def _three_maps(cursor: Cursor, version: int, _depth: int, at: int) -> str:
    if version != 2:  # noqa: PLR2004 - the only one that Flink ever wrote in this form
        _unknown(f"version {version} of a POJO or Kryo serializer snapshot", at)
    name = _class(cursor)
    for _ in range(3):
        _optional_map(cursor)
    return name


def _optional_map(cursor: Cursor) -> None:
    """Move over a map with framed parts, without reading the Java objects in them."""
    at = cursor.position
    if cursor.i8() != _OPTIONAL_MAP_MAGIC:
        raise cursor.error("no optional map here", at=at)
    for _ in range(cursor.count(_SMALLEST_MAP_ENTRY)):
        cursor.utf()
        for _part in ("key", "value"):
            if _flag(cursor):
                cursor.skip(cursor.count(1))


def _enum(cursor: Cursor, version: int, _depth: int, at: int) -> str:
    if version != 3:  # noqa: PLR2004 - the only one since 1.8
        _unknown(f"version {version} of an enum serializer snapshot", at)
    name = _class(cursor)
    for _ in range(cursor.count(2)):
        cursor.utf()
    return name


def _ttl_aware(cursor: Cursor, version: int, depth: int, at: int) -> str:
    if version != 1:
        _unknown(f"version {version} of a TTL-aware serializer snapshot", at)
    _flag(cursor)
    return f"<{_versioned(cursor, depth + 1)}>"


_SIMPLE = (
    *("BigDec", "BigInt", "Bitmap", "Boolean", "BooleanValue", "Byte", "ByteValue", "Char"),
    *("CharValue", "Date", "Double", "DoubleValue", "Float", "FloatValue", "Instant", "Int"),
    *("IntValue", "LocalDate", "LocalDateTime", "LocalTime", "Long", "LongValue", "NullValue"),
    *("Short", "ShortValue", "SqlDate", "SqlTime", "SqlTimestamp", "String", "StringValue"),
    *("Variant", "Void"),
)
_ARRAYS = (
    *("BooleanPrimitive", "BytePrimitive", "CharPrimitive", "DoublePrimitive", "FloatPrimitive"),
    *("IntPrimitive", "LongPrimitive", "ShortPrimitive", "String"),
)

_CONTENTS: dict[str, Content] = {
    **{f"{_BASE}{each}Serializer${each}SerializerSnapshot": _nothing for each in _SIMPLE},
    **{
        f"{_BASE}array.{each}ArraySerializer${each}ArraySerializerSnapshot": _nothing
        for each in _ARRAYS
    },
    f"{_RUNTIME}Tuple0SerializerSnapshot": _nothing,
    f"{_STATE}JavaSerializer$JavaSerializerSnapshot": _nothing,
    f"{_STATE}VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot": _nothing,
    f"{_FLINK}queryablestate.client.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot": (
        _nothing
    ),
    f"{_STREAMING}api.windowing.windows.GlobalWindow$Serializer$GlobalWindowSerializerSnapshot": (
        _nothing
    ),
    f"{_STREAMING}api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot": (
        _nothing
    ),
    f"{_BASE}ListSerializerSnapshot": _composite(_no_outer),
    f"{_BASE}MapSerializerSnapshot": _composite(_no_outer),
    f"{_BASE}SetSerializerSnapshot": _composite(_no_outer),
    f"{_BASE}GenericArraySerializerSnapshot": _composite(_class),
    f"{_STATE}ArrayListSerializerSnapshot": _composite(_no_outer),
    f"{_STATE}ttl.TtlStateFactory$TtlSerializerSnapshot": _composite(_no_outer),
    f"{_STATE}v2.ttl.TtlStateFactory$TtlSerializerSnapshot": _composite(_no_outer),
    f"{_STATE}ttl.TtlAwareSerializerSnapshot": _ttl_aware,
    f"{_RUNTIME}JavaEitherSerializerSnapshot": _composite(_no_outer),
    f"{_RUNTIME}NullableSerializer$NullableSerializerSnapshot": _composite(_padding),
    f"{_RUNTIME}RowSerializer$RowSerializerSnapshot": _composite(_row_kind),
    f"{_RUNTIME}TupleSerializerSnapshot": _composite(_class),
    f"{_RUNTIME}PojoSerializerSnapshot": _three_maps,
    f"{_RUNTIME}kryo.KryoSerializerSnapshot": _three_maps,
    f"{_BASE}EnumSerializer$EnumSerializerSnapshot": _enum,
    f"{_STREAMING}api.datastream.CoGroupedStreams$UnionSerializerSnapshot": _composite(_no_outer),
    f"{_STREAMING}api.operators.TimerSerializerSnapshot": _composite(_no_outer),
    f"{_STREAMING}api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot": (
        _composite(_no_outer)
    ),
    f"{_STREAMING}runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot": (
        _composite(_no_outer)
    ),
}
"""Reader of the content of each class's snapshot, behind its version."""
