"""The verdicts of a cycle, added up for people: objects and bytes by job, reason and age."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.model import Action, Reason, Scope
from orphangc.runs.rows import EPOCH

__all__ = ["AgeBucket", "Amount", "Breakdown", "Cell", "summed"]

_Key = TypeVar("_Key", bound=Hashable)


class AgeBucket(StrEnum):
    """How long ago an object was stored, when the cycle began; a tie is the older bucket."""

    UNDER_1_HOUR = "under_1h"
    HOURS_1_TO_24 = "1h_24h"
    DAYS_1_TO_3 = "1d_3d"
    DAYS_3_TO_7 = "3d_7d"
    DAYS_7_TO_30 = "7d_30d"
    DAYS_30_TO_90 = "30d_90d"
    OLDER = "older"
    UNKNOWN = "unknown"
    """No store time, zero, or further in the future than a listing takes."""


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


@dataclass(frozen=True, slots=True)
class Amount:
    """How many objects, and their bytes."""

    objects: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        """Return both together."""
        return Amount(self.objects + other.objects, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one job has of one kind of verdict at one age.

    Attributes:
        job_id: Owner of the directory; "" for what lies in no known job's directory.
        scope: The area.
        action: Of the verdict.
        reason: Of the verdict.
        age: At the start of the cycle.
        amount: Objects and bytes.

    """

    job_id: str
    scope: Scope
    action: Action
    reason: Reason
    age: AgeBucket
    amount: Amount


class Breakdown:
    """A sink that keeps sums only: its memory grows with jobs, never with objects.

    Attributes:
        now: Start of the cycle by the store's clock; ages count from it.

    """

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._sums: pa.Table | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``VERDICT_SCHEMA``."""
        columns = {name: batch.column(name) for name in _KEYS[:-1]}
        columns["age"] = _bucket_numbers(batch.column("modified_at"), self.now)
        columns["size"] = batch.column("size")
        grouped = pa.table(columns).group_by(_KEYS).aggregate([("size", "sum"), ([], "count_all")])
        sums = grouped.rename_columns({"size_sum": "bytes", "count_all": "objects"})
        self._sums = sums if self._sums is None else _together(self._sums, sums)

    def close(self) -> None:
        """Nothing was opened."""

    def add(self, other: Breakdown) -> None:
        """Take the sums of another part of the verdicts."""
        if other._sums is not None:
            sums = other._sums
            self._sums = sums if self._sums is None else _together(self._sums, sums)

    def cells(self) -> tuple[Cell, ...]:
        """Return every sum that is not empty, by job, area, action, reason and age."""
        if self._sums is None:
            return ()
        ordered = self._sums.sort_by([(name, "ascending") for name in _KEYS])
        return tuple(_cell(row) for row in ordered.to_pylist())


def summed(cells: Iterable[Cell], key: Callable[[Cell], _Key]) -> dict[_Key, Amount]:
    """Return the amounts of the cells together by whatever ``key`` tells of them."""
    sums: dict[_Key, Amount] = {}
    for cell in cells:
        name = key(cell)
        sums[name] = sums.get(name, Amount()) + cell.amount
    return sums


def _together(first: pa.Table, second: pa.Table) -> pa.Table:
    """Return the sums of two tables of sums as one."""
    both = pa.concat_tables([first, second.select(first.column_names)])
    added = both.group_by(_KEYS).aggregate([("objects", "sum"), ("bytes", "sum")])
    return added.rename_columns({"objects_sum": "objects", "bytes_sum": "bytes"}).select(
        first.column_names
    )


def _bucket_numbers(modified_at: pa.Array, now: datetime) -> pa.Array:
    """Return the place in ``_BUCKETS`` of each store time: the number of edges that it passed."""
    stored_us = modified_at.cast(pa.int64())
    now_us = _microseconds(now - EPOCH)
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
