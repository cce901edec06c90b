"""Rows put aside in shards: none lost, none twice, in the order of their keys."""

import pickle
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.collect.sweep import temporary_rows
from orphangc.collect.sweep.temporary_rows import (
    Cuts,
    Shards,
    TemporarySpace,
    by_key,
    shard_of,
    shelved,
)

SCHEMA = pa.schema([pa.field("key", pa.string()), pa.field("number", pa.int64())])
KEYS = st.lists(st.text(max_size=6), unique=True, max_size=60)


def batches_of(keys: list[str], size: int) -> list[pa.RecordBatch]:
    rows = [{"key": key, "number": number} for number, key in enumerate(keys)]
    return [
        pa.RecordBatch.from_pylist(rows[start : start + size], schema=SCHEMA)
        for start in range(0, len(rows), size)
    ]


@pytest.fixture
def small_shards(monkeypatch) -> None:
    monkeypatch.setattr(temporary_rows, "ROWS_A_SHARD", 7)
    monkeypatch.setattr(temporary_rows, "_SAMPLED", 2)


@given(keys=KEYS, size=st.integers(1, 20))
def test_all_rows_come_back_once_and_in_order(keys, size) -> None:
    """Whatever order and pieces they came in; order is that of UTF-8 bytes."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(temporary_rows, "ROWS_A_SHARD", 7)
        patch.setattr(temporary_rows, "_SAMPLED", 2)
        put = shelved(batches_of(keys, size), SCHEMA, TemporarySpace(Path(folder)))
        parts = [shard_of([put], n, SCHEMA) for n in range(len(put.cuts.keys) + 1)]
    found = [row for part in parts for row in part.to_pylist()]
    assert [row["key"] for row in found] == sorted(keys, key=str.encode)
    assert {row["key"]: row["number"] for row in found} == {k: n for n, k in enumerate(keys)}


@given(keys=KEYS, cuts=st.lists(st.text(max_size=4), unique=True, max_size=6))
def test_a_key_lies_in_the_shard_that_its_cuts_tell(keys, cuts) -> None:
    """Two workers put the same key into the same shard."""
    chosen = Cuts(tuple(sorted(cuts)))
    for batch in batches_of(keys, 10):
        for number, rows in chosen.parts(batch):
            for key in rows["key"].to_pylist():
                assert number == sum(cut <= key for cut in chosen.keys)


@pytest.mark.usefixtures("small_shards")
def test_shards_are_of_about_equal_size() -> None:
    """Memory is bounded by the largest one."""
    keys = [f"{number * 7919 % 10_007:05}" for number in range(1_000)]
    with TemporaryFolder() as folder:
        room = TemporarySpace(Path(folder))
        put = shelved(batches_of(keys, 100), SCHEMA, room)
        sizes = [shard_of([put], n, SCHEMA).num_rows for n in range(len(put.cuts.keys) + 1)]
    assert sum(sizes) == 1_000
    assert max(sizes) < 5 * 7


def test_few_rows_are_one_shard() -> None:
    """The usual plan is never cut."""
    with TemporaryFolder() as folder:
        room = TemporarySpace(Path(folder))
        put = shelved(batches_of(["b", "a"], 1), SCHEMA, room)
        assert put.cuts.keys == ()
        assert shard_of([put], 0, SCHEMA)["key"].to_pylist() == ["a", "b"]


def test_shards_of_several_workers_are_read_together() -> None:
    """Each sink has piles of its own, and may come from another process."""
    with TemporaryFolder() as folder:
        room = TemporarySpace(Path(folder))
        parts = []
        for keys in (["d", "a"], ["c", "b"]):
            part = Shards(room, SCHEMA, Cuts(("c",)))
            for batch in batches_of(keys, 1):
                part.write(batch)
            part.close()
            parts.append(pickle.loads(pickle.dumps(part)))
        assert [shard_of(parts, n, SCHEMA)["key"].to_pylist() for n in (0, 1)] == [
            ["a", "b"],
            ["c", "d"],
        ]


def test_nothing_put_aside_is_nothing_read() -> None:
    with TemporaryFolder() as folder:
        put = shelved([], SCHEMA, TemporarySpace(Path(folder)))
        assert shard_of([put], 0, SCHEMA).num_rows == 0


def test_the_folder_goes_with_all_piles() -> None:
    """A million rows of a user's keys are not left behind."""
    with TemporaryFolder() as folder:
        room = TemporarySpace(Path(folder))
        pile = room.rows(SCHEMA)
        pile.append(batches_of(["a"], 1)[0])
        assert len(list(pile.batches())) == len(list(pile.batches())) == 1
        with pytest.raises(ValueError, match="closed"):
            pile.append(batches_of(["a"], 1)[0])
    assert not room.folder.exists()


def test_rows_that_are_in_order_stay_as_they_are() -> None:
    """A listing of S3 comes sorted."""
    (batch,) = batches_of(["a", "b", "c"], 3)
    assert by_key(batch) is batch
