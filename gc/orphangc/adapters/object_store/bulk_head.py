"""Present facts of many objects: by a listing where keys are close together, else by HEAD.

A HEAD request answers for one object. A page of a listing answers for a thousand and costs as much
as a dozen HEAD requests. Both show the present objects, with the same facts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import StorageUnreachableError

_FEWEST = 32
"""Fewer objects get a HEAD request each, all at once."""
_KEYS_A_PAGE = 12
"""If a page holds fewer wanted objects, HEAD requests cost less."""
_ODD = re.compile(r"[^ -\[\]-~]")
"""A listing writes bytes that are no UTF-8 with a backslash, so such a key is ambiguous."""

HeadResult = StoredObject | Exception | None

_log = structlog.get_logger()


class HeadReader(Protocol):
    """Reads the facts of single objects."""

    def heads(self, keys: Sequence[ObjectKey]) -> list[HeadResult]:
        """Return for each key the facts, ``None`` if absent, or the error."""
        ...

    def checked(
        self, keys: Sequence[ObjectKey], found: Sequence[HeadResult]
    ) -> list[StoredObject | None]:
        """Return the facts; raise ``StorageUnreachableError`` if one of them is an error."""
        ...


class BulkHead:
    """Present facts of objects below one root; may be used by several threads at once."""

    def __init__(
        self, reader: HeadReader, pages: Callable[[KeyRange], Iterator[pa.RecordBatch]] | None
    ) -> None:
        """Take the reader of single objects, and the lister of key ranges if the store has an
        order.
        """
        self._reader = reader
        self._pages = pages

    def avoid_listing(self) -> None:
        """Send a HEAD request for each object from now on, however close its keys are."""
        self._pages = None

    def heads(self, keys: Sequence[ObjectKey]) -> list[HeadResult]:
        """Return for each key the facts, ``None`` if absent, or the error.

        Raises:
            StorageUnreachableError: The bucket is absent or cannot be listed.
        """
        found: dict[ObjectKey, HeadResult] = {}
        plain = [key for key in keys if key and not _ODD.search(key)]
        if self._pages is not None and len(plain) >= _FEWEST:
            found.update(self._listed(sorted(plain)))
        left = [key for key in keys if key not in found]
        found.update(zip(left, self._reader.heads(left), strict=True))
        return [found[key] for key in keys]

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        return self._reader.checked(keys, self.heads(keys))

    def _listed(self, wanted: list[ObjectKey]) -> dict[ObjectKey, StoredObject | None]:
        """Return facts by listing, until its pages hold too few wanted keys."""
        assert self._pages is not None  # noqa: S101 - asked by the caller
        listed: list[StoredObject] = []
        covered, value_set = 0, pa.array(wanted, pa.string())
        within = KeyRange(wanted[0][:-1], wanted[-1])
        try:
            for number, page in enumerate(self._pages(within), start=1):
                listed += stored_objects(page.filter(pc.is_in(page["key"], value_set=value_set)))
                covered = bisect_right(wanted, page["key"][-1].as_py())
                if covered < number * _KEYS_A_PAGE:
                    break
            else:
                covered = len(wanted)
        except StorageUnreachableError as err:
            _log.warning("heads.listing_failed", reason=str(err))
        found: dict[ObjectKey, StoredObject | None] = dict.fromkeys(wanted[:covered])
        found.update((each.key, each) for each in listed)
        return found
