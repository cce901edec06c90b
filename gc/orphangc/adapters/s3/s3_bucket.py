"""A bucket in S3: pages by their bytes, DeleteObjects with ETags, undeletion by delete markers.

Some stores accept an ``ETag`` in ``DeleteObjects`` and ignore it (radosgw 16, moto 5); their
answers equal those of stores that check it.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

import pyarrow as pa
import stamina
import structlog
from botocore import exceptions as boto

from flinkstate.places.locations import Location
from orphangc.adapters.object_store.answer_clock import DatedAnswer
from orphangc.adapters.object_store.bucket import (
    BucketPage,
    ConditionsRefusedError,
    PageRequest,
    RequestError,
    if_present,
)
from orphangc.adapters.object_store.listing import NO_TEXT
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.adapters.s3.bucket_requests import (
    ABSENT,
    DeleteRequests,
    HeadRequests,
    bucket_settings,
    buckets,
)
from orphangc.adapters.s3.pages.list_requests import ListRequests, UnreadablePageError
from orphangc.adapters.s3.pages.page_parser import read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page
from orphangc.adapters.s3.requests.s3_client import (
    CALL_ERRORS,
    HINTS,
    Answer,
    S3Client,
    error_code,
    error_text,
    is_broken_body,
)
from orphangc.adapters.s3.s3_unlisted import S3Unlisted
from orphangc.core.documents.bucket_settings import BucketSettings
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import known
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Upload

_DIRECTORY_BUCKETS = ("--x-s3", "--xa-s3")  # and their access points: no order, no StartAfter
_WRITER = "orphangc-writer"

_STATUS: dict[str, HTTPStatus] = {
    **dict.fromkeys(
        ("SlowDown", "Throttling", "ThrottlingException", "TooManyRequests", "429"),
        HTTPStatus.TOO_MANY_REQUESTS,
    ),
    **dict.fromkeys(
        ("InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable"),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    ),
    **dict.fromkeys(
        ("PreconditionFailed", "ConditionalRequestConflict", "412"), HTTPStatus.PRECONDITION_FAILED
    ),
    **dict.fromkeys(ABSENT, HTTPStatus.NOT_FOUND),
}
"""What codes mean where no status says it; S3 gives each of several keys a code of its own."""
_NO_CONDITIONS = {"NotImplemented", "MalformedXML", "InvalidArgument", "InvalidRequest"}
_NOT_REPORTED = {"AccessDenied", "MethodNotAllowed", "NotImplemented"}
_BEHIND_THE_END = "InvalidRange"
_NEVER_SENT = (
    boto.NoCredentialsError,
    boto.PartialCredentialsError,
    boto.CredentialRetrievalError,
    boto.TokenRetrievalError,
    boto.SSOError,
    boto.ParamValidationError,
    boto.ConnectTimeoutError,
)
"""Any other error may follow a request that reached the store."""

_log = structlog.get_logger()


class S3Bucket(ObjectStorage):
    """A bucket, seen from one storage root.

    Attributes:
        read_by: Number of pages by reader: ``bytes``, ``botocore``.
    """

    is_tested = True
    batch_size = 1000
    unnameable = re.compile("(?!)")
    is_fast = True

    def __init__(self, location: Location, *, shows_all: bool = False) -> None:
        super().__init__(location, shows_all=shows_all)
        self._client = S3Client(location)
        self._lists = ListRequests(self._client, on_request=self.count_request)
        self._heads = HeadRequests(self._client)
        self._unlisted = S3Unlisted(self._client)
        with self._client.translated("open"):
            self._shape: Any = self._client.output_shape("ListObjectsV2")
        self._lock = threading.Lock()
        self._has_conditions = True
        self.read_by: Counter[str] = Counter()

    @cached_property
    def _deletes(self) -> DeleteRequests:
        """Return what deletes, whose client sends each request once."""
        return DeleteRequests(S3Client(self.location, attempts=1))

    def page(self, asked: PageRequest) -> BucketPage:
        """Return one page; see ``Bucket``. A look at a few names goes through botocore."""
        prefix = NO_TEXT.sub("", asked.prefix) if asked.most else asked.prefix
        wanted = {
            "ContinuationToken": asked.token,
            "StartAfter": "" if asked.token else asked.start,
            "Delimiter": asked.delimiter,
            "MaxKeys": str(asked.most or ""),
        }
        stated = {name: value for name, value in wanted.items() if value}
        query = {"Prefix": prefix, "EncodingType": "url", **stated}
        read = partial(self._read, prefix=prefix)
        if asked.most is None:
            return self._lists.fetch(query, read)
        with _requested():
            body, answer = self._lists.ask(query)
            return replace(read(body), is_counted="KeyCount" in answer)

    def shows_order(self) -> bool:
        """Return whether pages ascend; all but directory buckets are in order."""
        return not self.location.authority.endswith(_DIRECTORY_BUCKETS)

    def head(self, name: str) -> StoredObject | None:
        """Return the facts of an object; see ``Bucket``."""
        found = if_present(partial(_requested()(self._heads.send), name))
        return None if found is None else _stored(self.relative(name), found)

    def get(self, name: str, *, start: int, size: int) -> bytes:
        """Return some bytes of an object; see ``Bucket``."""
        try:
            with _requested():
                again = stamina.retry(on=is_broken_body, attempts=3, wait_initial=0.2, wait_max=2)
                return again(lambda: self._get(name, start, size))()
        except RequestError as err:
            if err.code != _BEHIND_THE_END:
                raise
        return b""

    def _get(self, name: str, start: int, size: int) -> bytes:
        within = f"bytes={start}-{start + size - 1}"
        answer = self._client.call("get_object", Key=name, Range=within)
        with self._client.body(answer) as chunks:
            is_whole = start == 0 and answer["ContentLength"] <= size
            if not is_whole and not answer.get("ContentRange", "").startswith(f"bytes {start}-"):
                raise RequestError(f"{name!r} cannot be read in parts")
            return b"".join(chunks)

    def put(self, name: str, data: bytes, *, writer: str, is_new: bool) -> None:
        """Write an object; see ``Bucket``."""
        only = {"IfNoneMatch": "*"} if is_new else {}
        with _requested():
            self._client.call("put_object", Key=name, Body=data, Metadata={_WRITER: writer}, **only)

    def writer(self, name: str) -> str | None:
        """Return the writer of an object; see ``Bucket``."""
        found = if_present(partial(_requested()(self._client.call), "head_object", Key=name))
        return None if found is None else found.get("Metadata", {}).get(_WRITER)

    def remove(self, name: str) -> None:
        """Remove an object; see ``Bucket``."""
        with _requested():
            self._client.call("delete_object", Key=name)

    def send_deletions(self, objects: Sequence[tuple[str, str]]) -> list[str | RequestError | None]:
        """Delete with ETags in one request; ``ConditionsRefusedError`` if the store takes none."""
        has_conditions = self._has_conditions  # another thread may find out meanwhile
        try:
            with _requested():
                answer = self._deletes.send(
                    [(name, etag if has_conditions else None) for name, etag in objects]
                )
        except RequestError as err:
            if has_conditions and err.code in _NO_CONDITIONS:
                _log.warning("deletion.conditions_refused", code=err.code)
                self._has_conditions = False
                raise ConditionsRefusedError(str(err)) from err
            if err.is_refusal:
                raise
            return [err] * len(objects)
        return _results(answer, [name for name, _ in objects])

    def keeps_versions(self) -> bool:
        """Return whether deletions leave a delete marker; with suspended versioning they do not."""
        try:
            with _requested():
                return bool(self._client.call("get_bucket_versioning").get("Status") == "Enabled")
        except RequestError as err:
            if err.code in _NOT_REPORTED:
                return False
            raise

    def restorable(self, name: str, identity: str) -> Callable[[], None] | None:
        """Return what removes a delete marker, ``None`` if it is none; see ``Bucket``.

        The version of an object is never removed: that would be its final end.
        """
        return partial(self._unmark, name, identity) if self._is_marker(name, identity) else None

    def _unmark(self, name: str, version: str) -> None:
        with _requested():
            self._client.call("delete_object", Key=name, VersionId=version)

    def _is_marker(self, name: str, version: str) -> bool:
        request: dict[str, str] = {}
        while True:
            with _requested():
                answer = self._client.call("list_object_versions", Prefix=name, **request)
            markers = [(each["Key"], each["VersionId"]) for each in answer.get("DeleteMarkers", ())]
            if (name, version) in markers:
                return True
            following = answer.get("NextKeyMarker")
            if not answer.get("IsTruncated") or following != name:
                return False  # the versions of the key itself come before all longer keys
            request = {"KeyMarker": following, "VersionIdMarker": answer["NextVersionIdMarker"]}

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield unfinished uploads; see ``Storage``."""
        return self._unlisted.uploads()

    def unfinished(self) -> Iterator[Upload]:
        """Yield unfinished uploads with their ids; see ``Storage``."""
        return self._unlisted.unfinished()

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; see ``Storage``."""
        return self._unlisted.abort(upload)

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and delete markers; see ``Storage``."""
        return self._unlisted.versions()

    def bucket_settings(self) -> BucketSettings:
        """Return the settings of the bucket; see ``Storage``."""
        return bucket_settings(self._client)

    def account_buckets(self) -> tuple[str, ...]:
        """Return the buckets of the account; see ``Bucket``."""
        return buckets(self._client)

    @property
    def dated(self) -> DatedAnswer | None:
        """Return the times of the last answer; see ``Bucket``."""
        return self._client.dated

    def _read(self, body: bytes, *, prefix: str) -> BucketPage:
        with self._lock:  # sixty threads in turn cost less than sixty that compete
            page = read_page(body, prefix, root=self.root) if self.is_fast else None
            self.read_by["botocore" if page is None else "bytes"] += 1
        if page is None:
            page = parse_page(body, prefix, self._shape, root=self.root)
        if page.is_truncated and not page.token:
            raise StorageUnreachableError("the listing is cut off: a page is followed by none")
        return BucketPage(page.objects, page.prefixes, page.token or "", page.keys)


