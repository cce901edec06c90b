"""Temporary rows in Arrow files, which memory should not hold, and shards of them.

A shard is a range of keys, and small enough for memory.
"""

import uuid
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
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


ROWS_A_SHARD = 250_000
"""Rows of one kind that are held in memory at a time: some 60 MB."""

_SAMPLED = 256
"""Number of rows for each remembered key; shards are split at remembered keys."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where the shards end.

    Attributes:
        keys: Keys in ascending order; shard i holds the keys k with ``keys[i - 1] <= k < keys[i]``.
    """

    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, sample: Iterable[str], rows: int) -> Self:
        """Return the cuts that give shards of about ``ROWS_A_SHARD`` of ``rows`` rows."""
        ordered = sorted(sample)
        shards = -(-rows // ROWS_A_SHARD)
        at = (len(ordered) * number // shards for number in range(1, shards))
        return cls(tuple(sorted({ordered[index] for index in at})))

    def parts(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of a batch that has a column ``key``, shard by shard."""
        if not self.keys:
            yield 0, batch
            return
        ordered = by_key(batch)
        keys = ordered["key"]
        begin, count = 0, ordered.num_rows
        while begin < count:
            shard = bisect_right(self.keys, keys[begin].as_py())
            end = count
            if shard < len(self.keys):
                cut = self.keys[shard]
                end = begin + pc.sum(pc.less(keys.slice(begin), cut)).as_py()
            yield shard, ordered.slice(begin, end - begin)
            begin = end


def by_key(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in the order of its keys' UTF-8 bytes."""
    keys = batch["key"]
    if pc.all(pc.less_equal(keys[:-1], keys[1:]), min_count=0).as_py():
        return batch
    return batch.take(pc.sort_indices(keys))


@dataclass(slots=True)
class Shards:
    """Rows of one schema in piles, one a shard; picklable once it is closed."""

    scratch: TemporarySpace
    schema: pa.Schema
    cuts: Cuts
    piles: dict[int, TemporaryRows] = field(default_factory=dict)

    def write(self, batch: pa.RecordBatch) -> None:
        """Put rows aside."""
        if not batch.num_rows:
            return
        for shard, rows in self.cuts.parts(batch):
            if shard not in self.piles:
                self.piles[shard] = self.scratch.rows(self.schema)
            self.piles[shard].append(rows)

    def close(self) -> None:
        """End the writing."""
        for pile in self.piles.values():
            pile.close()


def shard_of(
    parts: Sequence[Shards], number: int, schema: pa.Schema, *, among: pa.Array | None = None
) -> pa.RecordBatch:
    """Return the rows of one shard of several workers' piles, by key.

    Args:
        among: Keys that are wanted; ``None`` for all.
    """
    batches = [
        batch if among is None else batch.filter(pc.is_in(batch["key"], value_set=among))
        for each in parts
        if number in each.piles
        for batch in each.piles[number].batches()
    ]
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    return by_key(next(iter(table.to_batches()), pa.RecordBatch.from_pylist([], schema=schema)))


def shelved(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, scratch: TemporarySpace
) -> Shards:
    """Return rows that came in any order, in temporary shards of about equal size."""
    sample: list[str] = []
    rows = 0
    pile = scratch.rows(schema)
    for batch in batches:
        if batch.num_rows:
            pile.append(batch)
            sample += batch["key"].take(pa.array(range(0, batch.num_rows, _SAMPLED))).to_pylist()
            rows += batch.num_rows
    pile.close()
    cuts = Cuts.of(sample, rows)
    if not cuts.keys:
        return Shards(scratch, schema, cuts, {0: pile})
    shards = Shards(scratch, schema, cuts)
    for batch in pile.batches():
        shards.write(batch)
    shards.close()
    return shards
