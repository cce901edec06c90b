"""A collector as it should not be: what is older than a few seconds and not in use by the newest.

    python -m safety.soak.naive_collector clean ROOT

The negative control of the soak: it reads the newest checkpoint of each job, as many homemade
scripts do, and no other; what runs or is being written it does not ask. ROOT is a folder, or a
bucket and prefix of the server that the environment names.
"""

import re
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import boto3

from integration.harness.flinkbed.truth import UUID, named_in_metadata, retained

_OLD_NANOSECONDS = 2_000_000_000
_CHECKPOINT = re.compile(r"/chk-([0-9]+)/_metadata$")


def clean(root: Path) -> None:
    """Remove what looks unused."""
    for job in root.iterdir():
        newest = retained(job)[-1:]
        named = named_in_metadata(newest[0]) if newest else set()
        old = time.time_ns() - _OLD_NANOSECONDS
        for path in [each for each in job.rglob("*") if UUID.fullmatch(each.name)]:
            if path.is_file() and path.stat().st_mtime_ns < old and path.name not in named:
                path.unlink(missing_ok=True)


def clean_bucket(bucket: str, prefix: str) -> None:
    """Do the same to objects."""
    server = boto3.client("s3")
    pages = server.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    stored = {
        each["Key"]: int(each["LastModified"].timestamp()) * 1_000_000_000
        for page in pages
        for each in page.get("Contents", ())
    }
    of_jobs: dict[str, list[str]] = defaultdict(list)
    for key in stored:
        of_jobs[key.removeprefix(prefix).partition("/")[0]].append(key)
    for keys in of_jobs.values():
        found = {int(hit[1]): key for key in keys if (hit := _CHECKPOINT.search(key))}
        named: set[str] = set()
        if found:
            newest = server.get_object(Bucket=bucket, Key=found[max(found)])["Body"].read()
            named = set(UUID.findall(newest.decode("latin-1")))
        for key in keys:
            name = key.rpartition("/")[2]
            is_old = stored[key] < time.time_ns() - _OLD_NANOSECONDS
            if UUID.fullmatch(name) and is_old and name not in named:
                server.delete_object(Bucket=bucket, Key=key)


if __name__ == "__main__":
    where = sys.argv[-1]
    if where.startswith("s3://"):
        name, _, folder = where.removeprefix("s3://").partition("/")
        with suppress(boto3.client("s3").exceptions.NoSuchKey):  # Flink deletes, too
            clean_bucket(name, f"{folder}/")
    else:
        with suppress(FileNotFoundError):
            clean(Path(where))
