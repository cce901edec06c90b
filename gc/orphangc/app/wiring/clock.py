"""This machine's clock, this process's name: the only reads of either."""

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
    """Return what tells one process of a pid from the next, ``None`` if there is none.

    Linux only: the start time in ``/proc``; elsewhere every foreign process counts as alive.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return f"{boot}/{stat.rpartition(')')[2].split()[19]}"


def this_process() -> Holder:
    """Return who asks for a lock, with a token that no other run has."""
    pid = os.getpid()
    started = _started(pid) or "unknown"
    return Holder(token=uuid.uuid4().hex, host=socket.gethostname(), pid=pid, started=started)


def is_dead(holder: Holder) -> bool:
    """Return whether a holder was a process of this machine that has ended for sure."""
    if holder.host != socket.gethostname() or not Path("/proc/self/stat").exists():
        return False
    return _started(holder.pid) != holder.started
