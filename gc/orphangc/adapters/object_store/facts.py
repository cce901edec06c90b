"""Present facts of objects of a bucket, and the store's clock.

Those of many are taken from a listing where keys are close together, else by HEAD. A HEAD request
answers for one object; a page of a listing answers for a thousand and costs as much as a dozen
HEAD requests. Both show the present objects, with the same facts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.adapters.object_store.answer_clock import store_time
from orphangc.adapters.object_store.bucket import Bucket, PageRequest, RequestError, each
from orphangc.adapters.object_store.listing import range_rows
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import StorageUnreachableError
from orphangc.ports import StoreTime

_FEWEST = 32
"""Fewer objects get a HEAD request each, all at once."""
_KEYS_A_PAGE = 12
"""If a page holds fewer wanted objects, HEAD requests cost less."""
_ODD = re.compile(r"[^ -\[\]-~]")
"""A listing writes bytes that are no UTF-8 with a backslash, so such a key is ambiguous."""

HeadResult = StoredObject | Exception | None

_log = structlog.get_logger()


class BucketFacts(Bucket):
    """Facts and bytes of objects below one root; may be used by several threads at once."""

    _may_list = True
    _is_head_refused = False

    def avoid_listing(self) -> None:
        """Look no facts up in a listing; see ``Storage``."""
        self._may_list = False

    def heads(self, keys: Sequence[ObjectKey]) -> list[HeadResult]:
        """Return for each key the facts, ``None`` if absent, or the error.

        Raises:
            StorageUnreachableError: The bucket is absent or cannot be listed.
        """
        found: dict[ObjectKey, HeadResult] = {}
        plain = [key for key in keys if key and not _ODD.search(key)]
        if len(plain) >= _FEWEST and self._may_list and self.is_ordered:
            found.update(self._listed(sorted(plain)))
        left = [key for key in keys if key not in found]
        asked = each(self.facts_of, left)
        if None in asked:
            self.check_bucket(left[asked.index(None)])
        found.update(zip(left, asked, strict=True))
        return [found[key] for key in keys]

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        found = self.heads(keys)
        for key, fact in zip(keys, found, strict=True):
            if isinstance(fact, Exception):
                raise self.explained(f"stat {key!r} in", fact) from fact
        return [fact if isinstance(fact, StoredObject) else None for fact in found]

    def check_bucket(self, key: str = "") -> None:
        """List one name, as a policy may allow no more, or raise ``StorageUnreachableError``."""
        with self.translated("list"):
            self.page(PageRequest(self.root + key, most=1))

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of an object; see ``Storage``."""
        if size < 1:
            return b""
        if self.unnameable.search(key):
            raise StorageUnreachableError(f"{key!r} cannot be named in a request")
        try:
            return self.get(self.root + key, start=start, size=size)
        except RequestError as err:
            if err.is_forbidden and self._shown(key) is None:
                return None  # a store refuses what is absent to those who may not read
            if not err.is_absent:
                raise self.explained(f"read {key!r} in", err) from err
            self.check_bucket(key)
            return None

    def now(self) -> StoreTime:
        """Return the store's time by an answer of the last second; see ``Storage``."""
        if self.dated is None or not self.dated.is_fresh:
            self.check_bucket()
        return store_time(self.dated)

    def facts_of(self, key: ObjectKey) -> HeadResult:
        """Return the facts, ``None`` if absent, or the error.

        A listing shows them to those who may not read the object.
        """
        if self.unnameable.search(key):
            return self._shown(key)
        if self._is_head_refused and not isinstance(shown := self._shown(key), Exception):
            return shown
        try:
            return self.head(self.root + key)
        except RequestError as err:
            shown = self._shown(key) if err.is_forbidden else err
            self._is_head_refused = not isinstance(shown, Exception)
            return err if isinstance(shown, Exception) else shown

    def _shown(self, key: ObjectKey) -> HeadResult:
        """Return the facts of an object by a listing, ``None`` if no name starts with it."""
        try:
            page = self.page(PageRequest(self.root + key, most=1))
        except RequestError as err:
            return err
        for found in stored_objects(page.rows):
            if found.key == key:
                return found
        if page.rows.num_rows or page.token or not page.is_counted:
            return StorageUnreachableError(f"a listing does not tell whether there is {key!r}")
        return None

    def _listed(self, wanted: list[ObjectKey]) -> dict[ObjectKey, StoredObject | None]:
        """Return facts by listing, until its pages hold too few wanted keys."""
        listed: list[StoredObject] = []
        covered, value_set = 0, pa.array(wanted, pa.string())
        within = KeyRange(wanted[0][:-1], wanted[-1])
        try:
            for number, page in enumerate(range_rows(self, within), start=1):
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
