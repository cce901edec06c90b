"""CPU by process, wall time and memory of ``plan`` on Spark beside this process; asserts nothing.

    python tests/bench/bench_spark.py [--sizes 1000000 4000000] [--masters MASTER ...]
    python tests/bench/bench_spark.py --workers 1 2 --latency-ms 30 [--streams 1]

On the synthetic endpoint, in turns, on each master (``local[2]``, ``local-cluster[2,1,1024]``), or
on a standalone master with so many workers of one core each: then in the end how much of a worker's
rate each of them keeps. What Spark takes to start, and to warm up on a small plan, is left out: it
has columns of its own. The longest task is shown in seconds, in medians of its stage, and as a part
of the time of all tasks; one that reads a whole checkpoint, which is never cut, has a column of its
own. CPU and peaks of workers of a standalone master are not seen.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.bench_plan import make
from bench.measuring import _tree
from bench.synth.running import Synth, synth_server
from integration.harness.sparkbed import modes
from orphangc.adapters.spark.session import opened_session
from orphangc.adapters.spark.tasks import LEAST_TASKS
from orphangc.app.cli import main as orphangc

_TICKS = os.sysconf("SC_CLK_TCK")
LOCAL = "local"
KINDS = ("driver", "java", "worker")


def _kind(pid: int) -> str:
    """Return what a process of the tree is: driver, Java, or a worker of Python."""
    if pid == os.getpid():
        return "driver"
    is_java = (Path(f"/proc/{pid}") / "comm").read_text().strip() == "java"
    return "java" if is_java else "worker"


def by_kind(read: Callable[[Path], float]) -> Counter[str]:
    """Return the sums over the tree of processes, by kind."""
    found: Counter[str] = Counter()
    for each in _tree(os.getpid()):
        with suppress(OSError):
            found[_kind(each)] += read(Path(f"/proc/{each}"))
    return found


def cpu_seconds(place: Path) -> float:
    words = (place / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:15])) / _TICKS


def peak_mib(place: Path) -> float:
    words = (place / "status").read_text().partition("VmHWM:")[2].split()
    return int(words[0]) / 1024 if words else 0.0  # one that has ended and is not waited for


def plan(engine: str, uri: str, folder: Path) -> None:
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
def warmed_up(engine: str, uri: str) -> Iterator[tuple[float, float]]:
    """Yield the seconds, and those of CPU, that a session took that has made a small plan."""
    start = time.perf_counter()
    with nullcontext() if engine == LOCAL else opened_session():
        if engine != LOCAL:
            with tempfile.TemporaryDirectory() as folder:
                plan(engine, uri, Path(folder))
        yield time.perf_counter() - start, by_kind(cpu_seconds).total()


def measured(engine: str, small: str, uri: str) -> dict[str, float]:
    """Return what a plan costs in this process."""
    with warmed_up(engine, small) as ready, tempfile.TemporaryDirectory() as folder:
        began = time.time()  # noqa: TID251 - the clock of Spark's record
        start, before = time.perf_counter(), by_kind(cpu_seconds)
        plan(engine, uri, Path(folder))
        wall, cpu = time.perf_counter() - start, by_kind(cpu_seconds)
        cpu.subtract(before)
        peaks = [(_kind(each), peak_mib(Path(f"/proc/{each}"))) for each in _tree(os.getpid())]
        return {
            "began": began,
            "ready": ready[0],
            "ready_cpu": ready[1],
            "wall": wall,
            **{f"cpu_{kind}": cpu[kind] for kind in KINDS},
            **{
                f"peak_{kind}": max((p for k, p in peaks if k == kind), default=0) for kind in KINDS
            },
            "objects": json.loads((Path(folder) / "stdout").read_text())["objects_listed"],
        }


def sample(who: str, small: str, synth: Synth, settings: Mapping[str, str]) -> dict[str, float]:
    """Return what a plan costs in a process of its own; ``who`` is local, or a Spark master."""
    engine = LOCAL if who == LOCAL else "spark"
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events"
        events.mkdir()
        chosen = {f"spark.executorEnv.{each}": value for each, value in synth.environment.items()}
        chosen |= {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}
        chosen |= {"spark.eventLog.dir": events.as_uri(), **settings}
        defaults = "".join(f"{name} {value}\n" for name, value in chosen.items())
        (Path(folder) / "spark-defaults.conf").write_text(defaults)
        own = {**os.environ, **synth.environment, "SPARK_MASTER": who, "SPARK_CONF_DIR": folder}
        command = [sys.executable, __file__, "--measure", engine, small, synth.uri]
        done = subprocess.run(command, env=own, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        return found | longest_task(events, found["began"])


def longest_task(events: Path, began: float) -> dict[str, float]:
    """Return what Spark's own record says of the longest tasks since an instant."""
    stages: dict[int, list[float]] = {}
    for log in events.rglob("*"):
        if not log.is_file() or log.name.startswith("."):  # checksums are hidden files
            continue
        for event in map(json.loads, log.read_text().splitlines()):
            if event["Event"] == "SparkListenerTaskEnd":
                task = event["Task Info"]
                if task["Launch Time"] >= began * 1000:
                    seconds = (task["Finish Time"] - task["Launch Time"]) / 1000
                    stages.setdefault(event["Stage ID"], []).append(seconds)
    cut = [tasks for tasks in stages.values() if len(tasks) >= LEAST_TASKS]
    whole = [tasks for tasks in stages.values() if len(tasks) < LEAST_TASKS]
    tasks = max(cut, key=max, default=[0.0])
    every = sum(map(sum, stages.values()))
    return {
        "longest": max(tasks),
        "of_median": max(tasks) / max(median(tasks), 0.001),
        "of_all": max(tasks) / max(every, 0.001),
        "of_root": max(map(max, whole), default=0.0),
    }


