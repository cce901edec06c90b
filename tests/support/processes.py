"""Processes of this machine."""

from __future__ import annotations

from pathlib import Path


def is_running(process: int) -> bool:
    """Return whether a process exists, of whatever user, and is no zombie."""
    try:
        stat = Path("/proc", str(process), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wakings(process: int) -> int:
    """Return how often the main thread of a process has gone on after it waited."""
    status = Path("/proc", str(process), "status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
