"""What no listing of S3 shows: unfinished uploads, noncurrent versions, delete markers.

All of it is listed; unfinished uploads can be aborted too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa

from orphangc.adapters.object_store.bucket import each
from orphangc.adapters.s3.requests.s3_client import (
    CALL_ERRORS,
    Answer,
    S3Client,
    error_code,
    error_text,
)
from orphangc.core.times.instants import known
from orphangc.errors import NotReportedError, StorageUnreachableError
from orphangc.ports import HIDDEN_SCHEMA, HiddenKind, Upload

MAX_PARTS_REQUESTS = 1000
"""Maximum number of requests for parts of uploads: a leak of millions must not delay a plan."""

_FORBIDDEN = {"403", "AccessDenied", "AllAccessDisabled", "Forbidden"}
_NO_SUCH_REQUEST = {"405", "501", "MethodNotAllowed", "NotImplemented"}
_GONE = {"404", "NoSuchUpload"}
_UPLOAD_MARKERS = ("KeyMarker", "UploadIdMarker")

_Row = dict[str, Any]


class S3Unlisted:
    """Unlisted data below one root of a bucket; see ``Storage``."""

    def __init__(self, client: S3Client) -> None:
        self._client = client
        self._counting = threading.Lock()
        self._parts_requests = 0

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield unfinished uploads, a batch each page; see ``Storage``.

        The size of an upload is that of its parts, which needs one request for each upload: the
        first ``MAX_PARTS_REQUESTS`` uploads have a size, the others none.
        """
        self._parts_requests = 0
        # without EncodingType: radosgw would encode keys without stating it
        for page in self._pages("list_multipart_uploads", _UPLOAD_MARKERS):
            found = page.get("Uploads", ())
            sizes = each(partial(self._size_of, page), found)
            rows = [
                {
                    "kind": HiddenKind.UPLOAD,
                    "key": self._relative(upload["Key"], page),
                    "size": size,
                    "at": known(upload.get("Initiated")),
                }
                for upload, size in zip(found, sizes, strict=True)
                if not isinstance(size, _Gone)
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=HIDDEN_SCHEMA)

    def unfinished(self) -> Iterator[Upload]:
        """Yield unfinished uploads with their ids; see ``Storage``."""
        for page in self._pages("list_multipart_uploads", _UPLOAD_MARKERS):
            for upload in page.get("Uploads", ()):
                yield Upload(
                    key=self._relative(upload["Key"], page),
                    upload_id=upload["UploadId"],
                    begun_at=known(upload.get("Initiated")),
                )

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; see ``Storage``."""
        key = self._client.root + upload.key
        try:
            self._client.call("abort_multipart_upload", Key=key, UploadId=upload.upload_id)
        except CALL_ERRORS as err:
            if error_code(err) in _GONE:
                return False
            raise self._client.explained("abort an upload in", err) from err
        return True

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and all delete markers, a batch each page; see ``Storage``."""
        if not self._may_have_versions():
            return
        markers = ("KeyMarker", "VersionIdMarker")
        for page in self._pages("list_object_versions", markers, EncodingType="url"):
            old = [each for each in page.get("Versions", ()) if not each["IsLatest"]]
            rows = [self._version(HiddenKind.NONCURRENT, each, page) for each in old]
            left = page.get("DeleteMarkers", ())
            rows += [self._version(HiddenKind.DELETE_MARKER, each, page) for each in left]
            yield pa.RecordBatch.from_pylist(rows, schema=HIDDEN_SCHEMA)

    def _may_have_versions(self) -> bool:
        """Return whether the bucket may hold versions; true if the account may not ask."""
        try:
            answer = self._client.call("get_bucket_versioning")
        except CALL_ERRORS as err:
            if error_code(err) in _FORBIDDEN | _NO_SUCH_REQUEST:
                return True
            raise self._client.explained("list", err) from err
        return "Status" in answer

    def _version(self, kind: HiddenKind, found: Answer, page: Answer) -> _Row:
        key = self._relative(found["Key"], page)
        at = known(found.get("LastModified"))
        return {"kind": kind, "key": key, "size": found.get("Size", 0), "at": at}

    def _relative(self, key: str, page: Answer) -> str:
        """Return a key relative to the root; outside of it the answer is to another request."""
        whole = _decoded(key, page)
        if not whole.startswith(self._client.root):
            raise StorageUnreachableError(f"asked for {self._client.root!r}, got {whole!r}")
        return whole[len(self._client.root) :]

    def _pages(self, operation: str, markers: Sequence[str], **more: str) -> Iterator[Answer]:
        """Yield all pages of an operation that continues from two markers.

        Raises:
            NotReportedError: The store refuses or does not support the request.
            StorageUnreachableError: Any other error, or pages that do not add up.
        """
        request = {"Prefix": self._client.root, **more}
        seen: set[tuple[str, ...]] = set()
        while True:
            page = self._get(operation, request)
            yield page
            if page.get("IsTruncated") is False:
                return
            following = self._markers(page, markers)
            if page.get("IsTruncated") is not True or not following[0] or following in seen:
                raise StorageUnreachableError(f"the answers to {operation} do not add up")
            seen.add(following)
            request.update(
                {name: value for name, value in zip(markers, following, strict=True) if value}
            )

    def _markers(self, page: Answer, names: Sequence[str]) -> tuple[str, ...]:
        """Return the markers of the next page; radosgw encodes all keys but this one."""
        key, other = (page.get(f"Next{name}") or "" for name in names)
        lists = ("Uploads", "Versions", "DeleteMarkers")
        found = {_decoded(row["Key"], page) for name in lists for row in page.get(name, ())}
        return key if key in found else _decoded(key, page), other

    def _get(self, operation: str, request: dict[str, str]) -> Answer:
        try:
            return self._client.call(operation, **request)
        except CALL_ERRORS as err:
            code = error_code(err)
            if code in _FORBIDDEN | _NO_SUCH_REQUEST:
                raise NotReportedError(error_text(err), is_forbidden=code in _FORBIDDEN) from err
            raise self._client.explained("list", err) from err

    def _size_of(self, page: Answer, upload: Answer) -> int | _Gone | None:
        return self._size(_decoded(upload["Key"], page), upload["UploadId"])

    def _size(self, key: str, upload_id: str) -> int | _Gone | None:
        following, size = 0, 0
        while self._may_ask():
            try:
                page = self._client.call(
                    "list_parts", Key=key, UploadId=upload_id, PartNumberMarker=following
                )
            except CALL_ERRORS as err:
                return _GONE_BY_NOW if error_code(err) in _GONE else None
            size += sum(int(part["Size"]) for part in page.get("Parts", ()))
            if not page.get("IsTruncated"):
                return size
            if (last := page.get("NextPartNumberMarker") or 0) <= following:
                return None
            following = last
        return None

    def _may_ask(self) -> bool:
        with self._counting:
            is_within = self._parts_requests < MAX_PARTS_REQUESTS
            self._parts_requests += is_within
        return is_within


class _Gone:
    """Represents an upload that was completed or aborted during the request."""


_GONE_BY_NOW = _Gone()


def _decoded(text: str, page: Answer) -> str:
    """Return a key of a page, with bytes that are no UTF-8 as escapes."""
    if page.get("EncodingType") != "url":
        return text
    return unquote_plus(text, errors="backslashreplace")
