"""Rows of a listing as values, and what each folder of it tells, looked up once a folder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa

from orphangc.core.names import Place, place_of_folder
from orphangc.ports import Spool

__all__ = ["EPOCH", "Row", "folder_rows", "instant", "rows"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """One listed object; a million of them are common, hence a tuple.

    Attributes:
        key: Relative to the storage root.
        folder: Of the key.
        name: Of the key.
        place: What the folder tells.
        size: Bytes; ``None`` marks a folder, which is no object.
        modified_us: Store time in microseconds since 1970, ``None`` if unknown.
        etag: As listed.

    """

    key: str
    folder: str
    name: str
    place: Place
    size: int | None
    modified_us: int | None
    etag: str | None


def instant(modified_us: int | None) -> datetime | None:
    """Return microseconds since 1970 as an aware UTC instant."""
    return None if modified_us is None else EPOCH + timedelta(microseconds=modified_us)


def rows(spool: Spool, root_name: str) -> Iterator[list[Row]]:
    """Yield the objects of a listing, a list for each batch; folders are left out."""
    places: dict[str, Place] = {}
    for batch in spool.batches():
        yield [row for row in _batch_rows(batch, root_name, places) if row.size is not None]


def folder_rows(batch: pa.RecordBatch) -> list[str]:
    """Return the keys of a batch's folders, without their trailing slash."""
    is_folder = batch.column("size").is_null()
    return [key.rstrip("/") for key in batch.column("key").filter(is_folder).to_pylist()]


def _batch_rows(batch: pa.RecordBatch, root_name: str, places: dict[str, Place]) -> Iterator[Row]:
    columns = (
        batch.column("key").to_pylist(),
        batch.column("size").to_pylist(),
        batch.column("modified_at").cast(pa.int64()).to_pylist(),
        batch.column("etag").to_pylist(),
    )
    for key, size, modified_us, etag in zip(*columns, strict=True):
        folder, _, name = key.rpartition("/")
        place = places.get(folder)
        if place is None:
            place = places[folder] = place_of_folder(folder, root_name)
        yield Row(key, folder, name, place, size, modified_us, etag)
