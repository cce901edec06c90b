"""Looks at many S3 objects at once: by listing where they lie close together, else one by one.

A HEAD request tells of one object, a page of a listing of a thousand, and it costs as much as a
dozen of them. Both are answered from what is stored at that moment, with the same facts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.adapters.s3.head import S3Reader
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import StorageUnreachableError

_FEWEST = 32
"""Fewer objects are looked at one by one, all at once."""
_KEYS_A_PAGE = 12
"""Where a page tells of fewer wanted objects than this, HEAD requests cost less."""
_ODD = re.compile(r"[^ -\[\]-~]")
"""A listing spells what is no UTF-8 with a backslash, so such a key may be another one's."""

HeadResult = StoredObject | Exception | None

_log = structlog.get_logger()


class S3BulkHead:
    """Fresh facts of objects of one root; may be used by several threads at once."""

    def __init__(
        self, facts: S3Reader, pages: Callable[[KeyRange], Iterator[pa.RecordBatch]] | None
    ) -> None:
        """Take what asks for single objects, and what lists a key range if the store can."""
        self._facts = facts
        self._pages = pages

    def look(self, keys: Sequence[ObjectKey]) -> list[HeadResult]:
        """Return facts, ``None`` where absent, or the error, for each key.

        Raises:
            StorageUnreachableError: The bucket is absent or cannot be listed.

        """
        found: dict[ObjectKey, HeadResult] = {}
        plain = [key for key in keys if key and not _ODD.search(key)]
        if self._pages is not None and len(plain) >= _FEWEST:
            found.update(self._listed(sorted(plain)))
        left = [key for key in keys if key not in found]
        found.update(zip(left, self._facts.heads(left), strict=True))
        return [found[key] for key in keys]

    def _listed(self, wanted: list[ObjectKey]) -> dict[ObjectKey, StoredObject | None]:
        """Return what a listing tells, until its pages tell too little."""
        assert self._pages is not None  # noqa: S101 - asked by the caller
        told: list[StoredObject] = []
        covered, value_set = 0, pa.array(wanted, pa.string())
        within = KeyRange(wanted[0][:-1], wanted[-1])
        try:
            for number, page in enumerate(self._pages(within), start=1):
                told += stored_objects(page.filter(pc.is_in(page["key"], value_set=value_set)))
                covered = bisect_right(wanted, page["key"][-1].as_py())
                if covered < number * _KEYS_A_PAGE:
                    break
            else:
                covered = len(wanted)
        except StorageUnreachableError as err:
            _log.warning("look.listing_failed", reason=str(err))
        found: dict[ObjectKey, StoredObject | None] = dict.fromkeys(wanted[:covered])
        found.update((each.key, each) for each in told)
        return found
