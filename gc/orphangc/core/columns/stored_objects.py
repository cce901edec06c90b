"""Rows of a listing, or of verdicts, as objects."""

from __future__ import annotations

import pyarrow as pa

from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import from_microseconds


def stored_objects(rows: pa.RecordBatch) -> list[StoredObject]:
    """Return the object of each row; the columns are those of a listing, and maybe more.

    Three times as fast as by way of dictionaries: Arrow makes a time zone for every instant.
    """
    instants = rows["modified_at"].cast(pa.int64()).to_pylist()
    keys, sizes, etags = (rows[name].to_pylist() for name in ("key", "size", "etag"))
    return [
        StoredObject(
            key=ObjectKey(key),
            size=size,
            modified_at=from_microseconds(us),
            etag=etag,
        )
        for key, size, us, etag in zip(keys, sizes, instants, etags, strict=True)
    ]
