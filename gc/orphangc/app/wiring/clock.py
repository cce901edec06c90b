"""This machine's clock and this process's identity; no other module reads them."""

from __future__ import annotations

import os
import socket
import uuid
from datetime import UTC, datetime
from pathlib import Path

from orphangc.collect.state.lock import Holder


def now() -> datetime:
    """Return this machine's time, aware UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the one place


def _started(pid: int) -> str | None:
    """Return what distinguishes a process from a later one with the same pid, or ``None``.

    Linux only: the start time in ``/proc``; elsewhere every foreign process counts as alive.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return f"{boot}/{stat.rpartition(')')[2].split()[19]}"


def this_process() -> Holder:
    """Return this process as holder of a lock, with a token that no other run has."""
    pid = os.getpid()
    started = _started(pid) or "unknown"
    return Holder(token=uuid.uuid4().hex, host=socket.gethostname(), pid=pid, started=started)


def is_dead(holder: Holder) -> bool:
    """Return whether a holder was a process of this machine that has certainly ended."""
    if holder.host != socket.gethostname() or not Path("/proc/self/stat").exists():
        return False
    return _started(holder.pid) != holder.started
