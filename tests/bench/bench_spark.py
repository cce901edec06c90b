"""CPU, wall time and the driver's memory of ``plan`` on Spark beside this process; asserts nothing.

    python tests/bench/bench_spark.py [--sizes 1000000 4000000] [--masters MASTER ...]

On the synthetic endpoint, in turns, on each master (``local[2]``, ``local-cluster[2,1,1024]``).
What Spark takes to start, and to warm up on a small plan, is left out: it is told apart. CPU is
that of the whole tree of processes: driver, Java, workers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.bench_plan import make
from bench.measuring import _tree
from bench.synth.running import Synth, synth_server
from orphangc.adapters.spark.session import opened_session
from orphangc.app.cli import main as orphangc

_TICKS = os.sysconf("SC_CLK_TCK")
LOCAL = "local"


def cpu_seconds(pid: int) -> float:
    """Return the CPU of a process and all its descendants, those that have ended too."""
    ticks = 0
    for each in _tree(pid):
        try:
            words = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, words[11:15]))
    return ticks / _TICKS


def peak_mib() -> float:
    """Return the peak memory of this process alone: the driver's Python."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def java_mib(pid: int) -> float:
    """Return the present memory of the Java processes below a process."""
    found = 0.0
    for each in _tree(pid):
        place = Path(f"/proc/{each}")
        if (place / "comm").read_text().strip() == "java":
            found += int((place / "status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
    return found


def plan(engine: str, uri: str, folder: Path) -> None:
    """Make a plan."""
    sys.argv = ["orphangc", "plan", uri, "--engine", engine, "--output", "json"]
    sys.argv += ["--ended-job", "all", "--closed-world"]
    sys.argv += ["--state", f"{folder}/state", "--out", f"{folder}/plan"]
    sys.argv += [] if engine == LOCAL else ["--work", f"{folder}/work"]
    try:
        with (folder / "stdout").open("w") as out, redirect_stdout(out):
            orphangc()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"exit code {end.code}") from end


@contextmanager
def warmed_up(engine: str, uri: str) -> Iterator[float]:
    """Yield the seconds that it took to get a session that has made a small plan."""
    start = time.perf_counter()
    with nullcontext() if engine == LOCAL else opened_session():
        if engine != LOCAL:
            with tempfile.TemporaryDirectory() as folder:
                plan(engine, uri, Path(folder))
        yield time.perf_counter() - start


def measured(engine: str, small: str, uri: str) -> dict[str, float]:
    """Return what a plan costs in this process."""
    with warmed_up(engine, small) as ready, tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), cpu_seconds(os.getpid())
        plan(engine, uri, Path(folder))
        return {
            "ready": ready,
            "wall": time.perf_counter() - start,
            "cpu": cpu_seconds(os.getpid()) - cpu,
            "driver": peak_mib(),
            "java": java_mib(os.getpid()),
            "objects": json.loads((Path(folder) / "stdout").read_text())["objects_listed"],
        }


def sample(who: str, small: str, synth: Synth) -> dict[str, float]:
    """Return what a plan costs in a process of its own; ``who`` is local, or a Spark master."""
    engine = LOCAL if who == LOCAL else "spark"
    own = {**os.environ, **synth.environment, "SPARK_MASTER": who}
    command = [sys.executable, __file__, "--measure", engine, small, synth.uri]
    done = subprocess.run(command, env=own, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def small_storage(folder: Path) -> str:
    """Return a storage that is planned at once."""
    make(folder, 200)
    return str(folder)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--masters", nargs="+", default=["local[1]", "local[2]"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--live-share", type=float, default=0.5)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measured(*chosen.measure)))
        return
    print("| objects | who | ready s | wall s | CPU us/key | driver MiB | Java MiB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        small = small_storage(Path(folder) / "small")
        for keys in chosen.sizes:
            with synth_server(keys=keys, live=round(keys * chosen.live_share)) as synth:
                for who in (LOCAL, *chosen.masters) * chosen.rounds:
                    found = sample(who, small, synth)
                    assert found["objects"] == keys
                    name = "this process" if who == LOCAL else f"Spark {who}"
                    print(
                        f"| {keys:,} | {name} | {found['ready']:.1f} | {found['wall']:.1f} |"
                        f" {found['cpu'] / keys * 1e6:.2f} | {found['driver']:.0f} |"
                        f" {found['java']:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
