"""Temporary folders of this program; what a killed command left is removed by a later one."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa
import structlog
from pyarrow import ipc

_PREFIX = "orphangc-temporary-"
_OURS = re.compile(re.escape(_PREFIX) + "[a-z0-9_]{8}")
"""Names that ``mkdtemp`` gives, and no person: ``orphangc-state`` may be a person's own folder."""
_LEFT_AFTER_SECONDS = 86_400

log = structlog.get_logger()


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A temporary folder that is locked for as long as its process lives.

    The lock shows other processes, in other containers too, that the folder is in use.
    """

    def __init__(self, above: Path | None = None) -> None:
        """Make the folder, and remove what killed commands of this user left beside it."""
        super().__init__(prefix=_PREFIX, dir=above, ignore_cleanup_errors=True)
        self._held = _locked(Path(self.name))
        remove_left_behind(Path(self.name).parent)

    def cleanup(self) -> None:
        """Remove the folder; may be called twice."""
        super().cleanup()
        if self._held is not None:
            os.close(self._held)
            self._held = None


@cache
def remove_left_behind(above: Path) -> None:
    """Remove the temporary folders that killed commands of this user left in a folder.

    A folder was left if nothing holds its lock and it has not changed for a day. Each one is
    logged; what cannot be removed is left to its owner. A process looks once.
    """
    for path in sorted(_unchanged(above)):
        held = _locked(path)
        if held is None:
            continue
        shutil.rmtree(path, ignore_errors=True)
        os.close(held)
        log.warning("temporary_folder.removed", folder=str(path), left_by="a command that died")


def _unchanged(above: Path) -> Iterator[Path]:
    """Yield the temporary folders of this user that have not changed for a day."""
    with tempfile.TemporaryFile(dir=above) as file:
        now = os.fstat(file.fileno()).st_mtime  # by the clock that made the other times
    with os.scandir(above) as entries:
        for each in entries:
            if not (_OURS.fullmatch(each.name) and each.is_dir(follow_symlinks=False)):
                continue
            facts = each.stat(follow_symlinks=False)
            if facts.st_uid == os.geteuid() and now - facts.st_mtime > _LEFT_AFTER_SECONDS:
                yield Path(each.path)


def _locked(path: Path) -> int | None:
    """Return a descriptor that locks a folder, ``None`` if another process holds the lock."""
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # another command removed it just now
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by another process, or a file system without locks: either way kept
        os.close(held)
        return None
    return held


@dataclass(slots=True)
class _Writing:
    """A file that is being written."""

    file: pa.OSFile
    stream: ipc.RecordBatchStreamWriter


@dataclass(slots=True)
class ArrowTemporaryRows:
    """Rows in one Arrow file; without rows there is no file."""

    path: Path
    schema: pa.Schema
    _writing: _Writing | None = field(default=None, repr=False)
    _is_closed: bool = False

    def append(self, batch: pa.RecordBatch) -> None:
        """Append a batch; see ``TemporaryRows``."""
        if self._is_closed:
            raise ValueError(f"{self.path} is closed")
        if self._writing is None:
            file = pa.OSFile(str(self.path), "wb")
            self._writing = _Writing(file, ipc.new_stream(file, self.schema))
        self._writing.stream.write_batch(batch)

    def close(self) -> None:
        """Complete the file; see ``TemporaryRows``."""
        self._is_closed = True
        if self._writing is not None:
            self._writing.stream.close()
            self._writing.file.close()
            self._writing = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows; see ``TemporaryRows``.

        The file is read, not mapped: pages of a mapped file count as memory while it is open.
        """
        self.close()
        if not self.path.exists():
            return
        with pa.OSFile(str(self.path)) as source:
            yield from ipc.open_stream(source)


@dataclass(frozen=True, slots=True)
class ArrowTemporarySpace:
    """A local folder for temporary rows."""

    folder: Path

    def rows(self, schema: pa.Schema) -> ArrowTemporaryRows:
        """Return empty temporary rows; see ``TemporarySpace``."""
        return ArrowTemporaryRows(self.folder / f"{uuid.uuid4().hex}.arrow", schema)


@contextmanager
def temporary_space() -> Iterator[ArrowTemporarySpace]:
    """Yield a temporary folder of this machine; remove it with its files afterwards."""
    with TemporaryFolder() as folder:
        yield ArrowTemporarySpace(Path(folder))
