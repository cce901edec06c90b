"""The clock that dates the files of a folder: this host's, or a remote server's (R10).

A file system of this host dates its files by the host's clock. A mounted one (NFS, SMB, FUSE, ...)
may date them by its server's clock, which only a new file shows. The collector writes nothing below
a storage root, so it writes that file into the state location, if that is on the same file system.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from flinkstate.places.locations import Location
from orphangc.adapters.files.mount_table import device_of
from orphangc.adapters.files.state_files import PROBE
from orphangc.adapters.files.translate import host_now
from orphangc.core.times.instants import from_microseconds
from orphangc.ports import StoreTime

OF_THIS_HOST = frozenset(
    {
        *("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs"),
        *("reiserfs", "tmpfs", "vfat", "xfs", "zfs"),
    }
)
"""Types of file systems whose files the kernel of this host dates; every other type is mounted."""


def store_time(root: Location, probe_in: Path | None) -> StoreTime:
    """Return the time of the clock that dates the files below a folder; ``None`` if unknown.

    Args:
        probe_in: Folder for a new file whose time is read: the state location.
    """
    kind = (device_of(root) or "unknown").partition(" ")[0]
    local = host_now()
    if kind in OF_THIS_HOST:
        return StoreTime(now=local, local=local, source="clock of this host")
    if probe_in is None or not is_on_same_device(Path(root.path), probe_in):
        source = f"the state location is not on the mounted file system ({kind})"
        return StoreTime(now=None, local=local, source=source)
    shown = _time_of_new_file(probe_in)
    source = f"a new file in the state location, on the same file system ({kind})"
    return StoreTime(now=shown, local=host_now(), source=source)


def is_on_same_device(root: Path, folder: Path) -> bool:
    """Return whether a folder, or its nearest existing parent, is on a root's file system."""
    with suppress(OSError):
        there = next(each for each in (folder, *folder.parents) if each.exists())
        return there.stat().st_dev == root.stat().st_dev
    return False


def _time_of_new_file(folder: Path) -> datetime | None:
    """Return the store time of a new file, ``None`` if none can be written."""
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
