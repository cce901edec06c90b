"""A storage listed by an S3 Inventory report: find it, check it, fetch it file by file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import structlog

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.open import open_storage
from orphangc.adapters.rows.earlier_storage import EarlierStorage
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.s3_inventory.data_files import current_objects
from orphangc.core.columns.stored_objects import rows_below
from orphangc.core.documents.s3_inventory import (
    DataFile,
    Inventory,
    Manifest,
    is_checksum_of,
    read_manifest,
    report_time,
)
from orphangc.core.model.types import ObjectKey
from orphangc.errors import RefusedError, SettingsError, UnreadableInventoryError
from orphangc.ports import EarlierListing, Storage

_MANIFEST, _CHECKSUM = "manifest.json", "manifest.checksum"
_MAX_MANIFEST_BYTES = 64 << 20
_MAX_CHECKSUM_BYTES = 1 << 20
_PART = 16 << 20
"""Most bytes of a data file in one request, which are in memory at once."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Report:
    uri: Location
    manifest: Manifest


def open_inventory(
    uri: str, storage: Storage, *, max_age: timedelta, clock_skew: timedelta
) -> InventoryStorage:
    """Return the storage with an inventory instead of its listing.

    Args:
        uri: A report: its ``manifest.json`` or its dated folder; or the folder above dated ones,
            whose newest complete report is used. Its data files are in the same bucket.
        clock_skew: Maximum time by which a report may be dated in the future.

    Raises:
        SettingsError: The URI names no inventory of this bucket, or one without the needed columns.
        RefusedError: The report is damaged, too old, or dated in the future; nothing was planned.
        StorageUnreachableError: The bucket of the report cannot be read.
    """
    place = canonical(uri)
    top = Location(place.scheme, place.authority, "/")
    report = _find(place, open_storage(top))
    found, wanted = report.manifest.source_bucket, storage.location.authority
    if found != wanted:
        raise SettingsError(f"inventory {report.uri} is of bucket {found}, not of {wanted}")
    time = storage.now()
    age = (time.now or time.local) - report.manifest.created_at
    if age > max_age:
        raise RefusedError(
            f"inventory {report.uri} was begun {age} ago, longer than {max_age}"
            " (--inventory-max-age); nothing was planned"
        )
    if age < -clock_skew:
        raise RefusedError(f"inventory {report.uri} is dated in the future; nothing was planned")
    return InventoryStorage(storage, report, top)


def _find(place: Location, bucket: Storage) -> _Report:
    if report_time(place.name):
        place = place.child(_MANIFEST)
    if place.name == _MANIFEST:
        data = _complete_manifest(place, bucket)
        if data is None:
            raise RefusedError(
                f"inventory {place} is not complete: it is absent, or {_CHECKSUM} beside it is"
                " absent or another's; nothing was planned"
            )
        return _Report(place, _parsed(place, data))
    names = bucket.folder(place.path.lstrip("/")).folders
    dated = sorted(((at, name) for name in names if (at := report_time(name))), reverse=True)
    for _, name in dated:
        manifest = place.child(name).child(_MANIFEST)
        data = _complete_manifest(manifest, bucket)
        if data is not None:
            return _Report(manifest, _parsed(manifest, data))
        log.warning("inventory.incomplete", manifest=str(manifest))
    raise SettingsError(f"{place} is no {_MANIFEST}, and holds no complete inventory report")


def _complete_manifest(manifest: Location, bucket: Storage) -> bytes | None:
    key = ObjectKey(manifest.path.lstrip("/"))
    data = bucket.read(key, max_bytes=_MAX_MANIFEST_BYTES)
    beside = ObjectKey(key.removesuffix(_MANIFEST) + _CHECKSUM)
    checksum = bucket.read(beside, max_bytes=_MAX_CHECKSUM_BYTES)
    is_complete = data is not None and checksum is not None and is_checksum_of(data, checksum)
    return data if is_complete else None


def _parsed(manifest: Location, data: bytes) -> Manifest:
    try:
        return read_manifest(data)
    except UnreadableInventoryError as err:
        raise RefusedError(f"inventory {manifest}: {err}; nothing was planned") from err


