"""Three answers of Flink's make the facts of a job: every field, and none where nothing is said."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.cluster.job_facts import (
    GLOBALLY_TERMINAL,
    CheckpointFacts,
    JobFacts,
    RestoredFacts,
)
from orphangc.core.cluster.rest_json import (
    ClusterSettings,
    JobAnswers,
    cluster_settings,
    is_checkpointing_off,
    job_facts,
    listed_jobs,
)
from orphangc.core.times.instants import LATEST, from_milliseconds
from orphangc.errors import RegistryUnavailableError
from support.builders import JOB

DETAILS = {
    "jid": JOB,
    "state": "RUNNING",
    "now": 9_000,
    "start-time": 1_000,
    "end-time": -1,
    "timestamps": {"INITIALIZING": 1_000, "CREATED": 1_005},
}


def shown(id_: int, **changes: object) -> dict[str, object]:
    return {
        "id": id_,
        "status": "COMPLETED",
        "is_savepoint": False,
        "trigger_timestamp": 2_000,
        "external_path": f"s3://b/chk-{id_}",
        "discarded": False,
        "className": "completed",
        **changes,
    }


SAVEPOINT = shown(7, is_savepoint=True, trigger_timestamp=3_000, external_path="s3://b/savepoint-1")
CHECKPOINTS = {
    "counts": {"in_progress": 4, "completed": 5},
    "latest": {
        "completed": None,
        "savepoint": SAVEPOINT,
        "restored": {"id": 2, "is_savepoint": False, "external_path": "s3://b/chk-2"},
    },
    "history": [
        {"id": 8, "status": "IN_PROGRESS", "is_savepoint": False, "trigger_timestamp": 4_000},
        shown(6, discarded=True),
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


def facts(
    details: object = DETAILS,
    checkpoints: object = CHECKPOINTS,
    config: object = CONFIG,
    listed: str = "RUNNING",
) -> JobFacts:
    answers = JobAnswers(
        details=json.dumps(details).encode(),
        checkpoints=None if checkpoints is None else json.dumps(checkpoints).encode(),
        config=None if config is None else json.dumps(config).encode(),
    )
    return job_facts(JOB, listed, answers, "1.20.5")


CACHE = "rest.cache.checkpoint-statistics.timeout"


def settings(options: Mapping[str, str], refresh: int = 0) -> ClusterSettings:
    config = {"refresh-interval": refresh, "flink-version": "2.3.0"}
    listed = [{"key": key, "value": value} for key, value in options.items()]
    return cluster_settings(json.dumps(config).encode(), json.dumps(listed).encode())


def a_checkpoint(number: int, **more: object) -> CheckpointFacts:
    known: dict[str, object] = {"status": "COMPLETED", "is_savepoint": False}
    at = datetime(1970, 1, 1, 0, 0, number - 4, tzinfo=UTC)
    return CheckpointFacts(id=number, triggered_at=at, **{**known, **more})


def test_every_field_of_the_answers_has_its_place() -> None:
    """A number that stood in another's place could open the gate."""
    assert facts() == replace(
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
    assert facts(checkpoints=None, config=None) == UNKNOWN


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
    with pytest.raises(RegistryUnavailableError, match=r"/config: .* to a day at most"):
        settings({CACHE: timeout}, interval)
    assert settings({CACHE: "1 s"}, 86_400_000).cache_seconds == 86_400


def test_a_cluster_that_shows_no_option_at_all_cannot_be_read() -> None:
    """Each JobManager has some: what stands before it left them out, and a place with them."""
    with pytest.raises(RegistryUnavailableError, match="/jobmanager/config"):
        settings({})


@pytest.mark.parametrize(
    "key",
    ["execution.checkpointing.dir", "state.checkpoints.dir", "state.backend.fs.checkpointdir"],
)
def test_a_cluster_says_where_its_jobs_store_checkpoints(key) -> None:
    """By the key of any release; a savepoint folder is none of them.

    A path without a scheme is one of the default file system, and not of this machine.
    """
    options = {
        key: " /checkpoints",
        "fs.default-scheme": "s3://bucket",
        "state.savepoints.dir": "s3://bucket/savepoints",
    }
    assert settings(options).checkpoint_directories == {"s3://bucket/checkpoints"}


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
    assert settings(options).has_high_availability is answer


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
    assert settings(options).cluster_ids == clusters


def test_the_latest_checkpoints_outlive_the_history() -> None:
    """``web.checkpoints.history`` may be 0; the latest savepoint may be long ago."""
    latest = {
        "completed": shown(9),
        "savepoint": shown(4, is_savepoint=True, external_path="file:/sp"),
        "restored": {"id": 2, "is_savepoint": True, "external_path": None},
    }
    job = facts(checkpoints={**CHECKPOINTS, "latest": latest, "history": []})
    assert [each.id for each in job.checkpoints] == [9, 4]
    assert job.latest_completed_id == 9
    assert job.in_progress_count == 4
    assert job.restored == RestoredFacts(id=2, is_savepoint=True, external_path=None)


def test_a_savepoint_may_be_the_newest_and_is_not_counted() -> None:
    """R12 compares checkpoints with checkpoints."""
    latest = {"completed": shown(6), "savepoint": shown(9, is_savepoint=True), "restored": None}
    job = facts(checkpoints={**CHECKPOINTS, "latest": latest})
    assert (job.latest_completed_id, job.checkpoints[0].id) == (6, 9)


def test_discarded_anywhere_is_discarded() -> None:
    """If latest and history disagree, the worse word counts."""
    latest = {"completed": shown(2, discarded=True), "savepoint": None, "restored": None}
    history = [CHECKPOINTS["history"][0], shown(2), shown(1)]
    job = facts(checkpoints={**CHECKPOINTS, "latest": latest, "history": history})
    assert [each.discarded for each in job.checkpoints] == [None, True, False]


@pytest.mark.parametrize("missing", ["INITIALIZING", "CREATED"])
def test_a_job_whose_graph_is_not_built_has_no_incarnation(missing: str) -> None:
    """A job that initialises, or waits for resources, answers with a hollow graph."""
    times = {**DETAILS["timestamps"], missing: 0}
    assert facts({**DETAILS, "timestamps": times}).incarnation is None


@pytest.mark.parametrize(
    ("listed", "detailed"),
    list(product(["RUNNING", "SUSPENDED", "FINISHED", "CANCELED", "NEW WORD"], repeat=2)),
)
def test_a_job_is_over_only_if_both_answers_say_so(listed: str, detailed: str) -> None:
    """The list is live, the details are cached: a job id may have been submitted again."""
    job = facts({**DETAILS, "state": detailed}, listed=listed)
    is_over = listed in GLOBALLY_TERMINAL and detailed in GLOBALLY_TERMINAL
    assert job.is_globally_terminal is is_over
    assert job.status in {listed, detailed}


@pytest.mark.parametrize(
    ("stated", "ended_at"),
    [({"end-time": 5_000}, from_milliseconds(5_000)), ({"end-time": -1}, None), ({}, LATEST)],
)
def test_an_end_has_the_time_that_is_stated(stated: dict, ended_at: datetime | None) -> None:
    """R34: -1 dates none, and nothing proves that it was the last run's; no Flink leaves it out."""
    bare = {key: value for key, value in DETAILS.items() if key != "end-time"}
    job = facts({**bare, "state": "FINISHED", **stated}, listed="FINISHED")
    assert job.ended_at == ended_at


def test_suspended_is_not_over() -> None:
    """A suspended job comes back with its state."""
    assert sorted(GLOBALLY_TERMINAL) == ["CANCELED", "FAILED", "FINISHED"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"max_concurrent": True}, "max_concurrent"),
        ({"max_concurrent": "1"}, "max_concurrent"),
        ({"max_concurrent": 1.0}, "max_concurrent"),
        ({"max_concurrent": -1}, "max_concurrent"),
        ({"state_changelog_enabled": "false"}, "state_changelog_enabled"),
        ({"state_changelog_enabled": 0}, "state_changelog_enabled"),
        ({"state_backend": 7}, "state_backend"),
    ],
)
def test_a_value_of_another_type_is_not_converted(changes: dict, field: str) -> None:
    """``true`` is not 1, and "false" is not false."""
    with pytest.raises(RegistryUnavailableError, match=f"/checkpoints/config: field {field}"):
        facts(config={**CONFIG, **changes})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"id": -1}, "history.0.id"),
        ({"id": None}, "history.0.id"),
        ({"is_savepoint": 0}, "history.0.is_savepoint"),
        ({"discarded": "false"}, "history.0.discarded"),
        ({"external_path": 1}, "history.0.external_path"),
        ({"trigger_timestamp": 10**18}, "history.0.trigger_timestamp"),
        ({"status": ""}, "history.0.status"),
    ],
)
def test_an_odd_checkpoint_makes_the_answer_unusable(changes: dict, field: str) -> None:
    """It is not left out: a left-out checkpoint is a lost root."""
    with pytest.raises(RegistryUnavailableError, match=f"/checkpoints: field {field}"):
        facts(checkpoints={**CHECKPOINTS, "history": [shown(2, **changes)]})


