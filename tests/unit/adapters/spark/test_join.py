"""What comes back from a join is what was given to it, row by row, or nothing is decided."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.spark.broadcast import REMEMBERED, write_evidence
from orphangc.adapters.spark.exchange.work_folder import WorkFolder
from orphangc.adapters.spark.join import Joined, Marks, row_ids
from orphangc.adapters.spark.passes import _uuid_rows
from orphangc.core.columns.listing_columns import NO_TIME, Recogniser
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import JobId, ObjectKey, StoredObject, Tombstone
from orphangc.errors import StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA

JOB = f"{1:032x}"
NAMES = [str(uuid.UUID(int=number + 1)) for number in range(4)]
KEYS = [f"{JOB}/shared/{NAMES[0]}", "no uuid", f"{JOB}/shared/7_{NAMES[1]}", f"x/{NAMES[0]}"]
T0 = datetime(2026, 1, 1, tzinfo=UTC)
T0_US = 1_767_225_600_000_000


def columns_of(keys):
    rows = [{"key": key, "size": 1, "modified_at": T0, "etag": None} for key in keys]
    return Recogniser("root").columns(pa.RecordBatch.from_pylist(rows, schema=LISTING_SCHEMA))


def joined(ids, flags, **remembered) -> pa.RecordBatch:
    columns = {"id": pa.array(ids, pa.int64()), "flags": pa.array(flags, pa.int8())}
    if remembered:
        columns |= {name: pa.array(remembered[name], REMEMBERED.field(name).type)
                    for name in REMEMBERED.names}  # fmt: skip
    return pa.RecordBatch.from_pydict(columns)


def test_each_flag_reaches_its_own_row() -> None:
    """Spark gives the rows in any order, of several parts mixed; rows without UUID are none."""
    columns = columns_of(KEYS)
    (first, a, b, c), _ = row_ids(5, columns)
    other, _ = row_ids(6, columns_of(["no uuid"]))
    found = Joined([joined([c, first, other[0]], [2, 0, 0]), joined([b, a], [1, 3])])
    assert found.parts == (5, 6)
    marks = found.marks(5, columns, [])
    assert marks.in_parsed.tolist() == [True, False, True, False]
    assert marks.in_raw.tolist() == [True, False, False, True]
    assert found.marks(6, columns_of(["no uuid"]), []).in_parsed.tolist() == [False]


@pytest.mark.parametrize("change", ["lost", "foreign", "no part"])
def test_a_row_too_few_or_too_many_is_an_error(change) -> None:
    """A live file whose row a join lost would look unreferenced."""
    columns = columns_of(KEYS)
    ids = row_ids(0, columns)[0].tolist()
    ids = {"lost": ids[:-1], "foreign": [*ids, 2], "no part": ids[1:]}[change]
    found = Joined([joined(ids, [0] * len(ids))])
    with pytest.raises(StorageUnreachableError, match="other rows of part 0"):
        found.marks(0, columns, [])


def test_a_tombstone_is_of_its_key_and_not_of_another_with_the_same_uuid() -> None:
    """The join is by UUID; two files may end in the same."""
    columns = columns_of(KEYS)
    first, a, b, c = row_ids(0, columns)[0].tolist()
    remembered = {
        "key": [None, KEYS[0].encode(), None, KEYS[0].encode()],
        "size": [None, 1, None, 1],
        "modified_us": [None, T0_US, None, T0_US],
        "etag": [None] * 4,
        "since_us": [None, 77, None, 77],
    }
    found = Joined([joined([first, a, b, c], [0] * 4, **remembered)])
    marks = found.marks(0, columns, [])
    assert marks.tombstones.since_us.tolist() == [77, NO_TIME, NO_TIME, NO_TIME]
    assert marks.tombstones.has.tolist() == [True, False, False, False]
    again = Marks.read(marks.written())
    assert again.tombstones.since_us.tolist() == marks.tombstones.since_us.tolist()


def test_every_uuid_of_a_part_is_asked_for_once() -> None:
    """The first row stands for the part, so that one without UUIDs is not lost."""
    columns = columns_of(KEYS)
    rows = _uuid_rows(3, columns)
    assert rows["id"].to_pylist() == row_ids(3, columns)[0].tolist()
    assert rows["hi"].null_count == rows["lo"].null_count == 1
    assert rows["lo"].to_pylist() == [None, 1, 2, 1]
    assert _uuid_rows(3, columns_of([])).num_rows == 1


def test_the_live_set_and_the_tombstones_are_written_whole(tmp_path) -> None:
    """Each UUID once, with the oracles that name it; a key without UUID is not forgotten."""
    live = LiveSet()
    live.parsed.update(uuid.UUID(name).bytes for name in NAMES[:2])
    live.raw.update(uuid.UUID(name).bytes for name in NAMES[1:3])
    tombstones = Tombstones.of(
        Tombstone(
            object=StoredObject(key=ObjectKey(key), size=1, modified_at=T0),
            job_id=JobId(JOB),
            since=T0,
            plan_id="p",
        )
        for key in KEYS
    )
    folder = WorkFolder(canonical(str(tmp_path)))
    written = write_evidence(folder, live, tombstones, "root")
    rows = [row for file in written.live for row in folder.read_rows(file).to_pylist()]
    assert sorted((row["live_lo"], row["flags"]) for row in rows) == [(1, 1), (2, 3), (3, 2)]
    rows = [row for file in written.tombstones for row in folder.read_rows(file).to_pylist()]
    assert sorted(row["key"].decode() for row in rows) == sorted(set(KEYS) - {"no uuid"})
    columns = columns_of(["no uuid"])
    marks = Joined([joined(row_ids(0, columns)[0], [0])]).marks(0, columns, written.others)
    assert marks.tombstones.since_us.tolist() == [T0_US]
    assert np.all(marks.tombstones.has)
