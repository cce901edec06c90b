"""Present facts of single objects of a bucket, and the store's clock."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from orphangc.adapters.files.store_time import store_time
from orphangc.adapters.object_store.bucket import Bucket, RequestError, each
from orphangc.adapters.object_store.bulk_head import HeadResult
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import StorageUnreachableError
from orphangc.ports import StoreTime

_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


class BucketReader:
    """Facts and bytes of single objects below one root."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._is_head_refused = False

    def heads(self, keys: Sequence[ObjectKey]) -> list[HeadResult]:
        """Return for each key the facts, ``None`` if absent, or the error.

        Raises:
            StorageUnreachableError: One is absent, and the bucket is too, or cannot be listed.
        """
        found = each(self.head, keys)
        if None in found:
            self.check_bucket(keys[found.index(None)])
        return found

    def checked(
        self, keys: Sequence[ObjectKey], found: Sequence[HeadResult]
    ) -> list[StoredObject | None]:
        """Return the facts.

        Raises:
            StorageUnreachableError: One of them is an error.
        """
        for key, fact in zip(keys, found, strict=True):
            if isinstance(fact, Exception):
                raise self._bucket.explained(f"stat {key!r} in", fact) from fact
        return [fact if isinstance(fact, StoredObject) else None for fact in found]

    def check_bucket(self, key: str = "") -> None:
        """List one name of the root, or one that starts with a key: a policy may allow no more.

        Raises:
            StorageUnreachableError: The bucket is absent or cannot be listed.
        """
        with self._bucket.translated("list"):
            self._bucket.page(self._bucket.root + key, most=1)

    def read(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of an object, ``None`` if it is absent; see ``Storage``."""
        if self._bucket.unnameable.search(key):
            raise StorageUnreachableError(f"{key!r} cannot be named in a request")
        try:
            return self._bucket.get(self._bucket.root + key, start=start, size=size)
        except RequestError as err:
            if err.status in _REFUSED and self._shown(key) is None:
                return None  # a store refuses what is absent to those who may not read
            if not err.is_absent:
                raise self._bucket.explained(f"read {key!r} in", err) from err
            self.check_bucket(key)
            return None

    def now(self) -> StoreTime:
        """Return the store's time by an answer of the last second; see ``Storage``."""
        if self._bucket.dated is None or not self._bucket.dated.is_fresh:
            self.check_bucket()
        return store_time(self._bucket.dated)

    def head(self, key: ObjectKey) -> HeadResult:
        """Return the facts, ``None`` if absent, or the error.

        A listing shows them to those who may not read the object.
        """
        if self._bucket.unnameable.search(key):
            return self._shown(key)
        if self._is_head_refused and not isinstance(shown := self._shown(key), Exception):
            return shown
        try:
            return self._bucket.head(self._bucket.root + key)
        except RequestError as err:
            shown = self._shown(key) if err.status in _REFUSED else err
            self._is_head_refused = not isinstance(shown, Exception)
            return err if isinstance(shown, Exception) else shown

    def _shown(self, key: ObjectKey) -> HeadResult:
        """Return the facts of an object by a listing, ``None`` if no name starts with it."""
        try:
            page = self._bucket.page(self._bucket.root + key, most=1)
        except RequestError as err:
            return err
        for found in stored_objects(page.rows):
            if found.key == key:
                return found
        if page.rows.num_rows or page.token or not page.is_counted:
            return StorageUnreachableError(f"a listing does not tell whether there is {key!r}")
        return None
