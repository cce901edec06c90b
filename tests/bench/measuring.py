"""What one command costs: wall time, CPU and peak memory of it and all its children."""

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took: seconds, seconds of CPU in user and kernel mode, MiB."""

    wall: float
    cpu: float
    peak: float


def measure(
    command: Sequence[str | Path], environment: Mapping[str, str], output: Path | None = None
) -> Cost:
    """Run a command to its end.

    Peak memory is that of the whole tree of processes, shared pages counted once, sampled ten
    times a second, or that of the largest single process if this is more.

    Raises:
        RuntimeError: It failed.

    """
    with open(output or os.devnull, "wb") as out:  # noqa: PTH123 - devnull is no Path
        start = time.perf_counter()
        child = subprocess.Popen(
            [str(part) for part in command],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
    peaks = [0.0]
    over = threading.Event()
    sampler = threading.Thread(target=_sample, args=(child.pid, peaks, over))
    complaints: list[str] = []
    reader = threading.Thread(target=lambda: complaints.append(child.stderr.read()))
    sampler.start()
    reader.start()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    over.set()
    sampler.join()
    reader.join()
    child.stderr.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{command[0]} ended with {child.returncode}: {complaints[0][-800:]}")
    return Cost(wall, used.ru_utime + used.ru_stime, max(*peaks, used.ru_maxrss / 1024))


def _sample(pid: int, peaks: list[float], over: threading.Event) -> None:
    while not over.wait(_SAMPLE_SECONDS):
        peaks.append(sum(map(_proportional_mib, _tree(pid))))


def _tree(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for each in found:
        found += children.get(each, ())
    return found


def _proportional_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
