"""The one Java-serialised object of the file, read by its structure."""

import struct

import pytest

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.values.metadata_values import CheckpointProperties
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.both_passes import accept, agree, refuse
from unit.flinkstate.metadata.golden_files import GoldenFile, golden, golden_files

HEADER = b"\xac\xed\x00\x05"
CHECKPOINT = golden("2.3.0/empty").data[-604:]
SAVEPOINT = golden("2.3.0/classic-savepoint-props").data[-742:]
WITH_PROPERTIES = [file for file in golden_files() if file.expected["properties"] is not None]
FLAGS_AT = 258


def java(text: str) -> bytes:
    return hand.utf(text)


def with_block(block: bytes) -> bytes:
    return hand.metadata(4, hand.listed(), properties=block)


def properties_of(block: bytes) -> CheckpointProperties | None:
    metadata, _ = accept(with_block(block))
    return metadata.properties


@pytest.mark.parametrize("file", WITH_PROPERTIES, ids=lambda file: file.name)
def test_all_fields_are_what_flink_reads(file: GoldenFile) -> None:
    """Seven booleans, the type's class and name, and what depends on the class."""
    found, expected = read_metadata(file.data).properties, file.expected["properties"]
    assert found is not None
    assert found.discard_cancelled == expected["discardCancelled"]
    assert found.discard_failed == expected["discardFailed"]
    assert found.discard_finished == expected["discardFinished"]
    assert found.discard_subsumed == expected["discardSubsumed"]
    assert found.discard_suspended == expected["discardSuspended"]
    assert found.forced == expected["forced"]
    assert found.unclaimed == expected["unclaimed"]
    assert found.type_class == expected["type_class"]
    assert found.type_name == expected["type_name"]
    assert found.sharing_strategy == expected.get("sharingFilesStrategy")
    assert found.savepoint_format == expected.get("formatType")
    assert found.post_action == expected.get("postCheckpointAction")
    assert found.is_savepoint == (expected["type_class"] == "SavepointType")
    assert file.data.endswith(found.block)


def test_each_boolean_is_read_from_its_own_byte() -> None:
    """In the alphabetical order of Java's field names."""
    names = (
        "discard_cancelled",
        "discard_failed",
        "discard_finished",
        "discard_subsumed",
        "discard_suspended",
        "forced",
        "unclaimed",
    )
    blank = CHECKPOINT[:FLAGS_AT] + bytes(7) + CHECKPOINT[FLAGS_AT + 7 :]
    for place, name in enumerate(names, FLAGS_AT):
        found = properties_of(blank[:place] + b"\1" + blank[place + 1 :])
        assert [each for each in names if getattr(found, each)] == [name]
        refuse(with_block(blank[:place] + b"\2" + blank[place + 1 :]))


def test_a_java_null_stands_for_no_properties() -> None:
    """Flink's loader accepts it; nothing then says whether it is a savepoint."""
    metadata, references = accept(with_block(HEADER + b"\x70"))
    assert metadata.properties is None
    assert references.is_savepoint is None


def test_savepoints_are_told_from_checkpoints() -> None:
    """By the class of the type, as Flink does."""
    assert accept(with_block(SAVEPOINT))[1].is_savepoint is True
    assert accept(with_block(CHECKPOINT))[1].is_savepoint is False
    assert accept(hand.metadata(3, hand.listed()))[1].is_savepoint is None


@pytest.mark.parametrize("block", [CHECKPOINT, SAVEPOINT, HEADER + b"\x70"], ids=len)
def test_the_block_ends_exactly_where_the_file_ends(block: bytes) -> None:
    """Neither a prefix nor an extension passes."""
    for size in range(len(block)):
        refuse(with_block(block[:size]))
    refuse(with_block(block + b"\x70"))
    refuse(with_block(block + block))


@pytest.mark.parametrize("block", [CHECKPOINT, SAVEPOINT], ids=len)
def test_every_change_of_one_byte_is_refused_or_kept(block: bytes) -> None:
    """What may vary is the serial versions and texts; it is written back as it was."""
    for place in range(len(block)):
        for value in (0x00, 0x01, 0x70, 0x71, 0xFF):
            agree(with_block(block[:place] + bytes([value]) + block[place + 1 :]))


def class_description(
    name: str, fields: bytes, *, flags: int = 2, count: int = 1, annotations: bytes = b"\x78"
) -> bytes:
    head = b"\x72" + java(name) + bytes(8) + bytes([flags])
    return head + struct.pack(">H", count) + fields + annotations + b"\x70"


BAD_BLOCKS = {
    "no header": b"\xac\xed\x00\x04\x70",
    "array": HEADER + b"\x75",
    "block data": HEADER + b"\x77\x01a",
    "long block data": HEADER + b"\x7a",
    "reset": HEADER + b"\x79\x70",
    "exception": HEADER + b"\x7b",
    "class object": HEADER + b"\x76",
    "proxy class": HEADER + b"\x73\x7d",
    "bare string": HEADER + b"\x74" + java("x"),
    "bare class description": HEADER + b"\x72" + java("x"),
    "object of no class": HEADER + b"\x73\x70",
    "back reference to nothing": HEADER + b"\x71\x00\x7e\x00\x00",
    "negative back reference": HEADER + b"\x71\x00\x7d\xff\xff",
    "another class": HEADER + b"\x73" + class_description("java.lang.Object", b"", count=0),
    "custom methods": HEADER + b"\x73" + class_description("x", b"", flags=3, count=0),
    "externalizable": HEADER + b"\x73" + class_description("x", b"", flags=0x0C, count=0),
    "annotations": HEADER
    + b"\x73"
    + class_description("x", b"", count=0, annotations=b"\x74" + java("a") + b"\x78"),
    "int field": HEADER + b"\x73" + class_description("x", b"I" + java("f")),
    "array field": HEADER + b"\x73" + class_description("x", b"[" + java("f")),
    "field of no type": HEADER + b"\x73" + class_description("x", b"L" + java("f") + b"\x70"),
    "object of itself": HEADER
    + b"\x73"
    + class_description("x", b"L" + java("f") + b"\x74" + java("Lx;"))
    + b"\x71\x00\x7e\x00\x02",
    "many fields": HEADER + b"\x73" + class_description("x", b"", count=65535),
    "long string of negative length": HEADER + b"\x7c" + hand.i8(-1),
    "long string beyond the end": HEADER + b"\x7c" + hand.i8(2**62),
}


