"""Real Flink: of a job that runs on, what its areas' rules let go, with checkpoints pending (R56).

A plan and a sweep are made while a checkpoint is held before its acknowledgement; then it
completes. In the end both processes are killed, and each retained checkpoint restores, its contents
compared.
"""

import shutil
from pathlib import Path

import pytest

from integration.flink.test_collect import MERGED
from integration.flink.test_collect_changelog import claimed_and_checked
from integration.harness.command import Collector
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import require_flink
from integration.harness.flinkbed.truth import retained
from integration.harness.orphan_workload import INTERVAL, crash, restore_all, seen

pytestmark = [pytest.mark.flink, pytest.mark.nightly]

ROUNDS = 4
FOUR = {
    "execution.checkpointing.max-concurrent-checkpoints": "4",
    "execution.checkpointing.min-pause": "0 ms",
}
WITHIN = {**MERGED, "execution.checkpointing.file-merging.across-checkpoint-boundary": "false"}
CHANGELOG = {
    "state.changelog.enabled": "true",
    "state.changelog.storage": "filesystem",
    "state.changelog.periodic-materialize.interval": "2s",
}
LAYOUTS = {
    "changelog": (CHANGELOG, "dstl"),
    "changelog, four": (CHANGELOG | FOUR, "dstl"),
    "within": (WITHIN, "job_"),
    "four": (FOUR, None),
}
"""Configuration, and a part of the paths of files that must go."""


def files_of(tree: Path) -> set[Path]:
    """Return the files of a tree in which Flink deletes."""
    return seen(lambda: {path for path in tree.rglob("*") if path.is_file()})


def one_round(cluster: Cluster, job: str, collector: Collector) -> set[Path]:
    """Kill a TaskManager, plan and sweep with a checkpoint pending; return what was deleted."""
    cluster.hold()
    cluster.wait_until_held()
    cluster.kill_taskmanager()
    cluster.release()
    cluster.start_taskmanager()
    cluster.wait_for_checkpoints(job, 2)
    cluster.hold()
    cluster.wait_until_held()
    said = "--closed-world", "--flink-rest", cluster.rest_url, "--max-delete-share", "1"
    plan = collector.plan(*said, "--merged-within", "all")
    assert plan.conditions(job) == set(), str(plan.finished)
    due = {path for path in plan.files("delete") if path.exists()}
    done = collector.sweep(plan, "--delete")
    assert done.code in {0, 4}, str(done)
    gone = {path for path in due if not path.exists()}
    cluster.release()
    cluster.wait_for_checkpoints(job, 1)
    return gone


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_goes_of_a_running_job_no_checkpoint_ever_needs(
    version: str, layout: str, tmp_path: Path
) -> None:
    require_flink(version)
    tree = tmp_path / "tree"
    config, part = LAYOUTS[layout]
    is_changelog = "state.changelog.enabled" in config
    if is_changelog:
        config = config | {"state.changelog.dstl.dfs.base-path": f"file:{tree / 'dstl'}"}
    with Cluster(version, tmp_path / "flink", config=config) as cluster:
        job = cluster.submit(tree / "ckpt", interval=INTERVAL)
        cluster.wait_for_checkpoints(job, 2)
        collector = Collector(tree, tmp_path)
        gone = set[Path]().union(*(one_round(cluster, job, collector) for _ in range(ROUNDS)))
        print(f"\n{version} {layout}: {len(gone)} files deleted while the job ran")
        assert part is None or {path for path in gone if part in str(path)}
        assert not gone & files_of(tree)
        crash(cluster)
        if not is_changelog:
            restore_all(cluster, tree / "ckpt" / job)
            return
        saved = tmp_path / "saved"
        shutil.copytree(tree, saved)
        for checkpoint in retained(tree / "ckpt" / job):
            shutil.rmtree(tree)
            shutil.copytree(saved, tree)
            claimed_and_checked(cluster, checkpoint, tmp_path / "scratch")
