"""Listings of a bucket: every page or an error, every key unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.object_store.bucket import Bucket, BucketPage, RequestError
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import StorageUnreachableError


def all_pages(
    bucket: Bucket, prefix: str, *, start: str = "", end: str = "", delimiter: str = ""
) -> Iterator[BucketPage]:
    """Yield every page of the names that start with ``prefix``; a page may be empty.

    Raises:
        StorageUnreachableError: A page failed, or is followed by itself.

    """
    token, seen = "", {""}
    while True:
        with bucket.translated("list"):
            page = bucket.page(prefix, token=token, start=start, end=end, delimiter=delimiter)
            token = page.token
            if token and token in seen:
                raise RequestError("the listing is cut off: a page is followed by itself")
        yield page
        if not token:
            return
        seen.add(token)


def range_rows(bucket: Bucket, within: KeyRange) -> Iterator[pa.RecordBatch]:
    """Yield the objects of a key range in ascending order, page by page.

    Raises:
        StorageUnreachableError: As ``all_pages``; also if keys do not ascend.

    """
    start = "" if within.after is None else bucket.root + within.after
    end = "" if within.until is None else bucket.root + within.until
    last: str | None = None
    for page in all_pages(bucket, bucket.root, start=start, end=end):
        if not page.rows.num_rows:
            continue
        last = _checked(page.rows["key"], last)
        rows = _clipped(page.rows, within)
        if rows.num_rows:
            yield rows
        if within.until is not None and last >= within.until:
            return


def _checked(keys: pa.StringArray, last: str | None) -> str:
    """Return the last key of a page.

    Raises:
        StorageUnreachableError: The keys do not ascend by their bytes.

    """
    first, final = keys[0].as_py(), keys[-1].as_py()
    is_ascending = pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py()
    if not is_ascending or (last is not None and first <= last):
        raise StorageUnreachableError(
            f"the store is not ordered: it lists {first!r} to {final!r} after {last!r}"
        )
    return str(final)


def _clipped(rows: pa.RecordBatch, within: KeyRange) -> pa.RecordBatch:
    """Return the rows of a page that are in a range."""
    keys = rows["key"]
    begin = 0 if within.after is None else _count(keys, within.after)
    end = len(keys) if within.until is None else _count(keys, within.until)
    return rows.slice(begin, max(end - begin, 0))


def _count(keys: pa.StringArray, until: str) -> int:
    """Return the number of ascending keys that are not greater than ``until``."""
    return int(pc.sum(pc.less_equal(keys, pa.scalar(until))).as_py())