def _results(answer: Answer, names: Sequence[str]) -> list[str | RequestError | None]:
    """Return the result of each name; of two contradicting results the worse one counts."""
    deleted = {entry.get("Key"): entry for entry in answer.get("Deleted", ())}
    errors = {entry.get("Key"): entry for entry in answer.get("Errors", ())}
    results: list[str | RequestError | None] = []
    for name in names:
        if name in errors:
            code, text = errors[name].get("Code", "unknown"), errors[name].get("Message")
            status = _STATUS.get(code, HTTPStatus.BAD_REQUEST)
            results.append(RequestError(_with_hint(code, text), code=code, status=status))
        elif name in deleted:
            marker = deleted[name].get("DeleteMarkerVersionId")
            results.append(marker if deleted[name].get("DeleteMarker") and marker else None)
        else:
            results.append(RequestError("the store did not mention the key"))
    return results


def _stored(key: ObjectKey, answer: Answer) -> StoredObject:
    """Return the facts in a HEAD answer; store times have whole seconds, as our listings have."""
    etag, at = answer.get("ETag"), known(answer.get("LastModified"))
    return StoredObject(
        key=key,
        size=answer["ContentLength"],
        modified_at=None if at is None else at.replace(microsecond=0),
        etag=etag.strip('"') if etag else None,
    )


@contextmanager
def _requested() -> Iterator[None]:
    try:
        yield
    except CALL_ERRORS as err:
        raise _error(err) from err
    except UnreadablePageError as err:
        raise RequestError(str(err)) from err


def _error(err: Exception) -> RequestError:
    code = error_code(err)
    if not isinstance(err, boto.ClientError):
        return RequestError(error_text(err), is_sent=not isinstance(err, _NEVER_SENT))
    said = err.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    status = _STATUS.get(code, said)
    text = _with_hint(code, err.response.get("Error", {}).get("Message"))
    return RequestError(text, code=code or "unknown", status=status)


def _with_hint(code: str, text: str | None) -> str:
    """Return what the store said, and what to check."""
    return "; ".join(filter(None, (text, HINTS.get(code))))
