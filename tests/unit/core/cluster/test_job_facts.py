"""What follows from Flink's REST answers, and which answers are no answers."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.cluster.job_facts import (
    GLOBALLY_TERMINAL,
    JobFacts,
    RestoredFacts,
    eligibility_problem,
    external_paths,
    is_not_subsumed,
    is_same_incarnation,
    latest_known_id,
    layout_problem,
    restarting_problem,
)
from orphangc.core.cluster.rest_json import (
    JobAnswers,
    cluster_settings,
    is_checkpointing_off,
    job_facts,
    listed_jobs,
)
from orphangc.core.model.flink_versions import TESTED_FLINK_VERSIONS, is_tested_version
from orphangc.core.model.types import JobId
from orphangc.errors import RegistryUnavailableError
from support.builders import BASE, JOB, a_checkpoint, a_cluster, some_facts

NOW = datetime(2026, 11, 21, 14, tzinfo=UTC)
SAFE_BACKENDS = (
    "EmbeddedRocksDBStateBackend",
    "RocksDBStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "FsStateBackend",
)
FILE_STORAGES = ("FileSystemCheckpointStorage", "CheckpointIdStorage")  # Flink's, our plugin's


def a_job(**changes: object) -> JobFacts:
    """Return a running job that passes the gate; its newest checkpoint is 6."""
    shown = {
        "latest_completed_id": 6,
        "completed_count": 2,
        "checkpoints": (a_checkpoint(6), a_checkpoint(5)),
    }
    return some_facts(JOB, **{"started_at": NOW, **shown, **changes})


def restored(id_: int) -> RestoredFacts:
    return RestoredFacts(id=id_, external_path="s3://old/chk", is_savepoint=False)


@pytest.mark.parametrize(
    "backend",
    [
        "ForStStateBackend",
        "ChangelogStateBackend",
        "DeactivatedChangelogStateBackend",
        "GeminiStateBackend",
        "Unknown",
        "",
        "rocksdb",
        None,
    ],
)
def test_any_other_backend_shuts_the_gate(backend: str | None) -> None:
    """Disaggregated state reuses files in place, and vendors' backends are unread."""
    assert "state backend" in (eligibility_problem(a_job(state_backend=backend)) or "")


@pytest.mark.parametrize(
    "storage",
    ["JobManagerCheckpointStorage", "MemoryStateBackend", "VendorStorage", "Unknown", None],
)
def test_a_storage_that_writes_no_known_files_shuts_the_gate(storage: str | None) -> None:
    """Only Flink's file layout can be judged."""
    assert "checkpoint storage" in (eligibility_problem(a_job(checkpoint_storage=storage)) or "")


@pytest.mark.parametrize(
    ("version", "enabled", "passes"),
    [
        ("1.14.6", None, True),
        ("1.15.4", None, True),
        ("1.15-SNAPSHOT", None, True),
        ("1.16.0", None, False),
        ("1.20.5", None, False),
        ("2.0.0", None, False),
        ("10.1", None, False),
        ("unknown", None, False),
        ("", None, False),
        ("1.15.4", False, True),
        ("2.3.0", False, True),
        ("1.15.4", True, False),
        ("2.3.0", True, False),
    ],
)
def test_the_changelog_must_be_off_where_flink_can_tell(version, enabled, passes) -> None:
    """Silence is accepted from releases before 1.16 only, which have no such field."""
    job = a_job(flink_version=version, changelog_enabled=enabled)
    assert (eligibility_problem(job) is None) is passes
    assert (layout_problem(job) is None) is passes


def test_an_ended_job_may_have_had_many_pending_checkpoints() -> None:
    """Concurrency is asked by the gate alone; the layout is asked of ended jobs too."""
    job = a_job(status="CANCELED", max_concurrent=4)
    assert layout_problem(job) is None
    assert eligibility_problem(job) is not None


