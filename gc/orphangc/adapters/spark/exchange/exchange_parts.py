"""Files of the work folder as rows of a DataFrame, read again on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder

_PIECE = pa.schema([("name", pa.string()), ("sha256", pa.string()), ("rows", pa.int64())])


def tables_of(files: Sequence[ExchangeFile]) -> list[pa.Table]:
    """Return each file as a table of one row: one task for each file."""
    return [
        pa.Table.from_pylist(
            [{"name": each.name, "sha256": each.sha256, "rows": each.rows}], schema=_PIECE
        )
        for each in files
    ]


def files_in(batches: Iterator[pa.RecordBatch]) -> Iterator[ExchangeFile]:
    """Yield the files that the rows of a task name."""
    for batch in batches:
        for row in batch.select(_PIECE.names).to_pylist():
            yield ExchangeFile(row["name"], row["sha256"], row["rows"])


def read_exchanged(
    folder: WorkFolder, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the files of a task."""
    for file in files_in(batches):
        yield folder.read_rows(file)


@lru_cache(maxsize=2)
def cached_value(folder: WorkFolder, file: ExchangeFile) -> Any:
    """Return a value of the work folder, read once for each process, which runs tasks in turn."""
    return folder.read_value(file)
