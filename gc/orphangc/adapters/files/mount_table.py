"""The device of a location: a bucket, or the file system that this machine mounted there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flinkstate.files.paths import resolved
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
        path = Path(resolved(place).path)
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
        found = _mount_in(table, Path(resolved(place).path))
    except OSError:
        return None
    if found is None or found.at == "/" or found.kind in _IN_MEMORY:
        return None
    return canonical(found.at)


def mounts_below(place: Location) -> list[Location]:
    """Return the folders of a mounted file system that other mounts hide; none of another place.

    Where the file systems of one server are mounted as the server shows them, nothing is hidden.
    """
    if place != mount_of(place):
        return []
    table = _MOUNTS.read_text(encoding="utf-8", errors="backslashreplace")
    return [canonical(each) for each in hidden_in(table, place.path)]


def hidden_in(table: str, path: str) -> list[str]:
    """Return the folders below a path that mounts hide, by a mount table."""
    mounts = {each.at: each for each in _mounts(table)}  # of two at one folder the last is seen
    around = _mount_in(table, Path(path))
    shown = "" if around is None or not _is_export(around.source) else around.source.rstrip("/")
    return [
        at
        for at, each in mounts.items()
        if at.startswith(f"{path}/") and not (shown and each.source == shown + at[len(path) :])
    ]


def device_in(table: str, path: Path) -> str | None:
    """Return the device of a path by a mount table."""
    found = _mount_in(table, path)
    return None if found is None else _named(found.kind, found.source, found.at)


class _Mount(NamedTuple):
    kind: str
    source: str
    at: str


def _mount_in(table: str, path: Path) -> _Mount | None:
    """Return the mount of a path by a mount table; the last mount at the deepest folder wins."""
    inside, found = f"{path}/", None
    for mount in _mounts(table):
        is_deepest = found is None or len(mount.at) >= len(found.at)
        if is_deepest and inside.startswith(mount.at.rstrip("/") + "/"):
            found = mount
    return found


def _mounts(table: str) -> Iterator[_Mount]:
    """Yield the mounts of a mount table.

    Source: proc_pid_mountinfo(5): field 5 is the mount point; after a lone "-" follow the type of
    the file system and its source.
    """
    for line in table.splitlines():
        before, dash, after = line.partition(" - ")
        fields, source = before.split(" "), after.split(" ")
        if dash and len(fields) > _MOUNT_POINT and source[1:]:
            yield _Mount(source[0], _unescaped(source[1]), _unescaped(fields[_MOUNT_POINT]))


def _is_export(source: str) -> bool:
    return ":" in source or source.startswith("//")


def _named(kind: str, source: str, mounted_at: str) -> str:
    return f"{kind} {source}" if _is_export(source) else f"{kind} at {mounted_at}"


def _unescaped(text: str) -> str:
    """Return a field decoded: the table writes blanks and backslashes as octal numbers."""
    if "\\" not in text:
        return text
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
