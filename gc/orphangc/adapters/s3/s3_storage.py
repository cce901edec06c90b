"""A storage in an S3 bucket or below a prefix of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.adapters.object_store.bulk_head import BulkHead
from orphangc.adapters.object_store.page_levels import levels_of
from orphangc.adapters.s3.bucket_reader import bucket_settings, buckets
from orphangc.adapters.s3.delete import S3Deleter
from orphangc.adapters.s3.head import S3Reader
from orphangc.adapters.s3.requests.s3_client import CALL_ERRORS, S3Client, error_code
from orphangc.adapters.s3.s3_listing import S3Pages
from orphangc.adapters.s3.s3_unlisted import S3Unlisted
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.documents.bucket_settings import BucketSettings
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import SettingsError
from orphangc.ports import DeletionResult, Folder, Storage, StoreTime, Upload

_PAGES_A_BATCH = 20
_DIRECTORY_BUCKETS = ("--x-s3", "--xa-s3")  # and their access points: no order, no StartAfter
_LAST = "\U0010ffff"
"""Sorts after every name."""
_NOT_REPORTED = {"AccessDenied", "MethodNotAllowed", "NotImplemented"}


class S3Storage(Storage):
    """One storage root in a bucket.

    Store times are whole seconds, rounded down, because HEAD answers have no fractions.
    """

    is_tested = True
    has_hidden = True
    batch_size = 1000
    at_once = 16

    def __init__(self, location: Location, *, shows_all: bool = False) -> None:
        if not location.authority:
            raise SettingsError(f"{location} names no bucket")
        self.location = location
        self.is_ordered = not location.authority.endswith(_DIRECTORY_BUCKETS)
        self._counting = threading.Lock()
        self._client = S3Client(location)
        self._pages = S3Pages(self._client, on_request=self._count)
        self._reader = S3Reader(self._client)
        self._bulk_head = BulkHead(self._reader, self._range if self.is_ordered else None)
        self._unlisted = S3Unlisted(self._client)
        self._is_large = not shows_all

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield every object, directory markers too; see ``Storage``."""
        held: list[pa.RecordBatch] = []
        for page in self._pages.pages(self._prefix(prefix), root=self._client.root):
            held.append(page.objects)
            if len(held) == _PAGES_A_BATCH:
                yield _joined(held)
                held = []
        if any(batch.num_rows for batch in held):
            yield _joined(held)

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:
        """Yield the objects of a key range in ascending order, page by page; see ``Storage``."""
        return self._range(within) if self.is_ordered else super().pages(within)

    def _range(self, within: KeyRange) -> Iterator[pa.RecordBatch]:
        for page in self._pages.range(self._client.root, within):
            if page.objects.num_rows:
                yield page.objects

    def folder(self, prefix: str = "") -> Folder:
        """Return one level; the folder's own marker and a nameless sub-folder are left out."""
        start = self._prefix(prefix)
        folders: list[str] = []
        objects: list[StoredObject] = []
        for page in self._pages.pages(start, delimiter="/", root=self._client.root):
            folders += [found[len(start) : -1] for found in page.prefixes]
            own = start[len(self._client.root) :]
            objects += [each for each in stored_objects(page.objects) if each.key != own]
        named = tuple(name for name in folders if name)
        return Folder(named, tuple(objects), ("",) if len(named) < len(folders) else ())

    def all_folders(self) -> Callable[[str], Folder] | None:
        """Return what ``folder`` does, from one page; see ``Storage``."""
        if self._is_large:
            return None
        page = self._pages.first(self._client.root)
        self._is_large = page.is_truncated
        if self._is_large:
            return None
        levels = levels_of(stored_objects(page.objects))
        return lambda prefix: levels.get(prefix, Folder((), ()))

    def avoid_listing(self) -> None:
        """Look no facts up in a listing; see ``Storage``."""
        self._bulk_head.avoid_listing()

    def later_folders(self, prefix: str, after: str) -> list[str]:
        """Return the last sub-folders of a folder; see ``Storage``.

        The folder above is listed from there on: one request, unless very many objects follow.
        """
        if not self.is_ordered:
            return super().later_folders(prefix, after)
        above, _, name = prefix.rpartition("/")
        within = KeyRange(f"{name}/{after}", f"{name}/{_LAST}")
        found: set[str] = set()
        for page in self._pages.range(self._prefix(above), within):
            for key in page.objects.column("key").to_pylist():
                folder, slash, _ = key[len(name) + 1 :].partition("/")
                found.update([folder] if slash else [])
        return sorted(found)

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:
        """Return the bytes of an object; see ``Storage``."""
        return self._reader.read(key, max_bytes=max_bytes)

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of an object; see ``Storage``."""
        return self._reader.part(key, start=start, size=size)

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        return self._bulk_head.stat(keys)

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Delete the objects that are still the same; see ``Storage``."""
        if len(objects) > self.batch_size:
            raise ValueError(f"{len(objects)} keys are more than a batch of {self.batch_size}")
        return self._deleter.delete(objects)

    def undelete(
        self, markers: Sequence[tuple[ObjectKey, str]], *, is_dry: bool = False
    ) -> list[DeletionResult]:
        """Remove exactly these delete markers; see ``Storage``."""
        return self._deleter.undelete(markers, is_dry=is_dry)

    def now(self) -> StoreTime:
        """Return the store's time; see ``Storage``."""
        return self._reader.now()

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield unfinished uploads, a batch each page; see ``S3Unlisted``."""
        return self._unlisted.uploads()

    def unfinished(self) -> Iterator[Upload]:
        """Yield unfinished uploads with their ids; see ``Storage``."""
        return self._unlisted.unfinished()

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; see ``Storage``."""
        return self._unlisted.abort(upload)

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield noncurrent versions and all delete markers, a batch each page; see ``Storage``."""
        return self._unlisted.versions()

    def bucket_settings(self) -> BucketSettings:
        """Return the settings of the bucket; see ``Storage``."""
        return bucket_settings(self._client)

    def buckets(self) -> tuple[str, ...]:
        """Return the buckets of the account; see ``Storage``."""
        return buckets(self._client)

    @property
    def pages_read(self) -> Mapping[str, int]:
        """Return the number of pages by reader: ``bytes``, ``botocore``."""
        return dict(self._pages.read_by)

    def _count(self) -> None:
        with self._counting:
            self.list_requests += 1

    def _prefix(self, folder: str) -> str:
        return f"{self._client.root}{folder}/" if folder else self._client.root

    @cached_property
    def _deleter(self) -> S3Deleter:
        """Return the deleter, whose client sends each request once."""
        client = S3Client(self.location, attempts=1)
        return S3Deleter(client, self._reader, self._bulk_head)

    @cached_property
    def is_versioned(self) -> bool:
        """Return whether deletions leave a delete marker; with suspended versioning they do not."""
        try:
            answer = self._client.call("get_bucket_versioning")
        except CALL_ERRORS as err:
            if error_code(err) in _NOT_REPORTED:
                return False
            raise self._client.explained("open", err) from err
        return bool(answer.get("Status") == "Enabled")


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return some pages as one batch: single pages would make too many batches."""
    return pa.concat_batches(batches)