def test_the_gate_opens_only_if_every_condition_holds() -> None:
    """No fact makes up for another; with two pending, a file may be needed that none names (2.4).

    Backends pass by every simple class name that they had from Flink 1.14 to 2.3.
    """
    for count, backend, storage, changelog in product(
        (None, 0, 1, 2, 3, 1000),
        (*SAFE_BACKENDS, "ForStStateBackend", None),
        (*FILE_STORAGES, "JobManagerCheckpointStorage", None),
        (True, False, None),
    ):
        job = a_job(
            max_concurrent=count,
            state_backend=backend,
            checkpoint_storage=storage,
            changelog_enabled=changelog,
        )
        is_safe = backend in SAFE_BACKENDS and storage in FILE_STORAGES and changelog is False
        assert (eligibility_problem(job) is None) is (is_safe and count == 1), job


def test_the_tested_lines_are_those_of_the_rules() -> None:
    """R27: 1.14 to 1.20 and 2.0 to 2.3."""
    assert TESTED_FLINK_VERSIONS == (
        "1.14",
        "1.15",
        "1.16",
        "1.17",
        "1.18",
        "1.19",
        "1.20",
        "2.0",
        "2.1",
        "2.2",
        "2.3",
    )


@pytest.mark.parametrize(
    ("version", "is_tested"),
    [
        ("1.14.0", True),
        ("1.20.5", True),
        ("2.3.0", True),
        ("1.13.6", False),
        ("1.21.0", False),
        ("2.4.0", False),
        ("3.0.0", False),
        ("1.2.0", False),
        ("1.20", False),
        ("1.20.5.1", False),
        ("1.20-SNAPSHOT", False),
        ("1.17.1-amzn-1", False),
        ("1.20.5\n", False),
        ("٢.3.0", False),
        ("", False),
        ("<unknown>", False),
    ],
)
def test_only_releases_of_tested_lines_are_tested(version: str, is_tested) -> None:
    """Snapshots and vendors' builds may behave in untested ways."""
    assert is_tested_version(version) is is_tested


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("1/2", "1/2", True),
        ("1/2", "1/3", False),
        ("1/2", "2/2", False),
        (None, None, False),
        ("1/2", None, False),
        (None, "1/2", False),
    ],
)
def test_an_incarnation_is_known_and_equal_or_another(
    before: str | None, after: str | None, same
) -> None:
    """Two unknowns are not the same."""
    assert is_same_incarnation(a_job(incarnation=before), a_job(incarnation=after)) is same


def test_another_job_is_another_incarnation() -> None:
    """Even if both were started in the same millisecond."""
    assert not is_same_incarnation(a_job(), a_job(job_id=JobId("0" * 32)))


def test_a_checkpoint_is_unsubsumed_while_none_completes() -> None:
    """The latest completed id is still the one seen before the listing."""
    assert is_not_subsumed(6, a_job(), a_job())


def test_a_checkpoint_newer_than_the_rest_answer_is_unsubsumed_while_none_completes() -> None:
    """Its metadata is written before REST counts it."""
    assert is_not_subsumed(7, a_job(), a_job())


@pytest.mark.parametrize("checkpoint_id", [0, 1, 5])
def test_a_folder_older_than_the_newest_checkpoint_proves_nothing(checkpoint_id: int) -> None:
    """A stale, undeletable ``chk-5`` is no stable root, discarded or not."""
    assert not is_not_subsumed(checkpoint_id, a_job(), a_job())


@pytest.mark.parametrize(
    ("changes", "proven"),
    [
        ({}, True),
        ({"discarded": True}, False),
        ({"discarded": None}, False),
        ({"status": "IN_PROGRESS"}, False),
        ({"status": "FAILED"}, False),
        ({"is_savepoint": True}, False),
        ({"id": 5}, False),
    ],
)
def test_after_a_newer_checkpoint_the_history_must_show_it_kept(changes: dict, proven) -> None:
    """Completed, no savepoint, and ``discarded`` said to be false."""
    history = (a_checkpoint(7), replace(a_checkpoint(6), **changes))
    after = a_job(latest_completed_id=7, checkpoints=history)
    assert is_not_subsumed(6, a_job(), after) is proven


