"""Facts and bytes of single S3 objects, and the store's clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import stamina

from orphangc.adapters.files.store_time import store_time
from orphangc.adapters.s3.head_requests import ABSENT, HeadRequests
from orphangc.adapters.s3.requests.s3_client import CALL_ERRORS, Answer, S3Client, error_code
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import known
from orphangc.errors import StorageUnreachableError
from orphangc.ports import StoreTime

_FORBIDDEN = {"403", "AccessDenied", "Forbidden"}
_BEHIND_THE_END = "InvalidRange"
_UNNAMEABLE = re.compile("[\x00-\x1f\x7f\ufffe\uffff].*", re.DOTALL)
"""Characters that XML cannot hold, and the rest: some stores repeat them unescaped."""


class S3Reader:
    """Reads facts and bytes of single objects below one root."""

    def __init__(self, client: S3Client) -> None:
        self._client = client
        self._requests = HeadRequests(client)
        self._is_head_refused = False

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        """Return the bytes of an object; see ``Storage``."""
        return self._get(key, max_bytes)

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of an object; see ``Storage``."""
        if size < 1:
            return b""
        try:
            return self._get(key, size, start=start)
        except StorageUnreachableError as err:
            if error_code(err.__cause__ or err) != _BEHIND_THE_END:
                raise
            return b""

    def _get(self, key: ObjectKey, max_bytes: int, *, start: int | None = None) -> bytes | None:
        """Return a whole object, or ``max_bytes`` of it from ``start`` on."""
        try:
            with self._client.translated(f"read {key!r} in"):
                data = self._read(key, max_bytes, start)
        except StorageUnreachableError as err:
            code = error_code(err.__cause__ or err)
            if code in _FORBIDDEN and self._shown(key) is None:
                return None
            if code not in ABSENT:
                raise
            self.check_bucket(key)
            return None
        return data

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        return self.checked(keys, self.heads(keys))

    def checked(
        self, keys: Sequence[ObjectKey], found: Sequence[StoredObject | Exception | None]
    ) -> list[StoredObject | None]:
        """Return the facts.

        Raises:
            StorageUnreachableError: One of them is an error.

        """
        for key, fact in zip(keys, found, strict=True):
            if isinstance(fact, Exception):
                raise self._client.explained(f"stat {key!r} in", fact) from fact
        return [fact if isinstance(fact, StoredObject) else None for fact in found]

    def heads(self, keys: Sequence[ObjectKey]) -> list[StoredObject | Exception | None]:
        """Return for each key the facts, ``None`` if absent, or the error.

        A HEAD answer has no body, so an absent bucket looks like absent keys: a check excludes it.
        """
        found = self._client.each(self._head, keys)
        if None in found:
            self.check_bucket(keys[found.index(None)])
        return found

    def check_bucket(self, key: str = "") -> Answer:
        """Return the answer to the cheapest listing: of the root, or of keys that start with
        ``key``.

        A policy may allow listing only below a prefix below the root.

        Raises:
            StorageUnreachableError: The bucket is absent or cannot be listed.

        """
        with self._client.translated("list"):
            prefix = self._client.root + _UNNAMEABLE.sub("", key)
            return self._client.call("list_objects_v2", Prefix=prefix, MaxKeys=1)

    def now(self) -> StoreTime:
        """Return the time in the ``Date`` header of an answer of the last second.

        The header has whole seconds, so a younger answer would not be more exact.
        """
        if self._client.dated is None or not self._client.dated.is_fresh:
            self.check_bucket()
        return store_time(self._client.dated)

    def _read(self, key: ObjectKey, max_bytes: int, start: int | None) -> bytes:
        """Return the bytes.

        Raises:
            StorageUnreachableError: The object is too large, or the store sent another range.

        """
        within = {} if start is None else {"Range": f"bytes={start}-{start + max_bytes - 1}"}
        for attempt in stamina.retry_context(
            on=_is_broken_body, attempts=3, wait_initial=0.2, wait_max=2
        ):
            with attempt:
                answer = self._client.call("get_object", Key=self._client.root + key, **within)
                with self._client.body(answer) as chunks:
                    if answer["ContentLength"] > max_bytes:
                        raise StorageUnreachableError(f"{key!r} has over {max_bytes} bytes")
                    if within and not _begins_at(answer.get("ContentRange"), start):
                        raise StorageUnreachableError(f"{key!r} cannot be read in parts")
                    data = b"".join(chunks)
        return data

    def _head(self, key: ObjectKey) -> StoredObject | Exception | None:
        """Return the facts, ``None`` if absent, or the error.

        HEAD needs the permission to read the object. A listing gives the same facts without it, so
        a policy need not allow reading state only to delete it.
        """
        if self._is_head_refused and not isinstance(shown := self._shown(key), Exception):
            return shown
        try:
            answer = self._requests.send(self._client.root + key)
        except CALL_ERRORS as err:
            if error_code(err) in ABSENT:
                return None
            shown = self._shown(key) if error_code(err) in _FORBIDDEN else err
            self._is_head_refused = not isinstance(shown, Exception)
            return err if isinstance(shown, Exception) else shown
        return _stored(key, answer)

    def _shown(self, key: ObjectKey) -> StoredObject | Exception | None:
        """Return the facts of an object by a listing, ``None`` if no key starts with it.

        Stores refuse requests for absent keys unless the account may list the whole bucket.
        """
        whole = self._client.root + key
        try:
            answer = self._client.call("list_objects_v2", Prefix=whole, MaxKeys=1)
        except CALL_ERRORS as err:
            return err
        if answer.get("KeyCount") == 0 and not answer.get("IsTruncated"):
            return None
        for found in answer.get("Contents", ()):
            if found["Key"] == whole:
                return _stored(key, {**found, "ContentLength": found["Size"]})
        return StorageUnreachableError(f"a listing does not tell whether there is {key!r}")


def _begins_at(content_range: str | None, start: int | None) -> bool:
    """Return whether the store sent the requested range, not another one or the whole object."""
    return content_range is not None and content_range.startswith(f"bytes {start}-")


def _is_broken_body(err: Exception) -> bool:
    """Return whether the body of an answer is incomplete, which botocore does not retry."""
    return isinstance(err, CALL_ERRORS) and not error_code(err)


def _stored(key: ObjectKey, answer: dict[str, Any]) -> StoredObject:
    """Return the facts; store times have whole seconds, as HEAD answers and our listings have."""
    etag, at = answer.get("ETag"), known(answer.get("LastModified"))
    return StoredObject(
        key=key,
        size=answer["ContentLength"],
        modified_at=None if at is None else at.replace(microsecond=0),
        etag=etag.strip('"') if etag else None,
    )
