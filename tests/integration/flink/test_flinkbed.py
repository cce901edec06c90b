"""The harness breaks and restores a real Flink as the other tests trust it to."""

import time
from pathlib import Path

import pytest

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import VERSIONS
from integration.harness.flinkbed.settings import ON_REQUEST
from integration.harness.flinkbed.truth import (
    named_in_metadata,
    older_than_retained,
    orphans,
    retained,
    shared_files,
)
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until

# the soak breaks and restores in all these ways and more
pytestmark = [
    pytest.mark.flink,
    pytest.mark.nightly,
    pytest.mark.parametrize("started_flink_cluster", VERSIONS, indirect=True),
]

TABLE_MAGIC = bytes.fromhex("f7cff485b741e288")  # ends RocksDB's block-based tables


def test_an_upload_that_dies_unacknowledged_leaves_orphans(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    job = flink_cluster.submit(tmp_path)
    flink_cluster.wait_for_checkpoints(job, 4)
    flink_cluster.lose_an_upload()
    flink_cluster.wait_for_checkpoints(job, 4)  # one more than are retained
    flink_cluster.cancel(job, between_checkpoints=True)

    job_dir = tmp_path / job
    wait_until("three retained checkpoints", lambda: len(retained(job_dir)) == 3)
    assert orphans(job_dir, tree=tmp_path)
    named = named_in_metadata(tmp_path)
    assert any(path.name in named for path in older_than_retained(job_dir)), "old, and alive"
    for checkpoint in retained(job_dir):
        flink_cluster.restore_and_check(checkpoint)


def test_checkpoints_on_request_are_taken_on_request_alone(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """Flink 2.3 took one more, a pause after the first: a hold came in its midst now and then."""
    job = flink_cluster.submit(tmp_path, interval=ON_REQUEST)
    flink_cluster.wait_for_checkpoints(job, 1)
    time.sleep(1)  # several pauses of a job that has an interval
    assert flink_cluster.checkpoints(job)["counts"]["total"] == 1
    flink_cluster.lose_an_upload()
    flink_cluster.wait_for_checkpoints(job, 1)
    time.sleep(1)
    counts = flink_cluster.checkpoints(job)["counts"]
    assert (counts["completed"], counts["in_progress"]) == (2, 0)


def test_a_new_jobmanager_goes_on_where_both_processes_died(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    job = flink_cluster.submit(tmp_path / "old")
    flink_cluster.wait_for_checkpoints(job, 3)
    canonical = flink_cluster.savepoint(job, tmp_path / "savepoints", "CANONICAL")
    native = flink_cluster.savepoint(job, tmp_path / "savepoints", "NATIVE")
    flink_cluster.wait_for_checkpoints(job, 1)
    flink_cluster.hold()
    flink_cluster.wait_until_held(2)
    pending = flink_cluster.checkpoints(job)["history"][0]
    flink_cluster.kill_jobmanager()
    flink_cluster.kill_taskmanager()
    flink_cluster.start_jobmanager()
    flink_cluster.start_taskmanager()
    flink_cluster.release()

    job_dir = tmp_path / "old" / job
    assert pending["status"] == "IN_PROGRESS"
    unfinished = job_dir / f"chk-{pending['id']}"
    assert unfinished.exists()
    assert unfinished not in retained(job_dir)
    last = retained(job_dir)[-1]
    claimer = flink_cluster.submit(tmp_path / "new", last, "CLAIM")
    flink_cluster.wait_for_checkpoints(claimer, 4)
    wait_until("the claimed checkpoint to be deleted", lambda: not last.exists())
    newest = flink_cluster.latest_completed(claimer)
    assert newest is not None
    flink_cluster.cancel(claimer)
    for root in (canonical, native, newest["external_path"]):
        flink_cluster.restore_and_check(root)


def test_every_file_that_a_checkpoint_names_is_needed_to_restore_it(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    job = flink_cluster.submit(tmp_path)
    flink_cluster.wait_for_checkpoints(job, 2)
    flink_cluster.cancel(job)
    checkpoint = retained(tmp_path / job)[-1]
    named = named_in_metadata(checkpoint)
    needed = [path for path in shared_files(tmp_path / job) if path.name in named]

    for path in needed:
        away = path.rename(tmp_path / "away")
        with pytest.raises(FlinkbedError, match=path.name):
            flink_cluster.restore_and_check(checkpoint)
        away.rename(path)
    flink_cluster.restore_and_check(checkpoint, parallelism=3)


def test_an_altered_byte_is_noticed(flink_cluster: Cluster, tmp_path: Path) -> None:
    job = flink_cluster.submit(tmp_path)
    flink_cluster.wait_for_checkpoints(job, 2)
    savepoint = flink_cluster.savepoint(job, tmp_path, "NATIVE")
    flink_cluster.cancel(job)

    tables = [path for path in savepoint.iterdir() if path.read_bytes().endswith(TABLE_MAGIC)]
    assert tables
    for table in tables:  # all of them: a newer table hides what an older one says of a key
        content = bytearray(table.read_bytes())
        for at in range(len(content) // 8, len(content) * 3 // 4, 64):  # some of every data block
            content[at] ^= 255
        table.write_bytes(content)
    with pytest.raises(FlinkbedError, match="checksum mismatch"):
        flink_cluster.restore_and_check(savepoint)
