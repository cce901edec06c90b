"""Tombstones as columns: kept exactly, found by key, and valid for the same object only."""

import hashlib
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from orphangc.core.columns.listing_columns import NO_TIME, Recogniser
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_words import uuid_texts
from orphangc.core.model.bounds import NEVER
from orphangc.core.model.naming import artifact_name
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import EARLIEST, LATEST, microseconds_of
from orphangc.ports import LISTING_SCHEMA
from support.builders import (
    JOB,
    NAME,
    OTHER_JOB,
    OTHER_UUID,
    T0,
    a_tombstone,
    ago,
    an_object,
    columns_of,
)
from support.tombstone_tables import Tombstone, at_key, each_of, from_table, laid_as, plus, table_of

MICROSECOND = timedelta(microseconds=1)
MD5 = "0123456789abcdef" * 2
ETAGS = [None, "", "e1", MD5, f"{MD5}-17", f"{MD5}é", MD5.upper(), MD5[:31], f"g{MD5}", f"x{MD5}"]


def found(tombstone: Tombstone, *objects: StoredObject) -> list[tuple[bool, bool]]:
    """Return whether each object's key has the tombstone, and whether it is its own."""
    since_us, has = laid_as([tombstone]).look_up(columns_of(*objects))
    expected = {NO_TIME, microseconds_of(tombstone.since)}
    assert set(since_us.tolist()) <= expected
    return list(zip(has.tolist(), (since_us != NO_TIME).tolist(), strict=True))


def test_none_are_none() -> None:
    """The first cycle of a storage root has no tombstones."""
    tombstones = Tombstones.empty()
    assert (len(tombstones), each_of(tombstones), tombstones.get("x")) == (0, [], None)
    since_us, has = tombstones.look_up(columns_of(an_object()))
    assert (since_us.tolist(), has.tolist()) == ([NO_TIME], [False])
    assert tombstones.keys().to_pylist() == []
    assert table_of(tombstones).schema.equals(TOMBSTONE_SCHEMA)
    assert len(tombstones.restricted(np.zeros(0, np.bool_))) == 0
    table = table_of(laid_as([a_tombstone()]))
    assert each_of(plus(tombstones, table)) == [a_tombstone()]
    assert each_of(plus(laid_as([a_tombstone()]), table_of(tombstones))) == [a_tombstone()]


@pytest.mark.parametrize("etag", ETAGS)
@pytest.mark.parametrize("modified_at", [None, NEVER, NEVER - MICROSECOND, ago("30d")])
def test_what_is_kept_comes_back_exactly(etag, modified_at) -> None:
    """R17, R18: an ETag or a time that came back otherwise would start the quarantine anew."""
    stored = an_object(etag=etag, modified_at=modified_at, size=2**62)
    kept = replace(a_tombstone(stored, laid=T0 - MICROSECOND), plan_id="plan é")
    tombstones = laid_as([kept])
    assert each_of(tombstones) == [kept]
    assert at_key(tombstones, stored.key) == kept
    again = from_table(table_of(tombstones))
    assert each_of(again) == [kept]
    assert found(kept, stored) == [(True, True)]


@pytest.mark.parametrize(
    "change",
    [
        *[{"etag": etag} for etag in ETAGS if etag != f"{MD5}-17"],
        {"etag": f"{MD5[:31]}e-17"},
        {"etag": f"{MD5}-1"},
        {"size": 1235},
        {"modified_at": None},
        {"modified_at": ago("30d") + MICROSECOND},
        {"modified_at": NEVER},
    ],
)
def test_a_tombstone_of_another_object_does_not_count(change: dict) -> None:
    """R18: any difference starts the quarantine anew, and the key still has a tombstone."""
    stored = an_object(etag=f"{MD5}-17")
    assert found(a_tombstone(stored), stored) == [(True, True)]
    assert found(a_tombstone(stored), replace(stored, **change)) == [(True, False)]
    assert found(a_tombstone(replace(stored, **change)), stored) == [(True, False)]


