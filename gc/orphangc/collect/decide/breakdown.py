"""The verdicts of a cycle, added up for people: objects and bytes by job, reason and age."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.model.tallies import AgeBucket, Amount, Cell
from orphangc.core.model.types import Action, Reason, Scope
from orphangc.core.times.instants import microseconds_of

_EDGES = (
    timedelta(hours=1),
    timedelta(days=1),
    timedelta(days=3),
    timedelta(days=7),
    timedelta(days=30),
    timedelta(days=90),
)
"""Where the next bucket begins; bucket ``n`` is that of an age which passed ``n`` edges."""

_BUCKETS = tuple(AgeBucket)
_LISTING_TIME = timedelta(hours=1)
"""What is stored while the listing runs is dated after the cycle's start, and is young."""

_KEYS = ("job_id", "scope", "action", "reason", "age")


class Breakdown:
    """A sink that keeps sums only: its memory grows with jobs, never with objects.

    Attributes:
        now: Start of the cycle by the store's clock; ages count from it.
    """

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.sums: pa.Table | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``VERDICT_SCHEMA``."""
        columns = {name: batch.column(name) for name in _KEYS[:-1]}
        columns["age"] = _bucket_numbers(batch.column("modified_at"), self.now)
        columns["size"] = batch.column("size")
        grouped = pa.table(columns).group_by(_KEYS).aggregate([("size", "sum"), ([], "count_all")])
        sums = grouped.rename_columns({"size_sum": "bytes", "count_all": "objects"})
        self.sums = sums if self.sums is None else _together(self.sums, sums)

    def close(self) -> None:
        """Nothing was opened."""

    def add(self, other: Breakdown) -> None:
        """Take the sums of another part of the verdicts."""
        if other.sums is not None:
            sums = other.sums
            self.sums = sums if self.sums is None else _together(self.sums, sums)

    def cells(self) -> tuple[Cell, ...]:
        """Return every sum that is not empty, by job, area, action, reason and age."""
        if self.sums is None:
            return ()
        ordered = self.sums.sort_by([(name, "ascending") for name in _KEYS])
        return tuple(_cell(row) for row in ordered.to_pylist())


def _together(first: pa.Table, second: pa.Table) -> pa.Table:
    both = pa.concat_tables([first, second.select(first.column_names)])
    added = both.group_by(_KEYS).aggregate([("objects", "sum"), ("bytes", "sum")])
    return added.rename_columns({"objects_sum": "objects", "bytes_sum": "bytes"}).select(
        first.column_names
    )


def _bucket_numbers(modified_at: pa.Array, now: datetime) -> pa.Array:
    stored_us = modified_at.cast(pa.int64())
    now_us = microseconds_of(now)
    number = pa.scalar(0, pa.int8())
    for edge in _EDGES:
        is_past = pc.less_equal(stored_us, now_us - _microseconds(edge))
        number = pc.add(number, is_past.cast(pa.int8()))
    is_known = pc.and_(
        pc.greater(stored_us, 0), pc.less_equal(stored_us, now_us + _microseconds(_LISTING_TIME))
    )
    unknown = pa.scalar(_BUCKETS.index(AgeBucket.UNKNOWN), pa.int8())
    return pc.if_else(pc.fill_null(is_known, fill_value=False), number, unknown)


def _microseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


def _cell(row: dict[str, object]) -> Cell:
    return Cell(
        job_id=str(row["job_id"]),
        scope=Scope(str(row["scope"])),
        action=Action(str(row["action"])),
        reason=Reason(str(row["reason"])),
        age=_BUCKETS[int(str(row["age"]))],
        amount=Amount(int(str(row["objects"])), int(str(row["bytes"]))),
    )
