"""Passes on executors: each task runs a pass over some files of the listing."""

import pickle
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

import pyarrow as pa

from orphangc.adapters.spark.work_folder import THREADS, ExchangeFile, WorkFolder
from orphangc.collect.listing.run_pass import MarkedCache, run_pass
from orphangc.core.columns.listing_columns import Columns
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import Marking, Marks, WholeMarking, divided, slices_of
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.times.instant_columns import with_known_times
from orphangc.errors import StorageUnreachableError

_INLINE_BYTES = 1 << 20
_ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class LiveSlice:
    """A slice of live set and tombstones: equal parts of the range of the UUIDs' first bits."""

    number: int
    count: int
    file: ExchangeFile


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of the listing that one task passes over.

    Attributes:
        files: Files of ``LISTING_SCHEMA``.
        slice: The slice that knows all their rows; without one nothing is live.
        marks: File with what the first pass kept of their rows; ``None`` before it.
    """

    files: tuple[ExchangeFile, ...]
    slice: LiveSlice | None = None
    marks: ExchangeFile | None = None


@dataclass(frozen=True, slots=True)
class DividedRows:
    """Rows of some files of the listing, one file for each slice, ``None`` for no rows."""

    files: tuple[ExchangeFile | None, ...]

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return sum(each.rows for each in self.files if each is not None)


@dataclass(frozen=True, slots=True)
class DividingTask:
    """Divides rows of the listing among slices, so that each is looked up in one of them alone."""

    folder: WorkFolder
    count: int

    def __call__(self, files: Sequence[ExchangeFile]) -> DividedRows:
        """Return the rows of some files."""
        pieces = [divided(self.folder.read_rows(each), self.count) for each in files]
        with ThreadPoolExecutor(THREADS) as pool:
            return DividedRows(tuple(pool.map(self._written, zip(*pieces, strict=True))))

    def _written(self, batches: Sequence[pa.RecordBatch]) -> ExchangeFile | None:
        if not any(each.num_rows for each in batches):
            return None
        return self.folder.write_rows("listed", batches)


@dataclass(frozen=True, slots=True)
class PassResult:
    """Result that one task sends to the driver."""

    value: bytes | ExchangeFile
    marks: ExchangeFile | None
    rows: int

    def unpickled(self, folder: WorkFolder) -> Any:
        """Return the result of the pass."""
        if isinstance(self.value, ExchangeFile):
            return folder.read_value(self.value)
        return pickle.loads(self.value)  # noqa: S301 - carried by Spark's own channel


@dataclass(frozen=True, slots=True, kw_only=True)
class PassTask:
    """Runs a pass in an executor."""

    folder: WorkFolder
    work: ExchangeFile
    root_name: str

    def __call__(self, group: FileGroup) -> PassResult:
        """Return what the pass finds in a group of files."""
        found = run_pass(
            _work(self.folder, self.work),
            self._batches(group),
            root_name=self.root_name,
            marking=self._marking(group),
            cache=(cache := self._cache(group)),
            progress=lambda *_: None,
        )
        marks = group.marks
        if cache is not None and marks is None:
            marks = self.folder.write_value(cache)
        data = pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)
        is_small = len(data) <= _INLINE_BYTES
        return PassResult(
            value=data if is_small else self.folder.write("values", data),
            marks=marks,
            rows=sum(each.rows for each in group.files),
        )

    def _cache(self, group: FileGroup) -> MarkedCache | None:
        if group.slice is None:
            return None
        if group.marks is None:
            return MarkedCache(BytesIO())
        cache: MarkedCache = self.folder.read_value(group.marks)
        return cache

    def _marking(self, group: FileGroup) -> Marking:
        if group.slice is None:
            return WholeMarking(LiveSet(), Tombstones.empty())
        return _SliceMarking(self.folder, group.slice)

    def _batches(self, group: FileGroup) -> Iterator[pa.RecordBatch]:
        """Yield the rows, those of small files together: each batch has kinds of its own."""
        with ThreadPoolExecutor(THREADS) as pool:
            for lot in lots(group.files, _ROWS_PER_BATCH):
                table = pa.Table.from_batches(pool.map(self.folder.read_rows, lot))
                for rows in table.combine_chunks().to_batches(_ROWS_PER_BATCH):
                    yield with_known_times(rows)


def lots(files: Iterable[ExchangeFile], most: int) -> list[tuple[ExchangeFile, ...]]:
    """Return the files in their order, in lots of at most so many rows, or one file."""
    found: list[list[ExchangeFile]] = []
    rows = 0
    for file in files:
        if not found or rows + file.rows > most:
            found.append([])
            rows = 0
        found[-1].append(file)
        rows += file.rows
    return list(map(tuple, found))


@dataclass(frozen=True, slots=True)
class _SliceMarking:
    """Looks rows up in the one slice that knows them, which is read when the first one comes."""

    folder: WorkFolder
    slice: LiveSlice

    def marks(self, columns: Columns) -> Marks:
        """See ``Marking``; a row of another slice, which alone knows it, is an error."""
        if (slices_of(columns.hi, self.slice.count) != self.slice.number).any():
            raise StorageUnreachableError("a row came to the wrong part of the live set")
        return _marking_of(self.folder, self.slice.file).marks(columns)


@lru_cache(maxsize=1)
def _work(folder: WorkFolder, file: ExchangeFile) -> Any:
    return folder.read_value(file)


_marking_here: dict[ExchangeFile, Marking] = {}
"""The last slice that this process has read; executor processes run tasks in turn."""


def _marking_of(folder: WorkFolder, file: ExchangeFile) -> Marking:
    """Return a slice of live set and tombstones; one is in memory, the one before it is not."""
    if file not in _marking_here:
        _marking_here.clear()
        _marking_here[file] = folder.read_packed(file)
    return _marking_here[file]
