"""Real Flink in each layout, on folders and on a real S3 server: collected as it runs, and after.

A plan and a sweep are made while a checkpoint is held before its acknowledgement; then it completes
(R56). In the end both processes are killed, all goes that no checkpoint names, and every retained
checkpoint restores, its contents compared. Flink writes to S3 through a file system of the test
bed's own (``flinkbed/object_store.py``); the server is Ceph's radosgw.
"""

import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from contracts.conftest import radosgw_url
from contracts.servers import radosgw
from integration.flink.test_collect import MERGED
from integration.harness.command import MARGINS, Finished, orphangc
from integration.harness.flinkbed.cluster import STRICT_RESTORE, Cluster
from integration.harness.flinkbed.exporting import FOUR_AT_ONCE
from integration.harness.flinkbed.fixtures import require_flink
from integration.harness.flinkbed.object_store import s3_jar, s3_settings
from integration.harness.flinkbed.settings import CHANGELOG
from integration.harness.flinkbed.truth import named_in_metadata, retained
from integration.harness.orphan_workload import INTERVAL, crash, seen
from safety.soak.bucket import Bucket

__all__ = ["radosgw_url"]

pytestmark = [pytest.mark.flink]

MERGING = "execution.checkpointing.file-merging.across-checkpoint-boundary"


class Layout(NamedTuple):
    """How files are written."""

    config: dict[str, str]
    part: str = ""  # a part of the paths of files that must go while the job runs
    is_judged: bool = False  # no condition may be unmet while it runs


LAYOUTS = {
    "flat": Layout({}),
    "heap": Layout({"state.backend.type": "hashmap"}),
    "flat, four": Layout(FOUR_AT_ONCE, is_judged=True),
    "within": Layout({**MERGED, MERGING: "false"}, "job_", is_judged=True),
    "across": Layout({**MERGED, MERGING: "true"}),
    "changelog": Layout(CHANGELOG, "dstl", is_judged=True),
    "changelog, four": Layout(CHANGELOG | FOUR_AT_ONCE, "dstl", is_judged=True),
    "forst": Layout({"state.backend.type": "forst"}),  # its own layout takes asynchronous state
}
TICK = ["--clock-skew", "1s"]
"""A file's time is some milliseconds old when it is taken: without slack the clock that dates a
trigger seems to be ahead of it, and bounds no log (R45)."""
ROUNDS = 4
BRIEFLY = {("2.3.0", "within", "local"), ("2.3.0", "flat", "s3")}
"""In class ci, in one round."""
CASES = [
    pytest.param(
        *case,
        id="-".join(case),
        marks=[
            pytest.mark.ci if case in BRIEFLY else pytest.mark.nightly,
            *([pytest.mark.s3] if store == "s3" else []),
        ],
    )
    for version in ("1.20.5", "2.3.0")
    for layout in LAYOUTS
    for store in ("local", "s3")
    # merged across checkpoints in an object store, Flink itself loses what is not shown before it
    # is closed: a completed checkpoint names such files, and a killed TaskManager never closes them
    if (version, layout) != ("1.20.5", "forst") and (layout, store) != ("across", "s3")
    if (case := (version, layout, store))
]


@dataclass(frozen=True)
class Folder:
    """A folder in which Flink deletes, asked as a bucket is."""

    path: Path

    @property
    def uri(self) -> str:
        return str(self.path)

    def keys(self, _: str) -> set[str]:
        found = seen(lambda: [path for path in self.path.rglob("*") if path.is_file()])
        return {str(path.relative_to(self.path)) for path in found}

    def named(self) -> set[str]:
        return seen(lambda: named_in_metadata(self.path))

    def retained(self, directory: str) -> list[Path]:
        return retained(self.path / directory)

    def uploads(self) -> set[str]:
        return set()


@dataclass
class Collecting:
    """Plans and sweeps of a folder or a bucket."""

    place: Folder | Bucket  # the storage root
    work: Path  # folder of plans and state
    plans: int = 0  # number of plans so far
    deleted: set[str] = field(default_factory=set)  # keys that sweeps deleted

    def cycle(self, *options: str, is_judged: bool = False) -> Finished:
        """Plan and sweep once; deleted is what was due and is gone."""
        time.sleep(1.1)  # S3 has whole seconds, and a quarantine of none is over in the next one
        self.plans += 1
        folder = self.work / f"plan-{self.plans}"
        made = orphangc(
            *("plan", self.place.uri, *MARGINS, "--state", self.work / "state", "--closed-world"),
            *("--max-delete-share", "1", "--abort-uploads", *options, "--out", folder),
        )
        assert made.code in {0, 4}, str(made)
        if is_judged:
            assert [job["blocked"] for job in made.document["jobs"]] == [[]], str(made)
        rows = pq.read_table(folder / "verdicts").to_pylist()
        due = {row["key"] for row in rows if row["action"] == "delete"}
        done = orphangc("sweep", folder, "--delete", "--output", "json")
        assert done.code in {0, 4}, str(done)
        self.deleted |= due - self.place.keys("")
        names = {key.rpartition("/")[2] for key in self.deleted}
        assert not names & self.place.named(), "a checkpoint names what went"
        return done


