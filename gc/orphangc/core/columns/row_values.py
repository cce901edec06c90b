"""Values of a listing's batches beside their objects."""

from __future__ import annotations

import pyarrow as pa


def folder_rows(batch: pa.RecordBatch) -> list[str]:
    """Return the keys of a batch's folders, without their trailing slash."""
    is_folder = batch.column("size").is_null()
    return [key.rstrip("/") for key in batch.column("key").filter(is_folder).to_pylist()]
