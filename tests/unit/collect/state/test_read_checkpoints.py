"""What each ``_metadata`` names is kept whole: a record is the checkpoint that was read."""

from dataclasses import replace

import pytest

from flinkstate.places.locations import canonical
from orphangc.collect.state import read_checkpoints
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, NoCheckpoint, UnreadableCheckpoint
from orphangc.core.model.types import DirectoryLayout, ObjectKey, StoredObject
from support.builders import NAME, NAME_WITH_ID, OTHER_UUID, T0, UUID, a_root

LISTED = StoredObject(key=ObjectKey("a/_metadata"), size=9, modified_at=T0, etag="e")
FOLDER = canonical("s3://other/some place/é/shared")

CHECKPOINTS = {
    "plain": a_root(age="0d"),
    "of no job": replace(a_root(age="0d"), directory=None, is_savepoint=None),
    "nothing named": replace(a_root(age="0d"), files={}, raw=UuidSet()),
    "every field": replace(
        a_root(age="0d"),
        files={FOLDER: FileNames([NAME, NAME_WITH_ID, "x", "é"]), FOLDER.child("b"): FileNames()},
        unregistered=FileNames(["MANIFEST-1", NAME]),
        raw=UuidSet([UUID, OTHER_UUID]),
        unproven_layout="changelog state",
        layouts=frozenset({DirectoryLayout.FORST, DirectoryLayout.MERGED}),
        deleted_on=("FINISHED", "SUBSUMED"),
        is_of_a_stop=True,
        is_unclaimed=True,
        has_write_ahead_sink=True,
        operators=frozenset({"a" * 32, "b" * 32}),
        stateful=frozenset({"a" * 32}),
    ),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_record_is_the_checkpoint_that_was_read(name) -> None:
    checkpoint = CHECKPOINTS[name]
    record = read_checkpoints._encoded(checkpoint)
    assert record is not None
    found = read_checkpoints._decoded("", LISTED, record)
    assert isinstance(found, Checkpoint)
    for each in Checkpoint.__dataclass_fields__:
        assert getattr(found, each) == getattr(checkpoint, each), each


def test_what_cannot_be_read_is_no_record() -> None:
    """A refusal rests on a reading of its own; a table is one."""
    broken = UnreadableCheckpoint(uri="s3://b/_metadata", reason="cut", sha256="")
    assert read_checkpoints._encoded(broken) is None
    record = read_checkpoints._encoded(NoCheckpoint("s3://b/t/_metadata"))
    assert record is not None
    found = read_checkpoints._decoded("s3://b/t/_metadata", LISTED, record)
    assert found == NoCheckpoint("s3://b/t/_metadata")
