"""Files that driver and executors pass to each other through a place that all of them see.

Whoever writes a file tells its name and its digest through Spark's own channel. So a file of an
attempt that was given up counts for nothing, for nobody names it, and a file that was touched
since is an error.
"""

from __future__ import annotations

import hashlib
import pickle
import shutil
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyarrow import ipc

from orphangc.adapters.open import open_state_files
from orphangc.core.model.locations import Location
from orphangc.errors import StorageUnreachableError
from orphangc.ports import StateFiles

_KINDS = ("listed", "live", "marks", "piles", "tombstones", "values", "verdicts")
_OPTIONS = ipc.IpcWriteOptions(compression="lz4")
_THREADS = 16


@dataclass(frozen=True, slots=True)
class ExchangeFile:
    """A file of the work folder as its writer vouches for it.

    Attributes:
        name: Below the work folder; no other attempt uses it.
        sha256: Of its bytes.
        rows: How many rows it holds, 0 if it holds none at all.

    """

    name: str
    sha256: str
    rows: int = 0


@lru_cache(maxsize=8)
def _files(location: Location) -> StateFiles:
    return open_state_files(location)


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A folder of this run alone; picklable.

    Attributes:
        location: Where it is.

    """

    location: Location

    def write(self, kind: str, data: bytes, *, rows: int = 0) -> ExchangeFile:
        """Return a new file with the data."""
        name = f"{kind}/{uuid.uuid4().hex}"
        _files(self.location).write(name, data)
        return ExchangeFile(name, hashlib.sha256(data).hexdigest(), rows)

    def read(self, piece: ExchangeFile) -> bytes:
        """Return what the writer wrote.

        Raises:
            StorageUnreachableError: It is not there, or it is something else by now.

        """
        data = _files(self.location).read(piece.name)
        if data is None:
            where = self.location.child(piece.name)
            raise StorageUnreachableError(f"{where} is not there: is --work seen by all executors?")
        if hashlib.sha256(data).hexdigest() != piece.sha256:
            raise StorageUnreachableError(f"{self.location.child(piece.name)} was altered")
        return data

    def write_rows(self, kind: str, batches: Sequence[pa.RecordBatch]) -> ExchangeFile:
        """Return a new file with the rows of all batches, which have one schema."""
        target = pa.BufferOutputStream()
        with ipc.new_stream(target, batches[0].schema, options=_OPTIONS) as writer:
            for batch in batches:
                writer.write_batch(batch)
        rows = sum(batch.num_rows for batch in batches)
        return self.write(kind, target.getvalue().to_pybytes(), rows=rows)

    def read_rows(self, piece: ExchangeFile) -> pa.RecordBatch:
        """Return all rows of a file as one batch.

        Raises:
            StorageUnreachableError: See ``read``.

        """
        with ipc.open_stream(self.read(piece)) as reader:
            table = reader.read_all().combine_chunks()
        batches = table.to_batches()
        empty = pa.RecordBatch.from_pylist([], schema=table.schema)
        if table.num_rows != piece.rows or len(batches) > 1:
            raise StorageUnreachableError(f"{self.location.child(piece.name)} is not as written")
        return batches[0] if batches else empty

    def write_value(self, value: Any) -> ExchangeFile:
        """Return a new file with a picklable value."""
        return self.write("values", pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))

    def read_value(self, piece: ExchangeFile) -> Any:
        """Return a value, unpickled only after its digest has shown that it is the writer's.

        Raises:
            StorageUnreachableError: See ``read``.

        """
        return pickle.loads(self.read(piece))  # noqa: S301 - Spark's channel vouches for the bytes

    def discard(self, piece: ExchangeFile) -> None:
        """Remove one file."""
        _files(self.location).remove(piece.name)

    def remove(self) -> None:
        """Remove all files, those of attempts that were given up too."""
        if self.location.scheme == "file":
            shutil.rmtree(self.location.path, ignore_errors=True)
            return
        files = _files(self.location)
        names = [f"{kind}/{name}" for kind in _KINDS for name in files.names(kind)]
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(files.remove, names))
