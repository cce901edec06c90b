"""The verdicts of a plan as Parquet files, written by one worker or by many."""

from __future__ import annotations

import hashlib
import uuid
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from orphangc.adapters.rows.written_files import writing
from orphangc.ports import VERDICT_SCHEMA

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_ROWS_PER_FILE = 5_000_000
_REPEATED = ["job_id", "scope", "action", "reason"]
"""Columns with few values; a dictionary of keys or ETags would be discarded page after page. Keys
are sorted within a batch and begin alike: as differences they take less, and half the time."""


class _DigestingFile(BufferedWriter):
    def __init__(self, path: Path) -> None:
        super().__init__(FileIO(path, "x"))
        self.digest = hashlib.sha256()

    def write(self, data: ReadableBuffer) -> int:
        self.digest.update(data)
        return super().write(data)


class VerdictFiles:
    """A sink that writes new files into a folder; several of them may share it.

    Attributes:
        digests: sha256 of the complete files, by file name.
    """

    def __init__(self, folder: Path) -> None:
        self.digests: dict[str, str] = {}
        self._folder = folder
        self._token = uuid.uuid4().hex
        self._name = ""
        self._rows = 0
        self._file: _DigestingFile | None = None
        self._writer: pq.ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``VERDICT_SCHEMA``."""
        if self._writer is None or self._rows + batch.num_rows > _ROWS_PER_FILE:
            self.close()
            self._start()
        assert self._writer is not None  # noqa: S101 - opened one line above
        with writing(self._folder):
            self._writer.write_batch(batch)
        self._rows += batch.num_rows

    def close(self) -> None:
        """Complete the current file; a plan without objects has no files."""
        if self._writer is None or self._file is None:
            return
        with writing(self._folder):
            self._writer.close()
            self._file.close()
        self.digests[self._name] = self._file.digest.hexdigest()
        self._writer = self._file = None

    def fetch(self, folder: Path) -> dict[str, str]:
        """Return the sha256 of the complete files by name: they are in their folder already."""
        del folder
        return self.digests

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._name = f"part-{len(self.digests):05d}-{self._token}.parquet"
        self._file = _DigestingFile(self._folder / self._name)
        self._writer = pq.ParquetWriter(
            self._file,
            VERDICT_SCHEMA,
            compression="zstd",
            use_dictionary=_REPEATED,
            column_encoding={"key": "DELTA_BYTE_ARRAY"},
            write_statistics=["job_id", "key"],
        )
        self._rows = 0