@pytest.mark.parametrize("name", BAD_BLOCKS)
def test_whatever_has_no_end_to_trust_is_refused(name: str) -> None:
    """Java's protocol knows much more than Flink needs here."""
    error = refuse(with_block(BAD_BLOCKS[name]))
    assert error.offset >= len(with_block(b""))


def test_nested_objects_and_classes_cannot_crash_the_reader() -> None:
    """A chain of objects in objects, and one of super classes."""
    field = b"L" + java("f") + b"\x74" + java("L;")
    nested = (b"\x73" + class_description("x", field)) * 20_000
    assert "nested" in refuse(with_block(HEADER + nested)).reason
    parents = (b"\x72" + java("x") + bytes(8) + b"\2\0\0\x78") * 20_000
    assert "nested" in refuse(with_block(HEADER + b"\x73" + parents)).reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"CheckpointProperties\0\0\0\0\0\0\0\2", b"CheckpointProperties\0\0\0\0\0\0\0\3"),
        (b"checkpoint.CheckpointProperties", b"checkpoint.CheckpointPropertiez"),
        (b"\2\2\0\x08Z", b"\2\3\0\x08Z"),
        (b"\x12\0\0xr\0\x0ejava", b"\x02\0\0xr\0\x0ejava"),
        (b"\x06forced", b"\x06forcex"),
        (b"checkpoint.CheckpointType\xd6", b"checkpoint.CheckpointTypo\xd6"),
        (b"FORWARD_BACKWARD", b"FORWARD_BACKWARE"),
        (b"\x04namet", b"\x04nomet"),
        (
            b"\x0fdiscardFinishedZ\x00\x0fdiscardSubsumed",
            b"\x0fdiscardFinishedZ\x00\x0fdiscardFinished",
        ),
        (b"SharingFilesStrategy\0\0\0\0", b"SharingFilesStrategx\0\0\0\0"),
    ],
)
def test_a_changed_class_field_or_constant_is_refused(old: bytes, new: bytes) -> None:
    """If a part has an unknown meaning, so has the block."""
    assert CHECKPOINT.count(old) == 1
    refuse(with_block(CHECKPOINT.replace(old, new)))


def test_a_type_name_may_be_anything() -> None:
    """It is Flink's own wording, in its modified UTF-8, of any length."""
    name = b"\x74\x00\x0aCheckpoint"
    assert CHECKPOINT.count(name) == 1
    other = CHECKPOINT.replace(name, b"\x74\x00\x02\xc0\x80")
    assert properties_of(other).type_name == "\0"
    long = CHECKPOINT.replace(name, b"\x7c" + hand.i8(70_000) + b"x" * 70_000)
    assert properties_of(long).type_name == "x" * 70_000
    refuse(with_block(CHECKPOINT.replace(name, b"\x70")))
    refuse(with_block(CHECKPOINT.replace(name, b"\x74\x00\x01\0")))


def test_a_flag_that_is_an_object_is_refused() -> None:
    """The names are right, the values are not."""
    place = FLAGS_AT + 5
    nulled = CHECKPOINT[:place] + b"\x70" + CHECKPOINT[place + 1 :]
    changed = nulled.replace(b"Z\0\x06forced", b"L\0\x06forced\x74\0\1x")
    assert "boolean" in refuse(with_block(changed)).reason


def test_a_back_reference_is_followed_to_texts_and_not_to_classes() -> None:
    """Handle 0 is the description of CheckpointProperties, handle 1 the type of a field."""
    name = b"\x74\x00\x0aCheckpoint"
    followed = CHECKPOINT.replace(name, b"\x71\x00\x7e\x00\x01")
    type_name = "Lorg/apache/flink/runtime/checkpoint/SnapshotType;"
    assert properties_of(followed).type_name == type_name
    to_class = CHECKPOINT.replace(name, b"\x71\x00\x7e\x00\x00")
    assert "class description" in refuse(with_block(to_class)).reason


@pytest.mark.parametrize(
    ("action", "is_stop"), [("NONE", False), ("SUSPEND", True), ("TERMINATE", True)]
)
def test_a_savepoint_says_whether_its_job_was_stopped_with_it(action, is_stop) -> None:
    """Below format 4, and of a checkpoint, nothing says so."""
    data = with_block(SAVEPOINT.replace(java("NONE"), java(action)))
    assert read_references(data).is_of_a_stop is is_stop
    assert not read_references(with_block(CHECKPOINT)).is_of_a_stop
    assert not read_references(hand.metadata(3, hand.listed())).is_of_a_stop
