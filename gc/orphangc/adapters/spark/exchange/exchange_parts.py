"""Files of the work folder as rows of a DataFrame, and read again on executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder

_PIECE = pa.schema([("name", pa.string()), ("sha256", pa.string()), ("rows", pa.int64())])


def tables_of(pieces: Sequence[ExchangeFile]) -> list[pa.Table]:
    """Return each piece as a table of one row: a task each."""
    return [
        pa.Table.from_pylist(
            [{"name": each.name, "sha256": each.sha256, "rows": each.rows}], schema=_PIECE
        )
        for each in pieces
    ]


def files_in(batches: Iterator[pa.RecordBatch]) -> Iterator[ExchangeFile]:
    """Yield the pieces that the rows of a task name."""
    for batch in batches:
        for row in batch.select(_PIECE.names).to_pylist():
            yield ExchangeFile(row["name"], row["sha256"], row["rows"])


def read_exchanged(
    folder: WorkFolder, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what the pieces of a task hold."""
    for piece in files_in(batches):
        yield folder.read_rows(piece)


@lru_cache(maxsize=2)
def cached_value(folder: WorkFolder, piece: ExchangeFile) -> Any:
    """Return a value of the work folder, read once a process: tasks come one after another."""
    return folder.read_value(piece)
