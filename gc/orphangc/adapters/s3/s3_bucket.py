"""A bucket in S3: pages by their bytes, DeleteObjects with ETags, undeletion by delete markers.

Some stores accept an ``ETag`` in ``DeleteObjects`` and ignore it (radosgw 16, moto 5); their
answers equal those of stores that check it.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from http import HTTPStatus
from typing import Any

import pyarrow as pa
import stamina
import structlog

from flinkstate.places.locations import Location
from orphangc.adapters.object_store.answer_clock import DatedAnswer
from orphangc.adapters.object_store.answers import check_part
from orphangc.adapters.object_store.bucket import (
    UNSUPPORTED,
    BucketPage,
    ConditionsRefusedError,
    PageRequest,
    RequestError,
    all_answers,
    if_present,
    reported,
    understood,
)
from orphangc.adapters.object_store.listing import NO_TEXT
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.adapters.s3.bucket_requests import DeleteRequests, HeadRequests
from orphangc.adapters.s3.pages.list_requests import ListRequests
from orphangc.adapters.s3.pages.page_parser import read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page
from orphangc.adapters.s3.requests.s3_client import (
    Answer,
    S3Client,
    is_broken_body,
    refusal,
    requested,
)
from orphangc.adapters.s3.s3_unlisted import S3Unlisted
from orphangc.core.documents.bucket_settings import BucketSettings, lock_of, rules_of
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import known
from orphangc.ports import Upload

_DIRECTORY_BUCKETS = ("--x-s3", "--xa-s3")  # and their access points: no order, no StartAfter
_WRITER = "orphangc-writer"

_NO_CONDITIONS = {"NotImplemented", "MalformedXML", "InvalidArgument", "InvalidRequest"}
_NO_SETTING = {
    *("NoSuchLifecycleConfiguration", "ObjectLockConfigurationNotFoundError"),
    "NoSuchObjectLockConfiguration",
}
_BEHIND_THE_END = "InvalidRange"
_log = structlog.get_logger()


class S3Bucket(ObjectStorage):
    """A bucket, seen from one storage root.

    Attributes:
        read_by: Number of pages by reader: ``bytes``, ``botocore``.
    """

    is_tested = True
    batch_size = 1000
    buckets_right = "s3:ListAllMyBuckets"
    unnameable = re.compile("(?!)")
    is_fast = True

    def __init__(self, location: Location, *, shows_all: bool = False) -> None:
        super().__init__(location, shows_all=shows_all)
        with self.translated("open"), requested():
            self._client = S3Client(location)
            self.server = self._client.server
            self._lists = ListRequests(self._client, on_request=self.count_request)
            self._heads = HeadRequests(self._client)
            self._shape: Any = self._client.output_shape("ListObjectsV2")
        self._unlisted = S3Unlisted(self._client, self)
        self._lock = threading.Lock()
        self._has_conditions = True
        self.read_by: Counter[str] = Counter()

    @cached_property
    def _deletes(self) -> DeleteRequests:
        """Return what deletes, whose client sends each request once."""
        with self.translated("open"), requested():
            return DeleteRequests(S3Client(self.location, attempts=1))

    def page(self, asked: PageRequest) -> BucketPage:
        """Return one page; see ``Bucket``. A look at a few names goes through botocore.

        It asks for a longer prefix only where the store takes it: a directory bucket takes folders.
        """
        prefix = NO_TEXT.sub("", asked.prefix) if asked.most else asked.prefix
        if not self.shows_order():
            prefix = prefix[: prefix.rfind("/") + 1]
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
        with requested():
            body, answer = self._lists.ask(query)
            return replace(read(body), is_counted="KeyCount" in answer)

    def shows_order(self) -> bool:
        """Return whether pages ascend; all but directory buckets are in order."""
        return not self.location.authority.endswith(_DIRECTORY_BUCKETS)

    def head(self, name: str) -> StoredObject | None:
        """Return the facts of an object; see ``Bucket``."""
        found = if_present(partial(requested()(self._heads.send), name))
        return None if found is None else _stored(self.relative(name), found)

    def get(self, name: str, *, start: int, size: int) -> bytes:
        """Return some bytes of an object; see ``Bucket``."""
        try:
            with requested():
                again = stamina.retry(on=is_broken_body, attempts=3, wait_initial=0.2, wait_max=2)
                return again(lambda: self._get(name, start, size))()
        except RequestError as err:
            if err.code != _BEHIND_THE_END:
                raise
        return b""

    def _get(self, name: str, start: int, size: int) -> bytes:
        within = f"bytes={start}-{start + size - 1}"
        answer = self._client.call("get_object", Key=name, Range=within)
        try:
            check_part(
                name,
                range(start, start + size),
                status=answer["ResponseMetadata"]["HTTPStatusCode"],
                stated=answer.get("ContentRange", ""),
                length=answer.get("ContentLength", -1),
            )
            return self._client.body(answer)
        finally:
            self._client.run(answer["Body"].aclose)

    def put(self, name: str, data: bytes, *, writer: str, is_new: bool) -> None:
        """Write an object; see ``Bucket``."""
        only = {"IfNoneMatch": "*"} if is_new else {}
        with requested():
            self._client.call("put_object", Key=name, Body=data, Metadata={_WRITER: writer}, **only)

    def writer(self, name: str) -> str | None:
        """Return the writer of an object; see ``Bucket``."""
        found = if_present(partial(requested()(self._client.call), "head_object", Key=name))
        return None if found is None else found.get("Metadata", {}).get(_WRITER)

    def remove(self, name: str) -> None:
        """Remove an object; see ``Bucket``."""
        with requested():
            self._client.call("delete_object", Key=name)

    def send_deletions(self, objects: Sequence[tuple[str, str]]) -> list[str | RequestError | None]:
        """Delete with ETags in one request; ``ConditionsRefusedError`` if the store takes none.

        An ETag has its quotes, as in all answers of a store: one that compares texts would find
        every object changed.
        """
        has_conditions = self._has_conditions  # another thread may find out meanwhile
        try:
            with requested(), understood():
                answer = self._deletes.send(
                    [(name, f'"{etag}"' if has_conditions else None) for name, etag in objects]
                )
                return _results(answer, [name for name, _ in objects])
        except RequestError as err:
            if has_conditions and err.code in _NO_CONDITIONS:
                _log.warning("deletion.conditions_refused", code=err.code)
                self._has_conditions = False
                raise ConditionsRefusedError(str(err)) from err
            if err.is_refusal:
                raise
            return [err] * len(objects)

    def keeps_versions(self) -> bool:
        """Return whether deletions leave a delete marker; with suspended versioning they do not."""
        return self._versioning() == "Enabled"

    def _versioning(self) -> str | None:
        """Return the state of versioning, "" if it was never on; ``None`` if not to be seen."""
        try:
            with requested():
                return str(self._client.call("get_bucket_versioning").get("Status", ""))
        except RequestError as err:
            if err.is_forbidden or err.status in UNSUPPORTED:
                return None
            raise

    def restorable(self, name: str, identity: str) -> Callable[[], None] | None:
        """Return what removes the delete markers of a deletion, ``None`` if none is left.

        The version of an object is never removed: that would be its final end.
        """
        with understood():
            markers = self._unlisted.markers(name, identity)
        return partial(self._unmark, name, markers) if markers else None

    def _unmark(self, name: str, versions: Iterable[str]) -> None:
        for version in versions:
            with requested():
                self._client.call("delete_object", Key=name, VersionId=version)

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield unfinished uploads; see ``Storage``."""
        return reported(self, "uploads in", self._unlisted.uploads())

    def unfinished(self) -> Iterator[Upload]:
        """Yield unfinished uploads with their ids; see ``Storage``."""
        return reported(self, "uploads in", self._unlisted.unfinished())

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; see ``Storage``."""
        with self.translated("abort an upload in"):
            return self._unlisted.abort(upload)

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and delete markers; see ``Storage``."""
        with self.translated("open"):
            may_have_any = self._versioning() != ""
        if may_have_any:
            yield from reported(self, "versions in", self._unlisted.versions())

    def bucket_settings(self) -> BucketSettings:
        """Return the settings of the bucket; see ``Storage``."""
        unread = list[str]()

        def ask(operation: str, right: str) -> Answer:
            try:
                with requested():
                    return self._client.call(operation)
            except RequestError as err:
                if err.is_forbidden:
                    unread.append(right)
                elif err.code not in _NO_SETTING and err.status not in UNSUPPORTED:
                    raise
                return {}

        with self.translated("read the settings of"):
            rules = ask("get_bucket_lifecycle_configuration", "s3:GetLifecycleConfiguration")
            versioning = ask("get_bucket_versioning", "s3:GetBucketVersioning")
            lock = ask("get_object_lock_configuration", "s3:GetBucketObjectLockConfiguration")
        return BucketSettings(
            rules=rules_of(rules),
            is_versioned=versioning.get("Status") == "Enabled",
            lock=lock_of(lock),
            unread=tuple(unread),
        )

    def account_buckets(self) -> tuple[str, ...]:
        """Return the buckets of the account; see ``Bucket``."""
        pages = all_answers(self._buckets_page, "")
        return tuple(sorted(f"s3://{name}" for names in pages for name in names))

    def _buckets_page(self, token: str) -> tuple[list[str], str]:
        with requested(), understood():
            more = {"ContinuationToken": token} if token else {}
            found = self._client.call("list_buckets", **more)
            names = [each["Name"] for each in found["Buckets"]]
            return names, found.get("ContinuationToken") or ""

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
            raise RequestError("the listing is cut off: a page is followed by none")
        return BucketPage(page.objects, page.prefixes, page.token or "", page.keys)


def _results(answer: Answer, names: Sequence[str]) -> list[str | RequestError | None]:
    """Return the result of each name; of two contradicting results the worse one counts."""
    deleted = {entry.get("Key"): entry for entry in answer.get("Deleted", ())}
    errors = {entry.get("Key"): entry for entry in answer.get("Errors", ())}
    results: list[str | RequestError | None] = []
    for name in names:
        if name in errors:
            code, text = errors[name].get("Code", "unknown"), errors[name].get("Message")
            results.append(refusal(code, text, HTTPStatus.BAD_REQUEST))
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
