"""Lists a whole storage root into a spool: many key ranges in parallel, or one after the other.

Any error of any thread ends them all and is raised, so that there is a whole listing or none.
Finished ranges are kept as they come: with a spool that outlives the run, the next one goes on
where this one was interrupted.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

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


def list_all(
    storage: Storage,
    spool: Spool,
    *,
    hints: ListingHints,
    streams: int = STREAMS,
    progress: Progress,
) -> Listed:
    """List everything into the spool, except the ranges that it has already.

    Args:
        storage: Source of the pages; one without an order is listed in one range.
        hints: Known parts of the key space; wrong ones cost time, and nothing else.

    Raises:
        StorageUnreachableError: It could not be listed completely.
    """
    finished = spool.finished()
    open_ranges = gaps(finished)
    if storage.is_ordered:
        ranges = _list_in_many(storage, spool, open_ranges, hints, streams=streams, show=progress)
    else:
        ranges = sum(_list_in_one(storage, spool, each, progress) for each in open_ranges)
    if gaps(spool.finished()):
        raise StorageUnreachableError("the listing is not complete: a part of it is missing")
    progress(_PHASE, spool.rows, spool.rows)
    return Listed(objects=spool.rows, is_resumed=bool(finished), ranges=len(finished) + ranges)


def _list_in_one(storage: Storage, spool: Spool, within: KeyRange, progress: Progress) -> int:
    part = spool.part()
    with closing(storage.objects() if within == EVERYTHING else storage.pages(within)) as pages:
        for page in pages:
            part.append(page)
            progress(_PHASE, part.rows)
    part.finish(within)
    return 1


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


def _list_in_many(
    storage: Storage,
    spool: Spool,
    open_ranges: list[KeyRange],
    hints: ListingHints,
    *,
    streams: int,
    show: Progress,
) -> int:
    known = landmarks(hints.directories, hints.names, hints.counts)
    ends = [
        each.until
        for each in listing_ranges(known, _RANGES_PER_STREAM * streams)
        if each.until is not None
    ]
    scheduler = RangeScheduler(
        [part for each in open_ranges for part in split_at(each, ends)], known, known=spool.rows
    )
    _run(storage, spool, scheduler, streams=streams, show=show)
    return scheduler.ranges


def list_some(
    storage: Storage, spool: Spool, ranges: list[KeyRange], *, streams: int, most: int
) -> list[RemainingRange]:
    """List ranges of a storage into the spool; return what is left after about ``most`` objects.

    Raises:
        StorageUnreachableError: A range could not be listed.
    """
    if not storage.is_ordered:
        for each in ranges:
            _list_in_one(storage, spool, each, lambda *_: None)
        return []
    scheduler = RangeScheduler(ranges, Landmarks(), most=most)
    _run(storage, spool, scheduler, streams=streams, show=lambda *_: None)
    return scheduler.left


def _run(
    storage: Storage, spool: Spool, scheduler: RangeScheduler, *, streams: int, show: Progress
) -> None:
    """Run threads until all is listed; stop them if anything fails here, or in one of them."""
    threads = [
        threading.Thread(
            target=_work, args=(storage, spool, scheduler), name=f"listing-{number}", daemon=True
        )
        for number in range(streams)
    ]
    try:
        for thread in threads:
            thread.start()
        while not scheduler.wait(_REPORT_SECONDS):
            show(_PHASE, *scheduler.progress())
    finally:
        scheduler.fail(None)
        deadline = time.monotonic() + _PARTING_SECONDS
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
    if scheduler.failure is not None:
        raise scheduler.failure


def _work(storage: Storage, spool: Spool, scheduler: RangeScheduler) -> None:
    try:
        for _ in work(storage, spool, scheduler, patience=_IDLE_SECONDS):
            pass
    except ListingStoppedError:
        pass
    except BaseException as err:  # noqa: BLE001 - raised again where all streams are waited for
        scheduler.fail(err)


def work(
    storage: Storage,
    spool: Spool,
    scheduler: RangeScheduler,
    *,
    patience: float,
    rows_per_part: int = _ROWS_PER_PART,
) -> Iterator[None]:
    """List range after range until all is listed; yield after each page, and when idle."""
    while not scheduler.is_over:
        cursor = scheduler.take(patience)
        if cursor is None:
            yield
        else:
            yield from _list_range(storage, spool, scheduler, cursor, rows_per_part=rows_per_part)


def _list_range(
    storage: Storage,
    spool: Spool,
    scheduler: RangeScheduler,
    cursor: RangeCursor,
    *,
    rows_per_part: int,
) -> Iterator[None]:
    part = spool.part()
    with closing(storage.pages(KeyRange(cursor.after, cursor.until))) as pages:
        for page in pages:
            own = _own_rows(scheduler, cursor, page)
            part.append(own)
            scheduler.took(cursor, own.num_rows)
            if cursor.is_sealed:
                break
            if scheduler.is_full and cursor.position is not None:
                part.finish(scheduler.split(cursor))
                scheduler.leave(cursor)
                return
            if part.rows >= rows_per_part:
                part.finish(scheduler.split(cursor))
                part = spool.part()
            yield
    part.finish(scheduler.seal(cursor))
    scheduler.finish(cursor)


def _own_rows(
    scheduler: RangeScheduler, cursor: RangeCursor, page: pa.RecordBatch
) -> pa.RecordBatch:
    if not page.num_rows:
        return page
    keys = page.column("key")
    first, last = keys[0].as_py(), keys[-1].as_py()
    until = scheduler.advance(cursor, first, last, page.num_rows)
    if until is None or last <= until:
        return page
    return page.slice(0, bisect_right(range(page.num_rows), until, key=lambda at: keys[at].as_py()))