def test_an_unknown_etag_or_time_agrees_only_with_an_unknown_one() -> None:
    """Null is no wildcard, and two objects that nothing tells apart are the same."""
    stored = an_object(etag=None, modified_at=None)
    assert found(a_tombstone(stored), stored) == [(True, True)]
    assert found(a_tombstone(stored), replace(stored, etag="")) == [(True, False)]
    assert found(a_tombstone(replace(stored, etag="")), stored) == [(True, False)]


def test_copies_of_one_file_in_several_directories_have_their_own_tombstones() -> None:
    """A UUID is unique, its file may have been copied: keys decide."""
    keys = [f"{job}/shared/{head}{NAME}" for job in (JOB, OTHER_JOB) for head in ("", "7_", "70_")]
    objects = [an_object(key=ObjectKey(key), size=size) for size, key in enumerate(keys)]
    laid = [a_tombstone(each, laid=ago(f"{n + 1}d")) for n, each in enumerate(objects[:5])]
    tombstones = laid_as(reversed(laid))
    since_us, has = tombstones.look_up(columns_of(*objects))
    assert has.tolist() == [True] * 5 + [False]
    assert since_us.tolist() == [*(microseconds_of(each.since) for each in laid), NO_TIME]
    assert [at_key(tombstones, key) for key in keys] == [*laid, None]
    only = laid_as(laid[2:3])
    assert only.look_up(columns_of(*objects)).has.tolist() == [False] * 2 + [True] + [False] * 3


def test_keys_that_end_in_no_uuid_are_kept_apart_from_those_that_do() -> None:
    """A state file of another version may hold any key; a UUID of zeros is one."""
    zeros = artifact_name(None, bytes(16))
    keys = ["", "x", f"{JOB}/shared/", f"{JOB}/shared/x", zeros, f"x{zeros}", f"{zeros}/x", "é"]
    laid = [a_tombstone(an_object(key=ObjectKey(key))) for key in keys]
    for chosen in (laid, laid[:4], laid[1:2], laid[4:6], [*laid[:4], laid[5]]):
        tombstones = laid_as(chosen)
        assert {each.object.key: each for each in each_of(tombstones)} == {
            each.object.key: each for each in chosen
        }
        expected = [each in chosen for each in laid]
        has = tombstones.look_up(columns_of(*(each.object for each in laid))).has
        assert has.tolist() == expected
        assert [tombstones.get(key) is not None for key in keys] == expected
    assert laid_as(laid).get("\ud800") is None


def test_a_key_made_to_collide_with_another_is_another_key() -> None:
    """Keys without a UUID are looked up by a digest, and anybody may make that a UUID."""
    digest = hashlib.blake2b(b"x", digest_size=16).digest()
    keys = ["x", f"x{artifact_name(None, digest)}"]
    laid = [a_tombstone(an_object(key=ObjectKey(key)), laid=T0) for key in keys]
    assert [len(laid_as(chosen)) for chosen in (laid, laid[:1], laid[1:])] == [2, 1, 1]
    for chosen in (laid, laid[:1], laid[1:]):
        tombstones = laid_as([*chosen, a_tombstone(an_object(key=ObjectKey("y")))])
        has = tombstones.look_up(columns_of(*(each.object for each in laid))).has
        assert has.tolist() == [each in chosen for each in laid]


def test_of_two_tombstones_of_one_key_the_later_one_counts() -> None:
    """As in a dictionary; what is laid anew replaces what was void."""
    first, second = (a_tombstone(laid=ago(age)) for age in ("9d", "1d"))
    other = a_tombstone(an_object(artifact_name(None, OTHER_UUID)))
    for laid in ([first, other, second], [first, second, other], [other, first, first, second]):
        assert {*each_of(laid_as(laid))} == {second, other}
    table = table_of(laid_as([first]))
    assert {*each_of(plus(laid_as([second, other]), table))} == {first, other}


