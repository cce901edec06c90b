"""A storage in a folder of this machine (also NFS and other mounts)."""

import errno
import os
import stat as st
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from flinkstate.places.checkpoint_names import may_be_metadata
from flinkstate.places.locations import Location
from flinkstate.text.redaction import one_line, reason_of
from orphangc.adapters.files.mount_table import store_time
from orphangc.adapters.files.translate import BatchBuilder, checked_parts, escaped, unreachable
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.times.instants import from_microseconds
from orphangc.errors import StorageUnreachableError
from orphangc.ports import DeletionResult, DeletionStatus, Folder, Storage, StoreTime

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


_ABSENT = {errno.ENOENT, errno.ENAMETOOLONG}
"""Errors that say that nothing has a name: each part of a key is opened alone."""
_NO_EMPTY_FOLDER = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.ELOOP}
_LINKS_WITHOUT_FOLDERS = 2
_ATTEMPTS = 3
_ESCAPED = "its name is shown escaped, for it is no UTF-8: rename it, if it is still there"


class _LinkedFolderError(OSError):
    """A parent of the key is a symbolic link, which is never followed."""


def _facts(key: str, found: os.stat_result) -> StoredObject:
    """Return the facts of ``lstat`` about an entry that is no folder.

    Only a regular file gets a store time. An entry without one always counts as too young (rule 6),
    so links, pipes and devices are counted and kept.
    """
    is_file = st.S_ISREG(found.st_mode)
    return StoredObject(
        key=ObjectKey(key),
        size=found.st_size,
        modified_at=from_microseconds(found.st_mtime_ns // 1000) if is_file else None,
        etag=f"{found.st_ino:x}-{found.st_mtime_ns:x}" if is_file else None,
    )


class LocalStorage(Storage):
    """One folder as a storage root.

    The root itself may be a link (the operator named it). Below it the adapter follows no symbolic
    link: it opens each folder part by part with ``O_NOFOLLOW``, so that no link can replace a
    folder between check and use.
    """

    is_tested = True
    has_folders = True
    batch_size = 1000

    def __init__(self, location: Location, *, clock_in: Path | None = None) -> None:
        self.location = location
        self._clock_in = clock_in
        self._identity: tuple[int, int] | None = None
        with self._folder(""):
            pass

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:
        """Yield files, links and, with a trailing slash, folders; see ``Storage``."""
        rows = BatchBuilder()
        pending = [prefix]
        while pending:
            key = pending.pop()
            with self._folder(key) as handle:
                if handle is None:  # Flink deletes folders during the listing
                    continue
                if key:
                    rows.add(f"{key}/", None, None, None)
                for _ in self._scan(handle, key, rows, pending):
                    yield rows.take()
        if rows.keys:
            yield rows.take()

    def folder(self, prefix: str = "") -> Folder:
        """Return one level; see ``Storage``."""
        parent = f"{prefix}/" if prefix else ""
        folders, closed, objects = list[str](), list[str](), list[StoredObject]()
        with self._folder(prefix) as handle:
            if handle is None:
                return Folder((), ())
            self.list_requests += 1
            escapes = set[str]()
            with os.scandir(handle) as entries:
                for entry in entries:
                    name = self._shown(entry.name, prefix, escapes)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(name)
                        continue
                    try:
                        objects.append(_facts(parent + name, entry.stat(follow_symlinks=False)))
                    except FileNotFoundError:
                        self._check_file_gone(parent + name, entry)
                    if entry.is_symlink() and not _leads_to_file(entry):
                        closed.append(name)
        ordered = sorted(objects, key=lambda each: each.key)
        return Folder(tuple(sorted(folders)), tuple(ordered), tuple(sorted(closed)))

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:
        """Return some bytes of a regular file; see ``Storage``."""
        try:
            with self._parent(key) as (handle, name):
                descriptor = os.open(
                    name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=handle
                )
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                if not st.S_ISREG(found.st_mode):
                    raise StorageUnreachableError(f"{self._place(key)} is no regular file")
                file.seek(start)
                # Python allocates the requested size before it knows how much there is
                return file.read(min(size, max(found.st_size - start, 0)))
        except FileNotFoundError as err:
            if "\\" in key:
                raise unreachable(f"read {self._place(key)}", _ESCAPED) from err
            return None
        except IsADirectoryError as err:
            raise StorageUnreachableError(f"{self._place(key)} is no regular file") from err
        except (OSError, ValueError) as err:
            raise unreachable(f"read {self._place(key)}", err) from err

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:
        """Return the fresh facts of each key; see ``Storage``."""
        found: list[StoredObject | None] = []
        for key in keys:
            try:
                with self._parent(key) as (handle, name):
                    result = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except (OSError, ValueError) as err:
                if getattr(err, "errno", None) not in _ABSENT:
                    raise unreachable(f"stat {self._place(key)}", err) from err
                found.append(None)
                continue
            found.append(None if st.S_ISDIR(result.st_mode) else _facts(key, result))
        return found

    def last_change(self, key: ObjectKey) -> str:
        """Return the time of the last change of a file, which no program sets; see ``Storage``.

        It is no part of the ETag: a mount with ``fsGroup`` changes the owner of every file.
        """
        try:
            with self._parent(key) as (handle, name):
                return f"{os.stat(name, dir_fd=handle, follow_symlinks=False).st_ctime_ns:x}"
        except (OSError, ValueError):
            return ""  # it is read, and that says more

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:
        """Unlink each file that is still the same regular file; see ``Storage``."""
        if len(objects) > self.batch_size:
            raise ValueError(f"{len(objects)} keys are more than a batch of {self.batch_size}")
        with self._folder(""):
            return [self._delete(wanted) for wanted in objects]

    def empty_folders(self, folders: Iterable[str], may_go: Callable[[str], bool]) -> list[str]:
        """Return the folders that hold nothing; see ``Storage``."""
        found: list[str] = []
        for key in folders:
            if may_go(key):
                self._is_hollow(key, may_go, found)
        return found

    def remove_empty(self, folder: str) -> DeletionResult:
        """Remove a folder by the call that fails if it holds anything; see ``Storage``."""
        key, why = ObjectKey(folder), None
        try:
            with self._parent(key) as (handle, name):
                os.rmdir(name, dir_fd=handle)
            status = DeletionStatus.DELETED
        except FileNotFoundError:
            status = DeletionStatus.GONE
        except (OSError, ValueError) as err:
            is_no_empty_folder = isinstance(err, OSError) and err.errno in _NO_EMPTY_FOLDER
            status = DeletionStatus.CHANGED if is_no_empty_folder else DeletionStatus.FAILED
            why = None if is_no_empty_folder else one_line(err)
        return DeletionResult(key=key, status=status, error=why)

    def now(self) -> StoreTime:
        """Return the time of the clock that dates the files; see ``mount_clock``."""
        return store_time(self.location, self._clock_in)

    def _delete(self, wanted: StoredObject) -> DeletionResult:
        try:
            return DeletionResult(key=wanted.key, status=self._unlink(wanted))
        except FileNotFoundError:
            return DeletionResult(key=wanted.key, status=DeletionStatus.GONE)
        except (OSError, ValueError, StorageUnreachableError) as err:
            failed = DeletionStatus.FAILED
            return DeletionResult(key=wanted.key, status=failed, error=reason_of(err))

    def _unlink(self, wanted: StoredObject) -> DeletionStatus:
        """Remove the file if it is still the judged one; both steps use the same open folder."""
        if "\\" in wanted.key:
            raise ValueError(f"{wanted.key!r} may be an escaped name")
        with self._parent(wanted.key) as (handle, name):
            result = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if st.S_ISDIR(result.st_mode):
                raise IsADirectoryError(errno.EISDIR, "is a folder")
            is_same = _facts(wanted.key, result).is_same_as(wanted)
            if not st.S_ISREG(result.st_mode) or not is_same:
                return DeletionStatus.CHANGED
            os.unlink(name, dir_fd=handle)
        return DeletionStatus.DELETED

    def _is_hollow(self, key: str, may_go: Callable[[str], bool], found: list[str]) -> bool:
        with self._folder(key) as handle:
            if handle is None:
                return False
            inner, is_hollow = _folders_in(handle)
        for name in inner:
            child = f"{key}/{name}"
            is_plain = escaped(name) == name and "\\" not in name
            is_inner_hollow = is_plain and may_go(child) and self._is_hollow(child, may_go, found)
            is_hollow &= is_inner_hollow
        if is_hollow:
            found.append(key)
        return is_hollow

    def _scan(
        self, handle: int, folder: str, rows: BatchBuilder, folders: list[str]
    ) -> Iterator[None]:
        """Add an open folder to rows and folder keys; yield a batch when the rows are full."""
        self.list_requests += 1
        parent, escapes = f"{folder}/" if folder else "", set[str]()
        with os.scandir(handle) as entries:
            for entry in entries:
                self._shown(entry.name, folder, escapes)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(parent + entry.name)
                    continue
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    self._check_file_gone(parent + entry.name, entry)
                    continue
                if st.S_ISREG(found.st_mode):
                    stamp = found.st_mtime_ns
                    etag = f"{found.st_ino:x}-{stamp:x}"
                    rows.add(parent + entry.name, found.st_size, stamp // 1000, etag)
                else:
                    rows.add(parent + entry.name, found.st_size, None, None)
                if rows.is_full:
                    yield

    def _shown(self, name: str, folder: str, escapes: set[str]) -> str:
        """Return a name as keys show it; an error if they show another one of its folder so.

        What is read or asked for by such a key is one of the two files, and never the other.

        Args:
            escapes: Names of the folder so far that are, or may be, shown escaped.
        """
        if name.isascii() and "\\" not in name:
            return name
        shown = escaped(name)
        if shown in escapes:
            why = f"two names in it are shown as {shown!r}, as one is no UTF-8: rename that one"
            raise unreachable(f"list {self._place(escaped(folder))}", why)
        if "\\" in shown:
            escapes.add(shown)
        return shown

    @contextmanager
    def _folder(self, key: str) -> Iterator[int | None]:
        """Open a folder for scanning; ``None`` if it is absent, an error if the root is."""
        handle = self._open_root()
        try:
            if key:
                handle = _descend(handle, checked_parts(key))
        except FileNotFoundError as err:
            if "\\" in key:
                raise unreachable(f"list {self._place(key)}", _ESCAPED) from err
            self._check_gone(key)
            yield None
            return
        except (OSError, ValueError) as err:
            raise unreachable(f"list {self._place(key)}", err) from err
        try:
            yield handle
        except OSError as err:
            raise unreachable(f"list {self._place(key)}", err) from err
        finally:
            os.close(handle)

    def _check_file_gone(self, key: str, entry: os.DirEntry[str]) -> None:
        """Check what may be a folder: some mounts list no types. Millions of files come and go."""
        if may_be_metadata(key) or not entry.is_file(follow_symlinks=False):
            self._check_gone(key)

    def _check_gone(self, key: str) -> None:
        """Raise ``StorageUnreachableError`` if a folder lists what cannot be found in it."""
        place = self._place(escaped(key))
        try:
            for _ in range(_ATTEMPTS):  # Flink may make it again meanwhile
                with self._parent(key) as (handle, name):
                    if not _is_unfound(name, handle):
                        return
        except FileNotFoundError:
            return
        except OSError as err:
            raise unreachable(f"read {place}", err) from err
        why = "it is listed and cannot be found: a mount may lack its characters; rename it"
        raise unreachable(f"read {place}", why)

    @contextmanager
    def _parent(self, key: str) -> Iterator[tuple[int, str]]:
        """Open the folder of a key without following links."""
        parts = checked_parts(key)
        handle = self._open_root()
        handle = _descend(handle, parts[:-1])
        try:
            yield handle, parts[-1]
        finally:
            os.close(handle)

    def _open_root(self) -> int:
        """Open the root, the same as ever: an unmounted disk looks like an empty one."""
        root = self.location.path
        try:
            handle = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
            found = os.fstat(handle)
            if self._identity not in {None, (found.st_dev, found.st_ino)}:
                os.close(handle)
                raise OSError(errno.ESTALE, "is another folder than when it was opened")  # noqa: TRY301 - one message
        except FileNotFoundError as err:
            raise StorageUnreachableError(f"folder {root} does not exist") from err
        except NotADirectoryError as err:
            raise StorageUnreachableError(f"{root} is not a folder") from err
        except OSError as err:
            raise unreachable(f"list {root}", err) from err
        self._identity = (found.st_dev, found.st_ino)
        return handle

    def _place(self, key: str) -> str:
        return str(self.location.child(key)) if key else str(self.location)


def _descend(handle: int, parts: Sequence[str]) -> int:
    """Return the descriptor of a folder below ``handle``; close ``handle``.

    Raises:
        FileNotFoundError: The folder is absent.
        OSError: A part is a symbolic link, or access is denied.
    """
    for part in parts:
        try:
            inner = os.open(part, _FOLDER, dir_fd=handle)
        except NotADirectoryError as err:
            if st.S_ISLNK(os.stat(part, dir_fd=handle, follow_symlinks=False).st_mode):
                raise _LinkedFolderError(errno.ELOOP, "symbolic link", part) from err
            raise FileNotFoundError(errno.ENOENT, "no such folder", part) from err
        finally:
            os.close(handle)
        handle = inner
    return handle


def _is_unfound(name: str, handle: int) -> bool:
    """Return whether an open folder lists a name that cannot be found in it."""
    with os.scandir(handle) as entries:
        is_listed = any(each.name == name for each in entries)
    try:
        os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return is_listed
    return False


def _folders_in(handle: int) -> tuple[list[str], bool]:
    """Return the names of the folders in an open folder, and whether it holds nothing else.

    Of a folder that two links alone lead to, its own and its parent's, the first entry shows that.
    """
    has_no_folder = os.fstat(handle).st_nlink == _LINKS_WITHOUT_FOLDERS
    names: list[str] = []
    holds_only_folders = True
    with os.scandir(handle) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
            else:
                holds_only_folders = False
                if has_no_folder:
                    break
    return names, holds_only_folders


def _leads_to_file(link: os.DirEntry[str]) -> bool:
    """Return whether the target of a link is a file: it may be a folder, or cannot be seen."""
    try:
        return st.S_ISREG(link.stat(follow_symlinks=True).st_mode)
    except OSError:
        return False
