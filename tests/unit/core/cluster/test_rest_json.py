"""Three answers of Flink's make the facts of a job: every field, and none where nothing is said."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from orphangc.core.cluster.job_facts import CheckpointFacts, JobFacts, RestoredFacts
from orphangc.core.cluster.rest_json import JobAnswers, cluster_settings, job_facts, listed_jobs
from orphangc.errors import RegistryUnavailableError
from support.builders import JOB

DETAILS = {
    "jid": JOB,
    "state": "RUNNING",
    "now": 9_000,
    "start-time": 1_000,
    "timestamps": {"INITIALIZING": 1_000, "CREATED": 1_005},
}
CHECKPOINTS = {
    "counts": {"in_progress": 4, "completed": 5},
    "latest": {
        "completed": None,
        "savepoint": {
            "id": 7,
            "status": "COMPLETED",
            "is_savepoint": True,
            "trigger_timestamp": 3_000,
            "external_path": "s3://b/savepoint-1",
            "discarded": False,
        },
        "restored": {"id": 2, "is_savepoint": False, "external_path": "s3://b/chk-2"},
    },
    "history": [
        {"id": 8, "status": "IN_PROGRESS", "is_savepoint": False, "trigger_timestamp": 4_000},
        {
            "id": 6,
            "status": "COMPLETED",
            "is_savepoint": False,
            "trigger_timestamp": 2_000,
            "external_path": "s3://b/chk-6",
            "discarded": True,
        },
    ],
}
CONFIG = {
    "interval": 10,
    "timeout": 20,
    "max_concurrent": 30,
    "state_backend": "HashMapStateBackend",
    "checkpoint_storage": "FileSystemCheckpointStorage",
    "state_changelog_enabled": True,
}
UNKNOWN = JobFacts(
    job_id=JOB,
    flink_version="1.20.5",
    status="RUNNING",
    started_at=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
    incarnation="1000/1005",
    max_concurrent=None,
    state_backend=None,
    checkpoint_storage=None,
    changelog_enabled=None,
    checkpoint_interval_ms=None,
    checkpoint_timeout_ms=None,
    latest_completed_id=None,
    restored=None,
    in_progress_ids=(),
    in_progress_count=0,
    completed_count=0,
    checkpoints=(),
    graph_built_at=datetime(1970, 1, 1, 0, 0, 1, 5000, tzinfo=UTC),
    answered_at=datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC),
)


def facts(checkpoints: object, config: object) -> JobFacts:
    details, *others = (json.dumps(each).encode() for each in (DETAILS, checkpoints, config))
    some = [None if each == b"null" else each for each in others]
    answers = JobAnswers(details=details, checkpoints=some[0], config=some[1])
    return job_facts(JOB, "RUNNING", answers, "1.20.5")


def a_checkpoint(number: int, **more: object) -> CheckpointFacts:
    known: dict[str, object] = {"status": "COMPLETED", "is_savepoint": False}
    at = datetime(1970, 1, 1, 0, 0, number - 4, tzinfo=UTC)
    return CheckpointFacts(id=number, triggered_at=at, **{**known, **more})


def test_every_field_of_the_answers_has_its_place() -> None:
    """A number that stood in another's place could open the gate."""
    assert facts(CHECKPOINTS, CONFIG) == replace(
        UNKNOWN,
        max_concurrent=30,
        state_backend="HashMapStateBackend",
        checkpoint_storage="FileSystemCheckpointStorage",
        changelog_enabled=True,
        checkpoint_interval_ms=10,
        checkpoint_timeout_ms=20,
        latest_completed_id=6,
        restored=RestoredFacts(id=2, is_savepoint=False, external_path="s3://b/chk-2"),
        in_progress_ids=(8,),
        in_progress_count=4,
        completed_count=5,
        checkpoints=(
            a_checkpoint(8, status="IN_PROGRESS", discarded=None, external_path=None),
            a_checkpoint(7, is_savepoint=True, discarded=False, external_path="s3://b/savepoint-1"),
            a_checkpoint(6, discarded=True, external_path="s3://b/chk-6"),
        ),
    )


def test_a_job_without_checkpointing_has_counted_none_and_says_nothing_more() -> None:
    """What is not known is ``None``, never a number that could pass for an answer."""
    assert facts(None, None) == UNKNOWN


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "/jobs: the answer: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (b'{"jobs": "hunter2"}', "/jobs: field jobs: Input should be a valid array"),
        (b'{"jobs": [{"id": 7}]}', "/jobs: field jobs.0.id: Input should be a valid string"),
    ],
)
def test_an_unusable_answer_is_told_by_path_and_field(body: bytes, message: str) -> None:
    """On one line, without what stood there."""
    with pytest.raises(RegistryUnavailableError) as caught:
        listed_jobs(body)
    assert str(caught.value) == f"unusable answer from Flink: {message}"


