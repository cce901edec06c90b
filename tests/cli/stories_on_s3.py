"""The story of an ended job in a versioned bucket of a loopback server."""

import json
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

from cli.helpers import Planned, Ran, metadata, run
from contracts.servers import radosgw
from support import speed
from support.leaks import S3_KEYS

JOB_ID = "0000000d" + "deadbeef" * 3  # no other run ever has it
NO_MARGINS = (
    *("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0"),
    *("--quarantine-period", "0", "--allow-short-margins"),
)


@pytest.fixture(scope="session")
def s3_server(moto_url, quick_sessions) -> str:  # noqa: ARG001
    return moto_url


def use_s3(monkeypatch, url: str, keys: tuple[str, str] = S3_KEYS) -> Any:
    """Name the server in the environment, as an operator does; return a client."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys[1])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return get_session().create_client("s3", endpoint_url=url)


@dataclass
class S3Story:
    """Three live files, two checkpoints, two orphans; the metadata says ``s3a://``."""

    client: Any
    bucket: str
    folder: Path
    orphans: set[str]
    plans: int = 0
    ended: tuple[str, ...] = ("--ended-job", "all")

    @property
    def root(self) -> str:
        return f"s3://{self.bucket}/checkpoints"

    def checkpoint(self, number: int, *more: str) -> bytes:
        live = [key for key in self.contents() if "/shared/" in key and key not in self.orphans]
        return metadata(number, [*(f"s3a://{self.bucket}/checkpoints/{k}" for k in live), *more])

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=f"checkpoints/{key}", Body=data)

    def contents(self) -> dict[str, bytes]:
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix="checkpoints/")
        keys = [each["Key"] for each in listed.get("Contents", ())]
        read = {key: self.client.get_object(Bucket=self.bucket, Key=key) for key in keys}
        return {key.partition("/")[2]: answer["Body"].read() for key, answer in read.items()}

    def plan(self, *options: object) -> Planned:
        """Plan, a second after whatever was before: S3 has whole seconds only."""
        time.sleep(1.1)
        self.plans += 1
        out = self.folder / f"plan-{self.plans}"
        ran = run(
            *("plan", self.root, "--out", out, "--state", f"s3://{self.bucket}/state"),
            *(*self.ended, "--closed-world", *NO_MARGINS, *options),
        )
        assert ran.code == 0, ran.err
        return Planned(ran, out)

    def sweep(self, plan: Planned, *options: object) -> Ran:
        return run("sweep", plan.path, *options)


@pytest.fixture
def on_s3(s3_server, monkeypatch, tmp_path) -> S3Story:
    return story_in(use_s3(monkeypatch, s3_server), tmp_path)


@pytest.fixture
def on_radosgw(radosgw_url, monkeypatch, tmp_path) -> S3Story:
    keys = (radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    return story_in(use_s3(monkeypatch, radosgw_url, keys), tmp_path)


def story_in(client: Any, folder: Path) -> S3Story:
    bucket = f"bucket-{uuid.uuid4().hex[:12]}"
    client.create_bucket(Bucket=bucket)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    names = [f"{JOB_ID}/shared/{uuid.uuid4()}" for _ in range(5)]
    story = S3Story(client, bucket, folder, set(names[3:]))
    paths = [f"s3a://{bucket}/checkpoints/{name}" for name in names[:3]]
    for number, name in enumerate(names):
        story.put(name, f"state {number}".encode())
    time.sleep(1.1)  # one store time for all would be a copied tree
    story.put(f"{JOB_ID}/chk-7/_metadata", metadata(7, paths[:2]))
    story.put(f"{JOB_ID}/chk-8/_metadata", metadata(8, paths[1:]))
    return story


@contextmanager
def requests_to(url: str) -> Iterator[list[str]]:
    """Yield what becomes the paths of all requests that the server answers meanwhile."""

    def ask(verb: str, method: str = "POST") -> bytes:
        request = urllib.request.Request(f"{url}/moto-api/recorder/{verb}", method=method)
        with urllib.request.urlopen(request, timeout=speed.command()) as answer:
            return bytes(answer.read())

    paths: list[str] = []
    ask("reset-recording")
    ask("start-recording")
    try:
        yield paths
    finally:
        ask("stop-recording")
        lines = ask("download-recording", "GET").decode().splitlines()
        paths += [json.loads(line)["url"] for line in lines if line]
        ask("reset-recording")
