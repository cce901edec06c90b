"""The state location in a local folder, and on any file system that fsspec supports."""

import errno
import fcntl
import os
import threading
import uuid
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from flinkstate.places.locations import Location
from orphangc.adapters.files.translate import checked_parts, to_microseconds, unreachable
from orphangc.core.model.naming import TEMPORARY
from orphangc.core.times.instants import from_microseconds
from orphangc.errors import SettingsError, StorageUnreachableError
from orphangc.ports import StateFiles

PROBE = ".orphangc-probe-"
"""Prefix of the name of a temporary file that shows whether a location can lock."""

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS}
_MEMORY = threading.RLock()
"""fsspec's memory file system is one dictionary for each process, without a lock of its own."""


def cannot_lock(location: Location, why: object) -> SettingsError:
    """Return the error for a location where two runs could both create the same file."""
    return SettingsError(f"state location {location} cannot lock ({why}); choose another one")


class ProbedStateFiles(StateFiles):
    """Files where a throwaway one shows, before the first ``create``, that it can lock."""

    _can_create = False
    _why_not: ClassVar[str]

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; ``SettingsError`` if a probe shows that none can."""
        if not self._can_create:
            self._check_creation()
            self._can_create = True
        return self._create(name, data)

    def _check_creation(self) -> None:
        """Raise ``SettingsError`` unless the place refuses to create the same name twice."""
        name = f"{PROBE}{uuid.uuid4()}"
        try:
            can_lock = self._create(name, b"1") and not self._create(name, b"2")
        except StorageUnreachableError:
            with suppress(StorageUnreachableError):
                self.remove(name)
            raise
        self.remove(name)
        if not can_lock:
            raise cannot_lock(self.location, self._why_not)

    @abstractmethod
    def _create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; return whether this call created it."""


