"""A bucket of Google Cloud Storage, by its JSON API and gcsfs's credentials."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.adapters.files.translate import host_now
from orphangc.adapters.gcs.requests import GcsRequests, batch_body, part_error
from orphangc.adapters.object_store.answers import batch_results, check_part
from orphangc.adapters.object_store.bucket import (
    BucketPage,
    PageRequest,
    RequestError,
    all_answers,
    if_present,
    reported,
    understood,
)
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.core.documents.bucket_settings import GOOGLE_FIELDS, BucketSettings, google_settings
from orphangc.core.model.types import StoredObject
from orphangc.core.times.instants import from_iso, microseconds_of
from orphangc.ports import HIDDEN_SCHEMA, LISTING_SCHEMA, HiddenKind

_FACTS = "name,size,timeCreated,generation"
_PAGE_FIELDS = f"kind,items({_FACTS}),prefixes,nextPageToken"
_WRITER = "orphangc-writer"
_TIME = LISTING_SCHEMA.field("modified_at").type
_NOT_KNOWN = {
    *(HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
    *(HTTPStatus.NOT_FOUND, HTTPStatus.NOT_IMPLEMENTED),
}
_SEPARATOR = "orphangc-part"


class GcsBucket(ObjectStorage):
    """A bucket, seen from one storage root.

    Source: Cloud Storage's JSON API v1. The identity of an object is its generation; its store time
    is ``timeCreated``, which belongs to the generation and never changes.
    """

    is_tested = True
    page_size = 1000
    batch_size = 100
    hidden_unsupported = ObjectStorage.hidden_unsupported | {HTTPStatus.BAD_REQUEST}

    def __init__(self, location: Location, *, shows_all: bool = False) -> None:
        super().__init__(location, shows_all=shows_all)
        self._requests = GcsRequests(location)
        self.server = self._requests.server

    def page(self, asked: PageRequest) -> BucketPage:
        """Return one page; see ``Bucket``."""
        found = self._page(
            prefix=asked.prefix,
            pageToken=asked.token,
            startOffset=asked.start,
            endOffset=f"{asked.end}\x01" if asked.end else "",  # the first name that is left out
            delimiter=asked.delimiter,
            maxResults=str(asked.most or self.page_size),
            fields=_PAGE_FIELDS,
        )
        with understood():
            columns = _columns(_rows(found))
            return self.page_of(asked.prefix, columns, _rows(found, "prefixes"), _token(found))

    def _page(self, **wanted: str) -> dict[str, Any]:
        asked_at = host_now()
        answer = self._requests.send("GET", "/o", {k: v for k, v in wanted.items() if v})
        self.note_page(asked_at, answer.headers.get("Date"))
        found = _document(answer.content)
        if found.get("kind") != "storage#objects":
            raise RequestError("a page of the listing is damaged: it is of another kind")
        return found

    def hidden_page(self, which: str, token: str) -> tuple[pa.RecordBatch, str]:
        """Return a page of noncurrent (``versions``) or deleted (``softDeleted``) generations.

        Returns:
            The rows, as ``HIDDEN_SCHEMA``, and where the next page begins, "" after the last.

        Raises:
            RequestError: The page failed, or is damaged.
        """
        fields = "kind,items(name,size,timeCreated,timeDeleted,softDeleteTime),nextPageToken"
        asked = {which: "true", "prefix": self.root, "pageToken": token, "fields": fields}
        found = self._page(**asked)
        with understood():
            rows = [
                {
                    "kind": HiddenKind.NONCURRENT,
                    "key": self.relative(each["name"]),
                    "size": int(each["size"]),
                    "at": from_iso(each.get("timeCreated") or ""),
                }
                for each in _rows(found)
                if "timeDeleted" in each or "softDeleteTime" in each
            ]
            return pa.RecordBatch.from_pylist(rows, schema=HIDDEN_SCHEMA), _token(found)

    def head(self, name: str) -> StoredObject | None:
        """Return the facts of an object; see ``Bucket``."""
        found = self._facts(name, {"fields": _FACTS})
        if found is None:
            return None
        with understood():
            return StoredObject(
                key=self.relative(name),
                size=int(found["size"]),
                modified_at=from_iso(found["timeCreated"]),
                etag=found["generation"],
            )

    def account_buckets(self) -> tuple[str, ...]:
        """Return the buckets of the project; see ``Bucket``."""
        pages = all_answers(self._requests.buckets, "")
        return tuple(sorted(f"gs://{name}" for names in pages for name in names))

    def get(self, name: str, *, start: int, size: int) -> bytes:
        """Return some bytes of an object; see ``Bucket``."""
        within = {"Range": f"bytes={start}-{start + size - 1}"}
        try:
            answer = self._requests.send("GET", _of(name), {"alt": "media"}, headers=within)
        except RequestError as err:
            if err.status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            return b""
        check_part(
            name,
            range(start, start + size),
            status=answer.status_code,
            stated=answer.headers.get("Content-Range", ""),
            length=len(answer.content),
        )
        return answer.content

    def put(self, name: str, data: bytes, *, writer: str, is_new: bool) -> None:
        """Write an object; see ``Bucket``."""
        facts = json.dumps({"name": name, "metadata": {_WRITER: writer}})
        body = b"\r\n".join(
            [
                f"--{_SEPARATOR}\r\nContent-Type: application/json; charset=UTF-8\r\n".encode(),
                facts.encode(),
                f"--{_SEPARATOR}\r\nContent-Type: application/octet-stream\r\n".encode(),
                data,
                f"--{_SEPARATOR}--\r\n".encode(),
            ]
        )
        self._requests.send(
            "POST",
            "/o",
            {"uploadType": "multipart", **({"ifGenerationMatch": "0"} if is_new else {})},
            headers={"Content-Type": f"multipart/related; boundary={_SEPARATOR}"},
            body=body,
            is_upload=True,
        )

    def writer(self, name: str) -> str | None:
        """Return the writer of an object; see ``Bucket``."""
        found = self._facts(name, {"fields": "metadata"})
        return None if found is None else found.get("metadata", {}).get(_WRITER)

    def remove(self, name: str) -> None:
        """Remove an object; see ``Bucket``."""
        if_present(lambda: self._requests.send("DELETE", _of(name)))

    def keeps_versions(self) -> bool:
        """Return whether the bucket has versions or soft delete; see ``Bucket``."""
        found = self._settings()
        return found.is_versioned or found.soft_delete_days is not None

    def bucket_settings(self) -> BucketSettings:
        """Return the settings of the bucket; see ``Storage``."""
        with self.translated("read the settings of"):
            return self._settings()

    def _settings(self) -> BucketSettings:
        try:
            answer = self._requests.send("GET", "", {"fields": GOOGLE_FIELDS})
        except RequestError as err:
            if err.status in _NOT_KNOWN and not err.is_absent:
                return BucketSettings(unread=("storage.buckets.get",))
            raise
        try:
            return google_settings(_document(answer.content))
        except ValueError as err:
            raise RequestError(str(err)) from err

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent and soft-deleted generations; see ``Storage``."""
        kinds = ("versions", "softDeleted")
        pages = (all_answers(partial(self.hidden_page, each), "") for each in kinds)
        return reported(self, "versions in", *pages)

    def restorable(self, name: str, identity: str) -> Callable[[], None] | None:
        """Return what restores a generation; see ``Bucket``."""
        kept = {"generation": identity, "fields": "generation"}
        if self._is_kept(name, kept):
            return partial(self._rewrite, name, identity)
        if self._is_kept(name, {**kept, "softDeleted": "true"}):
            return partial(self._restore, name, identity)
        return None

    def _facts(self, name: str, wanted: Mapping[str, str]) -> dict[str, Any] | None:
        return if_present(lambda: _document(self._requests.send("GET", _of(name), wanted).content))

    def _is_kept(self, name: str, wanted: Mapping[str, str]) -> bool:
        try:
            found = self._facts(name, wanted)
        except RequestError as err:
            if err.status not in _NOT_KNOWN:
                raise
            return False
        return found is not None and found.get("generation") == wanted["generation"]

    def _rewrite(self, name: str, generation: str) -> None:
        """Copy a noncurrent generation to the name, unless an object has it."""
        path = f"{_of(name)}/rewriteTo/b/{quote(self.location.authority, safe='')}{_of(name)}"
        wanted = {"sourceGeneration": generation, "ifGenerationMatch": "0"}
        while True:
            answer = self._requests.send("POST", path, wanted, body=b"")
            found = _document(answer.content)
            if found.get("done"):
                return
            wanted["rewriteToken"] = found["rewriteToken"]

    def _restore(self, name: str, generation: str) -> None:
        """Bring a soft-deleted generation back, unless an object has its name."""
        wanted = {"generation": generation, "ifGenerationMatch": "0"}
        self._requests.send("POST", f"{_of(name)}/restore", wanted, body=b"")

    def _delete(self, name: str, identity: str) -> None:
        self._requests.send("DELETE", _of(name), {"ifGenerationMatch": identity}, is_once=True)

    def _delete_batch(self, objects: Sequence[tuple[str, str]]) -> list[RequestError | None]:
        paths = [
            self._requests.path(_of(name), {"ifGenerationMatch": generation})
            for name, generation in objects
        ]
        content_type, body = batch_body(paths)
        answer = self._requests.send_batch(content_type, body)
        kind = answer.headers.get("Content-Type", "")
        return batch_results(kind, answer.content, len(paths), part_error)


