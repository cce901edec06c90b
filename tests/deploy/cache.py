"""Tools that are fetched once a machine: a folder each, filled by one process, seen when whole."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


class ToolMissingError(Exception):
    """A tool cannot be had on this machine; the message says which and why."""


def cache_folder() -> Path:
    """Return where tools are kept: ORPHANGC_TOOLS_CACHE, or a folder in the user's cache."""
    chosen = os.environ.get("ORPHANGC_TOOLS_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "orphangc-tests" / "tools"


def cached(name: str, fill: Callable[[Path], None]) -> Path:
    """Return a folder of the cache, filled unless an earlier run did so.

    It appears by one rename, so that a crash leaves nothing half done; a second process waits for
    the first instead of fetching the same.
    """
    folder = cache_folder() / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # pytest's own time limit ends a wait for ever
        if not folder.is_dir():
            _fill(folder, fill)
    return folder


def _fill(folder: Path, fill: Callable[[Path], None]) -> None:
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        fill(partial)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
