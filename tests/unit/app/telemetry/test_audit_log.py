"""The audit log: lines that are made together are those that would be made one by one."""

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from orphangc.app.config.configuration import LogSettings
from orphangc.app.telemetry.audit_log import Audited
from orphangc.app.telemetry.logs import audit_log, configure_logs, run_named
from orphangc.errors import SettingsError
from orphangc.ports import OUTCOME_SCHEMA

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
JOB = "a" * 32
KEYS = [
    "a/shared/x",
    'a/"quoted"\\',
    "a/ü/\U0001f9ca",
    "a/line}\nnext",
    "a/\x01\x7f",
    "a/password=x",
]


class Taken:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows


def outcome(key: str, **facts: object) -> dict[str, object]:
    row = {"job_id": JOB, "key": key, "scope": "shared", "size": 7, "modified_at": AT, "etag": "e"}
    row |= {"action": "delete", "reason": "quarantine_over", "outcome": "done"}
    return row | facts


def logged(capsys, rows: list[dict[str, object]], *, one_by_one: bool = False) -> list[dict]:
    """Return the lines of a batch in the audit log, without their times."""
    configure_logs(LogSettings(format="json", audit_log="stderr"))
    batch = pa.RecordBatch.from_pylist(rows, schema=OUTCOME_SCHEMA)
    with run_named(run_id="r", root="s3://b/ck"), audit_log() as audit:
        audited = Audited(Taken(), audit)
        audited._write_each(batch, audit) if one_by_one else audited.write(batch)
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert all(line.pop("timestamp") for line in found)
    return found


@pytest.mark.parametrize(
    "facts",
    [{}, {"etag": None}, {"modified_at": AT + timedelta(microseconds=1)}, {"etag": 'W/"1"'},
     {"job_id": "user:pw@host"}, {"reason": "token=abc"}, {"job_id": ""}],
    ids=["plain", "no etag", "fraction", "quotes", "job to redact", "reason to redact", "no job"],
)  # fmt: skip
def test_lines_made_together_are_those_made_one_by_one(capsys, facts):
    rows = [outcome(key, **facts) for key in KEYS]
    together, one_by_one = (logged(capsys, rows, one_by_one=each) for each in (False, True))
    assert [list(line.items()) for line in together] == [list(line.items()) for line in one_by_one]
    assert [line["key"] for line in together] == KEYS
    assert {line["event"] for line in together} == {"object.deleted"}
    assert {line["run_id"] for line in together} == {"r"}


def test_each_attempt_has_its_line(capsys):
    """What was only planned, and a tombstone, have none."""
    rows = [
        outcome("a"),
        outcome("b", outcome="failed", error="denied for user:pw@host"),
        outcome("c", outcome="planned"),
        outcome("d", action="tombstone"),
        outcome("e", outcome="gone"),
        outcome("f"),
    ]
    found = {line["key"]: line for line in logged(capsys, rows)}
    assert {key: line["event"] for key, line in found.items()} == {
        "a": "object.deleted",
        "f": "object.deleted",
        "b": "object.not_deleted",
        "e": "object.not_deleted",
    }
    assert "pw" not in found["b"]["error"]


def test_without_an_audit_log_a_batch_is_one_event(capsys):
    """Its sums, the first key and the first error; no level hides it."""
    configure_logs(LogSettings(format="json", level="warning"))
    rows = [outcome(f"k{number}") for number in range(1000)]
    rows += [outcome("x", outcome="failed", error="denied for user:pw@host"), outcome("y")]
    Audited(Taken()).write(pa.RecordBatch.from_pylist(rows, schema=OUTCOME_SCHEMA))
    done, failed = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (done["event"], done["objects"], done["bytes"]) == ("objects.deleted", 1001, 7007)
    assert (done["key"], done["jobs"]) == ("k0", 1)
    assert (failed["event"], failed["objects"], failed["key"]) == ("objects.not_deleted", 1, "x")
    assert "pw" not in failed["error"]


def test_the_audit_log_goes_on_in_its_file(capsys, tmp_path):
    """As JSON, whatever the form of the log; nothing of it is on stderr."""
    place = tmp_path / "audit.jsonl"
    for key in ("a", "b/\x1b[2J"):
        configure_logs(LogSettings(format="console", audit_log=str(place)))
        with audit_log() as audit:
            rows = pa.RecordBatch.from_pylist([outcome(key)], schema=OUTCOME_SCHEMA)
            Audited(Taken(), audit).write(rows)
    found = [json.loads(line) for line in place.read_text().splitlines()]
    assert [line["key"] for line in found] == ["a", "b/\x1b[2J"]
    assert capsys.readouterr().err == ""


def test_an_audit_log_that_cannot_be_written_stops_the_sweep_before_it_begins(tmp_path):
    """It was asked for because every deletion must be on record."""
    configure_logs(LogSettings(audit_log=str(tmp_path / "absent" / "audit.jsonl")))
    with pytest.raises(SettingsError, match="audit log"), audit_log():
        pytest.fail("it must not be opened")
