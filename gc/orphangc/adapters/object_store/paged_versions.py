"""Versions and soft-deleted objects of a bucket, from pages that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus

import pyarrow as pa

from orphangc.adapters.object_store.bucket import Bucket, RequestError
from orphangc.adapters.object_store.unlisted import Unlisted
from orphangc.errors import NotReportedError

_UNKNOWN = {HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
"""What a service answers that knows no such listing, or has soft delete switched off."""


class PagedVersions(Unlisted):
    """What is kept of deleted and replaced objects below one root."""

    def __init__(
        self, bucket: Bucket, *listings: Callable[[str], tuple[pa.RecordBatch, str]]
    ) -> None:
        """Take the listings: each returns the page that a token names, and the next token."""
        super().__init__(bucket.location)
        self._bucket = bucket
        self._listings = listings

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield what is kept, a batch each page; see ``Storage``."""
        refused: list[RequestError] = []
        for page_of in self._listings:
            try:
                yield from self._pages(page_of)
            except RequestError as err:
                if not (err.is_forbidden or err.status in _UNKNOWN):
                    raise self._bucket.explained("list versions in", err) from err
                refused.append(err)
        is_forbidden = any(each.is_forbidden for each in refused)
        if is_forbidden or len(refused) == len(self._listings):
            raise NotReportedError(str(refused[0]), is_forbidden=is_forbidden)

    @staticmethod
    def _pages(page_of: Callable[[str], tuple[pa.RecordBatch, str]]) -> Iterator[pa.RecordBatch]:
        token, seen = "", {""}
        while True:
            rows, token = page_of(token)
            yield rows
            if not token:
                return
            if token in seen:
                raise RequestError("the listing is cut off: a page is followed by itself")
            seen.add(token)
