"""Temporary rows in the work folder, which driver and executors see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder

_ROWS = 100_000


@dataclass(slots=True)
class ExchangedRows:
    """Rows in files of the work folder; see ``TemporaryRows``."""

    folder: WorkFolder
    schema: pa.Schema
    files: list[ExchangeFile] = field(default_factory=list)
    _held: list[pa.RecordBatch] = field(default_factory=list, repr=False)
    _is_closed: bool = False

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch; see ``TemporaryRows``."""
        if self._is_closed:
            raise ValueError("the rows are closed")
        if batch.num_rows:
            self._held.append(batch)
        if sum(each.num_rows for each in self._held) >= _ROWS:
            self._flush()

    def close(self) -> None:
        """Write what is held; see ``TemporaryRows``."""
        self._is_closed = True
        self._flush()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, a file at a time; see ``TemporaryRows``."""
        self.close()
        for file in self.files:
            yield self.folder.read_rows(file)

    def _flush(self) -> None:
        if self._held:
            self.files.append(self.folder.write_rows("rows", self._held))
            self._held = []


@dataclass(frozen=True, slots=True)
class ExchangeSpace:
    """Temporary space in the work folder; see ``TemporarySpace``."""

    folder: WorkFolder

    def rows(self, schema: pa.Schema) -> ExchangedRows:
        """Return empty temporary rows."""
        return ExchangedRows(self.folder, schema)
