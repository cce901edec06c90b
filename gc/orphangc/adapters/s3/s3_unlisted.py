"""What no listing of S3 shows: unfinished uploads, noncurrent versions, delete markers.

All of it is listed; unfinished uploads can be aborted too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa

from orphangc.adapters.object_store.bucket import Bucket, RequestError, all_answers, each
from orphangc.adapters.s3.requests.s3_client import Answer, S3Client, requested
from orphangc.core.times.instants import known
from orphangc.ports import HIDDEN_SCHEMA, HiddenKind, Upload

MAX_PARTS_REQUESTS = 1000
"""Maximum number of requests for parts of uploads: a leak of millions must not delay a plan."""

_GONE = {"404", "NoSuchUpload"}
_UPLOAD_MARKERS, _VERSION_MARKERS = (
    ("KeyMarker", "UploadIdMarker"),
    ("KeyMarker", "VersionIdMarker"),
)
_LISTS = ("Uploads", "Versions", "DeleteMarkers")

_Markers = tuple[str, str]
_FIRST: _Markers = ("", "")


class S3Unlisted:
    """Unlisted data below one root of a bucket.

    Every method raises ``RequestError`` for a refusal, or for pages that do not add up.
    """

    def __init__(self, client: S3Client, bucket: Bucket) -> None:
        self._client = client
        self._bucket = bucket
        self._counting = threading.Lock()
        self._parts_requests = 0

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield unfinished uploads, a batch each page; see ``Storage``.

        The size of an upload is that of its parts, which needs one request for each upload: the
        first ``MAX_PARTS_REQUESTS`` uploads have a size, the others none.
        """
        self._parts_requests = 0
        for page in self._upload_pages():
            found = page.get("Uploads", ())
            sizes = each(partial(self._size_of, page), found)
            rows = [
                {
                    "kind": HiddenKind.UPLOAD,
                    "key": self._bucket.relative(_decoded(upload["Key"], page)),
                    "size": size,
                    "at": known(upload.get("Initiated")),
                }
                for upload, size in zip(found, sizes, strict=True)
                if not isinstance(size, _Gone)
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=HIDDEN_SCHEMA)

    def unfinished(self) -> Iterator[Upload]:
        """Yield unfinished uploads with their ids; see ``Storage``."""
        for page in self._upload_pages():
            for upload in page.get("Uploads", ()):
                yield Upload(
                    key=self._bucket.relative(_decoded(upload["Key"], page)),
                    upload_id=upload["UploadId"],
                    begun_at=known(upload.get("Initiated")),
                )

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; see ``Storage``."""
        named = {"Key": self._bucket.root + upload.key, "UploadId": upload.upload_id}
        try:
            with requested():
                self._client.call("abort_multipart_upload", **named)
        except RequestError as err:
            if err.code in _GONE:
                return False
            raise
        return True

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and all delete markers, a batch each page; see ``Storage``."""
        for page in self._version_pages(self._bucket.root):
            old = [each for each in page.get("Versions", ()) if not each["IsLatest"]]
            rows = [self._version(HiddenKind.NONCURRENT, each, page) for each in old]
            left = page.get("DeleteMarkers", ())
            rows += [self._version(HiddenKind.DELETE_MARKER, each, page) for each in left]
            yield pa.RecordBatch.from_pylist(rows, schema=HIDDEN_SCHEMA)

    def markers(self, name: str, identity: str) -> list[str]:
        """Return the version ids of the delete markers with which one deletion hides an object.

        A request that was repeated, as its answer was lost, has made several.

        Args:
            identity: Id of the newest one or, where it is not known, the ETag of the version that
                the present ones hide.
        """
        made, stored = list[Answer](), list[Answer]()
        for page in self._version_pages(name):
            for rows, found in (("DeleteMarkers", made), ("Versions", stored)):
                found += [
                    each for each in page.get(rows, ()) if _decoded(each["Key"], page) == name
                ]
            if _keys_of(page) - {name}:
                break  # the versions of the key itself come before all longer keys
        newest = [(each["LastModified"], each["ETag"].strip('"')) for each in stored[:1]]
        ids = [e["VersionId"] for e in made if all(e["LastModified"] >= at for at, _ in newest)]
        if identity in ids:
            return ids[ids.index(identity) :]
        return ids if identity in (etag for _, etag in newest) else []

    def _version(self, kind: HiddenKind, found: Answer, page: Answer) -> dict[str, Any]:
        key = self._bucket.relative(_decoded(found["Key"], page))
        at = known(found.get("LastModified"))
        return {"kind": kind, "key": key, "size": found.get("Size", 0), "at": at}

    def _upload_pages(self) -> Iterator[Answer]:
        # without EncodingType: radosgw would encode keys without stating it
        ask = partial(
            self._page, "list_multipart_uploads", _UPLOAD_MARKERS, Prefix=self._bucket.root
        )
        return all_answers(ask, _FIRST)

    def _version_pages(self, prefix: str) -> Iterator[Answer]:
        ask = partial(self._page, "list_object_versions", _VERSION_MARKERS, Prefix=prefix)
        return all_answers(partial(ask, EncodingType="url"), _FIRST)

    def _page(
        self, operation: str, names: _Markers, begin: _Markers, **request: str
    ) -> tuple[Answer, _Markers]:
        """Return a page of an operation that continues from two markers, and those of the next.

        radosgw encodes all keys but the one that the next page begins with.
        """
        request |= {name: value for name, value in zip(names, begin, strict=True) if value}
        with requested():
            page = self._client.call(operation, **request)
        if page.get("IsTruncated") is False:
            return page, _FIRST
        key, other = (page.get(f"Next{name}") or "" for name in names)
        if page.get("IsTruncated") is not True or not key:
            raise RequestError(f"the answers to {operation} do not add up")
        return page, (key if key in _keys_of(page) else _decoded(key, page), other)

    def _size_of(self, page: Answer, upload: Answer) -> int | _Gone | None:
        named = {"Key": _decoded(upload["Key"], page), "UploadId": upload["UploadId"]}
        following, size = 0, 0
        while self._may_ask():
            try:
                with requested():
                    found = self._client.call("list_parts", **named, PartNumberMarker=following)
            except RequestError as err:
                return _GONE_BY_NOW if err.code in _GONE else None
            size += sum(int(part["Size"]) for part in found.get("Parts", ()))
            if not found.get("IsTruncated"):
                return size
            if (last := found.get("NextPartNumberMarker") or 0) <= following:
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


def _keys_of(page: Answer) -> set[str]:
    return {_decoded(row["Key"], page) for name in _LISTS for row in page.get(name, ())}


def _decoded(text: str, page: Answer) -> str:
    """Return a key of a page, with bytes that are no UTF-8 as escapes."""
    if page.get("EncodingType") != "url":
        return text
    return unquote_plus(text, errors="backslashreplace")
