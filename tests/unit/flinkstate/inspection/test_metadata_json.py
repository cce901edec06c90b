"""The document of `inspect`: what the contract adds to Flink's own fields."""

import json

import pytest

from flinkstate.inspection.metadata_json import describe
from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.state.referenced_files import absolute_path
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.golden_files import every_golden_file, golden

HERE = "s3://b/ck/job/chk-7"


def document(data: bytes, directory: str = HERE) -> dict:
    return describe(read_metadata(data), directory=directory)


@every_golden_file
def test_every_physical_file_stands_there_once(file) -> None:
    """Absolute, whatever it was referred to by."""
    found = document(file.data)
    references = read_references(file.data)
    relative = {f"{HERE}/{name}" for name in references.relative_names}
    paths = [each["path"] for each in found["files"]]
    assert len(paths) == len(set(paths))
    assert set(paths) == relative | set(references.paths)
    assert found["directories"] == list(dict.fromkeys(references.directories))
    assert found["directory"] == HERE


@every_golden_file
def test_the_document_is_json(file) -> None:
    """Lone surrogates included, as escapes."""
    found = document(file.data)
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(found, sort_keys=True))
    assert json.dumps(found).isascii()


def test_coordinator_state_is_counted_in_bytes() -> None:
    """Nothing is zero bytes."""
    found = document(golden("2.3.0/classic").data)
    sizes = [operator["coordinator_state_bytes"] for operator in found["operators"]]
    assert sizes == [2, 0]


def test_files_tell_their_size_and_kind() -> None:
    """Of a merged file only parts are known, so its size is not."""
    handles = [
        hand.file_handle("s3://b/a", 11),
        hand.relative_handle("r", 12),
        hand.segment_handle("s3://b/m"),
        hand.segment_handle("s3://b/m"),
        hand.file_handle("s3://b/unknown", -1),
        hand.file_handle("s3://b/a", 11),
    ]
    entries = [hand.utf(f"{number}") + handle for number, handle in enumerate(handles)]
    meta = hand.bytes_handle()
    data = hand.with_keyed(hand.incremental(hand.listed(*entries), meta=meta))
    assert document(data)["files"] == [
        {"path": "s3://b/a", "size": 11, "kind": "file"},
        {"path": f"{HERE}/r", "size": 12, "kind": "relative"},
        {"path": "s3://b/m", "size": None, "kind": "segment"},
        {"path": "s3://b/unknown", "size": None, "kind": "file"},
    ]


def test_a_later_mention_may_tell_the_size() -> None:
    """One file as a segment first and as a whole later; the first kind stands."""
    entries = [
        hand.utf("1") + hand.segment_handle("s3://b/m"),
        hand.utf("2") + hand.file_handle("s3://b/m", 99),
    ]
    data = hand.with_keyed(hand.incremental(hand.listed(*entries), meta=hand.bytes_handle()))
    assert document(data)["files"] == [{"path": "s3://b/m", "size": 99, "kind": "segment"}]


@pytest.mark.parametrize(
    ("directory", "path"),
    [
        ("s3://b/chk-1", "s3://b/chk-1/n"),
        ("s3://b/chk-1/", "s3://b/chk-1/n"),
        ("/", "/n"),
        ("file:/tmp/x", "file:/tmp/x/n"),
    ],
)
def test_a_relative_handle_lies_in_the_directory_as_addressed(directory: str, path: str) -> None:
    """The reader's own spelling, so that a copied savepoint still resolves."""
    assert absolute_path(directory, "n") == path
    found = document(hand.with_stream(hand.relative_handle("n")), directory)
    assert [each["path"] for each in found["files"]] == [path]


def test_what_flink_invents_for_old_handles_is_null() -> None:
    """Codes 3 and 5 hold neither an id nor a checkpointed size."""
    found = document(golden("1.10.3/classic").data)
    handles = [each["managed_keyed"] for each in found["operators"][1]["subtasks"]]
    assert [each["state_handle_id"] for each in handles] == [None, None, None]
    assert handles[1]["checkpointed_size"] is None


def test_version_7_shows_the_checkpoint_leant_on() -> None:
    """The only field that version 7 adds."""
    data = hand.with_subtask(7, hand.subtask(7, reference=b"\x01" + hand.i8(41)))
    assert document(data)["operators"][0]["subtasks"][0]["ref_checkpoint_id"] == 41