def _of(name: str) -> str:
    return f"/o/{quote(name, safe='')}"


def _document(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as err:
        raise RequestError(f"an answer is damaged: {err}") from err
    if not isinstance(found, dict):
        raise RequestError("an answer is damaged: it is no object")
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; of two equal names a parser would keep the last, which may be less."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _rows(page: Mapping[str, Any], name: str = "items") -> list[Any]:
    """Return what a page lists under a name; anything but a list would be shorter than one."""
    found = page.get(name, [])
    if not isinstance(found, list):
        raise TypeError(f"{name} is no list")
    return found


def _token(page: Mapping[str, Any]) -> str:
    found = page.get("nextPageToken", "")
    if not isinstance(found, str):
        raise TypeError("nextPageToken is no text")
    return found


def _columns(
    items: Sequence[Mapping[str, Any]],
) -> tuple[list[str], list[int | None], pa.Array, list[str | None]]:
    names = [each["name"] for each in items]
    sizes: list[int | None] = [int(each["size"]) for each in items]
    generations: list[str | None] = [str(each["generation"]) for each in items]
    instants = [from_iso(each.get("timeCreated") or "") for each in items]
    times = [None if at is None else microseconds_of(at) for at in instants]
    return names, sizes, pa.array(times, _TIME), generations
