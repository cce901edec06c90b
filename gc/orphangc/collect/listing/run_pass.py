"""One pass over the batches of a listing, or of a part of it, on whatever machine they are.

What the first pass finds out of each row is kept for the passes after it. A row takes 42 bytes on
disk. To read a UUID out of a key and to look it up costs ten times as much as to read these bytes
again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from orphangc.core.columns.listing_columns import Columns, Recogniser, RowKind
from orphangc.core.columns.marked_listing import MarkedRows, Marking, marked_rows
from orphangc.core.columns.tombstones import Remembered
from orphangc.errors import OrphanGcError
from orphangc.ports import Progress
from orphangc.ports.engine import ListingPass

# --- what the first pass finds out of each row


_MOST_KINDS = 1 << 16
"""Kinds take memory; where names have more, the batches beyond are marked again in each pass."""

_TYPES: tuple[type[np.generic], ...] = (
    *(np.uint64, np.uint64, np.int64, np.int64, np.int32),
    *(np.bool_, np.bool_, np.bool_, np.bool_),
)
"""The widest first, so that each column is aligned whatever the number of rows."""
_ROW_BYTES = sum(np.dtype(each).itemsize for each in _TYPES)


@dataclass(frozen=True, slots=True)
class _Entry:
    offset: int
    rows: int
    kinds: tuple[RowKind, ...]


class MarkedCache:
    """Keeps the marked rows of one listing, batch by batch in the listing's order."""

    def __init__(self, file: BinaryIO) -> None:
        """Take an empty file that nothing else uses."""
        self._file = file
        self._entries: list[_Entry | None] = []
        self._kinds = 0
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Return whether the batches of a whole pass are here."""
        return self._is_complete

    def clear(self) -> None:
        """Forget everything: the listing, the live set or the tombstones are other ones now."""
        self._file.seek(0)
        self._file.truncate()
        self._entries, self._kinds, self._is_complete = [], 0, False

    def complete(self) -> None:
        """Record that the pass has come to its end."""
        self._is_complete = True

    def add(self, rows: MarkedRows, listed: int) -> None:
        """Keep the next batch; one with folders, or with too many kinds, only as a gap.

        Args:
            listed: Number of its rows in the listing, folders too.
        """
        columns = rows.columns
        self._kinds += len(columns.kinds)
        if len(columns) != listed or self._kinds > _MOST_KINDS:
            self._entries.append(None)
            return
        self._entries.append(_Entry(self._file.tell(), len(columns), columns.kinds))
        parts: tuple[npt.NDArray[Any], ...] = (
            *(columns.hi, columns.lo, columns.modified_us, rows.tombstones.since_us, columns.kind),
            *(rows.tombstones.has, columns.has_uuid, rows.in_parsed, rows.in_raw),
        )
        for each, kind in zip(parts, _TYPES, strict=True):
            self._file.write(np.asarray(each, kind).tobytes())

    def rows(self, number: int, batch: pa.RecordBatch) -> MarkedRows | None:
        """Return a batch with its columns, ``None`` for a gap; ``OrphanGcError`` if damaged."""
        entry = self._entries[number]
        if entry is None:
            return None
        self._file.seek(entry.offset)
        data = bytearray(self._file.read(entry.rows * _ROW_BYTES))
        if entry.rows != batch.num_rows or len(data) != entry.rows * _ROW_BYTES:
            raise OrphanGcError("the listing on this machine's disk has changed between two passes")
        found, at = list[npt.NDArray[Any]](), 0
        for kind in _TYPES:
            found.append(np.frombuffer(data, kind, entry.rows, at))
            at += found[-1].nbytes
        hi, lo, modified_us, since_us, kind_of_row, has, has_uuid, in_parsed, in_raw = found
        return MarkedRows(
            columns=Columns.of(
                batch,
                entry.kinds,
                kind_of_row,
                hi=hi,
                lo=lo,
                has_uuid=has_uuid,
                modified_us=modified_us,
            ),
            folders=(),
            in_parsed=in_parsed,
            in_raw=in_raw,
            tombstones=Remembered(since_us, has),
        )


_T = TypeVar("_T")


def run_pass(
    work: ListingPass[_T],
    batches: Iterable[pa.RecordBatch],
    *,
    root_name: str,
    marking: Marking,
    cache: MarkedCache | None,
    progress: Progress,
) -> _T:
    """Return what one worker finds in its batches."""
    found = work.begin()
    done = 0
    try:
        for batch, rows in _marked(batches, Recogniser(root_name), marking, cache):
            work.add(found, rows)
            done += batch.num_rows
            progress(work.phase, done)
    finally:
        work.end(found)
    return found


def _marked(
    batches: Iterable[pa.RecordBatch],
    recogniser: Recogniser,
    marking: Marking,
    cache: MarkedCache | None,
) -> Iterator[tuple[pa.RecordBatch, MarkedRows]]:
    """Yield every batch with its marks; what the first pass finds out is kept for others."""
    is_known = cache is not None and cache.is_complete
    if cache is not None and not is_known:
        cache.clear()
    for number, batch in enumerate(batches):
        rows = cache.rows(number, batch) if cache is not None and is_known else None
        if rows is None:
            rows = marked_rows(batch, recogniser, marking)
        if cache is not None and not is_known:
            cache.add(rows, batch.num_rows)
        yield batch, rows
    if cache is not None:
        cache.complete()
