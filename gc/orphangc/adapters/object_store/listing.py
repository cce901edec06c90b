"""Listings of a bucket: every page or an error, every key unchanged."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.object_store.bucket import Bucket, BucketPage, PageRequest, all_answers
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import StorageUnreachableError

_WORTH_A_THREAD = 0.01
"""Seconds: a store that answers sooner needs no prefetch in another thread."""
_TIMES = 3
"""How often a cut is compared that objects come and go at."""
NO_TEXT = re.compile("[\x00-\x1f\x7f\ufffe\uffff].*", re.DOTALL)
"""Characters that XML cannot hold, and the rest: some stores repeat them unescaped."""


def all_pages(bucket: Bucket, asked: PageRequest, *, is_ahead: bool = True) -> Iterator[BucketPage]:
    """Yield every page of a listing, from its first one on; a page may be empty.

    Args:
        is_ahead: Whether a store that answers slowly is asked for the next page meanwhile.

    Raises:
        StorageUnreachableError: A page failed, or is followed by itself.
    """
    ahead: Callable[[], BucketPage] | None = None

    def page_of(token: str) -> tuple[BucketPage, str]:
        nonlocal ahead
        begun = time.monotonic()
        page = ahead() if ahead else bucket.page(replace(asked, token=token))
        is_slow = time.monotonic() - begun > _WORTH_A_THREAD
        following = partial(bucket.page, replace(asked, token=page.token))
        ahead = _started(following) if page.token and is_ahead and is_slow else None
        return page, page.token

    with bucket.translated("list"):
        yield from all_answers(page_of, "")


def _started(fetch: Callable[[], BucketPage]) -> Callable[[], BucketPage]:
    """Start fetching in a daemon thread; return a function that waits for the page."""
    future: Future[BucketPage] = Future()

    def run() -> None:
        try:
            future.set_result(fetch())
        except BaseException as err:  # noqa: BLE001 - raised where the page is waited for
            future.set_exception(err)

    threading.Thread(target=run, name="list-ahead", daemon=True).start()
    return future.result


def range_rows(bucket: Bucket, within: KeyRange) -> Iterator[pa.RecordBatch]:
    """Yield the objects of a key range in ascending order of their bytes, page by page.

    Pages of a true key range are not prefetched: other ranges are listed at the same time.

    Raises:
        StorageUnreachableError: As ``all_pages``; also if keys do not ascend, or the order is that
            of folders.
    """
    after = None if within.after is None else NO_TEXT.sub("", within.after)
    start = "" if after is None else bucket.root + after
    end = "" if within.until is None else bucket.root + within.until
    asked = PageRequest(bucket.root, start=start, end=end)
    pages = all_pages(bucket, asked, is_ahead=within == EVERYTHING)
    least, until = _encoded(after), _encoded(within.until)
    last: bytes | None = None
    shown = after
    for page in pages:
        if not page.rows.num_rows:
            continue
        last = _checked(page.keys, least, last)
        begin = 0 if within.after is None else _count(page.keys, within.after.encode())
        end_row = len(page.keys) if until is None else _count(page.keys, until)
        shown = page.rows["key"][end_row - 1].as_py() if end_row else shown
        if within.until is not None and end_row < len(page.keys):
            _check_cut(bucket, shown, within.until, page.rows["key"][end_row].as_py())
        if begin < end_row:
            yield page.rows.slice(begin, end_row - begin)
        if until is not None and last >= until:
            return


def _check_cut(bucket: Bucket, shown: str | None, until: str, behind: str) -> None:
    """Make sure that what is shown behind a cut is also shown to who begins at the cut.

    A store that keeps keys in folders lists ``a/x`` before ``a-b/y``, and by their bytes it comes
    behind: a listing that begins at ``a-b/`` never shows it. Elsewhere both orders agree.

    Raises:
        StorageUnreachableError: It is not shown, or objects come and go there.
    """
    if behind.split("/") > until.split("/"):
        return
    before: str | None = behind
    for _ in range(_TIMES):
        if _first_behind(bucket, until, start=until) == before:
            return
        before = _first_behind(bucket, until, start=shown or "")
    raise StorageUnreachableError(
        f"the store is not ordered: it lists {before!r} before {until!r}, and not behind it"
    )


def _first_behind(bucket: Bucket, until: str, *, start: str) -> str | None:
    asked = PageRequest(bucket.root, start=bucket.root + NO_TEXT.sub("", start))
    pages = all_pages(bucket, asked, is_ahead=False)
    keys = (key for page in pages for key in page.rows["key"].to_pylist())
    return next((key for key in keys if key > until), None)


def _encoded(key: str | None) -> bytes | None:
    return None if key is None else key.encode()


def _checked(keys: pa.BinaryArray, least: bytes | None, last: bytes | None) -> bytes:
    """Return the last key of a page, whose keys must ascend by their bytes from ``least`` on."""
    first, final = keys[0].as_py(), keys[-1].as_py()
    is_ascending = pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py()
    if (
        not is_ascending
        or (last is not None and first <= last)
        or (least is not None and first < least)
    ):
        raise StorageUnreachableError(
            f"the store is not ordered: it lists {first!r} to {final!r} after {last or least!r}"
        )
    return bytes(final)


def _count(keys: pa.BinaryArray, until: bytes) -> int:
    if keys[0].as_py() > until:
        return 0
    if keys[-1].as_py() <= until:
        return len(keys)
    return int(pc.sum(pc.less_equal(keys, until)).as_py())
