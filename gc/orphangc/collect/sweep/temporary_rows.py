"""Temporary rows in Arrow files, which memory should not hold."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc


@dataclass(slots=True)
class TemporaryRows:
    """Rows in one Arrow file; without rows there is no file. Picklable once closed."""

    path: Path
    schema: pa.Schema
    _writing: tuple[pa.OSFile, ipc.RecordBatchStreamWriter] | None = field(default=None, repr=False)
    _is_closed: bool = False

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch; not after ``close``."""
        if self._is_closed:
            raise ValueError(f"{self.path} is closed")
        if self._writing is None:
            file = pa.OSFile(str(self.path), "wb")
            self._writing = file, ipc.new_stream(file, self.schema)
        self._writing[1].write_batch(batch)

    def close(self) -> None:
        """Complete the file; may be called twice."""
        self._is_closed = True
        if self._writing is not None:
            for each in reversed(self._writing):
                each.close()
            self._writing = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Close, and yield all appended batches in order; may be called more than once.

        The file is read, not mapped: pages of a mapped file count as memory while it is open.
        """
        self.close()
        if not self.path.exists():
            return
        with pa.OSFile(str(self.path)) as source:
            yield from ipc.open_stream(source)


@dataclass(frozen=True, slots=True)
class TemporarySpace:
    """A local folder for temporary rows, until the run ends; picklable."""

    folder: Path

    def rows(self, schema: pa.Schema) -> TemporaryRows:
        """Return empty temporary rows of a schema."""
        return TemporaryRows(self.folder / f"{uuid.uuid4().hex}.arrow", schema)
