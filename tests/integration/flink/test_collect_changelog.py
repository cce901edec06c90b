"""Real Flink with a changelog: of a job that has ended, log and materialised files go too (R35)."""

import shutil
from pathlib import Path

import pytest

from integration.flink.test_collect import collected
from integration.harness.command import Collector
from integration.harness.flinkbed.cluster import STRICT_RESTORE, Cluster
from integration.harness.flinkbed.fixtures import require_flink
from integration.harness.flinkbed.truth import named_in_metadata, retained
from integration.harness.orphan_workload import crash

pytestmark = [pytest.mark.flink, pytest.mark.nightly]


def left_by_a_changelog_job(cluster: Cluster, base: Path) -> str:
    """Have a job lose its TaskManager, and end by the loss of both processes; return its id."""
    job = cluster.submit(base, interval="1s")
    cluster.wait_for_checkpoints(job, 4)
    cluster.kill_taskmanager()
    cluster.start_taskmanager()
    cluster.wait_for_checkpoints(job, 2)
    cluster.hold()
    cluster.wait_until_held()
    crash(cluster)
    return job


def claimed_and_checked(cluster: Cluster, checkpoint: Path, scratch: Path) -> None:
    """Prove that Flink restores a checkpoint, in the one mode that a changelog allows (CLAIM)."""
    job = cluster.submit(scratch, checkpoint, "CLAIM", interval="1s", config=STRICT_RESTORE)
    cluster.wait_for_checkpoints(job, 2)
    cluster._wait_on_job(job, "visits of all keys", lambda: cluster._visited_all(job))
    progress = cluster.progress(job)
    assert 0 < progress["restored"] == progress["verified"]
    cluster.cancel(job)


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_of_a_changelog_job_that_has_ended_all_goes_that_no_checkpoint_names(
    version: str, tmp_path: Path
) -> None:
    """Below one storage root; the tree is put back before each restore, for CLAIM deletes."""
    require_flink(version)
    tree = tmp_path / "tree"
    config = {
        "state.changelog.enabled": "true",
        "state.changelog.storage": "filesystem",
        "state.changelog.dstl.dfs.base-path": f"file:{tree / 'dstl'}",
        "state.changelog.periodic-materialize.interval": "2s",
    }
    with Cluster(version, tmp_path / "flink", config=config) as cluster:
        job = left_by_a_changelog_job(cluster, tree / "ckpt")
        named = named_in_metadata(tree)
        files = {path for path in tree.rglob("*") if path.is_file()}
        dead = {path for path in files if path.name not in named and path.name != "_metadata"}
        assert dead
        said = "--closed-world", "--ended-job", job, "--quiet-period", "0"
        _, last = collected(Collector(tree, tmp_path), *said, "--max-delete-share", "1")
        assert last.files("delete") == dead
        assert {path for path in tree.rglob("*") if path.is_file()} == files - dead

        saved = tmp_path / "saved"
        shutil.copytree(tree, saved)
        for checkpoint in retained(tree / "ckpt" / job):
            shutil.rmtree(tree)
            shutil.copytree(saved, tree)
            claimed_and_checked(cluster, checkpoint, tmp_path / "scratch")
