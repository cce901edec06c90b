"""A live set that no executor holds: what its look-ups take and read as buckets grow; no asserts.

    python tests/bench/bench_slices.py [--live 250000 500000 1000000] [--slice 100000]

Without Spark: the engine's own tasks, one after the other in this process. Twice as many keys as
live files, in files of 10,000; whole, and in slices. Of the first pass after the mark, the only one
that looks up; a task of 1 M keys would read each slice ten times less often than a task here.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa

from bench.bench_kernel import listing, uuids
from flinkstate.places.locations import canonical
from orphangc.adapters.spark.spark_engine import SparkEngine
from orphangc.adapters.spark.work_folder import ExchangeFile, WorkFolder
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.ports.engine import ListingHints
from support.builders import BASE
from unit.adapters.spark.spark_here import HereCluster
from unit.collect.listing.test_local_passes import a_survey_pass

ROWS = 10_000


@dataclass(frozen=True)
class Part:
    first: int  # number of its first key
    weight: int = ROWS

    def read(self, take: Callable[[pa.RecordBatch], None]) -> int:
        take(listing(self.first, self.first + ROWS, "shared"))
        return ROWS


def an_engine(folder: Path, keys: int, slice_files: int) -> SparkEngine:
    """Return an engine whose executors are this process, after the listing."""
    settings = {"rows": f"{ROWS}", "broadcast": f"{slice_files}"}
    conf = SimpleNamespace(get=lambda name, default: settings.get(name.rpartition(".")[2], default))
    work = WorkFolder(canonical(str(folder / "work")))
    made = SparkEngine(SimpleNamespace(conf=conf), work, BASE)
    made._cluster = HereCluster(work)
    parts = [Part(first) for first in range(0, keys, ROWS)]
    storage = SimpleNamespace(earlier_parts=lambda: parts, took_parts=lambda _: None)
    made.list_all(storage, ListingHints(), lambda *_: None)
    return made


@contextmanager
def counted() -> Iterator[list[int]]:
    """Count the bytes of each file that is read from the work folder."""
    found: list[int] = []
    read = WorkFolder.read

    def reading(folder: WorkFolder, file: ExchangeFile) -> bytes:
        data = read(folder, file)
        found.append(len(data))
        return data

    with patch.object(WorkFolder, "read", reading):
        yield found


def measured(live: LiveSet, keys: int, slice_files: int) -> tuple[float, int, int]:
    """Return seconds of CPU of the first pass after the mark, files and bytes that it read."""
    with tempfile.TemporaryDirectory() as folder:
        engine = an_engine(Path(folder), keys, slice_files)
        engine.mark(live, Tombstones.empty())
        with counted() as sizes:
            begun = process_time()
            engine.run(a_survey_pass(), lambda *_: None)
            return process_time() - begun, len(sizes), sum(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=int, nargs="+", default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--slice", type=int, default=100_000)
    chosen = parser.parse_args()
    columns = ("live", "keys", "slices", "CPU s", "CPU us a key", "of whole", "files", "MiB read")
    print(f"| {' | '.join(columns)} |", "|" + "---|" * len(columns), sep="\n")
    for count in chosen.live:
        parsed = UuidSet()
        parsed.extend(*uuids(0, count))
        live, keys = LiveSet(parsed, UuidSet()), 2 * count
        whole, *_ = measured(live, keys, count)
        for size in (count, chosen.slice):
            seconds, files, total = measured(live, keys, size)
            cells = (f"{count:,}", f"{keys:,}", f"{-(-count // size)}", f"{seconds:.2f}")
            cells += (f"{seconds / keys * 1e6:.2f}", f"{seconds / whole:.2f}", f"{files:,}")
            print(f"| {' | '.join((*cells, f'{total / (1 << 20):,.0f}'))} |", flush=True)


if __name__ == "__main__":
    main()
