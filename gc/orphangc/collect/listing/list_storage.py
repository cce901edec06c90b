"""Lists a whole storage root into a spool: many key ranges in parallel, or one after the other.

Any error of any thread ends them all and is raised, so that there is a whole listing or none.
Finished ranges are kept as they come: with a spool that outlives the run, the next one goes on
where this one was interrupted.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from orphangc.collect.listing.work_stealing import (
    ListingStoppedError,
    RangeCursor,
    RangeScheduler,
    RemainingRange,
)
from orphangc.core.ranges.key_ranges import (
    EVERYTHING,
    KeyRange,
    Landmarks,
    gaps,
    landmarks,
    split_at,
)
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Progress, Spool, Storage
from orphangc.ports.engine import Listed, ListingHints

STREAMS = 32
"""Hide a latency of 50 ms behind the work of one core; more only take memory."""

_RANGES_PER_STREAM = 2
_KNOWN_PER_RANGE = 500
"""Known objects for each range: a range costs a request, and a page has room for a thousand. Where
there are many more objects than are known, ranges are split while they are listed."""

_ROWS_PER_PART = 1 << 16
"""Of a range that is longer, pieces are finished on the way: so much is lost in a crash."""

_PHASE = "listing"
_REPORT_SECONDS = 0.25
_IDLE_SECONDS = 1.0
_PARTING_SECONDS = 2.0
"""Seconds to wait for the threads after a failure: one may be in a long request."""

Note = Callable[[pa.RecordBatch], object]


def list_all(
    storage: Storage,
    spool: Spool,
    *,
    hints: ListingHints,
    streams: int = STREAMS,
    progress: Progress,
    note: Note = lambda _: None,
) -> Listed:
    """List everything into the spool, except the ranges that it has already.

    Args:
        storage: Source of the pages; one without an order is listed in one range.
        hints: Known parts of the key space; wrong ones cost time, and nothing else.
        note: Called with all that is appended, in any thread.

    Raises:
        StorageUnreachableError: It could not be listed completely.
    """
    finished = spool.finished()
    open_ranges = gaps(finished)
    if storage.is_ordered:
        scheduler = _scheduler_of(open_ranges, hints, streams, known=spool.rows)
        RangeLister(storage, spool, scheduler, note).run(streams, progress)
        ranges = scheduler.ranges
    else:
        ranges = len(open_ranges)
        for each in open_ranges:
            _list_in_one(storage, spool, each, progress=progress, note=note)
    if gaps(spool.finished()):
        raise StorageUnreachableError("the listing is not complete: a part of it is missing")
    progress(_PHASE, spool.rows, spool.rows)
    return Listed(objects=spool.rows, is_resumed=bool(finished), ranges=len(finished) + ranges)


def _list_in_one(
    storage: Storage, spool: Spool, within: KeyRange, *, progress: Progress, note: Note
) -> None:
    part = spool.part()
    with closing(storage.objects() if within == EVERYTHING else storage.pages(within)) as pages:
        for page in pages:
            part.append(page)
            note(page)
            progress(_PHASE, part.rows)
    part.finish(within)


@contextmanager
def closing(pages: Iterator[pa.RecordBatch]) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield the pages; end the request that may be under way, if they can."""
    try:
        yield pages
    finally:
        close = getattr(pages, "close", None)
        if close is not None:
            close()


