"""Which holder of a lock has ended: decides whether another run may take the lock over."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orphangc.app.wiring.clock import _started, is_dead, this_process
from orphangc.collect.state.lock import Holder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

WITHOUT_ITS_FIRST_THREAD = """\
import ctypes, threading, time

threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@contextmanager
def started(code: str) -> Iterator[tuple[subprocess.Popen[bytes], Holder]]:
    """Yield a process that waits for its input, and the holder that it would be; then end it."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"input()\n{code}"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    start = _started(process.pid)
    assert start is not None
    with process:
        yield process, replace(this_process(), pid=process.pid, started=start)
        process.kill()


def goes_on(process: subprocess.Popen[bytes]) -> None:
    """Let it run its code until its first thread has ended, without reaping it."""
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    while not is_zombie(process.pid):
        time.sleep(0.01)


def is_zombie(pid: int) -> bool:
    """Return whether a process's first thread has ended and was not reaped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_process_is_not_dead_while_it_runs() -> None:
    """Neither this one, nor a child that waits."""
    with started("") as (_, holder):
        assert (is_dead(this_process()), is_dead(holder)) == (False, False)
    assert is_dead(holder)


def test_one_that_was_not_reaped_is_dead() -> None:
    """A container's first process reaps late, or never."""
    with started("") as (process, holder):
        goes_on(process)
        assert is_dead(holder)


def test_one_that_lost_only_its_first_thread_is_alive() -> None:
    """It is listed as one that was not reaped, and another thread of it may delete."""
    with started(WITHOUT_ITS_FIRST_THREAD) as (process, holder):
        goes_on(process)
        assert not is_dead(holder)


@pytest.mark.parametrize("part", [0, 1], ids=["another boot", "another container"])
def test_one_whose_processes_cannot_be_seen_is_never_dead(part: int) -> None:
    """Machines and containers may share a name: on the network of their host, in two clusters."""
    seen = this_process().started.split("/")
    seen[part], seen[-1] = "another", "1"
    assert not is_dead(replace(this_process(), started="/".join(seen)))


def test_a_later_process_with_the_same_pid_is_another() -> None:
    """The start differs."""
    seen, _, _ = this_process().started.rpartition("/")
    assert is_dead(replace(this_process(), started=f"{seen}/1"))
    assert is_dead(replace(this_process(), started=f"{seen}/1", host="another"))