class LocalStateFiles:
    """Files in a local folder, which the first write creates."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._root = Path(location.path)

    def names(self, folder: str) -> list[str]:
        """Return the names in ``folder``, sorted; see ``StateFiles``."""
        found: list[str] = []
        with self._at("list", folder or None) as path, suppress(FileNotFoundError):
            found = [entry.name for entry in path.iterdir()]
        if any(name.startswith(TEMPORARY) for name in found):
            _remove_leftovers(path)
        return sorted(name for name in found if not name.startswith((TEMPORARY, PROBE)))

    def read(self, name: str) -> bytes | None:
        """Return a whole file; see ``StateFiles``."""
        with self._at("read", name) as path, suppress(FileNotFoundError):
            return path.read_bytes()
        return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file by renaming a finished one; see ``StateFiles``."""
        with self._at("write", name) as path, self._finished(path, data) as finished:
            finished.replace(path)
            _sync_folder(path.parent)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists, by linking a finished one; see ``StateFiles``."""
        with self._at("create", name) as path, self._finished(path, data) as finished:
            try:
                os.link(finished, path)
            except FileExistsError:
                return False
            except OSError as err:
                if err.errno not in _NO_LINKS:
                    raise
                return _create_in_place(path, data)
            _sync_folder(path.parent)
        return True

    def remove(self, name: str) -> None:
        """Remove one file, or an empty folder; see ``StateFiles``."""
        with self._at("remove", name) as path:
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)

    def modified_at(self, name: str) -> datetime | None:
        """Return the time of a file by the file system's clock; see ``StateFiles``."""
        with self._at("stat", name) as path, suppress(FileNotFoundError):
            return from_microseconds(path.stat().st_mtime_ns // 1000)
        return None

    @contextmanager
    def _finished(self, path: Path, data: bytes) -> Iterator[Path]:
        """Yield a synced file of another name that holds the data; remove it afterwards.

        It is locked for as long as its process lives.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path.parent)
        temporary = path.with_name(f"{TEMPORARY}{uuid.uuid4()}")
        with temporary.open("xb") as file:
            try:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)  # another writer may be looking at it just now
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                yield temporary
            finally:
                temporary.unlink(missing_ok=True)

    @contextmanager
    def _at(self, action: str, name: str | None) -> Iterator[Path]:
        path = self._root if name is None else self._root.joinpath(*checked_parts(name))
        try:
            yield path
        except OSError as err:
            raise unreachable(f"{action} {path}", err.strerror or err) from err


def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of killed processes: they have data, and no lock."""
    for each in folder.glob(f"{TEMPORARY}*"):
        with suppress(OSError), each.open("rb") as file:  # one that is gone, or is locked
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_size:
                each.unlink(missing_ok=True)


def _create_in_place(path: Path, data: bytes) -> bool:
    """Create the file in place, for file systems without links: readers may see a part of it."""
    try:
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a new name in it survives a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class FsspecStateFiles(ProbedStateFiles):
    """Files on any file system with exclusive creation (mode ``xb``)."""

    _why_not = "it creates a file that exists"

    def __init__(
        self,
        location: Location,
        *,
        file_system: tuple[Any, str] | None = None,
        is_probed: bool = True,
    ) -> None:
        self.location = location
        from orphangc.adapters.files.fsspec_storage import open_file_system  # noqa: PLC0415 - loads fsspec

        self._fs, root = file_system or open_file_system(location)
        self._root = root.rstrip("/")
        is_memory = location.scheme == "memory"
        self._can_create = is_memory or not is_probed
        self._alone = _MEMORY if is_memory else nullcontext()

    def names(self, folder: str) -> list[str]:
        """Return the names in ``folder``, sorted; see ``StateFiles``."""
        path = self._path(folder) if folder else self._root
        with self._translated(f"list {folder!r} in"):
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(path or "/", detail=False)
            except FileNotFoundError:
                return []
        names = {str(name).rstrip("/").rpartition("/")[2] for name in found}
        return sorted(name for name in names if not name.startswith((TEMPORARY, PROBE)))

    def read(self, name: str) -> bytes | None:
        """Return a whole file; see ``StateFiles``."""
        with self._translated(f"read {name!r} in"):
            self._fs.invalidate_cache()
            try:
                return bytes(self._fs.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file; object stores show a file whole or not at all; see ``StateFiles``."""
        with self._translated(f"write {name!r} in"):
            self._make_parent(name)
            self._fs.pipe_file(self._path(name), data)

    def remove(self, name: str) -> None:
        """Remove one file, or an empty folder; see ``StateFiles``."""
        path = self._path(name)
        with self._translated(f"remove {name!r} in"), suppress(FileNotFoundError):
            self._fs.invalidate_cache()
            self._fs.rmdir(path) if self._fs.isdir(path) else self._fs.rm_file(path)

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file if the file system reports it; see ``StateFiles``."""
        with self._translated(f"stat {name!r} in"):
            self._fs.invalidate_cache()
            try:
                found = to_microseconds(self._fs.modified(self._path(name)))
            except (FileNotFoundError, NotImplementedError):
                return None
        return from_microseconds(found)

    def time_of_new_file(self) -> datetime | None:
        """Return the store time of a new file, which is removed; ``None`` if it has none."""
        name = f"{PROBE}{uuid.uuid4()}"
        try:
            self.write(name, b"\n")
            return self.modified_at(name)
        finally:
            self.remove(name)

    def _create(self, name: str, data: bytes) -> bool:
        path = self._path(name)
        with self._translated(f"create {name!r} in"):
            self._make_parent(name)
            try:
                with self._fs.open(path, "xb") as file:
                    file.write(data)
            except FileExistsError:
                return False
            except (NotImplementedError, ValueError) as err:
                raise cannot_lock(self.location, "no exclusive creation") from err
        return True

    def _make_parent(self, name: str) -> None:
        self._fs.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)

    def _path(self, name: str) -> str:
        return "/".join([self._root, *checked_parts(name)])

    @contextmanager
    def _translated(self, action: str) -> Iterator[None]:
        try:
            with self._alone:
                yield
        except SettingsError:
            raise
        except Exception as err:
            raise unreachable(f"{action} {self.location}", err) from err
