"""A storage in memory that is listed in the order of its keys, as S3 is, and a spool in memory."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.ports import LISTING_SCHEMA


def a_page(keys: Iterable[str]) -> pa.RecordBatch:
    found = list(keys)
    columns = {"key": found, "size": [1] * len(found), "modified_at": [0] * len(found)}
    return pa.RecordBatch.from_pydict({**columns, "etag": ["e"] * len(found)}, LISTING_SCHEMA)


@dataclass
class OrderedStorage:
    """Keys in memory."""

    keys: list[str]  # ascending
    page_size: int = 1000  # most keys of a page
    # called before each request with its number; may wait, or raise
    before: Callable[[int], None] = lambda _: None
    # ask for the next page before the one at hand is given out, as the real one does
    is_ahead: bool = False
    is_ordered: bool = True
    requests: int = 0  # how many were sent
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _ask(self, start: int) -> list[str]:
        with self._lock:
            self.requests += 1
            number = self.requests
        self.before(number)
        return self.keys[start : start + self.page_size]

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        start = 0 if within.after is None else bisect_right(self.keys, within.after)
        end = len(self.keys)
        end = end if within.until is None else bisect_right(self.keys, within.until)
        ahead = self._ask(start)
        while True:
            keys, start = ahead, start + len(ahead)
            is_last = start >= end
            if not is_last and self.is_ahead:
                ahead = self._ask(start)
            own = keys[: len(keys) - max(0, start - end)]
            if own:
                yield a_page(own)
            if is_last:
                return
            if not self.is_ahead:
                ahead = self._ask(start)

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        del prefix
        return self.pages()


@dataclass
class MemoryPart:
    """A part of a spool in memory."""

    spool: MemorySpool
    rows: int = 0
    batches: list[pa.RecordBatch] = field(default_factory=list)

    def append(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self.batches.append(batch)

    def finish(self, within: KeyRange) -> None:
        with self.spool.lock:
            self.spool.parts.append((within, self.batches))


@dataclass
class MemorySpool:
    """A spool in memory; what is in it before, an interrupted run has left."""

    parts: list[tuple[KeyRange, list[pa.RecordBatch]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rows(self) -> int:
        return sum(batch.num_rows for _, batches in self.parts for batch in batches)

    @property
    def keys(self) -> list[str]:
        return sorted(key for batch in self.batches() for key in batch["key"].to_pylist())

    def part(self) -> MemoryPart:
        return MemoryPart(self)

    def finished(self) -> list[KeyRange]:
        return [within for within, _ in self.parts]

    def batches(self) -> Iterator[pa.RecordBatch]:
        found = [batch for _, batches in self.parts for batch in batches]
        if found:
            yield pa.concat_batches(found)
