"""Files of tests in memory, where a machine has enough of it.

A command writes dozens of small files and waits until the disk has them, as it must. On a slow disk
tests of commands take twice as long, so that a disk says more of how long they take than what they
do. ``--basetemp`` chooses another folder, as ever.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes import is_running

SESSIONS = Path("/dev/shm", f"orphangc-tests-{os.getuid()}")
"""Folder of this user's sessions, on the file system in memory that every Linux has."""
_GIB = 1 << 30
LEAST_FREE = 6 * _GIB
"""Free bytes of that file system: README's command leaves a twelfth of it."""
LEAST_AVAILABLE = 10 * _GIB
"""Available bytes of memory: a Flink, a Spark and an S3 server need some besides."""


def available_bytes(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Return the bytes of memory that new programs can have, 0 if unknown."""
    try:
        found = re.search(r"^MemAvailable: +(\d+) kB$", meminfo.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return 0 if found is None else int(found[1]) * 1024


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the file system of a folder, 0 if there is no such folder."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


class MemoryFolder:
    """Gives a session a folder in memory, and frees it when all its tests have passed.

    What failed tests left stays until the next session.
    """

    def __init__(
        self,
        above: Path = SESSIONS,
        free: Callable[[Path], int] = free_bytes,
        available: Callable[[], int] = available_bytes,
    ) -> None:
        self.above = above
        self.free = free
        self.available = available
        self._own: Path | None = None

    def chosen(self) -> Path | None:
        """Return the folder of this session, ``None`` where memory or access is short."""
        self._forget()
        if self.free(self.above.parent) < LEAST_FREE or self.available() < LEAST_AVAILABLE:
            return None
        try:
            self.above.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return None
        self._own = self.above / str(os.getpid())
        return self._own

    def _forget(self) -> None:
        """Remove the folders of sessions that are over."""
        for each in self.above.glob("*"):
            if not (each.name.isdecimal() and is_running(int(each.name))):
                shutil.rmtree(each, ignore_errors=True)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Free the memory, unless somebody may want to look at what a test left."""
        if self._own is not None and exitstatus == pytest.ExitCode.OK:
            shutil.rmtree(self._own, ignore_errors=True)
