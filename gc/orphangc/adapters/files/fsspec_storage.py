"""A storage on any file system that fsspec supports, by fsspec's common methods only."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pyarrow as pa

from flinkstate.files.fsspec_folder import file_system_of
from flinkstate.places.locations import Location
from flinkstate.text.redaction import one_line
from orphangc.adapters.files.translate import (
    BatchBuilder,
    checked_parts,
    host_now,
    to_microseconds,
    unreachable,
)
from orphangc.adapters.storage_options import storage_options
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import from_microseconds, known_microseconds
from orphangc.errors import AbsentStorageError, StorageUnreachableError
from orphangc.ports import DeletionResult, DeletionStatus, Folder, Storage, StoreTime

_TESTED = {"file", "memory"}
_TIME_KEYS = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")
_ETAG_KEYS = ("ETag", "etag", "e_tag", "md5Hash", "checksum")
_NO_SIZE = -1
_GLOB = re.compile(r"[*?\[\]{}\\]")

Info = Mapping[str, Any]


def open_file_system(location: Location) -> tuple[Any, str]:
    """Return fsspec's file system with its options, raising as ``file_system_of``."""
    return file_system_of(location, storage_options(location))


class FsspecStorage(Storage):
    """One folder of an fsspec file system as a storage root.

    The adapter uses no glob, walk or recursive removal of fsspec's: it lists folders one by one,
    and passes ``rm_file`` one literal path after it has checked the present file.
    """

    batch_size = 1000

    def __init__(
        self,
        location: Location,
        *,
        file_system: tuple[Any, str] | None = None,
        clock: Callable[[], datetime | None] | None = None,
    ) -> None:
        """Open the folder.

        Args:
            file_system: File system, and the root's path in it, if it is open already.
            clock: Returns the time of a new file on the same file system; ``None`` if no such file
                may be written.
        """
        self.location = location
        self._clock = clock
        self.is_tested = location.scheme in _TESTED
        self._fs, root = file_system or open_file_system(location)
        self._root = root.rstrip("/")
        package = type(self._fs).__module__.partition(".")[0]
        self.client = f"{package} {getattr(sys.modules[package], '__version__', 'unknown')}"
        self._check_root()

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield files and, with a trailing slash, folders; see ``Storage``."""
        rows = BatchBuilder()
        pending = [prefix]
        while pending:
            key = pending.pop()
            entries = self._entries(key)
            if entries is None:
                continue
            if key:
                rows.add(f"{key}/", None, None, None)
            for name, info in entries:
                child = f"{key}/{name}" if key else name
                if _is_folder(info):
                    pending.append(child)
                else:
                    rows.add(child, _size(info), _modified_us(info), _etag(info))
                if rows.is_full:
                    yield rows.take()
        self._check_root()
        if rows.keys:
            yield rows.take()

    def folder(self, prefix: str = "") -> Folder:
        """Return one level; see ``Storage``."""
        entries = self._entries(prefix) or []
        parent = f"{prefix}/" if prefix else ""
        return Folder(
            tuple(sorted(name for name, info in entries if _is_folder(info))),
            tuple(
                _stored(ObjectKey(parent + name), info)
                for name, info in sorted(entries, key=lambda entry: entry[0])
                if not _is_folder(info)
            ),
            tuple(sorted(name for name, info in entries if _is_link(info))),
        )

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of a file; see ``Storage``."""
        (found,) = self.stat([key])
        if found is None:
            return None
        if found.size == _NO_SIZE:
            raise StorageUnreachableError(f"{key!r} has no known size, so no end")
        end = min(start + size, found.size)
        if start >= end:
            return b""
        with self._translated(f"read {key!r} in"):
            data = bytes(self._fs.cat_file(self._path(key), start=start, end=end))
            if len(data) != end - start:
                raise StorageUnreachableError(f"{key!r}: {len(data)} of {end - start} bytes came")
            return data

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        with self._translated("stat in"):
            infos = [self._info(key) for key in keys]
        if None in infos:
            self._check_root()
        return [
            None if info is None or _is_folder(info) else _stored(key, info)
            for key, info in zip(keys, infos, strict=True)
        ]

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Remove each file that is still the same; see ``Storage``."""
        if len(objects) > self.batch_size:
            raise ValueError(f"{len(objects)} keys are more than a batch of {self.batch_size}")
        self._check_root()
        return [self._delete(wanted) for wanted in objects]

    def now(self) -> StoreTime:
        """Return this host's time for file systems of this host, else an unknown time."""
        now = host_now()
        if self.location.scheme in _TESTED:
            return StoreTime(now=now, local=now, source="clock of this host")
        if self._clock is None:
            source = f"{self.location.scheme} tells no time, and the state location is elsewhere"
            return StoreTime(now=None, local=now, source=source)
        shown = self._clock()
        return StoreTime(now=shown, local=host_now(), source="a new file in the state location")

    def _delete(self, wanted: StoredObject) -> DeletionResult:
        try:
            return DeletionResult(key=wanted.key, status=self._remove(wanted))
        except FileNotFoundError:
            return DeletionResult(key=wanted.key, status=DeletionStatus.GONE)
        except Exception as err:  # noqa: BLE001 - each file system has errors of its own
            failed = DeletionStatus.FAILED
            return DeletionResult(key=wanted.key, status=failed, error=one_line(err))

    def _remove(self, wanted: StoredObject) -> DeletionStatus:
        key = wanted.key
        if _GLOB.search(key):
            raise ValueError("the key has a glob character, which a file system may expand")
        info = self._info(key)
        if info is None:
            return DeletionStatus.GONE
        if _is_folder(info):
            raise IsADirectoryError("is a folder")
        found = _stored(key, info)
        if found.modified_at is None or not found.is_same_as(wanted):
            return DeletionStatus.CHANGED
        self._fs.rm_file(self._path(key))
        return DeletionStatus.DELETED

    def _entries(self, key: str) -> list[tuple[str, Info]] | None:
        path = self._path(key) if key else self._root
        self.list_requests += 1
        with self._translated(f"list {key!r} in"):
            try:
                self._fs.invalidate_cache()
                found = self._fs.ls(path or "/", detail=True)
            except (FileNotFoundError, NotADirectoryError):
                if not key or _is_folder(self._info(key) or {}):
                    raise
                return None
            entries = [(self._name(info, path), info) for info in found]
        return [(name, info) for name, info in entries if name]

    def _name(self, info: Info, folder: str) -> str:
        """Return the last part of a listed name, "" for the folder; an error if it is elsewhere."""
        name = str(info["name"])
        bare = name.rstrip("/")
        if bare.strip("/") == folder.strip("/"):
            if name.endswith("/") and bare and _is_folder(info):
                why = "has a folder without a name, which cannot be listed: move what is in it"
                raise StorageUnreachableError(f"{folder} {why}")
            return ""
        parent, _, last = bare.rpartition("/")
        if parent.strip("/") != folder.strip("/"):
            raise StorageUnreachableError(f"listing {folder!r} gave {name!r}, which lies elsewhere")
        return last

    def _info(self, key: str) -> Info | None:
        checked_parts(key)
        self._fs.invalidate_cache()
        try:
            info: Info = self._fs.info(self._path(key))
        except FileNotFoundError:
            return None
        return info

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _check_root(self) -> None:
        """Raise if the root is no folder; on stores without folders only the top level exists."""
        with self._translated("list"):
            try:
                info = self._fs.info(self._root or "/")
            except FileNotFoundError as err:
                if not isinstance(err.__cause__, FileNotFoundError | None):
                    raise err.__cause__ from None  # of a server that did not answer at all
                raise AbsentStorageError(f"{self.location} does not exist") from None
        if not _is_folder(info):
            raise StorageUnreachableError(f"{self.location} is not a folder")

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            yield
        except StorageUnreachableError:
            raise
        except Exception as err:
            raise unreachable(f"{action} {self.location}", err) from err


