"""How fast storages are listed: wall time, CPU a key, peak memory.

    python tests/bench/bench_listing.py local --keys 1000000
    python tests/bench/bench_listing.py moto --keys 20000
    python tests/bench/bench_listing.py radosgw --keys 20000
    python tests/bench/bench_listing.py synth --keys 1000000
    python tests/bench/bench_listing.py synth --keys 1000000 --latency-ms 50
    python tests/bench/bench_listing.py s3://bucket/prefix        # as it is; AWS_* name the server

Each line is one reader in a process of its own, so that peaks do not add up; the readers take
turns, so that a busy machine is as bad for one as for the other. ``ranges-16`` lists sixteen key
ranges at once. ``botocore`` reads the same pages without the fast reader, and stands for what
every client on botocore costs. obstore (with arro3-core) is measured where it is installed.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

# ruff: noqa: E402
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "gc")]

from flinkstate.places.locations import canonical
from orphangc.adapters.open import open_storage
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.ports import Storage

OURS = ("orphangc", "ranges-16", "ranges-64")


def measure(reader: str, uri: str) -> None:
    """List once and print one line."""
    try:
        counts = counted(reader, uri)
        next(counts)  # what a process pays once is not the price of a key
    except ImportError as err:
        print(f"{reader:9} is not installed: {err.name}")
        return
    wall, cpu = time.perf_counter(), time.process_time()
    rows = sum(counts)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{reader:9} {rows:>9,} rows  {wall:7.2f} s wall  {rows / wall:>10,.0f} rows/s"
        f"  {cpu / rows * 1e6:6.2f} us CPU a row  {peak:5.0f} MB peak"
    )


def counted(reader: str, uri: str) -> Iterator[int]:
    """Yield 0 when ready to list, then the number of rows of each batch."""
    if reader == "obstore":
        batches = of_obstore(uri)
    elif reader == "botocore":
        slow: Any = open_storage(uri)
        slow.bucket.is_fast = False
        batches = slow.objects()
    else:
        storage = open_storage(uri)
        first = next(iter(storage.pages()))  # also connects, learns how to sign, loads Arrow
        yield 0
        yield from of_ranges(storage, first["key"][0].as_py(), int(reader.partition("-")[2] or 1))
        return
    yield 0
    for batch in batches:
        yield batch.num_rows


def of_ranges(storage: Storage, key: str, count: int) -> Iterator[int]:
    """Yield the numbers of rows in key ranges below the folder of a key, all listed at once."""
    if count == 1:
        yield from (batch.num_rows for batch in storage.pages())
        return
    folder = key[: key.rfind("/") + 1]
    bounds = [f"{folder}{0x10000 * number // count:04x}" for number in range(1, count)]
    ranges = map(KeyRange, [None, *bounds], [*bounds, None])
    with ThreadPoolExecutor(count) as pool:
        yield from pool.map(lambda part: sum(b.num_rows for b in storage.pages(part)), ranges)


def of_obstore(uri: str) -> Iterator[Any]:
    """Yield what obstore makes of pages."""
    import obstore  # noqa: PLC0415 - measured where it is installed
    from obstore.store import S3Store  # noqa: PLC0415

    location = canonical(uri)
    store = S3Store(
        location.authority,
        endpoint=os.environ.get("AWS_ENDPOINT_URL"),
        client_options={"allow_http": True},
    )
    return iter(obstore.list(store, location.path[1:], chunk_size=1000, return_arrow=True))


@contextmanager
def local_folder(keys: int):
    """Yield a folder with so many empty files, 100,000 in a folder as in a big ``shared/``."""
    root = Path(tempfile.mkdtemp(prefix="orphangc-bench-"))
    try:
        for number in range(keys):
            folder = root / f"job-{number // 100_000}" / "shared"
            if number % 100_000 == 0:
                folder.mkdir(parents=True)
            os.close(os.open(folder / str(uuid.uuid4()), os.O_CREAT | os.O_WRONLY))
        yield str(root)
    finally:
        shutil.rmtree(root)


@contextmanager
def s3_bucket(server: str, keys: int):
    """Yield the URI of a bucket with so many objects on a server of our own."""
    from contracts.places import S3Place  # noqa: PLC0415 - needs boto3, which a folder does not
    from contracts.servers.moto import moto_server  # noqa: PLC0415
    from contracts.servers.radosgw import (  # noqa: PLC0415
        ACCESS_KEY,
        SECRET_KEY,
        radosgw_server,
    )

    with moto_server() if server == "moto" else radosgw_server() as url:
        os.environ |= {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        place = S3Place(url, ACCESS_KEY, SECRET_KEY)
        place.put_all(f"job/shared/{uuid.uuid4()}" for _ in range(keys))
        yield place.uri


@contextmanager
def synthetic(keys: int, latency_ms: float):
    """Yield the URI of a bucket of the synthetic endpoint."""
    from bench.synth.running import synth_server  # noqa: PLC0415 - needs numpy only here

    with synth_server(keys=keys) as synth:
        synth.control(latency_ms=latency_ms)
        os.environ |= synth.environment
        yield synth.uri


def main() -> None:
    """Prepare a place, and list it by each reader in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", help="local, moto, radosgw, synth, or a URI")
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--latency-ms", type=float, default=0, help="of each page of synth")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        measure(options.reader, options.where)
        return
    with ExitStack() as stack:
        uri = options.where
        readers = [*OURS, "obstore", "botocore"]
        if uri == "local":
            uri = stack.enter_context(local_folder(options.keys))
            readers = ["orphangc"]
        elif uri == "synth":
            uri = stack.enter_context(synthetic(options.keys, options.latency_ms))
            readers.remove("botocore")  # takes minutes for a million keys
        elif uri in {"moto", "radosgw"}:
            uri = stack.enter_context(s3_bucket(uri, options.keys))
        for reader in readers * options.repeat:
            subprocess.run(
                [sys.executable, __file__, uri, "--reader", reader], check=True, timeout=3600
            )


if __name__ == "__main__":
    main()
