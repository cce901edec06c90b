"""Checkpoint properties: one Java-serialised object at the end of ``_metadata``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from flinkstate.metadata.cursor import Cursor, decode_utf
from flinkstate.values.metadata_values import CheckpointProperties

_PACKAGE = "org.apache.flink.runtime.checkpoint."
_PROPERTIES = f"{_PACKAGE}CheckpointProperties"
_PROPERTIES_UID = 2
_CHECKPOINT = f"{_PACKAGE}CheckpointType"
_SAVEPOINT = f"{_PACKAGE}SavepointType"
_SHARING = f"{_PACKAGE}SnapshotType$SharingFilesStrategy"
_FORMAT = "org.apache.flink.core.execution.SavepointFormatType"
_POST_ACTION = f"{_PACKAGE}SavepointType$PostCheckpointAction"
_CONSTANTS = {
    _SHARING: frozenset({"FORWARD_BACKWARD", "FORWARD", "NO_SHARING"}),
    _FORMAT: frozenset({"CANONICAL", "NATIVE"}),
    _POST_ACTION: frozenset({"NONE", "SUSPEND", "TERMINATE"}),
}
_FLAGS = {
    "discardCancelled": "discard_cancelled",
    "discardFailed": "discard_failed",
    "discardFinished": "discard_finished",
    "discardSubsumed": "discard_subsumed",
    "discardSuspended": "discard_suspended",
    "forced": "forced",
    "unclaimed": "unclaimed",
}

_STREAM_HEADER = 0xACED0005 - (1 << 32)
_NULL, _REFERENCE, _CLASS, _OBJECT, _STRING = 0x70, 0x71, 0x72, 0x73, 0x74
_END_OF_ANNOTATIONS, _LONG_STRING, _ENUM = 0x78, 0x7C, 0x7E
_FIRST_HANDLE = 0x7E0000
_SERIALISABLE_FLAG, _ENUM_FLAG = 0x02, 0x12
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    uid: int
    flags: int
    fields: tuple[tuple[str, str], ...]
    parent: _Class | None


@dataclass(frozen=True, slots=True)
class _Object:
    of: _Class
    values: dict[str, _Value]


@dataclass(frozen=True, slots=True)
class _Constant:
    of: _Class
    name: str


_Value = bool | str | _Object | _Constant | None


@dataclass(slots=True)
class _Stream:
    """Position in the Java stream, and the objects that later records may refer back to."""

    cursor: Cursor
    handles: list[_Value | _Class] = field(default_factory=list)
    depth: int = 0

    def fail(self, reason: str, at: int) -> NoReturn:
        raise self.cursor.error(f"checkpoint properties: {reason}", at=at)

    def reserve(self) -> int:
        """Assign the next handle before its value is known, as Java does."""
        self.handles.append(None)
        return len(self.handles) - 1


def read_properties(cursor: Cursor) -> CheckpointProperties | None:
    """Return the properties, or None for a Java null; move the cursor behind them.

    The reader supports only the parts of Java's object stream that Flink's three classes use:
    arrays, block data and classes with custom methods have no reliable end.

    Raises:
        UnreadableMetadataError: The stream holds anything else.

    Source: Flink 1.16-2.3, ``MetadataV4Serializer``, ``CheckpointProperties``; Java object
    serialization stream protocol, version 2.
    """
    start = cursor.position
    stream = _Stream(cursor)
    if cursor.i4() != _STREAM_HEADER:
        stream.fail("no Java stream header", start)
    value = _value(stream)
    if value is None:
        return None
    return _properties(stream, value, start)


def _properties(stream: _Stream, value: _Value, start: int) -> CheckpointProperties:
    if not isinstance(value, _Object) or value.of.name != _PROPERTIES:
        stream.fail("not a CheckpointProperties object", start)
    if value.of.uid != _PROPERTIES_UID:
        stream.fail(f"CheckpointProperties of UID {value.of.uid}", start)
    _expect_fields(stream, value, {*_FLAGS, "checkpointType"}, start)
    fields: dict[str, Any] = {ours: value.values[java] for java, ours in _FLAGS.items()}
    if not all(isinstance(flag, bool) for flag in fields.values()):
        stream.fail("a flag is no boolean", start)
    return CheckpointProperties(
        **fields,
        **_type_words(stream, value.values["checkpointType"], start),
        block=stream.cursor.data[start : stream.cursor.position],
    )


def _type_words(stream: _Stream, kind: _Value, start: int) -> dict[str, Any]:
    if isinstance(kind, _Object) and kind.of.name == _CHECKPOINT:
        fields = {"sharingFilesStrategy": ("sharing_strategy", _SHARING)}
    elif isinstance(kind, _Object) and kind.of.name == _SAVEPOINT:
        fields = {
            "formatType": ("savepoint_format", _FORMAT),
            "postCheckpointAction": ("post_action", _POST_ACTION),
        }
    else:
        stream.fail("neither CheckpointType nor SavepointType", start)
    _expect_fields(stream, kind, {"name", *fields}, start)
    name = kind.values["name"]
    if not isinstance(name, str):
        stream.fail("a snapshot type without a name", start)
    words = {"type_class": kind.of.name.removeprefix(_PACKAGE), "type_name": name}
    for java, (ours, class_name) in fields.items():
        words[ours] = _constant_name(stream, kind.values[java], class_name, start)
    return words


def _constant_name(stream: _Stream, value: _Value, class_name: str, start: int) -> str:
    if not isinstance(value, _Constant) or value.of.name != class_name:
        stream.fail(f"not a constant of {class_name}", start)
    if value.name not in _CONSTANTS[class_name]:
        stream.fail(f"unknown constant {value.name!r} of {class_name}", start)
    return value.name


def _expect_fields(stream: _Stream, found: _Object, names: set[str], start: int) -> None:
    if found.values.keys() != names or len(found.of.fields) != len(names):
        stream.fail(f"unexpected fields of {found.of.name}", start)


def _value(stream: _Stream) -> _Value:
    at = stream.cursor.position
    tag = stream.cursor.u1()
    stream.depth += 1
    if stream.depth > _DEEPEST:
        stream.fail("nested too deep", at)
    read = _VALUES.get(tag)
    if read is None:
        stream.fail(f"unknown Java tag {tag:#04x}", at)
    value = read(stream)
    stream.depth -= 1
    return value


def _back_reference(stream: _Stream) -> _Value | _Class:
    at = stream.cursor.position
    index = stream.cursor.i4() - _FIRST_HANDLE
    if not 0 <= index < len(stream.handles):
        stream.fail(f"back reference to handle {index} of {len(stream.handles)}", at)
    found = stream.handles[index]
    if found is None:
        stream.fail("back reference to an unfinished object", at)
    return found


def _referred_value(stream: _Stream) -> _Value:
    at = stream.cursor.position
    found = _back_reference(stream)
    if isinstance(found, _Class):
        stream.fail("a class description where a value is due", at)
    return found


def _string(stream: _Stream) -> str:
    text = stream.cursor.utf()
    stream.handles.append(text)
    return text


def _long_string(stream: _Stream) -> str:
    at = stream.cursor.position
    size = stream.cursor.i8()
    if size < 0:
        stream.fail(f"a string of {size} bytes", at)
    start = stream.cursor.position
    text = decode_utf(stream.cursor.take(size), offset=start)
    stream.handles.append(text)
    return text


def _object(stream: _Stream) -> _Object:
    at = stream.cursor.position
    of = _class_description(stream, _SERIALISABLE_FLAG)
    if of is None:
        stream.fail("an object without a class", at)
    handle = stream.reserve()
    values: dict[str, _Value] = {}
    for part in _lineage(of):
        for letter, name in part.fields:
            values[name] = _flag(stream) if letter == "Z" else _value(stream)
    result = _Object(of, values)
    stream.handles[handle] = result
    return result


def _constant(stream: _Stream) -> _Constant:
    at = stream.cursor.position
    of = _class_description(stream, _ENUM_FLAG)
    if of is None:
        stream.fail("an enum constant without a class", at)
    handle = stream.reserve()
    name = _value(stream)
    if not isinstance(name, str):
        stream.fail("an enum constant without a name", at)
    result = _Constant(of, name)
    stream.handles[handle] = result
    return result


def _flag(stream: _Stream) -> bool:
    at = stream.cursor.position
    value = stream.cursor.u1()
    if value > 1:
        stream.fail(f"boolean of value {value}", at)
    return value == 1


def _lineage(of: _Class) -> list[_Class]:
    chain: list[_Class] = []
    current: _Class | None = of
    while current is not None:
        chain.insert(0, current)
        current = current.parent
    return chain


def _class_description(stream: _Stream, flags: int) -> _Class | None:
    """Return the next class description, or None; refuse all flags but ``flags``."""
    at = stream.cursor.position
    tag = stream.cursor.u1()
    if tag == _NULL:
        return None
    if tag == _REFERENCE:
        found = _back_reference(stream)
        if not isinstance(found, _Class) or found.flags != flags:
            stream.fail("no such class description", at)
        return found
    if tag != _CLASS:
        stream.fail(f"tag {tag:#04x} where a class description is due", at)
    stream.depth += 1
    if stream.depth > _DEEPEST:
        stream.fail("nested too deep", at)
    described = _new_class(stream, flags)
    stream.depth -= 1
    return described


def _new_class(stream: _Stream, flags: int) -> _Class:
    cursor = stream.cursor
    name = cursor.utf()
    uid = cursor.i8()
    handle = stream.reserve()
    at = cursor.position
    found = cursor.u1()
    if found != flags:
        stream.fail(f"class {name} has flags {found:#04x}, custom methods or worse", at)
    fields = tuple(_field(stream) for _ in range(cursor.u2()))
    at = cursor.position
    if cursor.u1() != _END_OF_ANNOTATIONS:
        stream.fail(f"class {name} has annotations", at)
    described = _Class(name, uid, flags, fields, _class_description(stream, flags))
    stream.handles[handle] = described
    return described


def _field(stream: _Stream) -> tuple[str, str]:
    at = stream.cursor.position
    letter = chr(stream.cursor.u1())
    name = stream.cursor.utf()
    if letter == "L":
        if not isinstance(_value(stream), str):
            stream.fail("a field without a type", at)
    elif letter != "Z":
        stream.fail(f"field {name!r} of type {letter!r}", at)
    return letter, name


_VALUES: dict[int, Callable[[_Stream], _Value]] = {
    _NULL: lambda _stream: None,
    _REFERENCE: _referred_value,
    _OBJECT: _object,
    _STRING: _string,
    _LONG_STRING: _long_string,
    _ENUM: _constant,
}
