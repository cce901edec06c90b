"""How a sweep keeps to a quota of deletions, and what a key costs; prints, asserts nothing.

Usage: ``python tests/bench/bench_delete.py [keys] [rate] [control=value ...] [tools=FOLDER]``, by
default 300000 keys at 3200 a second. Then s5cmd and rclone delete the same keys, where they can be
had, and ours does so again, all of them without a quota: each with its own listing.

Plans, tombstones, plans again and deletes nearly all keys of the synthetic endpoint of ``synth``,
which grants 3,500 keys a second. Controls are those of ``synth/faults.py``, for example
``delete_keys_rps=2000 throttles_keys=1``, ``slowdown=0.05``, ``lost=0.02``, ``latency_ms=30``.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.competitors import deleters, tools_folder
from bench.measuring import measure
from bench.synth.running import Synth, synth_server

QUOTA = 3500
REQUESTS = {
    f"requests_{kind}"
    for kind in ("list", "list_v1", "bucket", "buckets", "head", "head_bucket", "get", "delete",
                 "delete_objects", "other")
}  # fmt: skip
ENDED = (
    *("--ended-job", "all", "--closed-world"),
    *("--quarantine-period", "0", "--allow-short-margins"),
)
LIMITS = ("--max-delete-share", "1")


def orphangc(synth: Synth, *args: object) -> tuple[dict, float]:
    """Run the command line; return what it prints, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "orphangc", *map(str, args), "--output", "json"],
        env={**os.environ, **synth.environment},
        stdout=subprocess.PIPE,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        print(f"exit             {done.returncode}")
    return json.loads(done.stdout), cpu


class Watch(threading.Thread):
    """Notes ten times a second how many keys are gone."""

    def __init__(self, synth: Synth) -> None:
        super().__init__(daemon=True)
        self.synth = synth
        self.seen: list[tuple[float, int]] = []
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            self.seen.append((time.perf_counter(), self.synth.stats().get("keys_gone", 0)))

    def rate(self) -> float:
        """Return the keys a second while there was something to delete."""
        busy = [
            (at, gone)
            for (at, gone), (_, later) in zip(self.seen, self.seen[1:], strict=False)
            if later != gone
        ]
        (start, first), (end, last) = busy[0], busy[-1]
        return (last - first) / (end - start)


def main() -> None:
    numbers = [int(arg) for arg in sys.argv[1:] if "=" not in arg]
    keys, rate = (*numbers, *(300_000, 3_200)[len(numbers) :])
    controls = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    kept = controls.pop("tools", None)
    with synth_server(keys=keys) as synth, tempfile.TemporaryDirectory() as folder:
        options = (*ENDED, *LIMITS, "--state", f"{folder}/state", "--delete-rate", rate)
        without = prepared(synth, folder, options)
        synth.control(**{"delete_keys_rps": QUOTA, **controls})
        watch = Watch(synth)
        watch.start()
        outcome, cpu = orphangc(synth, "sweep", f"{folder}/second", "--delete")
        watch.over.set()
        watch.join()
        stats = synth.stats()
        show(outcome["counts"], stats, watch.rate(), cpu - without)
        compare(synth, kept)


def prepared(synth: Synth, folder: str, options: tuple) -> float:
    """Lay tombstones and plan again; return the CPU seconds of the last sweep, which deletes none.

    Store times are whole seconds, and a quarantine of none begins with its tombstone.
    """
    for name in ("first", "second"):
        orphangc(synth, "plan", synth.uri, *options, "--out", f"{folder}/{name}")
        _, without = orphangc(synth, "sweep", f"{folder}/{name}")
        time.sleep(1.1)
    return without


def compare(synth: Synth, kept: str | None) -> None:
    """Print the CPU a key of others and of ours, each with its own listing and without a quota."""
    synth.control(delete_keys_rps=0, reset=1)
    print("| with its own listing | keys gone | requests | CPU, µs a key |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        options = (*ENDED, *LIMITS, "--state", f"{folder}/state", "--delete-rate", 1_000_000)
        prepared(synth, folder, options)
        before = synth.stats()
        _, planning = orphangc(synth, "plan", synth.uri, *options, "--out", f"{folder}/last")
        _, deleting = orphangc(synth, "sweep", f"{folder}/last", "--delete")
        row("orphangc `plan`, `sweep --delete`", synth.stats(), before, planning + deleting)
    with tools_folder(kept) as tools:
        for client in deleters(tools, synth.url):
            synth.control(reset=1)
            cost = measure(client.command, {**synth.environment, **client.settings})
            row(client.name, synth.stats(), {}, cost.cpu)


def row(name: str, stats: dict, before: dict, cpu: float) -> None:
    sent = sum(n - before.get(kind, 0) for kind, n in stats.items() if kind in REQUESTS)
    gone = stats.get("keys_gone", 0)
    print(f"| {name} | {gone:,} | {sent:,} | {cpu / max(gone, 1) * 1e6:.1f} |", flush=True)


def show(counts: dict, stats: dict, rate: float, cpu: float) -> None:
    """Print one line a figure."""
    for name, each in counts.items():
        print(f"{name:<16} {each['objects']}")
    deleted, throttled = stats["keys_deleted"], stats.get("keys_throttled", 0)
    print(f"gone             {stats['keys_gone']}, as the endpoint counts")
    print(f"rate             {rate:.0f} keys/s, {rate / QUOTA:.1%} of {QUOTA}")
    print(f"throttled        {throttled} keys, {throttled / (deleted + throttled):.2%}")
    print(f"requests         {stats['requests_delete_objects']} to delete, one for each batch")
    print(f"cpu              {cpu:.1f} s, {cpu / stats['keys_gone'] * 1e6:.1f} s a million keys")
    print("                 (a sweep that deletes, less the same sweep without --delete)")


if __name__ == "__main__":
    main()