def small_storage(folder: Path) -> str:
    make(folder, 200)
    return str(folder)


COLUMNS = (
    *("objects", "who", "ready s", "ready CPU s", "wall s", "CPU us/key", "driver", "Java"),
    *("workers", "peak MiB: driver", "Java", "a worker"),
    *("longest task s", "of its stage's median", "of all tasks", "that reads a checkpoint s"),
)


def row(keys: int, name: str, found: dict[str, float]) -> str:
    cpu = [found[f"cpu_{kind}"] / keys * 1e6 for kind in KINDS]
    cells = [
        *(f"{keys:,}", name, f"{found['ready']:.1f}", f"{found['ready_cpu']:.1f}"),
        *(f"{found['wall']:.1f}", f"{sum(cpu):.2f}"),
        *(f"{each:.2f}" for each in cpu),
        *(f"{found[f'peak_{kind}']:.0f}" for kind in KINDS),
        *(f"{found['longest']:.2f}", f"{found['of_median']:.1f}", f"{found['of_all']:.0%}"),
        f"{found['of_root']:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def in_turns(chosen: argparse.Namespace, small: str, settings: Mapping[str, str]) -> None:
    for keys in chosen.sizes:
        with synth_server(keys=keys, live=round(keys * chosen.live_share)) as synth:
            synth.control(latency_ms=chosen.latency_ms)
            for who in (LOCAL, *chosen.masters) * chosen.rounds:
                found = sample(who, small, synth, settings)
                assert found["objects"] == keys
                name = "this process" if who == LOCAL else f"Spark {who}"
                print(row(keys, name, found), flush=True)


def with_workers(chosen: argparse.Namespace, small: str, settings: Mapping[str, str]) -> None:
    """Measure standalone masters of so many workers, and print what each worker keeps."""
    for keys in chosen.sizes:
        rates: dict[int, float] = {}
        with synth_server(keys=keys, live=round(keys * chosen.live_share)) as synth:
            synth.control(latency_ms=chosen.latency_ms)
            for count in chosen.workers:
                with (
                    tempfile.TemporaryDirectory() as folder,
                    modes.standalone(Path(folder) / "cluster", count) as cluster,
                ):
                    found = sample(cluster.master, small, synth, settings)
                rates[count] = keys / found["wall"] / count
                print(row(keys, f"{count} of one core", found), flush=True)
        first = rates[chosen.workers[0]]
        kept = ", ".join(f"{count}: {rate / first:.0%}" for count, rate in rates.items())
        print(f"\nefficiency at {keys:,} keys, {chosen.latency_ms} ms a request: {kept}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000, 4_000_000])
    parser.add_argument("--masters", nargs="+", default=["local[1]", "local[2]"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--live-share", type=float, default=0.5)
    parser.add_argument("--latency-ms", type=float, default=0, help="of each request")
    parser.add_argument("--streams", type=int, help="requests that a task has under way at once")
    parser.add_argument("--workers", type=int, nargs="+", help="counts of workers of one core")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measured(*chosen.measure)))
        return
    print(f"| {' | '.join(COLUMNS)} |")
    print("|" + "---|" * len(COLUMNS))
    settings = {} if chosen.streams is None else {"spark.orphangc.streams": str(chosen.streams)}
    with tempfile.TemporaryDirectory() as folder:
        small = small_storage(Path(folder) / "small")
        (with_workers if chosen.workers else in_turns)(chosen, small, settings)


if __name__ == "__main__":
    main()
