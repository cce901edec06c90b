"""A machine that stutters: a command beside busy loops, on a busy disk, with processes that stop.

    PYTHONPATH=tests python -m support.stutter [--loops 4] [--seed 0] COMMAND...

Ends with the exit code of the command. Of the command's own processes one at a time is stopped
(SIGSTOP) for up to five seconds; what turns a test red then would turn it red for somebody whose
machine is shared. Only processes that the command started are ever signalled.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

_LOOP = "while True: pass"
_DISK = """
import os, sys
block = bytes(1 << 20)
with open(sys.argv[1], "wb") as file:
    while True:
        for _ in range(64):
            file.write(block)
            file.flush()
            os.fsync(file.fileno())
        file.seek(0)
"""
_LONGEST_STOP = 5.0
_LONGEST_PAUSE = 3.0
_NEVER = ("java", "radosgw", "ceph-mon", "ceph-osd")
"""Programs of third parties with leases of their own: a stop of theirs is not ours to bear."""


def descendants(process: int) -> list[int]:
    found = [process]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):
                found += [int(pid) for pid in task.read_text().split()]
    return found[1:]


def may_stop(process: int) -> bool:
    """Return whether a process is of Python: ours, and no server of a third party."""
    try:
        name = Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return False
    return name not in _NEVER


def stopping(
    process: int, chance: random.Random, wait: Callable[[float], bool]
) -> Iterator[tuple[int, float]]:
    """Stop one descendant of a process after the other, until ``wait`` returns true.

    Yields:
        Each one that was stopped, once it goes on, and for how many seconds it was.

    """
    while not wait(chance.uniform(0, _LONGEST_PAUSE)):
        chosen = [each for each in descendants(process) if may_stop(each)]
        if not chosen:
            continue
        stopped, seconds = chance.choice(chosen), chance.uniform(0, _LONGEST_STOP)
        with suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGSTOP)
            try:
                wait(seconds)
            finally:
                os.kill(stopped, signal.SIGCONT)
            yield stopped, seconds


@contextmanager
def _beside(*arguments: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", *arguments])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main(arguments: list[str]) -> int:
    """Run a command on a machine that stutters; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--loops", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args(arguments)
    over, stops = threading.Event(), []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="stutter-"))
        stack.enter_context(_beside(_DISK, str(Path(folder, "block"))))
        for _ in range(asked.loops):
            stack.enter_context(_beside(_LOOP))
        command = subprocess.Popen(asked.command)

        def stutter() -> None:
            stops.extend(stopping(command.pid, random.Random(asked.seed), over.wait))

        thread = threading.Thread(target=stutter)
        thread.start()
        code = command.wait()
        over.set()
        thread.join()
    took = sum(seconds for _, seconds in stops)
    print(f"stutter: {len(stops)} stops of {took:.0f} s in all; the command ended with {code}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
