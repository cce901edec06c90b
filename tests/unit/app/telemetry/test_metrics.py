"""What Prometheus scrapes: names, zeros, and counters that never go back."""

from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.telemetry.metrics import Metrics
from orphangc.core.documents.plan import Tally
from orphangc.core.documents.run_record import (
    ExpiryRecord,
    JobRecord,
    Phase,
    RunRecord,
    RunResult,
    SweptPart,
    TombstonesPart,
    Totals,
    totals_after,
)
from orphangc.core.model.types import Action, Outcome, Reason, Scope
from unit.app.status.records import ROOT, T0, a_phase, a_record

CONTRACT = {
    "orphangc_runs": {"root", "phase", "result"},
    "orphangc_run_duration_seconds": {"root", "phase"},
    "orphangc_last_success_timestamp_seconds": {"root", "phase"},
    "orphangc_stored_objects": {"root", "scope", "reason"},
    "orphangc_stored_bytes": {"root", "scope", "reason"},
    "orphangc_swept_objects": {"root", "action", "outcome"},
    "orphangc_swept_bytes": {"root", "action", "outcome"},
    "orphangc_refusals": {"root", "guard"},
    "orphangc_missing_objects": {"root"},
    "orphangc_held_back_objects": {"root"},
    "orphangc_held_back_bytes": {"root"},
    "orphangc_unneeded_bytes": {"root"},
    "orphangc_quarantined_checkpoints": {"root"},
    "orphangc_quarantined_checkpoints_in_use": {"root"},
    "orphangc_registry_age_seconds": {"root"},
    "orphangc_aborted_uploads": {"root", "outcome"},
    "orphangc_list_requests": {"root"},
    "orphangc_oldest_tombstone_timestamp_seconds": {"root"},
    "orphangc_grace_period_seconds": {"root"},
    "orphangc_build_info": {"version"},
    "orphangc_run_interval_seconds": {"root"},
    "orphangc_halted": {"root"},
    "orphangc_run_blocked_jobs": {"root"},
    "orphangc_refused_jobs": {"root", "guard"},
    "orphangc_self_sustained_jobs": {"root", "answer"},
}


def metrics(**more: Any) -> Metrics:
    return Metrics([ScheduledRoot(root=ROOT, schedule="6h")], "1.2.3", **more)


def kept(record: RunRecord, before: Totals) -> RunRecord:
    return record.model_copy(update={"totals": totals_after(before, record)})


def value(of: Metrics, name: str, **labels: str) -> float | None:
    build = {} if name == "orphangc_build_info" else {"root": ROOT}
    return of.registry.get_sample_value(name, build | labels)


GUARDS_OF_RECORD = ("unreadable_root", "closed_world")


def full_record() -> RunRecord:
    return a_record(
        plan_id="p",
        phases=(a_phase(), a_phase(RunResult.SOME_DELETES_FAILED, Phase.SWEEP, seconds=100)),
        amounts=(
            Tally(scope=Scope.SHARED, action=Action.KEEP, reason=Reason.ORPHAN, objects=1, bytes=5),
            Tally(
                scope=Scope.SHARED, action=Action.DELETE, reason=Reason.ORPHAN, objects=2, bytes=6
            ),
        ),
        swept=(
            SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=3, bytes=30),
            SweptPart(action=Action.DELETE, outcome=Outcome.FAILED, objects=1, bytes=10),
        ),
        uploads={"done": 6, "failed": 2},
        refusals={"unreadable_root": 2, "closed_world": 1},
        missing_objects=4,
        held_back_objects=5,
        held_back_bytes=50,
        expiry=ExpiryRecord(
            expired=1, released=0, in_quarantine=2, in_use=1, unneeded_bytes=60, expiring_bytes=30
        ),
        registry_age_seconds=7.0,
        list_requests=11,
        tombstones=TombstonesPart(objects=1, bytes=1, oldest_at=T0),
        halted="a proof failed",
    )


def test_the_names_and_labels_are_those_of_the_contract() -> None:
    """Parsed strictly, as OpenMetrics; nothing else, and no series of creation times."""
    of = metrics()
    of.observe(full_record())
    text = generate_openmetrics(of.registry).decode()
    found = {family.name: family for family in text_string_to_metric_families(text)}
    assert set(found) == set(CONTRACT)
    for name, family in found.items():
        assert family.documentation
        labels = {frozenset(each.labels) - {"le"} for each in family.samples}
        assert labels == {frozenset(CONTRACT[name])}, name
    assert "_created" not in text
    assert b"_created" not in generate_latest(of.registry)


def test_every_series_is_there_from_the_start_and_no_other_comes() -> None:
    """With 0: a rate needs the sample before the first event."""
    before, after = metrics(), metrics()
    after.observe(full_record())

    def series(of: Metrics) -> dict[Any, float]:
        return {
            (each.name, *sorted(each.labels.items())): each.value
            for family in of.registry.collect()
            for each in family.samples
        }

    assert set(series(before)) == set(series(after))
    told = {"orphangc_grace_period_seconds", "orphangc_run_interval_seconds"}
    told.add("orphangc_build_info")
    assert {key[0] for key, each in series(before).items() if each} == told


