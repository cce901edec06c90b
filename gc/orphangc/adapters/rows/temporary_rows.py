"""Temporary rows in Arrow files, removed at the end of the run."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from orphangc.adapters.rows.temporary_folder import TemporaryFolder


@dataclass(slots=True)
class ArrowTemporaryRows:
    """Rows in one Arrow file; without rows there is no file."""

    path: Path
    schema: pa.Schema
    _writing: tuple[pa.OSFile, ipc.RecordBatchStreamWriter] | None = field(default=None, repr=False)
    _is_closed: bool = False

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch; see ``TemporaryRows``."""
        if self._is_closed:
            raise ValueError(f"{self.path} is closed")
        if self._writing is None:
            file = pa.OSFile(str(self.path), "wb")
            self._writing = file, ipc.new_stream(file, self.schema)
        self._writing[1].write_batch(batch)

    def close(self) -> None:
        """Complete the file; see ``TemporaryRows``."""
        self._is_closed = True
        if self._writing is not None:
            for each in reversed(self._writing):
                each.close()
            self._writing = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows; see ``TemporaryRows``.

        The file is read, not mapped: pages of a mapped file count as memory while it is open.
        """
        self.close()
        if not self.path.exists():
            return
        with pa.OSFile(str(self.path)) as source:
            yield from ipc.open_stream(source)


@dataclass(frozen=True, slots=True)
class ArrowTemporarySpace:
    """A local folder for temporary rows."""

    folder: Path

    def rows(self, schema: pa.Schema) -> ArrowTemporaryRows:
        """Return empty temporary rows; see ``TemporarySpace``."""
        return ArrowTemporaryRows(self.folder / f"{uuid.uuid4().hex}.arrow", schema)


@contextmanager
def temporary_space() -> Iterator[ArrowTemporarySpace]:
    """Yield a temporary folder of this machine; remove it with its files afterwards."""
    with TemporaryFolder() as folder:
        yield ArrowTemporarySpace(Path(folder))
