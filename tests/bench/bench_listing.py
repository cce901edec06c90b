"""How fast storages are listed: wall time, CPU a key, peak memory.

    python tests/bench/bench_listing.py local --keys 1000000
    python tests/bench/bench_listing.py moto --keys 20000
    python tests/bench/bench_listing.py radosgw --keys 20000
    python tests/bench/bench_listing.py s3://bucket/prefix        # as it is; AWS_* name the server

Each line is one reader in a process of its own, so that peaks do not add up. ``botocore`` reads
the same pages without the fast reader, and stands for what every client on botocore costs.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack, contextmanager
from pathlib import Path

# ruff: noqa: E402
sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "gc")]

from orphangc.adapters.s3_client import S3Client
from orphangc.adapters.s3_listing import S3Pages
from orphangc.adapters.storages import open_storage
from orphangc.core.uris import canonical


def measure(reader: str, uri: str) -> None:
    """List once and print one line."""
    if reader == "botocore":
        location = canonical(uri)
        pages = S3Pages(S3Client(location), is_fast=False).pages(location.path[1:])
        batches = (page.objects for page in pages)
    else:
        batches = open_storage(uri).objects()
    wall, cpu = time.perf_counter(), time.process_time()
    rows = sum(batch.num_rows for batch in batches)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{reader:9} {rows:>9,} rows  {wall:7.2f} s wall  {rows / wall:>10,.0f} rows/s"
        f"  {cpu / rows * 1e6:6.2f} us CPU a row  {peak:5.0f} MB peak"
    )


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


def main() -> None:
    """Prepare a place, and list it by each reader in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("where", help="local, moto, radosgw, or a URI")
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--reader", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reader:
        measure(options.reader, options.where)
        return
    with ExitStack() as stack:
        uri = options.where
        if uri == "local":
            uri = stack.enter_context(local_folder(options.keys))
        elif uri in {"moto", "radosgw"}:
            uri = stack.enter_context(s3_bucket(uri, options.keys))
        readers = ["orphangc", "botocore"] if canonical(uri).scheme == "s3" else ["orphangc"]
        for reader in readers * options.repeat:
            subprocess.run(
                [sys.executable, __file__, uri, "--reader", reader], check=True, timeout=3600
            )


if __name__ == "__main__":
    main()
