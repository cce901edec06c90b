"""Listings of S3: every page or an error, every key unchanged.

The page loop checks the tokens, and the order of keys in a key range. obstore would be about as
fast, but it silently renames keys: ``x/`` and ``/x`` become ``x``.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orphangc.adapters.s3.pages.list_requests import AdaptivePageSize, ListRequests, Query
from orphangc.adapters.s3.pages.page_parser import Page, read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page
from orphangc.adapters.s3.requests.s3_client import S3Client
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import StorageUnreachableError

_WORTH_A_THREAD = 0.01
"""Seconds: a store that answers sooner needs no prefetch in another thread."""

_UNNAMEABLE = re.compile("[\x00-\x1f\x7f\ufffe\uffff].*", re.DOTALL)
"""Characters that XML cannot hold, and the rest: some stores repeat ``StartAfter`` unescaped."""


class S3Pages:
    """Reads the pages of one bucket; may be used by many threads at once.

    Attributes:
        read_by: Number of pages by reader: ``bytes``, ``botocore``.

    """

    def __init__(
        self,
        client: S3Client,
        *,
        is_fast: bool = True,
        on_request: Callable[[], None] = lambda: None,
    ) -> None:
        self._is_fast = is_fast
        self._requests = ListRequests(client, on_request=on_request)
        with client.translated("open"):
            self._shape: Any = client.output_shape("ListObjectsV2")
        self._lock = threading.Lock()
        self.read_by: Counter[str] = Counter()

    def pages(self, prefix: str, *, delimiter: str = "", root: str = "") -> Iterator[Page]:
        """Yield all pages of the keys that start with ``prefix``, relative to ``root``.

        If the store answers slowly, the next page is prefetched.

        Raises:
            StorageUnreachableError: Any page failed, or the pages do not add up.

        """
        query = {"Prefix": prefix, "EncodingType": "url"}
        if delimiter:
            query["Delimiter"] = delimiter
        return self._stream(query, partial(self._read, prefix=prefix, root=root))

    def first(self, root: str) -> Page:
        """Return the first page of all keys that start with ``root``, relative to it.

        Raises:
            StorageUnreachableError: The page failed.

        """
        query = {"Prefix": root, "EncodingType": "url"}
        read = partial(self._read, prefix=root, root=root)
        return self._requests.fetch(query, read=read, page_size=AdaptivePageSize())

    def range(self, root: str, within: KeyRange) -> Iterator[Page]:
        """Yield the pages of a key range below ``root``, in ascending order of their bytes.

        Pages of a true key range are not prefetched: other ranges are listed at the same time.

        Raises:
            StorageUnreachableError: See ``pages``; also if keys do not ascend.

        """
        query = {"Prefix": root, "EncodingType": "url"}
        after = None if within.after is None else _UNNAMEABLE.sub("", within.after)
        if after is not None and root + after:
            query["StartAfter"] = root + after
        read = partial(self._read, prefix=root, root=root)
        clip = _RangeFilter(KeyRange(after), within)
        return self._stream(query, read, clip=clip, is_ahead=within == EVERYTHING)

    def _stream(
        self,
        query: Query,
        read: Callable[[bytes], Page],
        *,
        clip: Callable[[Page], tuple[Page, bool]] = lambda page: (page, False),
        is_ahead: bool = True,
    ) -> Iterator[Page]:
        """Yield pages until the last one, or until ``clip`` returns that the range has ended."""
        seen: set[str] = set()
        page_size = AdaptivePageSize()
        fetch = partial(self._requests.fetch, read=read, page_size=page_size)
        following: Callable[[], Page] = partial(fetch, query)
        while True:
            page = following()
            token = next_token(page, seen)
            page, is_over = clip(page)
            if token is None or is_over:
                yield page
                return
            following = partial(fetch, {**query, "ContinuationToken": token})
            if is_ahead and page_size.seconds > _WORTH_A_THREAD:
                following = _started(following)
            yield page

    def _read(self, body: bytes, *, prefix: str, root: str) -> Page:
        with self._lock:  # sixty threads in turn cost less than sixty that compete
            page = read_page(body, prefix, root=root) if self._is_fast else None
            self.read_by["botocore" if page is None else "bytes"] += 1
        return parse_page(body, prefix, self._shape, root=root) if page is None else page


def next_token(page: Page, seen: set[str]) -> str | None:
    """Return the token of the following page, ``None`` after the last; remember it in ``seen``.

    Raises:
        StorageUnreachableError: A further page exists, but the token is absent or was used before.

    """
    if not page.is_truncated:
        return None
    if not page.token or page.token in seen:
        follower = "itself" if page.token else "none"
        raise StorageUnreachableError(f"the listing is cut off: a page is followed by {follower}")
    seen.add(page.token)
    return page.token


def _started(fetch: Callable[[], Page]) -> Callable[[], Page]:
    """Start fetching in a daemon thread; return a function that waits for the page."""
    future: Future[Page] = Future()

    def run() -> None:
        try:
            future.set_result(fetch())
        except BaseException as err:  # noqa: BLE001 - raised where the page is waited for
            future.set_exception(err)

    threading.Thread(target=run, name="list-ahead", daemon=True).start()
    return future.result


class _RangeFilter:
    """Reduces the pages of one listing to a key range, and checks their order."""

    def __init__(self, asked: KeyRange, within: KeyRange) -> None:
        self._last = _encoded(asked.after)
        self._after, self._until = _encoded(within.after), _encoded(within.until)

    def __call__(self, page: Page) -> tuple[Page, bool]:
        """Return the part of a page in the range, and whether the range has ended."""
        keys = page.keys
        if not len(keys):
            return page, False
        self._check_order(keys)
        begin, end, is_over = 0, len(keys), False
        if self._after is not None and keys[0].as_py() <= self._after:
            begin = _count(keys, self._after)
        if self._until is not None and self._last is not None and self._last >= self._until:
            end, is_over = _count(keys, self._until), True
        if (begin, end) == (0, len(keys)):
            return page, is_over
        count = max(end - begin, 0)
        return replace(
            page, objects=page.objects.slice(begin, count), keys=keys.slice(begin, count)
        ), is_over

    def _check_order(self, keys: pa.BinaryArray) -> None:
        first, last = keys[0].as_py(), keys[-1].as_py()
        is_ascending = pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py()
        if not is_ascending or (self._last is not None and first <= self._last):
            raise StorageUnreachableError(
                f"the store is not ordered: it lists {first!r} to {last!r} after {self._last!r}"
            )
        self._last = last


def _encoded(key: str | None) -> bytes | None:
    return None if key is None else key.encode()


def _count(keys: pa.BinaryArray, until: bytes) -> int:
    """Return the number of ascending keys that are not greater than ``until``."""
    return int(pc.sum(pc.less_equal(keys, until)).as_py())
