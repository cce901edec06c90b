"""What a listing's batches say beside their objects, and what its times mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

__all__ = ["EPOCH", "folder_rows", "instant"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(modified_us: int | None) -> datetime | None:
    """Return microseconds since 1970 as an aware UTC instant."""
    return None if modified_us is None else EPOCH + timedelta(microseconds=modified_us)


def folder_rows(batch: pa.RecordBatch) -> list[str]:
    """Return the keys of a batch's folders, without their trailing slash."""
    is_folder = batch.column("size").is_null()
    return [key.rstrip("/") for key in batch.column("key").filter(is_folder).to_pylist()]
