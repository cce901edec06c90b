"""State locations for tests: the real adapters, and one whose every step can be held up."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.files.state_files import FsspecStateFiles, LocalStateFiles
from orphangc.ports import StateFiles


@dataclass(frozen=True, slots=True)
class Place:
    """A state location whose files can be damaged and made older behind its back."""

    files: StateFiles
    damage: Callable[[str, bytes], None]
    make_older: Callable[[str, timedelta], None]


def local_place(folder: Path) -> Place:
    def make_older(name: str, by: timedelta) -> None:
        then = (folder / name).stat().st_mtime - by.total_seconds()
        os.utime(folder / name, (then, then))

    files = LocalStateFiles(canonical(str(folder)))
    return Place(files, lambda name, data: (folder / name).write_bytes(data) and None, make_older)


def memory_place(folder: Path) -> Place:
    """Return a folder of fsspec's memory, named after a temporary one."""
    location = canonical(f"memory://{folder}")
    file_system = fsspec.filesystem("memory")

    def make_older(name: str, by: timedelta) -> None:
        file_system.store[f"{location.path}/{name}"].modified -= by

    def damage(name: str, data: bytes) -> None:
        file_system.pipe_file(f"{location.path}/{name}", data)

    return Place(FsspecStateFiles(location), damage, make_older)


PLACES = {"local": local_place, "memory": memory_place}


@dataclass
class SteppedFiles:
    """Files in memory; before each step a callback may hold the caller up."""

    # called with verb and name before anything is done
    before: Callable[[str, str], None] = lambda _verb, _name: None
    tells_time: bool = True  # whether ``modified_at`` knows anything
    now: datetime = datetime(2026, 11, 21, 14, tzinfo=UTC)
    location: Location = field(default_factory=lambda: Location("memory", "", "/stepped"))
    found: dict[str, tuple[bytes, datetime]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def names(self, folder: str) -> list[str]:
        self.before("names", folder)
        with self._lock:
            parts = [name.rpartition("/") for name in self.found]
        return sorted(name for above, _, name in parts if above == folder)

    def read(self, name: str) -> bytes | None:
        self.before("read", name)
        with self._lock:
            return self.found[name][0] if name in self.found else None

    def write(self, name: str, data: bytes) -> None:
        self.before("write", name)
        with self._lock:
            self.found[name] = (data, self.now)

    def create(self, name: str, data: bytes) -> bool:
        self.before("create", name)
        with self._lock:
            return self.found.setdefault(name, (data, self.now))[0] is data

    def remove(self, name: str) -> None:
        self.before("remove", name)
        with self._lock:
            self.found.pop(name, None)

    def modified_at(self, name: str) -> datetime | None:
        self.before("modified_at", name)
        with self._lock:
            return self.found[name][1] if self.tells_time and name in self.found else None