def test_rows_keys_and_masks_agree() -> None:
    """A sweep marks rows by number, and forgets them by mask."""
    tombstones = laid_as(a_tombstone(an_object(f"{n}_{NAME}")) for n in range(30))
    keys = tombstones.keys().to_pylist()
    rows = tombstones.rows_of(pa.array([*reversed(keys), "absent", f"30_{NAME}"]))
    assert rows.tolist() == [*reversed(range(30)), -1, -1]
    mask = np.arange(30) % 3 == 0
    kept = tombstones.restricted(mask)
    assert kept.keys().to_pylist() == keys[::3]
    assert pa.Table.from_batches(tombstones.to_batches(mask)).equals(table_of(kept))
    assert each_of(kept) == [at_key(tombstones, key) for key in keys[::3]]


def test_what_is_no_table_of_tombstones_is_refused() -> None:
    """A column read as another would end a quarantine early."""
    table = table_of(laid_as([a_tombstone()]))
    wrong = [
        table.drop_columns("etag"),
        table.set_column(5, "since", table["since"].cast(pa.timestamp("ms", tz="UTC"))),
        table.select(sorted(table.column_names)),
    ]
    for each in wrong:
        with pytest.raises(ValueError, match="no tombstones"):
            from_table(each)
    nulls = pa.table([pa.nulls(1, field.type) for field in TOMBSTONE_SCHEMA], TOMBSTONE_SCHEMA)
    with pytest.raises(ValueError, match=r"^a tombstone lacks what every tombstone has$"):
        from_table(nulls)


def test_times_of_every_age_are_kept() -> None:
    """A store may show any time; a tombstone must not fail on it, nor round it."""
    for at in (EARLIEST, datetime(1969, 12, 31, 23, tzinfo=UTC), LATEST):
        kept = a_tombstone(an_object(modified_at=at), laid=at)
        assert each_of(laid_as([kept])) == [kept]
        assert found(kept, kept.object) == [(True, True)]


def many(count: int) -> pa.RecordBatch:
    random = np.random.default_rng(7)
    hi, lo, etag_hi, etag_lo = random.integers(0, 2**64, (4, count), dtype=np.uint64)
    row = table_of(laid_as([a_tombstone()]))
    columns = {name: pa.repeat(row[name][0], count) for name in row.column_names}
    heads = pa.repeat(f"{JOB}/shared/", count)
    columns["key"] = pa.compute.binary_join_element_wise(heads, uuid_texts(hi, lo), "")
    dashes = uuid_texts(etag_hi, etag_lo)
    columns["etag"] = pa.compute.replace_substring(dashes, "-", "")
    return pa.RecordBatch.from_pydict(columns, schema=TOMBSTONE_SCHEMA)


def test_a_hundred_bytes_a_tombstone_are_enough() -> None:
    """Ten millions of them must fit beside a live set; as rows of text they take 240 each."""
    batch = many(100_000)
    tracemalloc.start()
    before = pa.total_allocated_bytes()
    tombstones = Tombstones.from_batches(batch.slice(at, 9999) for at in range(0, 100_000, 9999))
    size = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before
    tracemalloc.stop()
    assert len(tombstones) == 100_000
    assert size < 100 * len(tombstones)
    listing = batch.select(LISTING_SCHEMA.names).cast(LISTING_SCHEMA)
    since_us, has = tombstones.look_up(Recogniser("").columns(listing))
    assert has.all()
    assert (since_us == microseconds_of(ago("2d"))).all()


@pytest.mark.parametrize("block", [1, 2, 5, 6])
def test_each_comes_once_however_many_there_are_to_a_block(block: int, monkeypatch) -> None:
    """Five of them, written back a block at a time, are the same five."""
    monkeypatch.setattr("orphangc.core.columns.tombstones._BLOCK", block)
    laid = [a_tombstone(an_object(artifact_name(None, bytes([n]) * 16))) for n in range(5)]
    tombstones = laid_as(laid)

    assert each_of(tombstones) == laid
    assert each_of(from_table(table_of(tombstones))) == laid
    assert each_of(plus(laid_as(laid[3:]), table_of(tombstones))) == laid
    odd = np.array([False, True, False, True, False])
    kept = [batch.column("key").to_pylist() for batch in tombstones.to_batches(odd)]
    assert [key for keys in kept for key in keys] == [laid[1].object.key, laid[3].object.key]
    assert [at_key(tombstones, each.object.key) for each in laid] == laid
