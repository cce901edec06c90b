"""Lists several key ranges at once in one process: while one request waits, another is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Full, Queue
from threading import Event

import pyarrow as pa

from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.core.ranges.split_points import Scale, scale_of
from orphangc.ports import Storage

_PATIENCE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class RemainingRange:
    """Remainder of a heavy range after its maximum number of pages.

    Attributes:
        within: Range that is not listed yet.
        scale: Distribution of the names seen so far.
        objects: Estimated number of remaining objects, by the density seen so far.

    """

    within: KeyRange
    scale: Scale
    objects: float


@dataclass(slots=True)
class RangeReaders:
    """Reads the pages of several ranges, in no order.

    Attributes:
        lister: Storage that lists the ranges.
        most_pages: Maximum number of pages of a range; ``None`` lists all of it.
        rests: Remainders of heavy ranges, complete when all pages are taken.

    """

    lister: Storage
    most_pages: int | None
    rests: list[RemainingRange] = field(default_factory=list)
    _is_given_up: Event = field(default_factory=Event)

    def pages(self, ranges: Sequence[KeyRange], streams: int) -> Iterator[pa.RecordBatch]:
        """Yield the pages of all ranges, with ``streams`` ranges at a time.

        Raises:
            StorageUnreachableError: A range could not be listed.

        """
        ready: Queue[pa.RecordBatch | BaseException | None] = Queue(2 * streams)
        pool = ThreadPoolExecutor(streams)
        try:
            for within in ranges:
                pool.submit(self._read, within, ready)
            left = len(ranges)
            while left:
                found = ready.get()
                if isinstance(found, BaseException):
                    raise found
                if found is None:
                    left -= 1
                else:
                    yield found
        finally:
            self._is_given_up.set()
            pool.shutdown(cancel_futures=True)

    def _read(self, within: KeyRange, ready: Queue[pa.RecordBatch | BaseException | None]) -> None:
        """Put the pages of a range, then ``None``; or its error."""
        try:
            for page in self._some_pages(within):
                self._put(page, ready)
                if self._is_given_up.is_set():
                    return
            self._put(None, ready)
        except BaseException as err:  # noqa: BLE001 - raised again where the pages are taken
            self._put(err, ready)

    def _put(
        self,
        what: pa.RecordBatch | BaseException | None,
        ready: Queue[pa.RecordBatch | BaseException | None],
    ) -> None:
        """Put an item when the queue has room, unless the reader has stopped."""
        while not self._is_given_up.is_set():
            try:
                ready.put(what, timeout=_PATIENCE_SECONDS)
            except Full:
                continue
            return

    def _some_pages(self, within: KeyRange) -> Iterator[pa.RecordBatch]:
        """Yield the maximum number of pages of a range, and record its remainder."""
        first = last = None
        seen = 0
        for number, page in enumerate(self.lister.pages(within), start=1):
            if page.num_rows:
                keys = page.column("key")
                first = keys[0].as_py() if first is None else first
                last = keys[-1].as_py()
                seen += page.num_rows
            yield page
            if number == self.most_pages and first is not None and last is not None:
                self._leave(KeyRange(last, within.until), first, seen)
                return

    def _leave(self, within: KeyRange, first: str, seen: int) -> None:
        if within.is_empty or within.after is None:
            return
        scale = scale_of(first, within.after)
        done = scale.at(within.after) - scale.at(first)
        left = scale.at(within.until) - scale.at(within.after)
        objects = seen * left / done if done > 0 else seen
        self.rests.append(RemainingRange(within, scale, objects))
