"""One pass over the batches of a listing, or of a part of it, on whatever machine they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

from orphangc.collect.listing.marked_cache import MarkedCache
from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.marked_listing import MarkedRows, Marking, marked_rows
from orphangc.ports import Progress
from orphangc.ports.engine import ListingPass

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
