"""A listing on disk: Arrow batches of finished key ranges, in a few files.

Each range appends to a file that no other range uses at that time, so a finished range is one byte
range of that file. LZ4 saves a third of the size and costs little. zstd would halve the rest, and
double the time of writing once and reading three times.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

import pyarrow as pa
import structlog
from pyarrow import ipc

from orphangc.adapters.rows.resumable_listing import FinishedPart, ResumableListing
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.rows.written_files import writing
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.core.times.instant_columns import with_known_times
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import LISTING_SCHEMA

log = structlog.get_logger()

_ROWS_PER_BLOCK = 4096
"""Pages are combined into blocks: single pages would compress and read worse."""

_BYTES_PER_BLOCK = 1 << 20
_ROWS_PER_BATCH = 1 << 14
_BYTES_PER_BATCH = 2 << 20
_OPTIONS = ipc.IpcWriteOptions(
    compression="lz4" if pa.Codec.is_available("lz4") else None, use_threads=False
)
_READING = ipc.IpcReadOptions(use_threads=False)
"""To wake other threads for a block costs more than to decompress it."""


class ArrowSpool:
    """Holds a listing in files, which ``close`` removes or keeps for a run that resumes it.

    May be used by several threads, each part by one at a time. One further thread writes all
    blocks: Arrow's allocator keeps some ten MB for each thread that ever compressed a block.
    """

    def __init__(
        self, resumable: ResumableListing | None = None, *, above: Path | None = None
    ) -> None:
        """Use a temporary folder, below another one if given, or that of a resumable listing."""
        self._resumable = resumable
        self._above = above
        self._temporary: TemporaryFolder | None = None
        self._lock = threading.Lock()
        self._writer = ThreadPoolExecutor(1, "spool")
        self._folder: Path | None = None
        self._free: list[_SpoolFile] = []
        self._files: list[_SpoolFile] = []
        self._parts: list[FinishedPart] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Remove the files, unless the run was interrupted and another run may resume them."""
        self._writer.shutdown(cancel_futures=True)
        with self._lock:
            for file in self._files:
                file.close()
        if self._temporary is not None:
            self._temporary.cleanup()
        if self._resumable is None:
            return
        is_interrupted = isinstance(error, StorageUnreachableError) or not isinstance(
            error, Exception
        )
        if self._folder is None:  # it could not be taken over
            self._resumable.close()
        elif is_interrupted and self._parts:
            self._resumable.close()
            if error is not None:
                log.info("listing.kept", folder=str(self._folder), objects=self.rows)
        else:
            self._resumable.remove()

    @property
    def rows(self) -> int:
        """Return the number of rows of the finished ranges."""
        return sum(part.rows for part in self._parts)

    def finished(self) -> list[KeyRange]:
        """Return the listed ranges, those of an interrupted run included."""
        with self._lock:
            self._open()
            return [part.within for part in self._parts]

    def part(self) -> FileSpoolPart:
        """Return a new part for one range, or a sub-range."""
        with self._lock:
            folder = self._open()
            if not self._free:
                self._free.append(_SpoolFile.new(folder, len(self._files)))
                self._files.append(self._free[0])
            return FileSpoolPart(self, self._free.pop())

    def _open(self) -> Path:
        """Return the folder, created or taken over from an interrupted run."""
        if self._folder is None and self._resumable is None:
            self._temporary = TemporaryFolder(self._above)
            self._folder = Path(self._temporary.name)
        elif self._folder is None and self._resumable is not None:
            self._parts = self._resumable.take_over()
            self._folder = self._resumable.folder
        assert self._folder is not None  # noqa: S101 - one of the two
        return self._folder

    def submit(self, write: Callable[[], None]) -> Future[None]:
        """Run ``write`` on the writing thread; raise after the spool is closed."""
        return self._writer.submit(write)

    def finish(self, file: _SpoolFile, part: FinishedPart) -> None:
        """Add a finished part; sync its bytes first if a later run may resume it."""
        if self._resumable is not None and part.length:
            file.sync()
        with self._lock:
            if self._resumable is not None:
                self._resumable.add(part)
            self._parts.append(part)
            self._free.append(file)

    def batches(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield the rows of finished ranges in large batches, or raise ``OrphanGcError``."""
        with self._lock:
            folder = self._open()
            for file in self._files:
                file.flush()
            found = (part for part in self._parts if part.within.overlaps(within))
            parts = sorted(found, key=lambda part: part.order)
        yield from _coalesced(_read(folder, parts))


class _SpoolFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")
        self.end = 0

    @classmethod
    def new(cls, folder: Path, number: int) -> _SpoolFile:
        """Return a new file; an interrupted run may have left files with lower numbers."""
        while True:
            try:
                return cls(folder / f"{number:04d}.arrow")
            except FileExistsError:
                number += 1

    def write(self, data: pa.Buffer) -> None:
        with writing(self.path):
            self.end += self._file.write(data)

    def flush(self) -> None:
        with writing(self.path):
            self._file.flush()

    def sync(self) -> None:
        self.flush()
        with writing(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        with writing(self.path):
            self._file.close()


class FileSpoolPart:
    """Stores the rows of one key range."""

    def __init__(self, spool: ArrowSpool, file: _SpoolFile) -> None:
        self._spool = spool
        self._file = file
        self._start = file.end
        self._checksum = 0
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._held_bytes = 0
        self._pending: Future[None] | None = None
        self.rows = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch of ``LISTING_SCHEMA``."""
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self._held_bytes += batch.nbytes
        self.rows += batch.num_rows
        if self._held_rows >= _ROWS_PER_BLOCK or self._held_bytes >= _BYTES_PER_BLOCK:
            self._write()

    def _write(self) -> None:
        """Submit the buffered rows as a block; at most one block is being written."""
        self._await()
        if self._held_rows:
            self._pending = self._spool.submit(partial(self._write_block, self._held))
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def _await(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def _write_block(self, batches: list[pa.RecordBatch]) -> None:
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, LISTING_SCHEMA, options=_OPTIONS) as writer:
            writer.write_batch(_joined(batches))
        data = sink.getvalue()
        self._checksum = zlib.crc32(data, self._checksum)
        self._file.write(data)

    def finish(self, within: KeyRange) -> None:
        """Record that these are all rows of a range; the part accepts no more."""
        self._write()
        self._await()
        part = FinishedPart(
            after=within.after,
            until=within.until,
            rows=self.rows,
            file=self._file.path.name,
            offset=self._start,
            length=self._file.end - self._start,
            crc32=self._checksum,
        )
        self._spool.finish(self._file, part)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _read(folder: Path, parts: list[FinishedPart]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the parts in order; read them, because a memory map would count as
    memory.

    Raises:
        OrphanGcError: A part is damaged.
    """
    files: dict[str, pa.OSFile] = {}
    with ExitStack() as stack:
        for part in parts:
            if part.length and part.file not in files:
                files[part.file] = stack.enter_context(pa.OSFile(str(folder / part.file)))
            rows = 0
            for batch in _blocks(files[part.file], part) if part.length else ():
                rows += batch.num_rows
                yield batch
            if rows != part.rows:
                raise OrphanGcError(f"{folder / part.file} holds {rows} rows of {part.rows}")


def _blocks(file: pa.OSFile, part: FinishedPart) -> Iterator[pa.RecordBatch]:
    at = part.offset
    while at < part.offset + part.length:
        file.seek(at)
        try:
            yield from ipc.open_stream(file, options=_READING)
        except (pa.ArrowException, OSError) as err:
            raise OrphanGcError(f"the listing in {part.file} is damaged: {err}") from err
        at = file.tell()


def _coalesced(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROWS_PER_BATCH or size >= _BYTES_PER_BATCH:
            yield with_known_times(_joined(held))
            held, rows, size = [], 0, 0
    if held:
        yield with_known_times(_joined(held))