@pytest.fixture
def place(
    request: pytest.FixtureRequest, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Folder | Bucket]:
    """A new folder, or a new bucket which the environment names as well."""
    if store == "local":
        (tmp_path / "tree").mkdir()
        yield Folder(tmp_path / "tree")
        return
    url, name = request.getfixturevalue("radosgw_url"), f"flink-{uuid.uuid4().hex[:12]}"
    bucket = Bucket(url, name, radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    for variable, value in bucket.environment.items():
        monkeypatch.setenv(variable, value)
    bucket.make()
    yield bucket
    bucket.close()


def one_round(cluster: Cluster, job: str, collecting: Collecting, layout: str) -> None:
    """Kill the TaskManager between upload and acknowledgement; collect with one pending, and after.

    The second collection deletes what the first laid a tombstone on.
    """
    cluster.lose_an_upload()
    cluster.wait_for_checkpoints(job, 2)
    cluster.hold()
    cluster.wait_until_held()
    rest = ["--flink-rest", cluster.rest_url]
    rest += [] if layout == "across" else ["--merged-within", "all"]
    rest += TICK if LAYOUTS[layout].part == "dstl" else []
    collecting.cycle(*rest, is_judged=LAYOUTS[layout].is_judged)
    cluster.release()
    cluster.wait_for_checkpoints(job, 1)
    collecting.cycle(*rest)
    cluster.wait_for_checkpoints(job, 1)


def check_restores(
    cluster: Cluster, place: Folder | Bucket, job: str, *, work: Path, config: dict[str, str]
) -> None:
    """Restore every retained checkpoint and compare its contents.

    Flink restores a change log in CLAIM alone, which deletes: a folder is put back before each; in
    a bucket the newest one is restored.
    """
    found = place.retained(f"ckpt/{job}")
    assert found
    if "state.changelog.enabled" not in config:
        for checkpoint in found:
            cluster.restore_and_check(checkpoint, config=config)
        return
    if isinstance(place, Folder):
        shutil.copytree(place.path, work / "saved")
    for checkpoint in found if isinstance(place, Folder) else found[-1:]:
        if isinstance(place, Folder):
            shutil.rmtree(place.path)
            shutil.copytree(work / "saved", place.path)
        again = cluster.submit(
            work / "again", checkpoint, "CLAIM", interval="1s", config=STRICT_RESTORE | config
        )
        cluster.wait_for_checkpoints(again, 2)
        cluster._wait_on_job(again, "all keys", lambda job=again: cluster._visited_all(job))
        progress = cluster.progress(again)
        assert 0 < progress["restored"] == progress["verified"]
        cluster.cancel(again)


@pytest.mark.parametrize(("version", "layout", "store"), CASES)
def test_in_each_layout_nothing_goes_that_a_checkpoint_needs(
    version: str, layout: str, store: str, *, place: Folder | Bucket, tmp_path: Path
) -> None:
    """While it runs by the rules of running jobs, then all of what it left (R31-R46, R35, R50)."""
    require_flink(version)
    base = f"file:{place.uri}" if store == "local" else place.uri
    config, part, _ = LAYOUTS[layout]
    if part == "dstl":
        config = config | {"state.changelog.dstl.dfs.base-path": f"{base}/dstl"}
    server: dict[str, str] = {}
    if isinstance(place, Bucket):
        server = s3_settings(place.url, place.access_key, place.secret_key)
    libraries = [s3_jar(version, tmp_path)] if server else []
    collecting = Collecting(place, tmp_path)
    with Cluster(
        version, tmp_path / "flink", config=server | config, libraries=libraries
    ) as cluster:
        job = cluster.submit(f"{base}/ckpt", interval=INTERVAL, config=config)
        cluster.wait_for_checkpoints(job, 2)
        for _ in range(1 if (version, layout, store) in BRIEFLY else ROUNDS):
            one_round(cluster, job, collecting, layout)
        running = set(collecting.deleted)
        assert not part or store == "s3" or any(part in key for key in running), running

        cluster.hold()
        cluster.wait_until_held()
        crash(cluster)
        named, before = place.named(), place.keys("")
        names = {key: key.rpartition("/")[2] for key in before}
        dead = {key for key in before if names[key] not in {*named, "_metadata"}}
        assert dead, "a pending checkpoint leaves files behind"
        for _ in range(2):
            done = collecting.cycle("--ended-job", job, "--quiet-period", "0")
        print(f"\n{version} {layout} {store}: {len(running)} went while it ran, {len(dead)} after")
        assert place.keys("") == before - dead, str(done)
        assert not {key for key in place.uploads() if f"/{job}/" in key}
        check_restores(cluster, place, job, work=tmp_path, config=config)
