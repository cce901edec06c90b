"""Passes on executors: each task runs a pass over some files of the listing."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

import pyarrow as pa

from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.collect.listing.marked_cache import MarkedCache
from orphangc.collect.listing.run_pass import run_pass
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.marked_listing import Marking, SlicedMarking, WholeMarking
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.times.instant_columns import with_known_times

_INLINE_BYTES = 1 << 20
_ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of the listing that one task passes over.

    Attributes:
        files: Files of ``LISTING_SCHEMA``.
        marks: File with what the first pass kept of their rows; ``None`` before it.
    """

    files: tuple[ExchangeFile, ...]
    marks: ExchangeFile | None = None


@dataclass(frozen=True, slots=True)
class PassResult:
    """Result that one task sends to the driver.

    Attributes:
        value: Pickled result of the pass, or the file that holds it if it is large.
    """

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
    """Runs a pass in an executor.

    Attributes:
        slices: Files with the slices of live set and tombstones; without one nothing is live.
    """

    folder: WorkFolder
    work: ExchangeFile
    slices: tuple[ExchangeFile, ...]
    root_name: str

    def __call__(self, group: FileGroup) -> PassResult:
        """Return what the pass finds in a group of files."""
        found = run_pass(
            _work(self.folder, self.work),
            self._batches(group),
            root_name=self.root_name,
            marking=self._marking(),
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
        if not self.slices:
            return None
        if group.marks is None:
            return MarkedCache(BytesIO())
        cache: MarkedCache = self.folder.read_value(group.marks)
        return cache

    def _marking(self) -> Marking:
        if not self.slices:
            return WholeMarking(LiveSet(), Tombstones.empty())
        return SlicedMarking(
            len(self.slices), lambda number: _slice(self.folder, self.slices[number])
        )

    def _batches(self, group: FileGroup) -> Iterator[pa.RecordBatch]:
        """Yield the rows; in large batches where each batch loads every slice."""
        for file in group.files:
            rows = with_known_times(self.folder.read_rows(file))
            step = _ROWS_PER_BATCH if len(self.slices) <= 1 else max(1, rows.num_rows)
            for start in range(0, rows.num_rows, step):
                yield rows.slice(start, step)


@lru_cache(maxsize=1)
def _work(folder: WorkFolder, file: ExchangeFile) -> Any:
    """Return a pass, read once for each executor process, which runs tasks in turn."""
    return folder.read_value(file)


_slice_here: dict[ExchangeFile, Marking] = {}
"""The last slice that this process has read; executor processes run tasks in turn."""


def _slice(folder: WorkFolder, file: ExchangeFile) -> Marking:
    """Return a slice of live set and tombstones; one is in memory, the one before it is not."""
    if file not in _slice_here:
        _slice_here.clear()
        _slice_here[file] = folder.read_packed(file)
    return _slice_here[file]
