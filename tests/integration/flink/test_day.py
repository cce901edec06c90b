"""A day in the life: a daemon, a Flink that leaks, an S3 server, a Prometheus that watches."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.scheduled import Started, events, started
from cli.stories_on_s3 import use_s3
from contracts.conftest import radosgw_url
from contracts.servers.radosgw import ACCESS_KEY, SECRET_KEY
from deploy.fixtures import jsonnet, prometheus
from deploy.prometheusbed import Prometheus, hurried_rules
from integration.harness.command import NO_MARGINS, orphangc
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import NEWEST
from integration.harness.flinkbed.truth import named_in_metadata
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.orphan_workload import crashed, haunted, restore_all
from support import speed

pytestmark = [
    pytest.mark.flink,
    pytest.mark.s3,
    pytest.mark.prometheus,
    pytest.mark.nightly,
    pytest.mark.parametrize("started_flink_cluster", [NEWEST], indirect=True),
]

__all__ = ["jsonnet", "prometheus", "radosgw_url"]

EVERY = f"{round(speed.scaled(10))}s"
# what would take hours takes seconds; a run without need of it takes three to six of them here
HURRY = {
    "slackSeconds": round(speed.scaled(40)),
    "registryAgeSeconds": 25,
    "firstSeenWindow": "10m",
    "firstSeenStep": "1s",
}
HURRIED = {"OrphangcMissedRuns", "OrphangcNotRunRecently"}
"""What a machine that is busy with other tests may bring about."""
TICK_SECONDS = 1.1
"""S3 tells times in whole seconds."""


@dataclass
class Bucket:
    """A copy of a checkpoint storage on the S3 server."""

    client: Any
    name: str
    folder: Path
    """What it is a copy of."""

    @property
    def root(self) -> str:
        return f"s3://{self.name}/ckpt"

    def fill(self) -> None:
        """Copy every file, metadata last and a second later: of one time it were a copied tree."""
        self.client.create_bucket(Bucket=self.name)
        for path in sorted(files_below(self.folder), key=is_metadata):
            if is_metadata(path):
                time.sleep(TICK_SECONDS)
            self.put(path, path.read_bytes())

    def key(self, path: Path) -> str:
        return f"ckpt/{path.relative_to(self.folder)}"

    def put(self, path: Path, data: bytes) -> None:
        self.client.put_object(Bucket=self.name, Key=self.key(path), Body=data)

    def remove(self, path: Path) -> None:
        self.client.delete_object(Bucket=self.name, Key=self.key(path))

    def forbid_deletion(self, path: Path) -> None:
        """Let nobody delete a file's copy."""
        statement = {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:DeleteObject",
            "Resource": f"arn:aws:s3:::{self.name}/{self.key(path)}",
        }
        policy = {"Version": "2012-10-17", "Statement": [statement]}
        self.client.put_bucket_policy(Bucket=self.name, Policy=json.dumps(policy))

    def files(self) -> set[Path]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name)
        keys = {each["Key"] for page in pages for each in page.get("Contents", ())}
        return {self.folder / key.removeprefix("ckpt/") for key in keys}


def runs(daemon: Started, root: str) -> list[dict[str, Any]]:
    newest_first = json.loads(daemon.get("/runs?limit=200")[1])
    return [run for run in newest_first[::-1] if run["root"] == root and run["plan_id"]]


