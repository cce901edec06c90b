"""What whole batches of keys are, told at once; the grammar itself is tested with ``names``."""

import string
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from orphangc.core.areas.recognise import recognise
from orphangc.core.columns import listing_columns as module
from orphangc.core.columns.listing_columns import NO_ID, NO_TIME, Recogniser
from orphangc.core.columns.uuid_words import bytes_of, uuid_tails, uuid_texts, words_of
from orphangc.core.model.naming import artifact_name, place_of_folder, uuid_of
from orphangc.core.model.types import DirectoryLayout, Scope
from orphangc.core.times.instants import LATEST_US
from orphangc.ports import LISTING_SCHEMA
from support.builders import JOB, NAME, UUID

SHARED = f"{JOB}/shared"


def a_listing(*keys: str | None, **columns: list) -> pa.RecordBatch:
    """Return a listing of objects of one byte, stored at the first microsecond of 1970."""
    usual = {"key": keys, "size": [1] * len(keys), "modified_at": [1] * len(keys)}
    usual["etag"] = [None] * len(keys)
    return pa.RecordBatch.from_pydict({**usual, **columns}, schema=LISTING_SCHEMA)


def test_every_letter_at_every_place_is_read_as_the_grammar_reads_it() -> None:
    """R1, R5: capitals, other digits, misplaced dashes: all 36 places, all of ASCII, and more."""
    letters = [*map(chr, range(128)), "é", "\u0664", "\uff11"]
    texts = [NAME[:at] + letter + NAME[at + 1 :] for at in range(36) for letter in letters]
    texts += [letter + text for letter in letters for text in (NAME, NAME[1:])]
    texts += [NAME + letter for letter in letters]
    has, hi, lo = uuid_tails(pa.array(texts).cast(pa.binary()))
    data = bytes_of(hi, lo)
    found = [data[at : at + 16] for at in range(0, len(data), 16)]
    assert [uuid if h else None for uuid, h in zip(found, has, strict=True)] == [
        uuid_of(text) for text in texts
    ]
    assert all(uuid == bytes(16) for uuid, h in zip(found, has, strict=True) if not h)


def test_uuids_and_their_texts_are_inverse() -> None:
    """The first and the last UUID included; no number may be read as a signed one."""
    uuids = [bytes(16), UUID, b"\xff" * 16, b"\x80" + bytes(15), bytes(8) + b"\x80" + bytes(7)]
    hi, lo = words_of(b"".join(uuids))
    assert bytes_of(hi, lo) == b"".join(uuids)
    assert uuid_texts(hi, lo).to_pylist() == [artifact_name(None, uuid) for uuid in uuids]
    assert [h << 64 | low for h, low in zip(hi.tolist(), lo.tolist(), strict=True)] == [
        int.from_bytes(uuid) for uuid in uuids
    ]


def test_rows_of_one_head_are_one_kind() -> None:
    """Whoever asks whose a place is asks once a kind, not once an object."""
    keys = [f"{SHARED}/{NAME}", f"{SHARED}/7_{NAME}", f"{JOB}/chk-7/{NAME}"] * 50
    found = Recogniser("").columns(a_listing(*keys, f"{SHARED}/a", f"{SHARED}/b"))
    assert [kind.head for kind in found.kinds] == [
        f"{SHARED}/",
        f"{SHARED}/7_",
        f"{JOB}/chk-7/",
        f"{SHARED}/",
    ]
    assert [kind.artifact.layout for kind in found.kinds] == [
        DirectoryLayout.FLAT,
        DirectoryLayout.FLAT_WITH_ID,
        DirectoryLayout.EXCLUSIVE,
        DirectoryLayout.UNRECOGNISED,
    ]
    assert [kind.is_artifact for kind in found.kinds] == [True, True, True, False]
    assert [kind.is_flat for kind in found.kinds] == [True, True, False, False]
    assert found.kind.tolist() == [0, 1, 2] * 50 + [3, 3]
    assert found.checkpoint_id.tolist() == [NO_ID, 7, NO_ID] * 50 + [NO_ID] * 2


def test_a_uuid_in_another_area_is_read_and_is_not_flat() -> None:
    """R5: every area is checked for references by UUID; only a file of an area is a candidate."""
    keys = [f"{JOB}/taskowned/{NAME}", f"{SHARED}/op_1/{NAME}", f"{SHARED}/x{NAME}", NAME]
    found = Recogniser("").columns(a_listing(*keys))
    assert found.has_uuid.all()
    assert found.is_artifact.tolist() == [True, False, False, False]
    assert not found.is_flat.any()
    assert bytes_of(found.hi, found.lo) == UUID * 4
    assert {kind.place.scope for kind in found.kinds} == {
        Scope.TASKOWNED,
        Scope.SHARED,
        Scope.OTHER,
    }


def test_the_name_of_the_storage_root_counts() -> None:
    """A storage root may itself be a job directory."""
    for root_name in ("", JOB):
        kind = Recogniser(root_name).columns(a_listing(f"shared/{NAME}")).kinds[0]
        assert kind.place == place_of_folder("shared", root_name)


def test_folders_are_no_objects() -> None:
    """Stores with real folders list them; an empty one must not shift the others' facts."""
    keys = [f"{SHARED}/{NAME}", "a/", f"{SHARED}/8_{NAME}", "b/"]
    batch = a_listing(*keys, size=[1, None, 2, None], modified_at=[5, None, None, None])
    found = Recogniser("").columns(batch)
    assert found.batch.column("key").to_pylist() == [keys[0], keys[2]]
    assert found.checkpoint_id.tolist() == [NO_ID, 8]
    assert found.modified_us.tolist() == [5, NO_TIME]
    assert found.batch.schema.equals(LISTING_SCHEMA)
    assert len(Recogniser("").columns(batch.slice(1, 1))) == 0


