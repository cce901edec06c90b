"""Real Flink on a real S3 server: collected while it runs, then ended, collected and restored.

Flink writes through a file system of the test bed's own (``flinkbed/object_store.py``), the server
is Ceph's radosgw. Whatever is deleted is compared with what the checkpoints in the bucket name.
"""

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest

from contracts.conftest import radosgw_url
from contracts.servers import radosgw
from integration.flink.test_collect import MERGED
from integration.harness.command import MARGINS, Finished, orphangc
from integration.harness.flinkbed.cluster import STRICT_RESTORE, Cluster
from integration.harness.flinkbed.fixtures import require_flink
from integration.harness.flinkbed.object_store import Bucket, s3_jar, s3_settings
from integration.harness.orphan_workload import INTERVAL, crash

__all__ = ["radosgw_url"]

pytestmark = [pytest.mark.flink, pytest.mark.s3]

FOUR = {
    "execution.checkpointing.max-concurrent-checkpoints": "4",
    "execution.checkpointing.min-pause": "0 ms",
}
MERGING = "execution.checkpointing.file-merging.across-checkpoint-boundary"
LAYOUTS: dict[str, dict[str, str]] = {
    "flat": {},
    "heap": {"state.backend.type": "hashmap"},
    "flat, four": FOUR,
    "within": {**MERGED, MERGING: "false"},
    "changelog": {
        "state.changelog.enabled": "true",
        "state.changelog.storage": "filesystem",
        "state.changelog.periodic-materialize.interval": "2s",
    },
    "forst": {"state.backend.type": "forst"},
}
"""Not merged across checkpoints: there Flink itself loses what an object store does not show before
it is closed. Its completed checkpoint names such files, and a killed TaskManager never closes them.
"""
ROUNDS = 3
BRIEFLY = [("2.3.0", "flat")]
"""In class ci, in one round."""
CASES = [
    pytest.param(
        version,
        layout,
        id=f"{version}-{layout}",
        marks=pytest.mark.ci if (version, layout) in BRIEFLY else pytest.mark.nightly,
    )
    for version in ("1.20.5", "2.3.0")
    for layout in LAYOUTS
    if (version, layout) != ("1.20.5", "forst")
]


@pytest.fixture
def bucket(radosgw_url: str, monkeypatch) -> Iterator[Bucket]:
    """A new bucket, which the environment names as well."""
    keys = radosgw.ACCESS_KEY, radosgw.SECRET_KEY
    monkeypatch.setenv("AWS_ENDPOINT_URL", radosgw_url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys[0])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys[1])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("s3", endpoint_url=radosgw_url)
    found = Bucket(client, f"flink-{uuid.uuid4().hex[:12]}")
    client.create_bucket(Bucket=found.name)
    yield found
    client.close()


@dataclass
class Collecting:
    """Plans and sweeps of the bucket."""

    bucket: Bucket  # the bucket
    work: Path  # folder of plans and state
    plans: int = 0  # number of plans so far
    deleted: set[str] = field(default_factory=set)  # keys that sweeps deleted

    @property
    def root(self) -> str:
        return f"s3://{self.bucket.name}"

    def cycle(self, *options: str) -> Finished:
        """Plan and sweep once; deleted is what was due and is gone."""
        time.sleep(1.1)  # S3 has whole seconds, and a quarantine of none is over in the next one
        self.plans += 1
        folder = self.work / f"plan-{self.plans}"
        state = self.work / "state"
        made = orphangc(
            *("plan", self.root, *MARGINS, "--state", state, "--closed-world"),
            *("--max-delete-share", "1", "--abort-uploads", *options, "--out", folder),
        )
        assert made.code in {0, 4}, str(made)
        due = {
            row["key"]
            for row in pq.read_table(folder / "verdicts").to_pylist()
            if row["action"] == "delete"
        }
        done = orphangc("sweep", folder, "--delete", "--output", "json")
        assert done.code in {0, 4}, str(done)
        self.deleted |= due - self.bucket.keys()
        return done

    def no_checkpoint_names_what_went(self) -> None:
        """Make sure that nothing in the bucket names a file that is gone."""
        names = {key.rpartition("/")[2] for key in self.deleted}
        assert not names & self.bucket.named()


def killed_once(cluster: Cluster, job: str) -> None:
    """Kill the TaskManager between upload and acknowledgement, and go on."""
    cluster.hold()
    cluster.wait_until_held()
    cluster.kill_taskmanager()
    cluster.release()
    cluster.start_taskmanager()
    cluster.wait_for_checkpoints(job, 3)


def check_restores(cluster: Cluster, bucket: Bucket, job: str, work: Path, *, layout: str) -> None:
    """Restore every retained checkpoint and compare its contents; CLAIM: the newest alone."""
    found = bucket.retained(job)
    assert found
    config = LAYOUTS[layout]
    if layout != "changelog":
        for checkpoint in found:
            cluster.restore_and_check(checkpoint, config=config)
        return
    config = (
        STRICT_RESTORE | config | {"state.changelog.dstl.dfs.base-path": f"s3://{bucket.name}/dstl"}
    )
    again = cluster.submit(work / "again", found[-1], "CLAIM", interval="1s", config=config)
    cluster.wait_for_checkpoints(again, 2)
    cluster._wait_on_job(again, "visits of all keys", lambda: cluster._visited_all(again))
    progress = cluster.progress(again)
    assert 0 < progress["restored"] == progress["verified"]
    cluster.cancel(again)


@pytest.mark.parametrize(("version", "layout"), CASES)
def test_on_a_real_store_nothing_goes_that_a_checkpoint_needs(
    version: str, layout: str, bucket: Bucket, tmp_path: Path
) -> None:
    """While it runs by the rules of running jobs, then all of what it left (R31-R46, R35, R50)."""
    require_flink(version)
    url: Any = bucket.client.meta.endpoint_url
    server = s3_settings(url, radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    config = dict(LAYOUTS[layout])
    if layout == "changelog":
        config["state.changelog.dstl.dfs.base-path"] = f"s3://{bucket.name}/dstl"
    collecting = Collecting(bucket, tmp_path)
    with Cluster(
        version, tmp_path / "flink", config=server | config, libraries=[s3_jar(version, tmp_path)]
    ) as cluster:
        job = cluster.submit(f"s3://{bucket.name}/ckpt", interval=INTERVAL, config=config)
        cluster.wait_for_checkpoints(job, 2)
        rest = "--flink-rest", cluster.rest_url, "--merged-within", "all"
        for _ in range(1 if (version, layout) in BRIEFLY else ROUNDS):
            killed_once(cluster, job)
            for _ in range(2):
                collecting.cycle(*rest)
                cluster.wait_for_checkpoints(job, 1)
            collecting.no_checkpoint_names_what_went()
        while_running = set(collecting.deleted)

        cluster.hold()
        cluster.wait_until_held()
        crash(cluster)
        named, before = bucket.named(), bucket.keys()
        dead = {
            key
            for key in before
            if key.rpartition("/")[2] not in named and not key.endswith("/_metadata")
        }
        assert dead, "a pending checkpoint leaves files behind"
        for _ in range(2):
            done = collecting.cycle("--ended-job", job, "--quiet-period", "0")
        print(
            f"\n{version} {layout}: {len(while_running)} deleted while it ran,"
            f" {len(dead)} afterwards, uploads {done.document['uploads']}"
        )
        assert bucket.keys() == before - dead
        assert not {key for key in bucket.uploads() if f"/{job}/" in key}
        check_restores(cluster, bucket, job, tmp_path, layout=layout)
