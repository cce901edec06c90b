"""The table of mounts of this machine: which file system is at which folder."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from flinkstate.places.locations import Location

TABLE = Path("/proc/self/mountinfo")
_DEVICE, _ROOT, _AT = 2, 3, 4
"""Positions of a mount's device, of the folder that it shows, and of its own, in a line."""


class Mount(NamedTuple):
    """A folder of a file system that is shown at a folder of this machine.

    Attributes:
        kind: Type of the file system.
        source: Its block device or its export; other types have any text.
        at: Folder of this machine.
        shown: Folder of the file system: two mounts that show one folder have the same.
    """

    kind: str
    source: str
    at: Location
    shown: Location


def is_export(source: str) -> bool:
    """Return whether a server shows the file system, and the source says where."""
    return ":" in source or source.startswith("//")


def table_text() -> str:
    """Return the mount table.

    Raises:
        OSError: There is none.
    """
    return TABLE.read_text(encoding="utf-8", errors="backslashreplace")


@lru_cache(maxsize=1)
def mounts_in(table: str) -> tuple[Mount, ...]:
    """Return the mounts of a mount table.

    Source: proc_pid_mountinfo(5): after a lone "-" follow the type of the file system and its
    source.
    """
    found = []
    for line in table.splitlines():
        before, dash, after = line.partition(" - ")
        fields, about = before.split(" "), after.split(" ")
        if dash and len(fields) > _AT and about[1:]:
            source, at = _unescaped(about[1]), Location("file", "", _unescaped(fields[_AT]))
            shown = _shown(source, fields[_DEVICE], _unescaped(fields[_ROOT]))
            found.append(Mount(about[0], source, at, shown))
    return tuple(found)


def _shown(source: str, device: str, root: str) -> Location:
    """Return a folder of a file system; the source of an export says all or the first part."""
    if is_export(source):
        return Location("export", "", f"{source.rstrip('/')}{root}".rstrip("/"))
    return Location("device", device, root)


def mount_in(mounts: Iterable[Mount], path: str) -> Mount | None:
    """Return the mount of a path; the last mount at the deepest folder wins."""
    inside, found = f"{path}/", None
    for mount in mounts:
        is_deepest = found is None or len(mount.at.path) >= len(found.at.path)
        if is_deepest and inside.startswith(mount.at.path.rstrip("/") + "/"):
            found = mount
    return found


def _unescaped(text: str) -> str:
    """Return a field decoded: the table writes blanks and backslashes as octal numbers."""
    if "\\" not in text:
        return text
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
