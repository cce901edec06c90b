"""What a deleted key costs, beside other clients; prints Markdown, asserts nothing.

Usage: ``python tests/bench/bench_delete.py [keys, default 300000] [tools=FOLDER]``. Plans,
tombstones, plans again and deletes nearly all keys of the synthetic endpoint of ``synth``; then
s5cmd and rclone delete the same keys, where they can be had: each with its own listing.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.competitors import deleters, tools_folder
from bench.measuring import measure
from bench.synth.running import Synth, synth_server

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


def main() -> None:
    """Measure once."""
    numbers = [int(arg) for arg in sys.argv[1:] if "=" not in arg]
    kept = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg).get("tools")
    with synth_server(keys=(numbers or [300_000])[0]) as synth:
        compare(synth, kept)


def prepared(synth: Synth, folder: str, options: tuple) -> None:
    """Lay tombstones and plan again.

    Store times are whole seconds, and a quarantine of none begins with its tombstone.
    """
    for name in ("first", "second"):
        orphangc(synth, "plan", synth.uri, *options, "--out", f"{folder}/{name}")
        orphangc(synth, "sweep", f"{folder}/{name}")
        time.sleep(1.1)


def compare(synth: Synth, kept: str | None) -> None:
    """Print the CPU a key of others and of ours, each with its own listing."""
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


if __name__ == "__main__":
    main()