def listing_ranges(known: Landmarks, most: int) -> list[KeyRange]:
    """Return the ranges to begin with: few where few objects are known."""
    wanted = max(1, min(most, int(known.weight) // _KNOWN_PER_RANGE))
    return split_at(EVERYTHING, known.boundaries(wanted))


def _scheduler_of(
    open_ranges: Iterable[KeyRange], hints: ListingHints, streams: int, *, known: int
) -> RangeScheduler:
    marks = landmarks(hints.directories, hints.names, hints.counts)
    ranges = listing_ranges(marks, _RANGES_PER_STREAM * streams)
    ends = [each.until for each in ranges if each.until is not None]
    parts = [part for each in open_ranges for part in split_at(each, ends)]
    return RangeScheduler(parts, marks, known=known)


def list_some(
    storage: Storage, spool: Spool, ranges: list[KeyRange], *, streams: int, most: int
) -> list[RemainingRange]:
    """List ranges of a storage into the spool; return what is left after about ``most`` objects.

    Raises:
        StorageUnreachableError: A range could not be listed.
    """
    if not storage.is_ordered:
        for each in ranges:
            _list_in_one(storage, spool, each, progress=lambda *_: None, note=lambda _: None)
        return []
    scheduler = RangeScheduler(ranges, Landmarks(), most=most)
    RangeLister(storage, spool, scheduler).run(streams, lambda *_: None)
    return scheduler.left


@dataclass(frozen=True, slots=True)
class RangeLister:
    """Lists the ranges of a scheduler, in as many threads as there are streams."""

    storage: Storage
    spool: Spool
    scheduler: RangeScheduler
    note: Note = lambda _: None

    def run(self, streams: int, show: Progress) -> None:
        """Run threads until all is listed; stop them if anything fails here, or in one of them."""
        threads = [
            threading.Thread(target=self._thread, name=f"listing-{number}", daemon=True)
            for number in range(streams)
        ]
        try:
            for thread in threads:
                thread.start()
            while not self.scheduler.wait(_REPORT_SECONDS):
                show(_PHASE, *self.scheduler.progress())
        finally:
            self.scheduler.fail(None)
            deadline = time.monotonic() + _PARTING_SECONDS
            for thread in threads:
                if thread.ident is not None:
                    thread.join(max(0.0, deadline - time.monotonic()))
        if self.scheduler.failure is not None:
            raise self.scheduler.failure

    def _thread(self) -> None:
        try:
            for _ in self.work(patience=_IDLE_SECONDS):
                pass
        except ListingStoppedError:
            pass
        except BaseException as err:  # noqa: BLE001 - raised again where all streams are waited for
            self.scheduler.fail(err)

    def work(self, *, patience: float, rows_per_part: int = _ROWS_PER_PART) -> Iterator[None]:
        """List range after range until all is listed; yield after each page, and when idle."""
        while not self.scheduler.is_over:
            cursor = self.scheduler.take(patience)
            if cursor is None:
                yield
            else:
                yield from self._list_range(cursor, rows_per_part)

    def _list_range(self, cursor: RangeCursor, rows_per_part: int) -> Iterator[None]:
        part, scheduler = self.spool.part(), self.scheduler
        with closing(self.storage.pages(KeyRange(cursor.after, cursor.until))) as pages:
            for page in pages:
                own = self._own_rows(cursor, page)
                part.append(own)
                self.note(own)
                scheduler.took(cursor, own.num_rows)
                if cursor.is_sealed:
                    break
                if scheduler.is_full and cursor.position is not None:
                    part.finish(scheduler.split(cursor))
                    scheduler.leave(cursor)
                    return
                if part.rows >= rows_per_part:
                    part.finish(scheduler.split(cursor))
                    part = self.spool.part()
                yield
        part.finish(scheduler.seal(cursor))
        scheduler.finish(cursor)

    def _own_rows(self, cursor: RangeCursor, page: pa.RecordBatch) -> pa.RecordBatch:
        if not page.num_rows:
            return page
        keys = page.column("key")
        first, last = keys[0].as_py(), keys[-1].as_py()
        until = self.scheduler.advance(cursor, first, last, page.num_rows)
        if until is None or last <= until:
            return page
        end = bisect_right(range(page.num_rows), until, key=lambda at: keys[at].as_py())
        if keys[end].as_py().split("/") < until.split("/"):  # in an order of folders before the cut
            for _ in self.storage.pages(cursor.rest):  # checks the order, as the end is known now
                pass
        return page.slice(0, end)
