"""Facts and bytes of single S3 objects, and the store's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import stamina

from orphangc.adapters.boundary import host_now
from orphangc.adapters.s3_client import CALL_ERRORS, Answer, S3Client, error_code
from orphangc.core.model import ObjectKey, StoredObject
from orphangc.errors import StorageUnreachableError
from orphangc.ports import StoreTime

__all__ = ["S3Facts"]

_ABSENT = {"404", "NoSuchKey", "NotFound"}
_CONCURRENT_HEADS = 32


class S3Facts:
    """Reads of one root."""

    def __init__(self, client: S3Client) -> None:
        self._client = client

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        """Return the bytes of an object; see ``Reader``."""
        try:
            with self._client.translated(f"read {key!r} in"):
                data = self._client.run(self._read(key, max_bytes))
        except StorageUnreachableError as err:
            if error_code(err.__cause__ or err) not in _ABSENT:
                raise
            self.check_bucket()
            return None
        if not isinstance(data, bytes):
            raise StorageUnreachableError(f"{key!r} has over {max_bytes} bytes")
        return data

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Reader``."""
        found = self.heads(keys)
        for key, fact in zip(keys, found, strict=True):
            if isinstance(fact, Exception):
                raise self._client.explained(f"stat {key!r} in", fact) from fact
        return [fact if isinstance(fact, StoredObject) else None for fact in found]

    def heads(self, keys: Sequence[ObjectKey]) -> list[StoredObject | Exception | None]:
        """Return facts, ``None`` where absent, or the error, for each key.

        A HEAD answer has no body, so an absent bucket looks like absent keys: it is ruled out.
        """
        found: list[StoredObject | Exception | None] = self._client.run(self._heads(keys))
        if None in found:
            self.check_bucket()
        return found

    def check_bucket(self) -> Answer:
        """Return the answer to the cheapest listing.

        Raises:
            StorageUnreachableError: The bucket is absent or cannot be listed.

        """
        with self._client.translated("list"):
            return self._client.call("list_objects_v2", Prefix=self._client.root, MaxKeys=1)

    def now(self) -> StoreTime:
        """Return the time in the ``Date`` header, which has whole seconds."""
        before = host_now()
        headers = self.check_bucket()["ResponseMetadata"]["HTTPHeaders"]
        local = before + (host_now() - before) / 2
        stamp = headers.get("date")
        try:
            now = parsedate_to_datetime(stamp) if stamp else None
        except ValueError:
            now = None
        if now is not None and now.tzinfo is None:
            now = None
        return StoreTime(now=now, local=local, source="Date header")

    async def _read(self, key: ObjectKey, max_bytes: int) -> bytes | None:
        """Return the bytes, ``None`` if there are too many."""
        async for attempt in stamina.retry_context(
            on=_is_broken_body, attempts=3, wait_initial=0.2, wait_max=2
        ):
            with attempt:
                answer = await self._client.request("get_object", Key=self._client.root + key)
                async with answer["Body"] as body:
                    if answer["ContentLength"] > max_bytes:
                        return None
                    data: bytes = await body.read()
                if len(data) != answer["ContentLength"]:
                    raise ConnectionError(f"{len(data)} of {answer['ContentLength']} bytes came")
        return data

    async def _heads(self, keys: Sequence[ObjectKey]) -> list[StoredObject | Exception | None]:
        turns = asyncio.Semaphore(_CONCURRENT_HEADS)

        async def head(key: ObjectKey) -> StoredObject | Exception | None:
            async with turns:
                try:
                    answer = await self._client.request("head_object", Key=self._client.root + key)
                except CALL_ERRORS as err:
                    return None if error_code(err) in _ABSENT else err
            return _stored(key, answer)

        return list(await asyncio.gather(*map(head, keys)))


def _is_broken_body(err: Exception) -> bool:
    """Return whether a body broke off, which botocore does not retry."""
    return isinstance(err, CALL_ERRORS) and not error_code(err)


def _stored(key: ObjectKey, answer: dict[str, Any]) -> StoredObject:
    """Return the facts; a HEAD answer has whole seconds, and so have listings of ours."""
    etag = answer.get("ETag")
    return StoredObject(
        key=key,
        size=answer["ContentLength"],
        modified_at=answer["LastModified"].astimezone(UTC).replace(microsecond=0),
        etag=etag.strip('"') if etag else None,
    )