@pytest.fixture
def client(radosgw_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the tests' own way to the S3 server, which the environment names to the daemon."""
    return use_s3(monkeypatch, radosgw_url, (ACCESS_KEY, SECRET_KEY))


@dataclass
class Day:
    """What a daemon is set upon, and what is true of it."""

    cluster: Cluster  # the Flink that made it all
    folder: Path  # for what belongs to the day
    base: Path  # storage root of a job that runs
    job: str  # its id
    lost: set[Path]  # what it uploaded in vain
    ended_base: Path  # storage root of a job that has ended
    ended: str  # its id
    lost_of_ended: set[Path]  # what it uploaded in vain
    last: Path  # its only checkpoint
    good: Bucket  # the ended job's storage in S3
    # another ended job's storage in S3; its checkpoint cannot be read until it is mended
    torn: Bucket
    torn_last: Path  # that checkpoint
    lost_of_torn: set[Path]  # what that job uploaded in vain

    @property
    def kept(self) -> Path:
        """Return the orphan of the ended job that nobody may delete."""
        return min(self.lost_of_ended)

    @property
    def wanted(self) -> set[Path]:
        return self.lost_of_ended - {self.kept}

    def exported(self) -> Path:
        """Export the running job's registry, once; return the snapshot."""
        snapshot = self.folder / "registry" / f"{self.job}.jsonl"
        snapshot.parent.mkdir()
        done = orphangc(
            *("registry", "export", self.base, "--job", self.job, "--out", snapshot),
            *("--flink-rest", self.cluster.rest_url),
        )
        assert done.code == 0, str(done)
        return snapshot

    def configuration(self) -> Path:
        running = {
            "root": str(self.base),
            "state": str(self.folder / "state"),
            "flink_rest": [self.cluster.rest_url],
            "registry": [str(self.exported())],
        }
        ended = [
            {
                "root": bucket.root,
                "state": "s3://day-state/orphangc",
                "ended_job": ["all"],
                "alias": [f"{bucket.folder}={bucket.root}"],
            }
            for bucket in (self.good, self.torn)
        ]
        content = {
            "mode": "delete",
            "schedule": EVERY,
            "concurrent_runs": 3,
            "plans": str(self.folder / "plans"),
            "http": {"port": 0},
            "log": {"audit_log": "stderr"},
            "storage_roots": [{**NO_MARGINS, **each} for each in (running, *ended)],
        }
        file = self.folder / "orphangc.yaml"
        file.write_text(yaml.safe_dump(content))
        return file

    def break_a_live_file(self) -> Path:
        """Delete a file in S3 that the ended job's checkpoint needs; return it."""
        named = named_in_metadata(self.last)
        victim = next(path for path in self.good.files() if path.name in named)
        self.good.remove(victim)
        return victim

    def alerts(self) -> set[tuple[str, str]]:
        return {
            ("OrphangcDeleteErrors", self.good.root),
            ("OrphangcMissingLiveFile", self.good.root),
            ("OrphangcRegistryStale", str(self.base)),
        }

    def goes_on(self) -> bool:
        """Let the running job complete a checkpoint; return whether its orphans are gone."""
        self.cluster.wait_for_checkpoints(self.job, 1)
        return not any_there(self.lost)

    def mirror(self) -> None:
        """Delete of the ended job's own storage what is gone from its copy in S3."""
        for path in files_below(self.ended_base) - self.good.files():
            path.unlink()


@pytest.fixture
def day(flink_cluster: Cluster, client: Any, tmp_path: Path) -> Day:
    """A running job with orphans, and two ended ones, which lie in S3."""
    ended_base, base = tmp_path / "ended", tmp_path / "ckpt"
    ended, lost_of_ended, last = crashed(flink_cluster, ended_base)
    torn_base = tmp_path / "torn"
    _, lost_of_torn, torn_last = crashed(flink_cluster, torn_base)
    job, lost = haunted(flink_cluster, base)
    made = Day(
        cluster=flink_cluster,
        folder=tmp_path,
        base=base,
        job=job,
        lost=lost,
        ended_base=ended_base,
        ended=ended,
        lost_of_ended=lost_of_ended,
        last=last,
        good=Bucket(client, "day-good", ended_base),
        torn=Bucket(client, "day-torn", torn_base),
        torn_last=torn_last,
        lost_of_torn=lost_of_torn,
    )
    for bucket in (made.good, made.torn):
        bucket.fill()
    made.good.forbid_deletion(made.kept)
    metadata = torn_last / "_metadata"
    made.torn.put(metadata, metadata.read_bytes()[:-1])
    client.create_bucket(Bucket="day-state")
    return made


@pytest.fixture
def daemon(day: Day) -> Iterator[Started]:
    config = day.configuration()
    with started("serve", "--config", config, err=day.folder / "daemon.log") as running:
        yield running


@pytest.fixture
def watching(day: Day, daemon: Started, prometheus: Path, jsonnet: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes the daemon, with the rules in a hurry."""
    rules = hurried_rules(jsonnet, day.folder / "rules.yaml", HURRY)
    jobs = {"orphangc": [daemon.url.removeprefix("http://")]}
    with Prometheus(prometheus, day.folder, jobs=jobs, rules=rules) as server:
        yield server


def test_a_day_in_the_life(day: Day, daemon: Started, watching: Prometheus) -> None:
    """Report, quarantine, delete, on three storages; what goes wrong is told, and nothing else."""
    base, good, torn = str(day.base), day.good, day.torn
    what_cannot_be_read_stops_all(day, watching)
    wait_until("the running job's orphans to go", day.goes_on, pause=1)
    wait_until("the ended job's orphans to go", lambda: not good.files() & day.wanted)
    wait_until("those of the mended one to go", lambda: not torn.files() & day.lost_of_torn)
    victim = day.break_a_live_file()
    expected = day.alerts()
    wait_until(f"{expected}", lambda: expected <= watching.firing(), pause=1)
    alerts = {name for name, root in watching.firing() if root == base}
    assert alerts - HURRIED == {"OrphangcRegistryStale"}, "all else of the running job is well"

    first, *_, last = runs(daemon, base)
    assert (first["effective_mode"], last["effective_mode"]) == ("report", "delete")
    assert json.loads(daemon.get(f"/jobs/{day.job}/state-self-sustained")[1]) is True
    page = daemon.get("/")[1]
    assert good.root in page
    assert torn.root in page
    assert daemon.end() == 0

    deleted = events(daemon.log, "object.deleted")
    gone = {line["key"] for line in deleted if line["root"] == base}
    assert gone == {str(path.relative_to(base)) for path in day.lost}
    assert SECRET_KEY not in daemon.log

    good.put(victim, victim.read_bytes())
    day.mirror()
    assert day.kept.exists()
    assert not any_there(day.wanted)
    day.cluster.cancel(day.job, between_checkpoints=True)
    restore_all(day.cluster, day.base / day.job)
    restore_all(day.cluster, day.ended_base / day.ended)


def what_cannot_be_read_stops_all(day: Day, watching: Prometheus) -> None:
    """Nothing of any storage root goes until the checkpoint of one of them is mended."""
    roots = (str(day.base), day.good.root, day.torn.root)
    unreadable = {("OrphangcUnreadableRoot", root) for root in roots}
    wait_until(f"{unreadable}", lambda: unreadable <= watching.firing(), pause=1)
    for bucket in (day.torn, day.good):
        assert bucket.files() == files_below(bucket.folder)
    assert all(path.exists() for path in day.lost)
    metadata = day.torn_last / "_metadata"
    day.torn.put(metadata, metadata.read_bytes())


def is_metadata(path: Path) -> bool:
    return path.name == "_metadata"


def any_there(files: set[Path]) -> bool:
    return any(path.exists() for path in files)


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
