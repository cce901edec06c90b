"""Rows put aside in the work folder, where driver and executors see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder

_ROWS = 100_000


@dataclass(slots=True)
class WorkPile:
    """Rows in files of the work folder; see ``Pile``."""

    folder: WorkFolder
    schema: pa.Schema
    pieces: list[ExchangeFile] = field(default_factory=list)
    _held: list[pa.RecordBatch] = field(default_factory=list, repr=False)
    _is_closed: bool = False

    def append(self, batch: pa.RecordBatch) -> None:
        """Add a batch; see ``Pile``."""
        if self._is_closed:
            raise ValueError("the pile is closed")
        if batch.num_rows:
            self._held.append(batch)
        if sum(each.num_rows for each in self._held) >= _ROWS:
            self._flush()

    def close(self) -> None:
        """Write what is held; see ``Pile``."""
        self._is_closed = True
        self._flush()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, a file at a time; see ``Pile``."""
        self.close()
        for piece in self.pieces:
            yield self.folder.read_rows(piece)

    def _flush(self) -> None:
        if self._held:
            self.pieces.append(self.folder.write_rows("piles", self._held))
            self._held = []


@dataclass(frozen=True, slots=True)
class WorkScratch:
    """Room in the work folder; see ``Scratch``."""

    folder: WorkFolder

    def pile(self, schema: pa.Schema) -> WorkPile:
        """Return an empty pile."""
        return WorkPile(self.folder, schema)