def test_a_checkpoint_that_left_the_history_is_not_proven() -> None:
    """Ten newer ones push it out; then it is unknown."""
    after = a_job(latest_completed_id=20, checkpoints=tuple(map(a_checkpoint, range(20, 10, -1))))
    assert not is_not_subsumed(6, a_job(), after)


def test_a_failover_in_between_proves_nothing() -> None:
    """History and counts start again; what they say is about another life."""
    assert not is_not_subsumed(6, a_job(), a_job(incarnation="3/4"))


def test_after_a_failover_the_restored_checkpoint_is_the_newest() -> None:
    """It holds until the next one completes."""
    job = a_job(latest_completed_id=None, restored=restored(6), checkpoints=())
    assert latest_known_id(job) == 6
    assert is_not_subsumed(6, job, job)
    assert not is_not_subsumed(5, job, job)
    assert not is_not_subsumed(6, job, replace(job, latest_completed_id=7))


def test_a_job_that_completed_nothing_proves_nothing() -> None:
    """Nothing before and nothing after are no evidence for a folder of an earlier life."""
    job = a_job(latest_completed_id=None, checkpoints=())
    assert latest_known_id(job) is None
    assert not is_not_subsumed(6, job, job)


def test_the_first_checkpoint_may_complete_before_the_listing() -> None:
    """Then the later answer shows it, not discarded."""
    job = a_job(latest_completed_id=None, checkpoints=())
    after = a_job(latest_completed_id=1, checkpoints=(a_checkpoint(1),))
    assert is_not_subsumed(1, job, after)


@given(
    retained=st.integers(1, 3),
    completed=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    history=st.integers(0, 10),
    checkpoint_id=st.integers(1, 24),
)
def test_what_is_said_to_be_unsubsumed_was_retained_throughout(
    retained: int, completed: tuple[int, int], history: int, checkpoint_id: int
) -> None:
    """Against a model of Flink's store: ids 1 to n completed, the last few retained."""
    first, last = completed[0], sum(completed)

    def look(newest: int) -> JobFacts:
        shown = [
            a_checkpoint(each, discarded=each <= newest - retained)
            for each in range(newest, max(newest - max(history, 1), 0), -1)
        ]
        return a_job(latest_completed_id=newest or None, checkpoints=tuple(shown))

    if is_not_subsumed(checkpoint_id, look(first), look(last)):
        is_stable = last - retained < checkpoint_id <= last
        is_unfinished = checkpoint_id > last == first
        assert is_stable or is_unfinished
        assert checkpoint_id >= first


def test_every_reported_path_is_a_root_to_read() -> None:
    """Latest, history, savepoints and what was restored, of every job; memory has no path."""
    jobs = {
        JOB: a_job(
            restored=restored(4),
            checkpoints=(
                a_checkpoint(6),
                a_checkpoint(5, external_path="file:/sp", is_savepoint=True, discarded=True),
                a_checkpoint(4, external_path=None, status="FAILED"),
                a_checkpoint(3, external_path="<checkpoint-not-externally-addressable>"),
            ),
        ),
        JobId("0" * 32): a_job(status="FINISHED", checkpoints=(a_checkpoint(1),)),
    }
    assert external_paths(a_cluster(jobs=jobs)) == {
        f"{BASE}/{JOB}/chk-6",
        f"{BASE}/{JOB}/chk-1",
        "file:/sp",
        "s3://old/chk",
    }


DETAILS = {
    "jid": JOB,
    "state": "RUNNING",
    "start-time": 1795261858940,
    "timestamps": {"INITIALIZING": 1795261858940, "CREATED": 1795261858945, "RUNNING": 0},
    "vertices": [],
}


def shown(id_: int, **changes: object) -> dict[str, object]:
    return {
        "id": id_,
        "status": "COMPLETED",
        "is_savepoint": False,
        "trigger_timestamp": 1795261905060,
        "external_path": f"file:/c/chk-{id_}",
        "discarded": False,
        "className": "completed",
        **changes,
    }


