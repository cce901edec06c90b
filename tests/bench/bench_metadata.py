"""Speed and memory of both passes over a large ``_metadata`` file; prints, asserts nothing.

Usage: ``python tests/bench/bench_metadata.py [megabytes, default 100]``
"""

import random
import sys
import time
import tracemalloc
import uuid
from collections.abc import Callable
from typing import Any

from flinkstate.metadata.reader import read_metadata
from flinkstate.metadata.references import read_references
from flinkstate.metadata.writer import write_metadata
from flinkstate.uuid_scan import scan_uuids
from flinkstate.values.handles import (
    BytesHandle,
    FileHandle,
    IncrementalHandle,
    KeyGroupOffsets,
    KeyGroupRange,
    KeyGroupsHandle,
    NamedHandle,
    OperatorHandle,
    OperatorState,
    RelativeHandle,
    SegmentHandle,
    SegmentScope,
    StateMode,
    StreamHandle,
)
from flinkstate.values.metadata_values import Metadata, Operator, Subtask

BASE = "s3://flink-state-production/checkpoints/0123456789abcdef0123456789abcdef"
RNG = random.Random(20240101)
MAX_PARALLELISM = 4096


def new_uuid() -> str:
    return str(uuid.UUID(int=RNG.getrandbits(128)))


def sst(number: int, *, inline: float, merged: float) -> NamedHandle:
    drawn = RNG.random()
    handle: StreamHandle
    if drawn < inline:
        handle = BytesHandle(name=f"{BASE}/chk-7/{new_uuid()}", data=RNG.randbytes(1500))
    elif drawn < inline + merged:
        handle = SegmentHandle(
            path=f"{BASE}/shared/{new_uuid()}",
            start=RNG.getrandbits(24),
            size=RNG.getrandbits(20),
            scope=SegmentScope.SHARED,
            logical_id=new_uuid(),
        )
    else:
        handle = FileHandle(path=f"{BASE}/shared/{new_uuid()}", size=RNG.getrandbits(26))
    return NamedHandle(name=f"{number:06d}.sst", handle=handle)


def relative() -> RelativeHandle:
    return RelativeHandle(name=new_uuid(), size=RNG.getrandbits(20))


def keyed_subtask(index: int, files: int, mix: dict[str, float]) -> Subtask:
    private = ("MANIFEST-000004", "OPTIONS-000007", "CURRENT")
    return Subtask(
        index=index,
        managed_operator=operator_handle(),
        managed_keyed=IncrementalHandle(
            code=11,
            checkpoint_id=7,
            backend_id=new_uuid(),
            groups=KeyGroupRange(first=index * 4, count=4),
            checkpointed_size=RNG.getrandbits(30),
            meta=relative(),
            shared=tuple(sst(number, **mix) for number in range(1, files + 1)),
            private=tuple(NamedHandle(name=name, handle=relative()) for name in private),
            state_handle_id=new_uuid(),
        ),
    )


def operator_handle() -> OperatorHandle:
    states = (OperatorState(name="offsets", mode=StateMode.UNION, offsets=(0, 40, 80)),)
    return OperatorHandle(states=states, delegate=relative())


def heap_subtask(index: int) -> Subtask:
    return Subtask(
        index=index,
        managed_operator=operator_handle(),
        managed_keyed=KeyGroupsHandle(
            code=12,
            groups=KeyGroupOffsets(first=index * 4, offsets=tuple(range(4))),
            delegate=relative(),
            state_handle_id=new_uuid(),
        ),
    )


def checkpoint(make: Callable[[int], Subtask], *, target_bytes: int, parallelism: int) -> bytes:
    """Return a version 3 file of about the target size, from equal operators."""

    def operator(number: int) -> Operator:
        return Operator(
            id=f"{number:032x}",
            parallelism=parallelism,
            max_parallelism=MAX_PARALLELISM,
            subtasks=tuple(make(index) for index in range(parallelism)),
        )

    def written(operators: tuple[Operator, ...]) -> bytes:
        return write_metadata(
            Metadata(format_version=3, checkpoint_id=7, master_states=(), operators=operators)
        )

    one = len(written((operator(0),)))
    return written(tuple(operator(number) for number in range(max(1, target_bytes // one))))


def best_seconds(read: Callable[[bytes], Any], data: bytes, repeats: int = 3) -> float:
    """Return the best of some runs in CPU seconds, as other work shares the machine."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        read(data)
        best = min(best, time.process_time() - start)
    return best


def peak_mb(read: Callable[[bytes], Any], data: bytes) -> float:
    """Return the most that one run allocates beyond the file, in MB."""
    tracemalloc.start()
    read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def report(title: str, data: bytes, *, with_memory: bool) -> None:
    handles = read_references(data).handles
    print(f"{title}: {len(data) / 1e6:.1f} MB, {handles} handles")
    for read in (read_references, read_metadata, scan_uuids):
        seconds = best_seconds(read, data)
        print(
            f"  {read.__name__:<16} {seconds:7.3f} CPU s"
            f" {handles / seconds / 1e6:6.2f} M handles/s {len(data) / seconds / 1e6:7.0f} MB/s"
            + (f", peak {peak_mb(read, data):.0f} MB beyond the file" if with_memory else "")
        )


def main() -> None:
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 100_000_000
    plain = {"inline": 0.0, "merged": 0.0}
    mixed = {"inline": 0.05, "merged": 0.0}
    merged = {"inline": 0.0, "merged": 1.0}
    cases: dict[str, tuple[Callable[[int], Subtask], int, int]] = {
        "incremental, 1000 SST each": (lambda i: keyed_subtask(i, 1000, plain), 100, size),
        "incremental, 200 SST each": (lambda i: keyed_subtask(i, 200, plain), 400, size // 5),
        "5 % inline SST": (lambda i: keyed_subtask(i, 400, mixed), 200, size // 5),
        "file merging": (lambda i: keyed_subtask(i, 400, merged), 200, size // 5),
        "heap": (heap_subtask, 1000, size // 5),
    }
    for title, (make, parallelism, share) in cases.items():
        data = checkpoint(make, target_bytes=share, parallelism=parallelism)
        report(title, data, with_memory=share == size)


if __name__ == "__main__":
    main()
