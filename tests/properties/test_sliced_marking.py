"""Live set and tombstones in slices say of every row what they say whole."""

import pickle
from datetime import UTC, datetime
from random import Random

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import WholeMarking, divided
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.types import JobId, ObjectKey, StoredObject
from orphangc.ports import LISTING_SCHEMA
from support.tombstone_tables import Tombstone, laid_as

JOB = f"{1:032x}"
T0 = datetime(2026, 1, 1, tzinfo=UTC)
uuids = st.one_of(
    st.uuids().map(str),
    st.sampled_from([f"{n:08x}-{'0' * 4}-4000-8000-{'1' * 12}" for n in (0, 2**31, 2**32 - 1)]),
)
names = st.one_of(uuids, st.builds("7_{}".format, uuids), st.sampled_from(["odd", "_metadata"]))
keys = st.builds("{}{}".format, st.sampled_from([f"{JOB}/shared/", "x/", ""]), names)


def tombstone_of(key: str, size: int) -> Tombstone:
    stored = StoredObject(key=ObjectKey(key), size=size, modified_at=T0)
    return Tombstone(object=stored, job_id=JobId(JOB), since=T0, plan_id="p")


def packed(keys_of_files: list[str]) -> UuidSet:
    tails = (key[-36:] for key in keys_of_files if key[-36:].count("-") == 4)
    return UuidSet(bytes.fromhex(tail.replace("-", "")) for tail in tails)


def said(marking: WholeMarking, batch: pa.RecordBatch) -> list[tuple[object, ...]]:
    columns = Recogniser("root").columns(batch)
    in_parsed, in_raw, (since_us, has) = marking.marks(columns)
    known = (each.tolist() for each in (in_parsed, in_raw, since_us, has))
    return list(zip(columns.batch["key"].to_pylist(), *known, strict=True))


@given(
    listed=st.lists(keys, unique=True, max_size=30),
    more=st.lists(keys, max_size=10),
    choice=st.randoms(use_true_random=False),
    count=st.integers(1, 9),
)
@example(
    listed=[f"{JOB}/shared/{'f' * 8}-0000-4000-8000-{'1' * 12}", "odd"],
    more=[],
    choice=Random(1),
    count=3,
)
def test_slices_say_what_the_whole_says(listed, more, choice, count) -> None:
    """However many slices there are: one live file that none of them names would be deleted."""
    known = [*listed, *more]
    some = lambda: [key for key in known if choice.random() < 0.5]  # noqa: E731
    whole = WholeMarking(
        LiveSet(packed(some()), packed(some())),
        laid_as(tombstone_of(key, choice.choice([1, 2])) for key in some()),
    )
    rows = [{"key": key, "size": 1, "modified_at": T0, "etag": None} for key in listed]
    rows += [{"key": f"{key}/", "size": None} for key in more]
    batch = pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA)
    slices = [pickle.loads(pickle.dumps(each)) for each in whole.slices(count)]
    assert len(slices) == count
    assert sum(map(len, slices)) == len(whole)
    parts = divided(batch, count)
    assert sorted(key for part in parts for key in part["key"].to_pylist()) == sorted(
        batch["key"].to_pylist()
    )
    found = [facts for each, part in zip(slices, parts, strict=True) for facts in said(each, part)]
    assert sorted(found) == sorted(said(whole, batch))
