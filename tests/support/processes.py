"""Processes of this machine, and threads of this one."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support import speed


def tied_to_us() -> list[str]:
    """Return what to put before a command so that the kernel ends it with us, where it can."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def finished(
    command: Iterable[object], *, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Return a command that has ended and what it printed; it takes no longer than one may."""
    words, limits = [str(each) for each in command], {"timeout": speed.command()}
    return subprocess.run(words, check=check, capture_output=True, text=True, **limits | options)


def until(what: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + speed.patience()
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} is not true after {speed.patience():.0f} s")


def is_running(process: int) -> bool:
    return _state(Path("/proc", str(process))) not in {"", "Z"}


def pause(process: int) -> None:
    """Stop a process until SIGCONT, and wait until it stands: each thread takes its time."""
    os.kill(process, signal.SIGSTOP)
    tasks = Path("/proc", str(process), "task")
    until(lambda: {_state(each) for each in tasks.iterdir()} <= {"", "T"})


def _state(folder: Path) -> str:
    """Return the letter of the state of a process or thread, "" of none."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


_LASTING = ("fsspecIO", "asyncio_", "AnyIO", "(serve_forever)", "(process_request_thread)")
"""Parts of the names of threads that last: fsspec's loop, those of a session's servers, and those
of the client that asks for pages."""


@contextmanager
def no_thread_left() -> Iterator[None]:
    """Wait for each thread that the block starts; one that does not end is an error."""
    before = {*threading.enumerate()}
    yield
    for each in {*threading.enumerate()} - before:
        if not any(part in each.name for part in _LASTING):
            each.join(speed.patience())
            assert not each.is_alive(), f"{each.name} outlives what started it"


def wakings(process: int) -> int:
    """Return how often the main thread of a process has gone on after it waited."""
    status = Path("/proc", str(process), "status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
