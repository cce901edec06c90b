"""A job's throughput and checkpoint times with and without the plugin, in pairs; prints Markdown.

    python tests/bench/bench_flink_plugin.py [--version 1.20.5] [--pairs 6] [--seconds 30]
        [--parts storage exporter]

The two clusters of a pair run at the same time, so that what else the machine does hits both
alike; which starts first changes from pair to pair. CPU a record and a checkpoint depends least on
the neighbours. The last line bounds each median ratio: the truth lies there in 95 of 100 cases,
however the ratios are spread; that takes six pairs at least. ``--parts`` chooses what the one
cluster has: ``storage`` (shared files named after checkpoints), ``exporter`` (as by default),
``eager`` (exports as often as can be), ``unclaimed`` (the watched state backend), or ``none``,
which shows how far two equal clusters differ here. ``--one-cluster`` runs both
jobs of a pair in one TaskManager: for parts that a job's settings choose (``unclaimed``, ``none``),
on a machine that is so busy that two processes cannot be compared. ``--registry ENTRIES``
instead measures how long an export of that many entries takes, and how long of it Flink's registry
is held.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import astuple, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.distribution import jars, java_tool
from integration.harness.flinkbed.jvm import OPENED
from integration.harness.flinkbed.plugin import FACTORY, STORAGE, UNCLAIMED, plugin_jar
from integration.harness.flinkbed.settings import Workload

_BUSY = Workload(keys=20_000, payload=100, records_per_second=1_000_000)
_JOB = {
    "execution.checkpointing.min-pause": "0 ms",
    "execution.checkpointing.max-concurrent-checkpoints": "2",
}
_EAGER = {
    "orphangc.registry.interval": "1 s",
    "orphangc.registry.min-pause": "0 s",
    "orphangc.registry.nonce-interval": "1 s",
}
_WARM_UP_CHECKPOINTS = 10
ON_OFF = (True, False)


@dataclass(frozen=True, slots=True)
class Run:
    """What one cluster did: records a second, checkpoints, their median and tail in ms, CPU."""

    records: float
    checkpoints: int
    median: float
    tail: float
    task_micros: float  # of the TaskManager, a record
    job_millis: float  # of the JobManager, a checkpoint


class Bench:
    """One cluster of a pair, and its job."""

    def __init__(self, version: str, work: Path, parts: Collection[str]) -> None:
        self._registry = work / "registry"
        self._data = work / "data"
        self._exports = bool({"exporter", "eager"} & set(parts))
        self._settings = dict(_JOB)
        config = {}
        if self._exports:
            config = {"high-availability.type": FACTORY}
            config["orphangc.registry.dir"] = f"file://{self._registry}"
        if "eager" in parts:
            config |= _EAGER
        if "storage" in parts:
            self._settings["execution.checkpointing.storage"] = STORAGE
        if "unclaimed" in parts:
            self._settings |= {
                "state.backend.type": UNCLAIMED,
                "orphangc.state.backend.type": "rocksdb",
                "orphangc.registry.dir": f"file://{self._registry}",
            }
        libraries = [plugin_jar(version)] if parts else []
        self.flink = Cluster(
            version, work / "flink", config=config, workload=_BUSY, libraries=libraries
        )

    def warm_up(self) -> None:
        self.job = self.flink.submit(self._data, config=self._settings, interval="100ms")
        self.flink.wait_for_checkpoints(self.job, _WARM_UP_CHECKPOINTS)

    def now(self) -> tuple[float, float, int, float, float]:
        """Return time, records, checkpoints, CPU of JobManager and TaskManager."""
        done = self.flink.checkpoints(self.job)["counts"]["completed"]
        records = self.flink.progress(self.job)["records"]
        pids = self.flink._jobmanager.pid, self.flink._taskmanager.pid
        return time.perf_counter(), records, done, *map(cpu_seconds, pids)

    def result(self, before: tuple[float, float, int, float, float]) -> Run:
        passed, records, done, job, task = (b - a for a, b in zip(before, self.now(), strict=True))
        times = self.flink.checkpoints(self.job)["summary"]["end_to_end_duration"]
        if self._exports and not list(self._registry.glob(f"{self.job}/snapshots/*")):
            raise RuntimeError("nothing was exported")
        return Run(
            records / passed,
            int(done),
            times.get("p50", times["avg"]),
            times["p95"],
            task * 1e6 / records,
            job * 1e3 / done,
        )


def cpu_seconds(pid: int) -> float:
    """Return what a process has used, in user and kernel mode."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pair(
    version: str, seconds: float, parts: Collection[str], *, plugin_first: bool
) -> dict[bool, Run]:
    """Run both clusters at once; with the plugin is True."""
    order = (plugin_first, not plugin_first)
    with tempfile.TemporaryDirectory(prefix="orphangc-bench-") as folder, ExitStack() as stack:
        both = {on: Bench(version, Path(folder) / str(on), parts if on else ()) for on in order}
        for bench in both.values():
            stack.enter_context(bench.flink)
        for bench in both.values():
            bench.warm_up()
        before = {on: bench.now() for on, bench in both.items()}
        time.sleep(seconds)
        return {on: bench.result(before[on]) for on, bench in both.items()}