def test_no_row_at_all_is_no_error() -> None:
    """An empty storage has an empty listing, and some stores send empty pages."""
    found = Recogniser("").columns(a_listing())
    assert (len(found), found.kinds) == (0, ())
    assert found.hi.dtype == found.lo.dtype == np.uint64
    assert found.is_artifact.dtype == found.has_uuid.dtype == np.bool_


def test_the_ids_at_both_ends_are_read_exactly() -> None:
    """A 64-bit id that was rounded, or wrapped, would turn young artifacts into old ones."""
    ids = [0, 1, 2**53 + 1, 2**63 - 1]
    keys = [f"{SHARED}/{each}_{NAME}" for each in (*ids, 2**63, 2**64 + 5, "00", "-1", "٤")]
    found = Recogniser("").columns(a_listing(*keys))
    assert found.checkpoint_id.tolist() == [*ids, *[NO_ID] * 5]
    assert found.is_artifact.tolist() == [True] * 4 + [False] * 5


def test_times_are_exact_and_an_unknown_one_is_no_time() -> None:
    """A missing time read as 0 or as 1970 would be the oldest of all."""
    times = [0, -1, 1, None, LATEST_US, LATEST_US + 1, 2**62, 1_800_000_000_000_001]
    batch = a_listing(*["x"] * len(times), modified_at=times)
    found = Recogniser("").columns(batch)
    exact = [0, -1, 1, NO_TIME, LATEST_US, NO_TIME, NO_TIME, 1_800_000_000_000_001]
    assert found.modified_us.tolist() == exact


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_times_in_another_unit_are_refused(unit: str) -> None:
    """Milliseconds taken for microseconds lie in January 1970: everything would be old."""
    schema = LISTING_SCHEMA.set(2, pa.field("modified_at", pa.timestamp(unit, tz="UTC")))
    batch = pa.RecordBatch.from_pydict(a_listing("x").to_pydict(), schema=schema)
    with pytest.raises(ValueError, match="microseconds"):
        Recogniser("").columns(batch)


def test_a_key_that_is_null_or_no_utf8_is_an_error() -> None:
    """No doubt may shorten a listing."""
    nullable = LISTING_SCHEMA.set(0, pa.field("key", pa.string()))
    batch = pa.RecordBatch.from_pylist([{"key": None, "size": 1}], schema=nullable)
    with pytest.raises(ValueError, match=r"^a listed object has no key$"):
        Recogniser("").columns(batch)
    for data in (b"\xff" + NAME.encode(), b"\xff"):
        broken = pa.StringArray.from_buffers(
            1, pa.py_buffer(np.array([0, len(data)], np.int32)), pa.py_buffer(data)
        )
        columns = [broken, *a_listing("x").columns[1:]]
        batch = pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)
        with pytest.raises(ValueError, match="decode"):
            Recogniser("").columns(batch)


def test_what_is_forgotten_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket may have a million heads: memory must not grow with them, nor answers change."""
    monkeypatch.setattr(module, "_REMEMBERED", 4)
    keys = [f"{SHARED}/{number}_{NAME}" for number in range(50)]
    keys += [f"{JOB}/chk-{number}/{letter}" for number in range(50) for letter in "ab"]
    recogniser = Recogniser("")
    for _ in range(3):
        found = recogniser.columns(a_listing(*keys))
        for row, key in enumerate(keys):
            folder, _, name = key.rpartition("/")
            artifact = recognise(name, place_of_folder(folder))
            kind = found.kinds[found.kind[row]]
            assert kind.artifact == replace(artifact, uuid=None)
            assert kind.place == place_of_folder(folder)


@pytest.mark.parametrize(
    ("name", "ending"), [("place_of_folder", "x"), ("recognise", NAME)], ids=["folders", "heads"]
)
def test_no_more_is_remembered_than_was_to_be(name: str, ending: str, monkeypatch) -> None:
    """The last ones are told from memory; the others were let go, and are asked about again."""
    asked: list[object] = []
    answer = getattr(module, name)
    monkeypatch.setattr(module, "_REMEMBERED", 4)
    monkeypatch.setattr(module, name, lambda *about: asked.append(about) or answer(*about))
    keys = [f"{JOB}/chk-{number}/{ending}" for number in range(9)]
    recogniser = Recogniser("")
    for some, expected in ((keys, 9), (keys[-4:], 0), (keys[:4], 4), (keys, 5)):
        asked.clear()
        recogniser.columns(a_listing(*some))
        assert len(asked) == expected


def test_a_batch_may_be_cut_from_the_middle_of_another() -> None:
    """Arrow's slices share buffers: what lies before and behind must not leak in."""
    pad = string.ascii_lowercase
    keys = [f"{pad[:n]}/shared/{n}_{NAME}" if n % 3 else pad[:n] for n in range(26)]
    whole = Recogniser("").columns(a_listing(*keys))
    for first in range(26):
        part = Recogniser("").columns(a_listing(*keys).slice(first, 5))
        end = min(first + 5, 26)
        assert part.hi.tolist() == whole.hi[first:end].tolist()
        assert part.checkpoint_id.tolist() == whole.checkpoint_id[first:end].tolist()
        assert [part.kinds[k] for k in part.kind] == [whole.kinds[k] for k in whole.kind[first:end]]
