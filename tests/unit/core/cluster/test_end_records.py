"""Records of the end of a job: what counts as one, and for which run (R34: E1, E3, E4)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from orphangc.core.cluster.end_records import (
    EndFile,
    EndRecord,
    exported_end,
    is_stored_end,
    stored_end,
)
from orphangc.core.model.types import JobId
from support.builders import JOB

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
EPOCH = "e1"
EXPORTED = {
    "format": "orphangc-ended",
    "version": 1,
    "job_id": JOB,
    "epoch": EPOCH,
    "status": "CANCELED",
    "ts": "2026-03-01T12:00:00Z",
    "checkpoint_dir": f"s3://bucket/{JOB}",
    "retained": [],
}
STORED = {"result": {"id": JOB, "application-status": "SUCCEEDED"}, "version": 1}


def archive(state: str, job: str = JOB) -> dict[str, object]:
    details = json.dumps({"jid": job, "state": state})
    return {
        "archive": [
            {"path": "/jobs/overview", "json": "{}"},
            {"path": f"/jobs/{JOB}", "json": details},
        ]
    }


def file(value: object, name: str = f"{EPOCH}.json", at: datetime | None = AT) -> EndFile:
    return EndFile(name, json.dumps(value).encode(), at)


def exported(
    *files: EndFile, newest: str | None = EPOCH, **owners: datetime | None
) -> EndRecord | None:
    markers = {f"{epoch}.alive": at for epoch, at in owners.items()}
    return exported_end(JobId(JOB), files, folder="x", owners=markers, newest_epoch=newest)


def test_an_exporter_states_the_end_of_its_run() -> None:
    """E1."""
    end = exported(file(EXPORTED))
    assert end is not None
    assert (end.status, end.at, end.is_of_newest_run) == ("CANCELED", AT, True)
    assert (end.directory, end.uri) == (f"s3://bucket/{JOB}", f"x/{EPOCH}.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"version": 2},
        {"job_id": "f" * 32},
        {"epoch": "e2"},
        {"status": "SUSPENDED"},
        {"status": "RUNNING"},
    ],
)
def test_what_is_not_exactly_such_a_record_states_nothing(changes) -> None:
    """A copied, partial or later format."""
    assert exported(file(EXPORTED | changes)) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"[" * 100_000])
def test_damaged_bytes_state_nothing(data) -> None:
    assert exported(EndFile(f"{EPOCH}.json", data, AT)) is None
    assert stored_end(EndFile(f"{JOB}.json", data, AT), "x") is None
    assert stored_end(EndFile(JOB, data, AT), "x") is None


@pytest.mark.parametrize(
    ("newest", "owners"),
    [
        ("e2", {}),
        ("", {}),
        (EPOCH, {"e2": AT}),
        (EPOCH, {"e2": AT + timedelta(days=1)}),
        (EPOCH, {"e2": None}),
    ],
)
def test_a_jobmanager_that_began_later_makes_it_the_end_of_an_earlier_run(newest, owners) -> None:
    """E1: no newer epoch."""
    end = exported(file(EXPORTED), newest=newest, **owners)
    assert end is not None
    assert not end.is_of_newest_run


def test_a_jobmanager_that_was_gone_before_changes_nothing() -> None:
    end = exported(file(EXPORTED), newest=None, e0=AT - timedelta(seconds=1), e1=AT + timedelta(1))
    assert end is not None
    assert end.is_of_newest_run


def test_the_newest_record_counts() -> None:
    later = file(EXPORTED | {"epoch": "e2"}, "e2.json", AT + timedelta(days=1))
    assert exported(file(EXPORTED), later, newest="e2").uri == "x/e2.json"


@pytest.mark.parametrize(
    ("word", "status"),
    [("SUCCEEDED", "FINISHED"), ("CANCELED", "CANCELED"), ("FAILED", "FAILED"), ("UNKNOWN", None)],
)
def test_an_entry_of_the_job_result_store_states_an_end(word, status) -> None:
    """E3."""
    entry = {"result": {"id": JOB, "application-status": word}, "version": 1}
    end = stored_end(file(entry, f"{JOB}.json"), "x")
    assert (None if end is None else end.status) == status
    assert end is None or not end.is_of_newest_run


@pytest.mark.parametrize(("state", "is_one"), [("FAILED", True), ("RUNNING", False)])
def test_an_archive_states_the_jobs_last_state(state, is_one) -> None:
    """E4."""
    assert (stored_end(file(archive(state), JOB), "x") is not None) is is_one
    assert stored_end(file(archive(state, "f" * 32), JOB), "x") is None


def test_a_dirty_entry_and_a_file_without_a_time_state_nothing() -> None:
    """A dirty one is written before the cleanup: the job's services still run."""
    assert not is_stored_end(f"{JOB}_DIRTY.json")
    assert is_stored_end(f"{JOB}.json")
    assert is_stored_end(JOB)
    assert stored_end(file(STORED, f"{JOB}_DIRTY.json"), "x") is None
    assert stored_end(file(STORED, f"{JOB}.json", None), "x") is None
    assert exported(file(EXPORTED, at=None)) is None
