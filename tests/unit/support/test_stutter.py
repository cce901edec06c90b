"""Stops only what a command started, and lets each go on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from support import stutter

CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"


def state(process: int) -> str:
    """Return the state of a process as the kernel names it: T is stopped."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_only_descendants_are_stopped_and_all_go_on() -> None:
    """The command itself is one process; this test and its other children are none of its."""
    with (
        subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE) as command,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other,
    ):
        while not (below := stutter.descendants(command.pid)):
            pass
        assert other.pid not in below
        assert os.getpid() not in below
        waits = 0

        def wait(_: float) -> bool:
            nonlocal waits
            waits += 1
            while waits % 2 == 0 and "T" not in map(state, below):
                pass  # a signal of another process takes its time
            return waits > 8

        stopped = list(stutter.stopping(command.pid, random.Random(1), wait))
        assert ({pid for pid, _ in stopped}, len(stopped)) == (set(below), 4)
        while "T" in map(state, below):
            pass
        other.communicate(b"\n")
        command.communicate(b"\n")


def test_the_command_says_how_it_ended() -> None:
    assert stutter.main(["--loops", "0", sys.executable, "-c", "raise SystemExit(3)"]) == 3
