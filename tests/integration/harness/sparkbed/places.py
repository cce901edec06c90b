"""Storages to plan: what real Flink left, and names that nobody expects."""

import json
import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
from botocore.config import Config

from cli.helpers import DAY, Ran, metadata, run, write
from flink_fixtures.test_fixtures import plan_options
from flink_fixtures.unpacked import unpack
from orphangc.ports import VERDICT_SCHEMA

here = run

JOBS = tuple(f"{number:032x}" for number in (1, 2))
ENDED = (
    *("--ended-job", "all", "--closed-world"),
    *("--quarantine-period", "0", "--allow-short-margins"),
)
NO_MARGINS = (
    *("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0"),
    "--allow-short-margins",
)
_ODD = "aZ09é€😀\u00a0\ufb01 %+*?[]{}'\"\\^~#&=;:@$,!()<>|`.-_\n\t\x7f"
_OWN_TIME = {
    "created_at",
    "remembered_at",
    "duration_seconds",
    "plan_id",
    "verdict_files",
    "bounds",
}
"""What is another in every plan."""


@dataclass(frozen=True)
class Place:
    """A storage, and the options of its plan."""

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Planned:
    """What a plan says that does not depend on when it was made."""

    code: int
    rows: list[dict[str, Any]] = field(repr=False)
    document: dict[str, Any] = field(repr=False)


def plan(run: Callable[..., Ran], place: Place, out: Path, *options: object) -> Planned:
    ran = run("plan", *place.options, "--out", out, *options)
    assert ran.code in {0, 4}, ran.err
    document = json.loads((out / "plan.json").read_text())
    files = [out / "verdicts" / name for name in document["verdict_files"]]
    assert set(files) == set((out / "verdicts").iterdir())
    assert all(pq.read_schema(file).equals(VERDICT_SCHEMA) for file in files)
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return Planned(ran.code, sorted(rows, key=lambda row: row["key"]), _lasting(document))


def _lasting(document: dict[str, Any]) -> dict[str, Any]:
    """Return a plan without what is another every time."""
    kept = {name: value for name, value in document.items() if name not in _OWN_TIME}
    jobs = [
        {name: value for name, value in job.items() if name not in {"cutoff", "bounds", "evidence"}}
        for job in kept["jobs"]
    ]
    del kept["engine"], kept["engine_reason"], kept["list_requests"]
    return {**kept, "jobs": jobs}


def fixture(name: str, folder: Path) -> Place:
    return Place(name, tuple(plan_options(unpack(name, folder), "tree")))


def odd_names(seed: int, count: int) -> Iterator[str]:
    """Yield names that fit no scheme, or hardly; each once, none with a slash."""
    dice = random.Random(seed)
    seen = {"", ".", ".."}
    while len(seen) < count + 3:
        name = "".join(dice.choices(_ODD, k=dice.randint(1, 12)))
        if dice.random() < 0.5:
            name += str(uuid.UUID(int=dice.getrandbits(128)))
        if name not in seen:
            seen.add(name)
            yield name


def odd_folder(folder: Path, seed: int) -> Place:
    """Return a local storage of two jobs whose names are mostly odd ones."""
    root, dice = folder / "checkpoints", random.Random(seed)
    for number, job in enumerate(JOBS):
        live = [
            root / job / "shared" / str(uuid.UUID(int=dice.getrandbits(128))) for _ in range(60)
        ]
        old = [f"{at}_{uuid.UUID(int=dice.getrandbits(128))}" for at in range(40)]
        odd = list(odd_names(seed + number, 80))
        for path in [*live, *(root / job / "shared" / name for name in [*old, *odd[:40]])]:
            write(path, b"state", 30 * DAY)
        for name in odd[40:]:
            write(root / job / dice.choice(["taskowned", "chk-1", "x y"]) / name, b"", 30 * DAY)
        (root / job / "taskowned" / "empty").mkdir(parents=True)
        for chk in (7, 8):
            named = [path for at, path in enumerate(live) if at % 9 != chk]
            write(root / job / f"chk-{chk}" / "_metadata", metadata(chk, named), 20 * DAY)
    (root / JOBS[0] / "shared" / live[0].name).write_bytes(b"the same UUID in two jobs")
    scopes = ("shared", "taskowned", "exclusive")
    state = ["--state", str(folder / "state")]
    state += [part for scope in scopes for part in ("--scope", scope)]
    return Place("odd names in a folder", (str(root), *ENDED, *state))


def odd_bucket(url: str, keys: tuple[str, str], seed: int, count: int = 1050) -> Place:
    """Return a storage in a bucket, over a page long; S3 knows names that no folder has."""
    client = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        config=Config(max_pool_connections=16),
        aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1],
    )
    bucket = f"odd-{uuid.uuid4().hex[:12]}"
    client.create_bucket(Bucket=bucket)
    dice = random.Random(seed)
    job = JOBS[0]
    uuids = [str(uuid.UUID(int=dice.getrandbits(128))) for _ in range(count)]
    odd = [name.replace("\n", "N").replace("\t", "T") for name in odd_names(seed, 60)]
    odd = [name for name in odd if not any(ord(each) in {0x7F, 0x5C} for each in name)]
    keys_of_objects = [f"{job}/shared/{name}" for name in (*uuids, *odd, f"41_{uuids[1]}")]
    keys_of_objects += [f"{job}/taskowned/{name}" for name in ("a//b", "a/", f"x/{uuids[0]}")]
    keys_of_objects += ["folder/", f"{job}/chk-9/{uuids[2]}"]

    def put(key: str, data: bytes = b"state") -> None:
        client.put_object(Bucket=bucket, Key=f"checkpoints/{key}", Body=data)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, keys_of_objects))
    time.sleep(1.1)  # one store time for all would be a copied tree
    for chk in (7, 8):
        paths = [f"s3a://{bucket}/checkpoints/{job}/shared/{name}" for name in uuids[chk::3]]
        put(f"{job}/chk-{chk}/_metadata", metadata(chk, paths))
    time.sleep(1.1)
    state = ("--state", f"s3://{bucket}/state")
    return Place("odd names in S3", (f"s3://{bucket}/checkpoints", *ENDED, *NO_MARGINS, *state))