def _is_link(info: Info) -> bool:
    """Return whether an entry is a link, which may point to a folder: each package has its word."""
    return bool(info.get("islink")) or info.get("type") not in {"file", "directory"}


def _is_folder(info: Info) -> bool:
    """Return whether to descend: never into a link, which some file systems report."""
    return info.get("type") == "directory" and not info.get("islink")


def _modified_us(info: Info) -> int | None:
    """Return the store time in microseconds since 1970.

    ``None`` if unknown, or if it is no plain file of a known size: it stays, and blocks as a link.
    """
    if info.get("islink") or info.get("type") != "file" or _size(info) == _NO_SIZE:
        return None
    for name in _TIME_KEYS:
        if info.get(name) is not None:
            return to_microseconds(info[name])
    milliseconds = info.get("modificationTime")  # WebHDFS
    return known_microseconds(milliseconds * 1000) if isinstance(milliseconds, int) else None


def _etag(info: Info) -> str | None:
    found = next((info[name] for name in _ETAG_KEYS if info.get(name)), None)
    return str(found).strip('"') if found is not None else None


def _size(info: Info) -> int:
    """Return the size of what is no folder: only a folder's row in a listing has none."""
    size = info.get("size")
    return size if isinstance(size, int) else _NO_SIZE


def _stored(key: ObjectKey, info: Info) -> StoredObject:
    return StoredObject(
        key=key,
        size=_size(info),
        modified_at=from_microseconds(_modified_us(info)),
        etag=_etag(info),
    )
