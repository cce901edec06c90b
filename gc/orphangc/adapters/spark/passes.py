"""Passes on executors: each task runs a pass over its parts of the listing."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from orphangc.adapters.spark.exchange.exchange_parts import cached_value
from orphangc.adapters.spark.exchange.work_folder import ExchangeFile, WorkFolder
from orphangc.adapters.spark.join import Joined, Marks, row_ids
from orphangc.adapters.spark.tasks import packed
from orphangc.core.columns.listing_columns import Columns, Recogniser
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.ports.engine import ListingPass

UUID_ROWS = "id long, hi long, lo long"
_INLINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PassPart:
    """A part of the listing, and the marks of its rows.

    Attributes:
        listed: File with rows of ``LISTING_SCHEMA``.
        marks: File with one row for each object; ``None`` if no object is live or has a tombstone.

    """

    listed: ExchangeFile
    marks: ExchangeFile | None = None


@dataclass(frozen=True, slots=True)
class ExecutorResult:
    """Result that one task sends to the driver.

    Attributes:
        value: Pickled result of the pass, or the file that holds it if it is large.
        marks: File of marks by number of the part; ``None`` if there were none to write.

    """

    value: bytes | ExchangeFile
    marks: dict[int, ExchangeFile | None] = field(default_factory=dict)

    def unpickled(self, folder: WorkFolder) -> Any:
        """Return the result of the pass."""
        if isinstance(self.value, ExchangeFile):
            return folder.read_value(self.value)
        return pickle.loads(self.value)  # noqa: S301 - carried by Spark's own channel


@dataclass(frozen=True, slots=True, kw_only=True)
class UuidWork:
    """Yields ``UUID_ROWS``: the columns of a part that are joined with live set and tombstones.

    Attributes:
        folder: Work folder with the parts.
        parts: File with the list of parts.
        root_name: Last path part of the storage root.

    """

    folder: WorkFolder
    parts: ExchangeFile
    root_name: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each name that ends in a UUID, and one for each part."""
        recogniser = Recogniser(self.root_name)
        parts: Sequence[PassPart] = cached_value(self.folder, self.parts)
        for number in _numbers(batches):
            columns = recogniser.columns(self.folder.read_rows(parts[number].listed))
            yield _uuid_rows(number, columns)


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """Yield the numbers of the parts of a task."""
    for batch in batches:
        yield from batch.column("part").to_pylist()


def _uuid_rows(number: int, columns: Columns) -> pa.RecordBatch:
    ids, rows = row_ids(number, columns)
    is_part = np.arange(len(ids)) == 0
    words = [
        pa.array(np.append(each[:1], each[rows]).view(np.int64), mask=is_part)
        if len(each)
        else pa.nulls(1, pa.int64())
        for each in (columns.hi, columns.lo)
    ]
    return pa.RecordBatch.from_arrays([pa.array(ids), *words], names=["id", "hi", "lo"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PassWork:
    """Runs a pass over parts.

    Attributes:
        folder: Work folder with the parts.
        parts: File with the list of parts.
        work: File with the pass.
        root_name: Last path part of the storage root.
        is_joined: Whether the rows of a task are joined rows, which become marks; else they name
            parts.
        others: Tombstones of keys that end in no UUID.

    """

    folder: WorkFolder
    parts: ExchangeFile
    work: ExchangeFile
    root_name: str
    is_joined: bool = False
    others: tuple[pa.RecordBatch, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one ``ExecutorResult``, or nothing for a task without a part."""
        joined = Joined(batches) if self.is_joined else None
        numbers = tuple(_numbers(batches)) if joined is None else joined.parts
        if not numbers:
            return
        work: ListingPass[Any] = cached_value(self.folder, self.work)
        parts: Sequence[PassPart] = cached_value(self.folder, self.parts)
        recogniser = Recogniser(self.root_name)
        written: dict[int, ExchangeFile | None] = {}
        found = work.begin()
        try:
            for number in numbers:
                batch = self.folder.read_rows(parts[number].listed)
                columns = recogniser.columns(batch)
                if joined is None:
                    marks = self._read(parts[number].marks, columns)
                    written[number] = None
                else:
                    marks = joined.marks(number, columns, self.others)
                    written[number] = self.folder.write_rows("marks", [marks.written()])
                work.add(found, _marked(batch, columns, marks))
        finally:
            work.end(found)
        yield packed([ExecutorResult(self._value(found), written)])

    def _read(self, marks: ExchangeFile | None, columns: Columns) -> Marks:
        return Marks.none(columns) if marks is None else Marks.read(self.folder.read_rows(marks))

    def _value(self, found: Any) -> bytes | ExchangeFile:
        data = pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)
        return data if len(data) <= _INLINE_BYTES else self.folder.write("values", data)


def _marked(batch: pa.RecordBatch, columns: Columns, marks: Marks) -> MarkedRows:
    return MarkedRows(
        columns=columns,
        folders=_folders(batch),
        in_parsed=marks.in_parsed,
        in_raw=marks.in_raw,
        tombstones=marks.tombstones,
    )


def _folders(batch: pa.RecordBatch) -> tuple[str, ...]:
    """Return the keys of a batch's folders, without their trailing slash."""
    sizes = batch.column("size")
    if not sizes.null_count:
        return ()
    keys = batch.column("key").filter(sizes.is_null()).to_pylist()
    return tuple(key.rstrip("/") for key in keys)
