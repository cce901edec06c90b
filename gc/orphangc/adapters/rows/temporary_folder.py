"""Temporary folders of this program; what a killed command left is removed by a later one."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import structlog

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
