"""This machine's clock and this process's identity; no other module reads them."""

import os
import socket
import uuid
from datetime import UTC, datetime
from pathlib import Path

from orphangc.collect.state.lock import Holder

_ENDED = ("Z", "X")
"""States in ``/proc/PID/stat`` of a thread that runs no more."""


def now() -> datetime:
    """Return this machine's time, aware UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one place


def _started(pid: int) -> str | None:
    """Return what distinguishes a process from any other, or ``None``: boot, PID namespace, start.

    ``None`` if it has ended. One that its parent has not reaped has ended too, once its first
    thread is its last one: under a container's first process, which reaps late or never, it would
    keep its lock.

    Linux only: the start time in ``/proc``; elsewhere every foreign process counts as alive.
    """
    process = Path("/proc") / str(pid)
    try:
        stat = (process / "stat").read_text(encoding="ascii", errors="replace")
        threads = len(list((process / "task").iterdir()))  # read later: an ended one adds none
        seen = _seen()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ENDED and threads == 1 else f"{seen}/{fields[19]}"


def _seen() -> str:
    """Return which processes ``/proc`` shows: those of one boot and one PID namespace."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot}/{Path('/proc/self/ns/pid').readlink()}"


def this_process() -> Holder:
    """Return this process as holder of a lock, with a token that no other run has."""
    pid = os.getpid()
    started = _started(pid) or "unknown"
    return Holder(token=uuid.uuid4().hex, host=socket.gethostname(), pid=pid, started=started)


def is_dead(holder: Holder) -> bool:
    """Return whether a holder was a process that could be seen here, and has certainly ended.

    A host's name shows neither: containers on the network of their host have one name, and so may
    machines. What is in another PID namespace, or began before the last boot, cannot be seen.
    """
    try:
        is_seen = holder.started.rpartition("/")[0] == _seen()
    except OSError:
        return False
    return is_seen and _started(holder.pid) != holder.started
