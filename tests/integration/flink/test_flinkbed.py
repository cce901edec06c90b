"""What the tests on a real Flink trust: no checkpoint that is not asked for, no restore of less."""

import time
from pathlib import Path

import pytest

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import VERSIONS
from integration.harness.flinkbed.settings import ON_REQUEST
from integration.harness.flinkbed.truth import named_in_metadata, retained, shared_files
from integration.harness.flinkbed.waiting import FlinkbedError

pytestmark = [
    pytest.mark.flink,
    pytest.mark.nightly,
    pytest.mark.parametrize("started_flink_cluster", VERSIONS, indirect=True),
]

TABLE_MAGIC = bytes.fromhex("f7cff485b741e288")  # ends RocksDB's block-based tables


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
