"""The device of a location: a bucket, or the file system that this machine mounted there."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from flinkstate.places.locations import Location, canonical

_MOUNTS = Path("/proc/self/mountinfo")
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_MOUNT_POINT = 4
"""Position of the mount point in a line of the mount table."""


def device_of(place: Location) -> str | None:
    """Return the device of a location; ``None`` if this machine does not know it.

    A network file system is named by its type and export, any other by its type and mount point:
    numbers and names of block devices change when a machine restarts. An empty folder where a file
    system is no longer mounted has the device of the folder around it.
    """
    if place.scheme != "file":
        return f"{place.scheme}://{place.authority}"
    try:
        table = _MOUNTS.read_text(encoding="utf-8", errors="backslashreplace")
        path = Path(place.path).resolve()
    except OSError:
        return None
    return device_in(table, path)


def mount_of(place: Location) -> Location | None:
    """Return where the file system of a local place is mounted, with its links resolved.

    ``None`` for the machine's own file system, for one in memory, which keeps nothing and which all
    programs share, and where there is no mount table.
    """
    if place.scheme != "file":
        return None
    try:
        table = _MOUNTS.read_text(encoding="utf-8", errors="backslashreplace")
        found = _mount_in(table, Path(place.path).resolve())
    except OSError:
        return None
    if found is None or found.at == "/" or found.kind in _IN_MEMORY:
        return None
    return canonical(found.at)


def device_in(table: str, path: Path) -> str | None:
    """Return the device of a path by a mount table."""
    found = _mount_in(table, path)
    return None if found is None else _named(found.kind, found.source, found.at)


class _Mount(NamedTuple):
    kind: str
    source: str
    at: str


def _mount_in(table: str, path: Path) -> _Mount | None:
    """Return the mount of a path by a mount table; the last mount at the deepest folder wins.

    Source: proc_pid_mountinfo(5): field 5 is the mount point; after a lone "-" follow the type of
    the file system and its source.
    """
    inside, deepest, mount = f"{path}/", 0, None
    for line in table.splitlines():
        before, dash, after = line.partition(" - ")
        fields, source = before.split(" "), after.split(" ")
        if not dash or len(fields) <= _MOUNT_POINT or not source[1:]:
            continue
        mounted_at = _unescaped(fields[_MOUNT_POINT])
        if len(mounted_at) >= deepest and inside.startswith(mounted_at.rstrip("/") + "/"):
            deepest = len(mounted_at)
            mount = _Mount(source[0], _unescaped(source[1]), mounted_at)
    return mount


def _named(kind: str, source: str, mounted_at: str) -> str:
    is_export = ":" in source or source.startswith("//")
    return f"{kind} {source}" if is_export else f"{kind} at {mounted_at}"


def _unescaped(text: str) -> str:
    """Return a field decoded: the table writes blanks and backslashes as octal numbers."""
    if "\\" not in text:
        return text
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