def test_an_answer_about_another_job_is_refused() -> None:
    """Path and content must agree."""
    with pytest.raises(RegistryUnavailableError, match="field jid"):
        facts({**DETAILS, "jid": "0" * 32})


def test_a_job_listed_twice_is_refused() -> None:
    """Which status would count?"""
    job = {"id": JOB, "status": "RUNNING"}
    assert listed_jobs(json.dumps({"jobs": [job]}).encode()) == {JOB: "RUNNING"}
    with pytest.raises(RegistryUnavailableError, match="twice"):
        listed_jobs(json.dumps({"jobs": [job, job]}).encode())


@pytest.mark.parametrize(
    ("body", "is_off"),
    [
        (b"Checkpointing has not been enabled.", True),
        (b"Checkpointing is not enabled for this job (4a).", True),
        (b"Job 4a not found", False),
        (b"Could not find checkpointing statistics for checkpoint 9.", False),
        (b"", False),
        (b"<html>404</html>", False),
    ],
)
def test_only_flinks_own_words_mean_that_checkpointing_is_off(body: bytes, is_off) -> None:
    """A 404 has many reasons."""
    assert is_checkpointing_off(body) is is_off


@pytest.mark.parametrize(
    ("refresh", "statistics", "seconds"),
    [
        (3000, None, 3),
        (200, None, 0.2),
        (0, None, 0),
        (3000, "200 ms", 3),
        (200, "5", 0.2),
        (200, "5 s", 5),
        (200, "1min", 60),
        (200, "2 Hours", 7200),
        (200, "1 d", 86400),
    ],
)
def test_answers_are_as_old_as_the_longest_cache(
    refresh: int, statistics: str | None, seconds: float
) -> None:
    """In Flink's own spelling of durations; 3 s is Flink's default."""
    read = settings({"a": "b"} if statistics is None else {CACHE: statistics}, refresh)
    assert (read.cache_seconds, read.flink_version) == (seconds, "2.3.0")


@pytest.mark.parametrize("value", ["", "soon", "PT5S", "5 parsecs", "-1 s", "1.5 s"])
def test_a_cache_age_that_cannot_be_read_is_unknown(value: str) -> None:
    """A guess might be too short."""
    with pytest.raises(RegistryUnavailableError, match="is no duration"):
        settings({CACHE: value}, 3000)


@given(st.binary(max_size=60))
def test_no_bytes_crash_the_reading(body: bytes) -> None:
    """They are refused in one way."""
    answers = JobAnswers(details=body, checkpoints=body, config=body)
    with pytest.raises(RegistryUnavailableError):
        job_facts(JOB, "RUNNING", answers, "1.20.5")