Pair = Callable[[bool], dict[bool, Run]]
"""Measures both jobs of a pair, that with the plugin first or last; with the plugin is True."""


@contextmanager
def together(version: str, seconds: float, parts: Collection[str]) -> Iterator[Pair]:
    """Yield what runs both jobs at once in one TaskManager, whose threads get equal shares of CPU.

    The CPU of the process is that of both, so only the records a second say what a record costs.
    """
    with tempfile.TemporaryDirectory(prefix="orphangc-bench-") as folder:
        both = {on: Bench(version, Path(folder) / str(on), parts if on else ()) for on in ON_OFF}
        flink = both[False].flink = both[True].flink

        def measured(first: bool) -> dict[bool, Run]:  # noqa: FBT001 - a flag by nature
            order = (first, not first)
            for on in order:
                both[on].warm_up()
            before = {on: both[on].now() for on in order}
            time.sleep(seconds)
            found = {on: both[on].result(before[on]) for on in order}
            for on in order:
                flink.cancel(both[on].job)
            return found

        with flink:
            yield measured


def compare(heading: str, pairs: int, measure: Pair) -> None:
    """Run all pairs and print a line each: without, with."""
    print(heading)
    print("| pair | records/s | checkpoints | p50 ms | p95 ms | TM µs/record | JM ms/checkpoint |")
    print("|---|---|---|---|---|---|---|")
    ratios = []
    for number in range(pairs):
        found = measure(number % 2 == 1)
        columns = list(zip(astuple(found[False]), astuple(found[True]), strict=True))
        ratios.append([on / off for off, on in columns])
        cells = (f"{off:,.1f} → {on:,.1f}" for off, on in columns)
        print(f"| {number + 1} | {' | '.join(cells)} |", flush=True)
    by_figure = list(zip(*ratios, strict=True))
    middle = [f"{statistics.median(column):.2f}" for column in by_figure]
    print(f"| median of with / without | {' | '.join(middle)} |")
    print(f"| 95 % of medians | {' | '.join(map(bounds, by_figure))} |")


def _heading(version: str, seconds: float, parts: Collection[str]) -> str:
    with_what = "+".join(parts) or "none"
    return (
        f"Flink {version}, {os.cpu_count()} cores, {seconds:.0f} s a pair;"
        f" without → with {with_what}"
    )


def bounds(ratios: Sequence[float]) -> str:
    """Return between which ratios the median lies with 95 %, by their order alone."""
    ordered, cut = sorted(ratios), 0
    while 2 * sum(math.comb(len(ordered), low) for low in range(cut + 1)) <= 0.05 * 2 ** len(
        ordered
    ):
        cut += 1
    return f"{ordered[cut - 1]:.2f} to {ordered[-cut]:.2f}" if cut else "too few"


def registry(version: str, entries: int) -> None:
    """Measure the exporter's own steps on a registry of Flink's class."""
    source = Path(__file__).parent / "java" / "RegistryBench.java"
    classpath = os.pathsep.join(map(str, [plugin_jar(version), *jars(version)]))
    with tempfile.TemporaryDirectory() as classes:
        compiling = [java_tool("javac"), "-nowarn", "-d", classes, "-cp", classpath, source]
        subprocess.run(compiling, check=True)
        command = [java_tool("java"), "-Xmx2g", *OPENED]
        command += ["-cp", os.pathsep.join([classes, classpath]), "orphangc.flink.RegistryBench"]
        subprocess.run([*command, str(entries)], check=True)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default="1.20.5")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=30)
    choices = ("storage", "exporter", "eager", "unclaimed", "none")
    parser.add_argument("--parts", nargs="+", choices=choices, default=["storage", "exporter"])
    parser.add_argument("--one-cluster", action="store_true")
    parser.add_argument("--registry", type=int, metavar="ENTRIES")
    chosen = parser.parse_args()
    if chosen.registry:
        registry(chosen.version, chosen.registry)
    else:
        parts = [part for part in chosen.parts if part != "none"]
        asked = chosen.version, chosen.seconds, parts
        at_once = nullcontext(lambda first: pair(*asked, plugin_first=first))
        with together(*asked) if chosen.one_cluster else at_once as measure:
            compare(_heading(*asked), chosen.pairs, measure)


if __name__ == "__main__":
    main()