CHECKPOINTS = {
    "counts": {"restored": 0, "total": 3, "in_progress": 1, "completed": 2, "failed": 0},
    "latest": {"completed": shown(2), "savepoint": None, "failed": None, "restored": None},
    "history": [
        {"id": 3, "status": "IN_PROGRESS", "is_savepoint": False, "trigger_timestamp": 1},
        shown(2),
        shown(1),
    ],
}
CONFIG = {
    "interval": 2**63 - 1,
    "timeout": 600000,
    "max_concurrent": 1,
    "state_backend": "HashMapStateBackend",
    "checkpoint_storage": "FileSystemCheckpointStorage",
    "state_changelog_enabled": False,
}


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
    assert job.in_progress_count == 1
    assert job.restored == RestoredFacts(id=2, is_savepoint=True, external_path=None)


def test_a_savepoint_may_be_the_newest_and_is_not_counted() -> None:
    """R12 compares checkpoints with checkpoints."""
    latest = {"completed": shown(2), "savepoint": shown(8, is_savepoint=True), "restored": None}
    job = facts(checkpoints={**CHECKPOINTS, "latest": latest})
    assert (job.latest_completed_id, job.checkpoints[0].id) == (2, 8)


def test_discarded_anywhere_is_discarded() -> None:
    """If latest and history disagree, the worse word counts."""
    latest = {"completed": shown(2, discarded=True), "savepoint": None, "restored": None}
    job = facts(checkpoints={**CHECKPOINTS, "latest": latest})
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
    options = [{"key": "a", "value": "b"}]
    if statistics is not None:
        options.append({"key": "rest.cache.checkpoint-statistics.timeout", "value": statistics})
    config = {"refresh-interval": refresh, "flink-version": "2.3.0"}
    settings = cluster_settings(json.dumps(config).encode(), json.dumps(options).encode())
    assert (settings.cache_seconds, settings.flink_version) == (seconds, "2.3.0")


@pytest.mark.parametrize("value", ["", "soon", "PT5S", "5 parsecs", "-1 s", "1.5 s"])
def test_a_cache_age_that_cannot_be_read_is_unknown(value: str) -> None:
    """A guess might be too short."""
    options = [{"key": "rest.cache.checkpoint-statistics.timeout", "value": value}]
    config = b'{"refresh-interval":3000,"flink-version":"2.3.0"}'
    with pytest.raises(RegistryUnavailableError, match="is no duration"):
        cluster_settings(config, json.dumps(options).encode())


@given(st.binary(max_size=60))
def test_no_bytes_crash_the_reading(body: bytes) -> None:
    """They are refused in one way."""
    answers = JobAnswers(details=body, checkpoints=body, config=body)
    with pytest.raises(RegistryUnavailableError):
        job_facts(JOB, "RUNNING", answers, "1.20.5")


@pytest.mark.parametrize(
    ("status", "backend", "storage", "restarts"),
    [
        ("CREATED", "Unknown", "Unknown", True),
        ("RUNNING", "Unknown", "FileSystemCheckpointStorage", True),
        ("RESTARTING", "EmbeddedRocksDBStateBackend", "Unknown", True),
        ("INITIALIZING", None, None, True),
        ("RUNNING", None, None, False),
        ("CANCELED", "Unknown", "Unknown", False),
        ("RESTARTING", "EmbeddedRocksDBStateBackend", "FileSystemCheckpointStorage", False),
        ("RESTARTING", "ForStStateBackend", "FileSystemCheckpointStorage", False),
    ],
)
def test_a_job_without_a_graph_restarts_whatever_its_layout(
    status: str, backend: str | None, storage: str | None, *, restarts: bool
) -> None:
    """The adaptive scheduler shows "Unknown" while it waits; one that is over says no more."""
    job = a_job(status=status, state_backend=backend, checkpoint_storage=storage)
    assert (restarting_problem(job) is not None) == restarts
    assert not restarts or eligibility_problem(job) == restarting_problem(job)
    is_fine = backend == "EmbeddedRocksDBStateBackend" and storage != "Unknown"
    assert (layout_problem(job) is None) == (restarts or is_fine)
