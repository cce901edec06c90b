"""The device of a location: a bucket, or the file system that this machine mounted there."""

from __future__ import annotations

from pathlib import Path

from flinkstate.files.mounts import Mount, is_export, mount_in, mounts_in, table_text
from flinkstate.files.paths import resolved
from flinkstate.places.locations import Location, canonical

_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def device_of(place: Location) -> str | None:
    """Return the device of a location; ``None`` if this machine does not know it.

    A network file system is named by its type and export, any other by its type and mount point:
    numbers and names of block devices change when a machine restarts. An empty folder where a file
    system is no longer mounted has the device of the folder around it.
    """
    if place.scheme != "file":
        return f"{place.scheme}://{place.authority}"
    try:
        table = table_text()
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
        table = table_text()
        found = mount_in(mounts_in(table), resolved(place).path)
    except OSError:
        return None
    if found is None or found.at.path == "/" or found.kind in _IN_MEMORY:
        return None
    return canonical(found.at.path)


def mounts_below(place: Location) -> list[Location]:
    """Return the folders of a mounted file system that other mounts hide; none of another place.

    Where the file systems of one server are mounted as the server shows them, nothing is hidden.
    """
    if place != mount_of(place):
        return []
    table = table_text()
    return [canonical(each) for each in hidden_in(table, place.path)]


def hidden_in(table: str, path: str) -> list[str]:
    """Return the folders below a path that mounts hide, by a mount table."""
    mounts = {
        each.at.path: each for each in mounts_in(table)
    }  # of two at one folder the last is seen
    around = mount_in(mounts.values(), path)
    shown = "" if around is None or not is_export(around.source) else around.source.rstrip("/")
    return [
        at
        for at, each in mounts.items()
        if at.startswith(f"{path}/") and not (shown and each.source == shown + at[len(path) :])
    ]


def device_in(table: str, path: Path) -> str | None:
    """Return the device of a path by a mount table."""
    found = mount_in(mounts_in(table), str(path))
    return None if found is None else _named(found)


def _named(mount: Mount) -> str:
    return f"{mount.kind} {mount.source if is_export(mount.source) else f'at {mount.at}'}"
