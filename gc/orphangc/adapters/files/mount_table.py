"""The device of a location, a bucket or what this machine mounted there, and the clock of it (R10).

A file system of this host dates its files by the host's clock. A mounted one (NFS, SMB, FUSE, ...)
may date them by its server's clock, which only a new file shows. The collector writes nothing below
a storage root, so it writes that file into the state location, if that is on the same file system.
"""

import os
import uuid
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from flinkstate.files.mounts import is_export, mount_in, mounts_in, table_text
from flinkstate.files.paths import resolved
from flinkstate.places.locations import Location, canonical
from orphangc.adapters.files.state_files import PROBE
from orphangc.adapters.files.translate import host_now
from orphangc.core.times.instants import from_microseconds
from orphangc.ports import StoreTime

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
    if found is None:
        return None
    return f"{found.kind} {found.source if is_export(found.source) else f'at {found.at}'}"


OF_THIS_HOST = frozenset(
    {
        *("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs"),
        *("reiserfs", "tmpfs", "vfat", "xfs", "zfs"),
    }
)
"""Types of file systems whose files the kernel of this host dates; every other type is mounted."""


def store_time(root: Location, probe_in: Path | None) -> StoreTime:
    """Return the time of the clock that dates the files below a folder; ``None`` if unknown.

    What is mounted below it may have another clock, which no file beside it shows.
    """
    own, *below = _kinds_in(root)
    local = host_now()
    other = next((each for each in below if each not in OF_THIS_HOST), None)
    if own in OF_THIS_HOST and other is None:
        return StoreTime(now=local, local=local, source="clock of this host")
    if other or probe_in is None or not is_on_same_device(Path(root.path), probe_in):
        source = f"the state location is not on the mounted file system ({other or own})"
        return StoreTime(now=None, local=local, source=source)
    shown = _time_of_new_file(probe_in)
    source = f"a new file in the state location, on the same file system ({own})"
    return StoreTime(now=shown, local=host_now(), source=source)


def _kinds_in(folder: Location) -> list[str]:
    """Return the type of the file system of a folder, and of each that is mounted below it."""
    try:
        table, path = table_text(), resolved(folder).path
    except OSError:
        return ["unknown"]
    devices = [device_in(table, Path(each)) for each in (path, *hidden_in(table, path))]
    return [(each or "unknown").partition(" ")[0] for each in devices]


def is_on_same_device(root: Path, folder: Path) -> bool:
    """Return whether a folder, or its nearest existing parent, is on a root's file system."""
    with suppress(OSError):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        return there.stat().st_dev == root.stat().st_dev
    return False


def _time_of_new_file(folder: Path) -> datetime | None:
    probe = folder / f"{PROBE}{uuid.uuid4()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with probe.open("xb") as file:
            file.write(b"\n")
            file.flush()
            os.fsync(file.fileno())
        return from_microseconds(probe.stat().st_mtime_ns // 1000)
    except OSError:
        return None
    finally:
        with suppress(OSError):
            probe.unlink()
