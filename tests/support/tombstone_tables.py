"""Tombstones one by one, and as one Arrow table: the program knows them batch by batch only."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import JobId, ObjectKey, StoredObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """One tombstone."""

    object: StoredObject
    job_id: JobId
    since: datetime
    plan_id: str


def laid_as(tombstones: Iterable[Tombstone]) -> Tombstones:
    """Return these as the program knows them; of two with the same key the later one counts."""
    rows = [
        {
            **{name: getattr(each.object, name) for name in ("key", "size", "modified_at", "etag")},
            **{name: getattr(each, name) for name in ("job_id", "since", "plan_id")},
        }
        for each in tombstones
    ]
    return from_table(pa.Table.from_pylist(rows, schema=TOMBSTONE_SCHEMA))


def _of_row(row: dict[str, Any]) -> Tombstone:
    stored = StoredObject(
        key=ObjectKey(row["key"]),
        size=row["size"],
        modified_at=row["modified_at"],
        etag=row["etag"],
    )
    return Tombstone(
        object=stored, job_id=JobId(row["job_id"]), since=row["since"], plan_id=row["plan_id"]
    )


def each_of(tombstones: Tombstones) -> list[Tombstone]:
    return [_of_row(row) for batch in tombstones.to_batches() for row in batch.to_pylist()]


def at_key(tombstones: Tombstones, key: str) -> Tombstone | None:
    row = tombstones.get(key)
    return None if row is None else _of_row(row)


def table_of(tombstones: Tombstones) -> pa.Table:
    return pa.Table.from_batches(tombstones.to_batches(), TOMBSTONE_SCHEMA)


def from_table(table: pa.Table) -> Tombstones:
    return Tombstones.from_batches(table.to_batches(1 << 16))


def plus(tombstones: Tombstones, table: pa.Table) -> Tombstones:
    return Tombstones.from_batches([*tombstones.to_batches(), *table.to_batches(1 << 16)])
