"""Real Flink restores a job; may the snapshot go? Judged by what Flink's own classes read."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from integration.harness.command import orphangc
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.references import read_by_flink
from integration.harness.flinkbed.truth import retained
from integration.harness.orphan_workload import INTERVAL, seen

pytestmark = pytest.mark.flink

LOOKS = 2


class Asking:
    """Asks of one storage root; looks are remembered."""

    def __init__(self, cluster: Cluster, base: Path, state: Path) -> None:
        self.options = ("--state", state, "--flink-rest", cluster.rest_url, "--output", "json")
        self._base = base

    def __call__(self, job: str, snapshot: Path) -> dict[str, Any]:
        asked = "self-sustained", self._base, "--job", job, "--snapshot", snapshot
        return dict(orphangc(*asked, "--closed-world", *self.options).document)

    def users(self, snapshot: Path) -> set[str]:
        done = orphangc("users-of", snapshot, self._base, *self.options[2:])
        assert done.code == 0, str(done)
        return {user["job_id"] for user in done.document["users"]}


@pytest.fixture
def asking(flink_cluster: Cluster, tmp_path: Path) -> Asking:
    """The command line with what the cluster says: of no job that another test left.

    A directory that such a job left without a checkpoint would be of one that may need a snapshot.
    """
    flink_cluster.kill_jobmanager()
    flink_cluster.kill_taskmanager()
    flink_cluster.tidy()
    return Asking(flink_cluster, tmp_path / "ckpt", tmp_path / "state")


def a_retained_checkpoint(cluster: Cluster, base: Path) -> Path:
    job = cluster.submit(base, interval=INTERVAL)
    cluster.wait_for_checkpoints(job, 2)
    cluster.cancel(job, between_checkpoints=True)
    return retained(base / job)[-1]


def test_an_unclaimed_checkpoint_is_needed_until_the_first_own_one_completed(
    flink_cluster: Cluster, tmp_path: Path, asking: Asking
) -> None:
    """NO_CLAIM: no before it, yes after it, confirmed by a newer one, whatever REST still says.

    A JobManager without HA metadata would begin with the snapshot again: until the job is over, it
    may not go.
    """
    base = tmp_path / "ckpt"
    snapshot = a_retained_checkpoint(flink_cluster, base)
    flink_cluster.hold()
    job = flink_cluster.submit(base, snapshot, "NO_CLAIM", interval=INTERVAL)
    flink_cluster.wait_until_held()
    told = asking(job, snapshot)
    assert (told["state_self_sustained"], told["safe_to_delete"]) == (False, False), told["why"]
    assert "completed none of its own since" in told["why"]
    assert job in asking.users(snapshot)

    flink_cluster.release()
    flink_cluster.wait_for_checkpoints(job, 1)
    told = asking(job, snapshot)
    assert (told["state_self_sustained"], told["seen"]["value"]) == (None, True), told["why"]
    assert told["safe_to_delete"] is False, told["looks"]
    first = told["newest_checkpoint_id"]
    flink_cluster.wait_for_checkpoints(job, 1)
    told = asking(job, snapshot)
    assert told["newest_checkpoint_id"] > first
    assert (told["confirmed"], told["safe_to_delete"]) == (True, False), told["why"]
    siblings = snapshot.parent.name  # they share files with it
    assert asking.users(snapshot) == {siblings, job}

    flink_cluster.cancel(job, between_checkpoints=True)
    assert asking(job, snapshot)["safe_to_delete"] is True
    assert asking.users(snapshot) == {siblings}
    read = read_by_flink(flink_cluster.version, retained(base / job))
    assert read
    assert all(path.is_relative_to(base / job) for paths in read.values() for path in paths)
    shutil.rmtree(snapshot.parent)
    flink_cluster.restore_and_check(retained(base / job)[-1])


def foreign_names(version: str, own: Path, *folders: Path) -> list[int]:
    """Return how many files of others Flink reads in the checkpoints that each folder holds.

    Names that are relative to a checkpoint's own folder lie in the copied one.
    """
    read = read_by_flink(version, [each for folder in folders for each in retained(folder)])
    return [
        sum(
            not any(path.is_relative_to(place) for place in (own, folder))
            for checkpoint, paths in read.items()
            if checkpoint.is_relative_to(folder)
            for path in paths
        )
        for folder in folders
    ]


def photographed(own: Path, folder: Path) -> Path:
    """Return a folder with the metadata of the checkpoints that a job retains now."""

    def take() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for checkpoint in retained(own):
            shutil.copytree(checkpoint, folder / checkpoint.name)

    seen(take)
    return folder


def test_a_claimed_checkpoint_is_needed_as_long_as_flink_reads_a_file_of_it(
    flink_cluster: Cluster, tmp_path: Path, asking: Asking
) -> None:
    """CLAIM: new checkpoints name the old job's files, long after the claimed one is gone."""
    base = tmp_path / "ckpt"
    snapshot = a_retained_checkpoint(flink_cluster, base)
    job = flink_cluster.submit(base, snapshot, "CLAIM", interval=INTERVAL)
    own = base / job
    answers = []
    for _ in range(LOOKS):
        flink_cluster.wait_for_checkpoints(job, 2)
        pictures = [photographed(own, tmp_path / "before")]
        told = asking(job, snapshot)
        pictures.append(photographed(own, tmp_path / "after"))
        before, after = foreign_names(flink_cluster.version, own, *pictures)
        answers.append(told["seen"]["value"])
        if after:  # what no checkpoint names any more never comes back
            assert told["seen"]["value"] is False, told["why"]
        if not before:
            assert told["seen"]["value"] is not False, told["why"]
    assert answers[0] is False
    flink_cluster.cancel(job, between_checkpoints=True)
    (left,) = foreign_names(flink_cluster.version, own, own)
    assert asking(job, snapshot)["state_self_sustained"] is not bool(left)
    flink_cluster.restore_and_check(retained(own)[-1])
