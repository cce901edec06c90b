"""A folder on any file system that fsspec knows, by fsspec's common methods only."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import fsspec

from flinkstate.errors import AbsentStorageError, SettingsError, StorageUnreachableError
from flinkstate.files.host import Host
from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES
from flinkstate.places.locations import Location
from flinkstate.text.redaction import one_line

_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")
"""Names under which file systems report the store time of a file."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Size and store time of a file."""

    size: int
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class FolderNames:
    """Names of the folders in a folder."""

    folders: tuple[str, ...]


def file_system_of(place: Location, options: Mapping[str, Any] | None = None) -> tuple[Any, str]:
    """Return fsspec's file system of a place, without caches, and the path in it.

    Raises:
        SettingsError: fsspec does not know the scheme, its package is not installed, or fsspec
            would read the place as several file systems, and so as another place.
        StorageUnreachableError: The file system cannot be opened.
    """
    url, uncached = str(place), {"use_listings_cache": False, "skip_instance_cache": True}
    if "::" in url:
        raise SettingsError(f"cannot open {place}: '::' joins file systems to fsspec")
    try:
        return fsspec.url_to_fs(url, **{**(options or {}), **uncached})  # type: ignore[no-any-return]
    except (ImportError, ValueError) as err:
        raise SettingsError(f"cannot open {place}: {one_line(err)}") from err
    except Exception as err:
        raise StorageUnreachableError(f"cannot open {place}: {one_line(err)}") from err


class FsspecFolder:
    """One folder; what it shows is never cached."""

    def __init__(self, place: Location) -> None:
        """Open the file system, raising as ``file_system_of``; the folder may not exist."""
        self._place = place
        self._fs, root = file_system_of(place)
        self._root = root.rstrip("/")

    def read(self, key: str, *, max_bytes: int = MAX_METADATA_BYTES) -> bytes | None:
        """Return a whole file; see ``FolderReader``."""
        (found,) = self.stat([key])
        if found is None:
            return None
        if found.size > max_bytes:
            raise StorageUnreachableError(f"{key!r} has over {max_bytes} bytes")
        return self.part(key, start=0, size=found.size)

    def part(self, key: str, *, start: int, size: int) -> bytes | None:
        """Return some bytes of a file; see ``FolderReader``."""
        (found,) = self.stat([key])
        if found is None:
            return None
        end = min(start + size, found.size)
        if start >= end:
            return b""
        with self._translated("read", key):
            return bytes(self._fs.cat_file(self._path(key), start=start, end=end))

    def stat(self, keys: Sequence[str]) -> list[FileFacts | None]:
        """Return the facts of files; see ``FolderReader``."""
        return [self._facts(key) for key in keys]

    def _facts(self, key: str) -> FileFacts | None:
        with self._translated("stat", key):
            try:
                info: Mapping[str, Any] = self._fs.info(self._path(key))
            except FileNotFoundError:
                return None
        if info.get("type") == "directory":
            return None
        if not isinstance(size := info.get("size"), int):
            raise StorageUnreachableError(f"{self._place} does not say the size of {key!r}")
        return FileFacts(size, self._stored_at(key, info))

    def _stored_at(self, key: str, info: Mapping[str, Any]) -> datetime | None:
        """Return the store time; a time without a zone is ambiguous, and as good as none."""
        stated = next((info[name] for name in _TIMES if info.get(name) is not None), None)
        if isinstance(stated, int | float):  # of a local file: fsspec makes a time of it
            stated = self._fs.modified(self._path(key))
        return stated if isinstance(stated, datetime) and stated.tzinfo is not None else None

    def folder(self) -> FolderNames:
        """Return the folders in the folder; see ``FolderReader``."""
        entries = self._entries()
        if entries is None:
            raise AbsentStorageError(f"{self._place} does not exist")
        found = (each["name"] for each in entries if each.get("type") == "directory")
        return FolderNames(tuple(sorted(map(_last, found))))

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; see ``FolderWriter``."""
        return sorted(_last(each["name"]) for each in self._entries(folder) or ())

    def create(self, name: str, data: bytes) -> bool:
        """Create a file; see ``FolderWriter``.

        Raises:
            StorageUnreachableError: It cannot be written, or the file system cannot create a file
                only if there is none.
        """
        with self._translated("create", name):
            self._fs.makedirs(self._root, exist_ok=True)
            try:
                with self._fs.open(self._path(name), "xb") as file:
                    self._write(file, name, data)
            except FileExistsError:
                return False
        return True

    def _write(self, file: Any, name: str, data: bytes) -> None:
        """Write a new file; if that fails, leave no beginning of it, as a full disk does."""
        try:
            file.write(data)
            file.flush()
        except BaseException:
            with suppress(Exception):  # the first error is the one to report
                left = self._fs.cat_file(self._path(name))
                if left != data and data.startswith(left):  # what another process wrote stays
                    self._fs.rm_file(self._path(name))
            raise

    def remove(self, name: str) -> None:
        """Remove a file; see ``FolderWriter``."""
        with self._translated("remove", name), suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def _entries(self, folder: str = "") -> list[Mapping[str, Any]] | None:
        path = self._path(folder) if folder else self._root
        with self._translated("list", folder):
            try:
                found = self._fs.ls(path or "/", detail=True)
            except FileNotFoundError:
                return None
        return [each for each in found if str(each["name"]).strip("/") != path.strip("/")]

    def _path(self, name: str) -> str:
        if any(part in {"", ".", ".."} for part in name.split("/")):
            raise ValueError(f"{name!r} is no name in a folder")
        return f"{self._root}/{name}"

    @contextmanager
    def _translated(self, action: str, name: str) -> Iterator[None]:
        """Translate every error of the file system, each of which has its own."""
        try:
            yield
        except StorageUnreachableError:
            raise
        except Exception as err:
            raise StorageUnreachableError(
                f"cannot {action} {self._place.child(name)}: {one_line(err)}"
            ) from err


def _last(name: object) -> str:
    return str(name).rstrip("/").rpartition("/")[2]


FSSPEC = Host(reader=FsspecFolder, writer=FsspecFolder)
"""Opens every place through fsspec, with the credentials that its packages find."""
