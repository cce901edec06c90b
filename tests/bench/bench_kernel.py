"""What one key costs from listing row to verdict row, and what large sets weigh; asserts nothing.

    python tests/bench/bench_kernel.py                            # 1 M keys, CPU µs a key
    python tests/bench/bench_kernel.py speed --keys 1000000
    python tests/bench/bench_kernel.py live --keys 100000000      # peak memory, µs a look-up
    python tests/bench/bench_kernel.py tombstones --keys 10000000

``speed`` shows every step alone, over the whole listing in batches of 8 k and 64 k, so that no
cache holds what a real run would not find there. Half of the keys are live, a quarter has a
tombstone.
"""

import argparse
import resource
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

# ruff: noqa: E402
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "gc")]

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.columns.uuid_words import hex_texts, uuid_texts
from orphangc.core.decision.kernel import BoundsTable, kernel, verdict_batch
from orphangc.core.times.instants import microseconds_of
from orphangc.ports import LISTING_SCHEMA
from support.builders import JOB, some_bounds

TIME = pa.timestamp("us", tz="UTC")
OLD = microseconds_of(datetime(2026, 1, 1, tzinfo=UTC))
BATCH = 1 << 16


def mixed(numbers: np.ndarray, seed: int) -> np.ndarray:
    """Return what looks random and is a function of the numbers: nothing need be kept of it."""
    words = numbers * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def uuids(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.arange(first, last, dtype=np.uint64)
    return mixed(numbers, 1), mixed(numbers, 2)


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def listing(first: int, last: int, layout: str) -> pa.RecordBatch:
    """Return part of a listing; times and sizes are those of ``tombstones``."""
    count = last - first
    names = uuid_texts(*uuids(first, last))
    if layout == "odd":
        heads, names = f"{JOB}/shared/op_1/", pc.replace_substring(names, "-", "")
    elif layout == "ids":
        ids = pa.array(np.arange(first, last) // 20).cast(pa.string())
        heads = pc.binary_join_element_wise(
            f"{JOB}/shared", pc.binary_join_element_wise(ids, "", "_"), "/"
        )
    else:
        heads = f"{JOB}/shared/"
    columns = [
        pc.binary_join_element_wise(heads, names, ""),
        pa.array(np.full(count, 1234)),
        pa.array(np.full(count, OLD)).cast(TIME),
        hex_texts(*uuids(first, last)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)


def tombstones(first: int, last: int, layout: str = "bare") -> Iterator[pa.RecordBatch]:
    for start in range(first, last, BATCH):
        rows = listing(start, min(start + BATCH, last), layout)
        count = len(rows)
        more = {
            "job_id": pa.repeat(str(JOB), count),
            "since": pa.array(np.full(count, OLD)).cast(TIME),
            "plan_id": pa.repeat("2026-11-21T14-00-00Z-1234abcd", count),
        }
        columns = [
            rows[n] if n in LISTING_SCHEMA.names else more[n] for n in TOMBSTONE_SCHEMA.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=TOMBSTONE_SCHEMA)


class Clock:
    """Adds up the CPU time of each step."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._last = process_time()

    def start(self) -> None:
        self._last = process_time()

    def took(self, step: str) -> None:
        now = process_time()
        self.spent[step] = self.spent.get(step, 0.0) + now - self._last
        self._last = process_time()


def speed(keys: int) -> None:
    live = UuidSet()
    live.extend(*uuids(0, keys // 2))
    table = BoundsTable.of([some_bounds(cutoff=datetime(2026, 2, 1, tzinfo=UTC) + timedelta(1))])
    for layout in ("bare", "ids", "odd"):
        laid = () if layout == "odd" else tombstones(keys // 2, keys // 4 * 3, layout)
        known = Tombstones.from_batches(laid)
        for size in (1 << 13, 1 << 16):
            clock = pass_over(keys, layout, size, known=(live, known, table))
            steps = "  ".join(f"{n} {s / keys * 1e6:.3f}" for n, s in clock.spent.items())
            total = sum(clock.spent.values()) / keys * 1e6
            print(f"{layout:5}{size:6} rows a batch: {total:.3f} CPU µs/key =  {steps}", flush=True)


def pass_over(
    keys: int, layout: str, size: int, *, known: tuple[UuidSet, Tombstones, BoundsTable]
) -> Clock:
    live, laid, table = known
    recogniser = Recogniser("checkpoints")
    clock = Clock()
    for first, last in pairwise([*range(0, keys, size), keys]):
        batch = listing(first, last, layout)
        owner = np.zeros(len(batch), np.int32)
        clock.start()
        columns = recogniser.columns(batch)
        clock.took("columns")
        is_live = live.contains(columns.hi, columns.lo)
        clock.took("contains")
        since_us, has = laid.look_up(columns)
        clock.took("look_up")
        verdicts = kernel(
            columns,
            is_live=is_live,
            since_us=since_us,
            has_tombstone=has,
            owner=owner,
            bounds=table,
        )
        clock.took("kernel")
        verdict_batch(columns, *verdicts, owner=owner, job_ids=[JOB])
        clock.took("verdict_batch")
    return clock


def live(keys: int) -> None:
    """Add every key twice, as overlapping roots do, in lots that are sorted or not."""
    print(f"without anything: {peak_mb()} MB")
    members, began = UuidSet(), perf_counter()
    for start in [*range(0, keys, 1 << 20)] * 2:
        hi, lo = uuids(start, min(start + (1 << 20), keys))
        order = np.argsort(hi) if start >> 20 & 1 else slice(None)
        members.extend(hi[order], lo[order])
    seconds = perf_counter() - began
    print(f"{len(members):,} members, {keys * 2:,} added: {seconds:.0f} s, {peak_mb()} MB")
    random = np.random.default_rng(1)
    for page in (1000, 1 << 13, 1 << 16):
        for name in ("sorted", "random", "absent"):
            spent = 0.0
            for _ in range(max(1, 400_000 // page)):
                numbers = random.integers(0, keys, page, dtype=np.uint64)
                numbers += np.uint64(keys if name == "absent" else 0)
                hi, lo = mixed(numbers, 1), mixed(numbers, 2)
                order = np.argsort(hi) if name == "sorted" else slice(None)
                hi, lo = hi[order], lo[order]
                began = process_time()
                found = members.contains(hi, lo)
                spent += process_time() - began
                assert found.all() or name == "absent"
            print(
                f"page of {page}, {name}: {spent / max(1, 400_000 // page) / page * 1e6:.3f} µs/key"
            )
    print(f"in the end: {peak_mb()} MB")


def many_tombstones(keys: int) -> None:
    print(f"without anything: {peak_mb()} MB")
    began = process_time()
    known = Tombstones.from_batches(tombstones(0, keys))
    spent = process_time() - began
    print(f"{len(known):,} tombstones: {spent / keys * 1e6:.2f} µs each to load, {peak_mb()} MB")
    for name, first in (("all found", 0), ("none found", keys)):
        columns = Recogniser("").columns(listing(first, first + (1 << 16), "bare"))
        began = process_time()
        for _ in range(10):
            found = known.look_up(columns)
        spent = (process_time() - began) / 10 / (1 << 16) * 1e6
        print(f"look-up, {name} ({np.count_nonzero(found.has)}): {spent:.3f} µs/key")
    began = process_time()
    written = sum(len(batch) for batch in known.to_batches())
    print(f"{(process_time() - began) / written * 1e6:.2f} µs each to write; {peak_mb()} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    works = {"speed": speed, "live": live, "tombstones": many_tombstones}
    parser.add_argument("work", nargs="?", choices=works, default="speed")
    parser.add_argument("--keys", type=int, default=1_000_000)
    asked = parser.parse_args()
    works[asked.work](asked.keys)


if __name__ == "__main__":
    main()