@dataclass(frozen=True, slots=True)
class ReportFile:
    """One data file of a report; see ``EarlierPart``.

    Attributes:
        reports: Bucket that the report was delivered to.
        manifest: The manifest, which may name this file alone.
        prefix: What the keys of objects below the storage root begin with.
    """

    reports: Location
    uri: Location
    manifest: Manifest
    file: DataFile
    prefix: str

    @property
    def weight(self) -> int:
        """Return the size of the file; see ``EarlierPart``."""
        return self.file.size

    def read(self, take: Callable[[pa.RecordBatch], None]) -> int:
        """Read the data file, after comparing it with the manifest; see ``EarlierPart``."""
        objects = 0
        with TemporaryFolder() as name:
            path = self.fetched(Path(name) / "part", _opened(self.reports))
            for batch in self.rows(path):
                objects += batch.num_rows
                below = rows_below(batch, self.prefix)
                if below.num_rows:
                    take(below)
        return objects

    def fetched(self, path: Path, reports: Storage) -> Path:
        """Fetch the data file to ``path``, check it against the manifest, and return the path."""
        digest, size = hashlib.md5(usedforsecurity=False), 0
        with path.open("wb") as target:
            while size <= self.file.size:  # one byte more would show that it is another file
                asked = min(_PART, self.file.size + 1 - size)
                data = reports.part(ObjectKey(self.file.key), start=size, size=asked)
                if data is None:
                    raise self._refused(f"data file {self.file.key!r} is absent")
                target.write(data)
                digest.update(data)
                size += len(data)
                if len(data) < asked:
                    break
        if (size, digest.hexdigest()) != (self.file.size, self.file.md5):
            raise self._refused(
                f"data file {self.file.key!r} is not the one that the manifest names"
            )
        return path

    def rows(self, path: Path) -> Iterator[pa.RecordBatch]:
        """Yield the objects of the fetched file, with keys of the bucket."""
        try:
            yield from current_objects(path, self.manifest)
        except UnreadableInventoryError as err:
            raise self._refused(err) from err

    def _refused(self, err: object) -> RefusedError:
        return RefusedError(f"inventory {self.uri}: {err}; nothing was planned")


class InventoryStorage(EarlierStorage):
    """A storage listed by an inventory report."""

    def __init__(self, storage: Storage, report: _Report, reports: Location) -> None:
        begun_at = report.manifest.created_at
        earlier = EarlierListing(source=f"inventory {report.uri}", begun_at=begun_at)
        super().__init__(storage, earlier, self._objects_below, is_inventoried=True)
        self._report = report
        self._reports = reports
        self._objects = 0

    @property
    def inventory(self) -> Inventory:
        """Return the inventory report; see ``Storage``."""
        created_at = self._report.manifest.created_at
        return Inventory(uri=str(self._report.uri), created_at=created_at, objects=self._objects)

    def earlier_parts(self) -> list[ReportFile]:
        """Return a part for each data file; see ``Storage``."""
        root = self.location.path.lstrip("/")
        return [
            ReportFile(
                reports=self._reports,
                uri=self._report.uri,
                manifest=replace(self._report.manifest, files=(file,)),
                file=file,
                prefix=f"{root}/" if root else "",
            )
            for file in self._report.manifest.files
        ]

    def took_parts(self, objects: int) -> None:
        """Record how many objects the report holds; see ``Storage``."""
        self._objects = objects

    def _objects_below(self) -> Iterator[pa.RecordBatch]:
        self._objects = 0
        for part, path in self._fetched():
            for batch in part.rows(path):
                self._objects += batch.num_rows
                below = rows_below(batch, part.prefix)
                if below.num_rows:
                    yield below

    def _fetched(self) -> Iterator[tuple[ReportFile, Path]]:
        parts, reports = self.earlier_parts(), open_storage(self._reports)
        with TemporaryFolder() as name, ThreadPoolExecutor(max_workers=1) as pool:
            places = [Path(name) / str(number % 2) for number in range(len(parts))]
            pending = pool.submit(parts[0].fetched, places[0], reports)
            for part, following, place in zip_longest(parts, parts[1:], places[1:]):
                path = pending.result()
                if following is not None:
                    pending = pool.submit(following.fetched, place, reports)
                yield part, path


_opened = lru_cache(maxsize=4)(open_storage)
"""Returns the storage of a bucket, opened once for each process that reads data files."""
