"""A plan held against a fresh cycle: the same as asking for each row alone."""

import pickle
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orphangc.collect.sweep import temporary_rows
from orphangc.collect.sweep.plan_intersection import (
    Fresh,
    FreshSink,
    confirmed_shards,
    requested_verdicts,
)
from orphangc.collect.sweep.temporary_rows import TemporarySpace
from orphangc.collect.sweep.tombstoning import TombstoneUpdate
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import Action, JobId, ObjectKey, Reason, StoredObject
from orphangc.ports import VERDICT_SCHEMA
from support.builders import JOB
from support.tombstone_tables import Tombstone, each_of, laid_as, table_of
from unit.collect.delete.deleting import keys_of

KEYS = keys_of(12)
AT = datetime(2026, 10, 1, tzinfo=UTC)
ASKING = [
    (Action.KEEP, Reason.REFERENCED),
    (Action.KEEP, Reason.TOO_YOUNG),
    (Action.KEEP, Reason.IN_QUARANTINE),
    (Action.TOMBSTONE, Reason.ORPHAN),
    (Action.DELETE, Reason.QUARANTINE_OVER),
    (Action.REVIVE, Reason.REFERENCED),
]


@dataclass(frozen=True)
class Row:
    key: str
    action: Action
    reason: Reason
    size: int = 7
    etag: str | None = "e"
    later: int | None = 0

    @property
    def modified_at(self) -> datetime | None:
        return None if self.later is None else AT + timedelta(seconds=self.later)

    @property
    def facts(self) -> tuple[object, ...]:
        """Return what makes the object this very one."""
        return self.size, self.etag, self.modified_at


ROWS = st.builds(
    lambda key, asking, **facts: Row(key, *asking, **facts),
    st.sampled_from(KEYS),
    st.sampled_from(ASKING),
    size=st.sampled_from([7, 8]),
    etag=st.sampled_from(["e", "f", None]),
    later=st.sampled_from([0, 1, None]),
)
SOME = st.lists(ROWS, unique_by=lambda row: row.key, max_size=len(KEYS))


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    found = [
        {
            "job_id": JOB,
            "key": row.key,
            "scope": "shared",
            "size": row.size,
            "modified_at": row.modified_at,
            "etag": row.etag,
            "checkpoint_id": None,
            "action": row.action.value,
            "reason": row.reason.value,
        }
        for row in rows
    ]
    return pa.RecordBatch.from_pylist(found, schema=VERDICT_SCHEMA)


def a_tombstone(key: str) -> Tombstone:
    stored = StoredObject(key=ObjectKey(key), size=7, modified_at=AT, etag="e")
    return Tombstone(object=stored, job_id=JobId(JOB), since=AT, plan_id="old")


@dataclass
class Stored:
    keys: set[str]
    asked: int = 0

    def stat(self, keys: list[str]) -> list[object | None]:
        self.asked += len(keys)
        return [object() if key in self.keys else None for key in keys]


def compared(planned: list[Row], listed: list[Row], known: set[str], folder: Path):
    """Return the confirmed shards and what becomes of the tombstones, shard by shard."""
    room = TemporarySpace(folder)
    tombstones = laid_as(map(a_tombstone, sorted(known)))
    put = requested_verdicts([batch_of(planned[:5]), batch_of(planned[5:])], room)
    sink = FreshSink.opened(tombstones, put.cuts, room)
    for start in range(0, len(listed), 4):
        sink.write(batch_of(listed[start : start + 4]))
    sink.close()
    sink = pickle.loads(pickle.dumps(sink))
    fresh = Fresh.of(tombstones, [sink])
    storage = Stored({row.key for row in listed})
    update = TombstoneUpdate(fresh, "new", AT + timedelta(days=1), room.rows(None))
    update.laid = room.rows(table_of(tombstones).schema)
    parts = list(confirmed_shards(put, fresh, storage))
    recorded = [row for part in parts for each in update.take(part) for row in each.to_pylist()]
    return parts, recorded, update, storage


@settings(max_examples=150, deadline=None)
@given(planned=SOME, listed=SOME, known=st.sets(st.sampled_from(KEYS)), size=st.integers(1, 20))
def test_every_row_is_compared_as_if_it_were_alone(planned, listed, known, size) -> None:
    """Same action, same size, ETag and time; absent, waiting, tombstoned: each by its own row."""
    now = {row.key: row for row in listed}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(temporary_rows, "ROWS_A_SHARD", size)
        patch.setattr(temporary_rows, "_SAMPLED", 1)
        parts, recorded, update, storage = compared(planned, listed, known, Path(folder))
        generation = update.generation()
    asking = [row for row in planned if row.action is not Action.KEEP]
    seen = [key for part in parts for key in part.rows["key"].to_pylist()]
    assert seen == sorted(row.key for row in asking)
    by_key = {row.key: row for row in asking}
    for part in parts:
        facts = zip(
            part.rows["key"].to_pylist(), part.agrees, part.waits, part.is_absent, strict=True
        )
        for key, agrees, waits, is_absent in facts:
            here, there = by_key[key], now.get(key)
            is_same = there is not None and here.facts == there.facts
            assert agrees == (is_same and here.action is there.action)
            assert waits == (is_same and has_tombstone(there))
            assert is_absent == (there is None)
    outcomes = {row["key"]: row["outcome"] for row in recorded}
    assert outcomes == expected(by_key, now, known)
    assert kept(generation, known) == expected_tombstones(by_key, now, known)
    assert storage.asked <= sum(row.key not in known for row in asking)


def expected(planned: dict[str, Row], now: dict[str, Row], known: set[str]) -> dict[str, str]:
    """Return what becomes of the verdicts that ask for a tombstone or for its end."""
    recorded = {}
    for key, row in planned.items():
        there = now.get(key)
        if row.action is Action.REVIVE:
            recorded[key] = "done" if key in known else "gone"
        elif row.action is Action.TOMBSTONE:
            if there is None:
                recorded[key] = "gone"
            else:
                is_laid = there.action is row.action or has_tombstone(there)
                recorded[key] = "done" if is_laid and there.facts == row.facts else "changed"
    return recorded


def has_tombstone(row: Row) -> bool:
    return row.action is Action.DELETE or row.reason is Reason.IN_QUARANTINE


def expected_tombstones(
    planned: dict[str, Row], now: dict[str, Row], known: set[str]
) -> dict[str, str]:
    """Return the plan that laid each tombstone: old ones of what is still stored, and new ones."""
    revived = {k for k, row in (*now.items(), *planned.items()) if row.action is Action.REVIVE}
    found = {key: "old" for key in known if key in now and key not in revived}
    for key, row in planned.items():
        there = now.get(key)
        is_same = there is not None and there.facts == row.facts and there.action is row.action
        if row.action is Action.TOMBSTONE and is_same:
            found[key] = "new"
    return found


def kept(generation: Tombstones | None, known: set[str]) -> dict[str, str]:
    if generation is None:
        return dict.fromkeys(known, "old")
    return {each.object.key: each.plan_id for each in each_of(generation)}