@pytest.mark.parametrize(
    ("interval", "timeout"), [(86_400_001, "1 s"), (2**62, "1 s"), (3000, "999999999999999 d")]
)
def test_answers_that_stay_old_for_days_are_of_no_use(interval: int, timeout: str) -> None:
    """A plan would wait for new ones: for ever, or for longer than Python can."""
    key = "rest.cache.checkpoint-statistics.timeout"
    options, usable = (json.dumps([{"key": key, "value": e}]).encode() for e in (timeout, "1 s"))
    config = {"refresh-interval": interval, "flink-version": "2.3.0"}
    with pytest.raises(RegistryUnavailableError, match=r"/config: .* to a day at most"):
        cluster_settings(json.dumps(config).encode(), options)
    config["refresh-interval"] = 86_400_000
    assert cluster_settings(json.dumps(config).encode(), usable).cache_seconds == 86_400


def test_a_cluster_that_shows_no_option_at_all_cannot_be_read() -> None:
    """Each JobManager has some: what stands before it left them out, and a place with them."""
    config = json.dumps({"refresh-interval": 0, "flink-version": "2.3.0"}).encode()
    with pytest.raises(RegistryUnavailableError, match="/jobmanager/config"):
        cluster_settings(config, b"[]")


@pytest.mark.parametrize(
    "key",
    ["execution.checkpointing.dir", "state.checkpoints.dir", "state.backend.fs.checkpointdir"],
)
def test_a_cluster_says_where_its_jobs_store_checkpoints(key) -> None:
    """By the key of any release; a savepoint folder is none of them.

    A path without a scheme is one of the default file system, and not of this machine.
    """
    options = [
        {"key": key, "value": " /checkpoints"},
        {"key": "fs.default-scheme", "value": "s3://bucket"},
        {"key": "state.savepoints.dir", "value": "s3://bucket/savepoints"},
    ]
    config = json.dumps({"refresh-interval": 0, "flink-version": "2.3.0"}).encode()
    read = cluster_settings(config, json.dumps(options).encode())
    assert read.checkpoint_directories == {"s3://bucket/checkpoints"}


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"jobmanager.rpc.address": "jm"}, False),
        ({"high-availability.type": "kubernetes"}, True),
        ({"high-availability.type": "org.example.Factory"}, True),
        ({"high-availability": "ZOOKEEPER"}, True),
        ({"high-availability.type": "NONE"}, False),
        ({"recovery.mode": "standalone"}, False),
        ({"high-availability.type": " none ", "high-availability": "zookeeper"}, False),
        ({"high-availability.storageDir": "s3://bucket/ha"}, False),
    ],
)
def test_a_cluster_says_whether_it_has_high_availability(options, answer) -> None:
    """Two spellings that contradict each other say nothing, and nothing is none."""
    listed = [{"key": key, "value": value} for key, value in options.items()]
    config = json.dumps({"refresh-interval": 0, "flink-version": "2.3.0"}).encode()
    read = cluster_settings(config, json.dumps(listed).encode())
    assert read.has_high_availability is answer


@pytest.mark.parametrize(
    ("options", "clusters"),
    [
        ({"kubernetes.namespace": "flink", "kubernetes.cluster-id": "a"}, {"kubernetes:flink/a"}),
        ({"kubernetes.cluster-id": "a"}, set()),
        ({"high-availability.cluster-id": "/a"}, set()),
        (
            {"high-availability.zookeeper.quorum": "zk:2181", "high-availability.cluster-id": "/a"},
            {"zookeeper://zk:2181/flink/a"},
        ),
        (
            {
                "high-availability.zookeeper.quorum": "zk:2181",
                "high-availability.zookeeper.path.root": "/",
                "high-availability.zookeeper.path.namespace": "a",
            },
            {"zookeeper://zk:2181/a"},
        ),
        (
            {
                "high-availability.zookeeper.quorum": "zk-0, zk-1:2182/shared/",
                "high-availability.cluster-id": "/a",
            },
            {"zookeeper://zk-0:2181,zk-1:2182/shared/flink/a"},
        ),
        ({"high-availability.zookeeper.quorum": "zk:2181"}, set()),
    ],
)
def test_a_cluster_says_where_it_keeps_ha_metadata(options, clusters) -> None:
    """As a hold spells it; an id without namespace or ZooKeeper may be that of any cluster."""
    listed = [{"key": key, "value": value} for key, value in options.items()]
    config = json.dumps({"refresh-interval": 0, "flink-version": "2.3.0"}).encode()
    assert cluster_settings(config, json.dumps(listed).encode()).cluster_ids == clusters
