"""What follows from Flink's REST answers."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.cluster.job_facts import (
    JobFacts,
    RestoredFacts,
    eligibility_problem,
    external_paths,
    hidden_origin_problem,
    is_not_subsumed,
    is_same_incarnation,
    latest_known_id,
    layout_problem,
    restarting_problem,
    shows_no_origin,
)
from orphangc.core.model.flink_versions import TESTED_FLINK_VERSIONS, is_tested_version
from orphangc.core.model.types import JobId
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
    """The adaptive scheduler shows "Unknown" while it waits; one that is over says no more.

    While it shows nothing, it may be reading any checkpoint; what it was restored from is said.
    """
    job = a_job(status=status, state_backend=backend, checkpoint_storage=storage)
    problem = hidden_origin_problem([a_cluster(), a_cluster(job)])
    assert (problem is not None and JOB in problem) == restarts == (not shows_no_origin(job))
    known = replace(job, restored=restored(4))
    assert hidden_origin_problem([a_cluster(known)]) is None
    assert not shows_no_origin(known)
    assert (restarting_problem(job) is not None) == restarts
    assert not restarts or eligibility_problem(job) == restarting_problem(job)
    is_fine = backend == "EmbeddedRocksDBStateBackend" and storage != "Unknown"
    assert (layout_problem(job) is None) == (restarts or is_fine)