def test_a_record_is_reported_whole() -> None:
    """Counters from the totals, gauges from the newest plan."""
    of = metrics()
    of.observe(full_record())
    assert value(of, "orphangc_runs_total", phase="plan", result="done") == 1
    assert value(of, "orphangc_runs_total", phase="sweep", result="some_deletes_failed") == 1
    assert value(of, "orphangc_stored_objects", scope="shared", reason="orphan") == 3
    assert value(of, "orphangc_stored_bytes", scope="shared", reason="orphan") == 11
    assert value(of, "orphangc_swept_bytes_total", action="delete", outcome="done") == 30
    assert [value(of, "orphangc_refusals_total", guard=e) for e in GUARDS_OF_RECORD] == [2, 1]
    assert value(of, "orphangc_aborted_uploads_total", outcome="done") == 6
    assert value(of, "orphangc_refused_jobs", guard="unreadable_root") == 2
    assert value(of, "orphangc_missing_objects") == 4
    assert [value(of, f"orphangc_held_back_{e}") for e in ("objects", "bytes")] == [5, 50]
    assert value(of, "orphangc_unneeded_bytes") == 60
    assert value(of, "orphangc_quarantined_checkpoints") == 2
    assert value(of, "orphangc_quarantined_checkpoints_in_use") == 1
    assert value(of, "orphangc_registry_age_seconds") == 7
    assert value(of, "orphangc_list_requests_total") == 11
    assert value(of, "orphangc_oldest_tombstone_timestamp_seconds") == T0.timestamp()
    assert value(of, "orphangc_halted") == 1
    assert value(of, "orphangc_run_interval_seconds") == 6 * 3600
    assert value(of, "orphangc_grace_period_seconds") == 72 * 3600
    assert value(of, "orphangc_run_duration_seconds_bucket", phase="sweep", le="60.0") == 0
    assert value(of, "orphangc_run_duration_seconds_bucket", phase="sweep", le="300.0") == 1
    assert value(of, "orphangc_run_duration_seconds_bucket", phase="sweep", le="+Inf") == 1
    assert value(of, "orphangc_run_duration_seconds_sum", phase="sweep") == 100
    success = (T0 + timedelta(seconds=2)).timestamp()
    assert value(of, "orphangc_last_success_timestamp_seconds", phase="plan") == success
    assert value(of, "orphangc_last_success_timestamp_seconds", phase="sweep") == 0


def test_counters_go_on_after_a_restart() -> None:
    """And what others have run meanwhile counts too."""
    first = kept(full_record(), Totals())
    second = kept(a_record(2, plan_id="q"), first.totals)
    third = kept(a_record(3, plan_id="r"), second.totals)
    of = metrics()
    of.restore(ROOT, second)
    assert value(of, "orphangc_runs_total", phase="plan", result="done") == 2
    of.observe(third)
    assert value(of, "orphangc_runs_total", phase="plan", result="done") == 3
    assert value(of, "orphangc_swept_objects_total", action="delete", outcome="done") == 3


def test_a_failed_run_leaves_what_the_last_plan_said() -> None:
    of = metrics()
    of.observe(kept(full_record(), Totals()))
    failed = a_record(2, result=RunResult.FAILED, phases=(a_phase(RunResult.FAILED),))
    of.observe(failed)
    assert value(of, "orphangc_runs_total", phase="plan", result="failed") == 1
    assert value(of, "orphangc_stored_objects", scope="shared", reason="orphan") == 3
    assert value(of, "orphangc_halted") == 1
    assert value(of, "orphangc_last_success_timestamp_seconds", phase="plan")
    assert value(of, "orphangc_oldest_tombstone_timestamp_seconds") == T0.timestamp()


@pytest.mark.parametrize("result", [RunResult.LOCKED, RunResult.MISSED])
def test_runs_that_never_began_count_though_no_run_records_them(result) -> None:
    """Each of them, and they took no time."""
    of = metrics()
    before = kept(a_record(1, plan_id="p"), Totals())
    of.restore(ROOT, before)
    for number in (2, 3):
        record = a_record(number, result=result, phases=(a_phase(result, seconds=0),))
        told = kept(record, before.totals) if result is RunResult.LOCKED else record
        of.observe(told)
    of.observe(kept(a_record(4, plan_id="q"), before.totals))
    assert value(of, "orphangc_runs_total", phase="plan", result=str(result)) == 2
    assert value(of, "orphangc_runs_total", phase="plan", result="done") == 2
    assert value(of, "orphangc_run_duration_seconds_count", phase="plan") == 2


def test_the_version_is_reported() -> None:
    """A dashboard shows an update that is under way."""
    assert value(metrics(), "orphangc_build_info", version="1.2.3") == 1


def test_a_push_leaves_out_what_no_run_has_set() -> None:
    """Zeros would replace what the gateway holds of an earlier run."""
    failed = a_record(2, result=RunResult.FAILED, phases=(a_phase(RunResult.FAILED),))
    pushed = metrics(is_pushed=True)
    pushed.restore(ROOT, kept(failed, kept(full_record(), Totals()).totals))
    assert value(pushed, "orphangc_stored_objects", scope="shared", reason="orphan") is None
    assert value(pushed, "orphangc_missing_objects") is None
    assert value(pushed, "orphangc_runs_total", phase="plan", result="failed") == 1
    assert value(pushed, "orphangc_last_success_timestamp_seconds", phase="plan")


def test_jobs_are_counted_by_whether_they_are_self_sustained() -> None:
    """What belongs to no job is none; no label holds a job's id."""
    of = metrics()
    jobs = [
        JobRecord(job_id=f"{number:032x}", state_self_sustained=answer)
        for number, answer in enumerate((True, True, False, None))
    ]
    of.observe(a_record(1, plan_id="p", jobs=(*jobs, JobRecord(job_id=""))))
    found = [
        value(of, "orphangc_self_sustained_jobs", answer=each) for each in ("yes", "no", "unknown")
    ]
    assert found == [2, 1, 1]
