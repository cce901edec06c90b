"""Records in the state location: the newest, the totals, and what is no record."""

from datetime import timedelta
from itertools import islice

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.collect.state.history import (
    checks_before,
    checks_of_job,
    has_planned,
    keep_checks,
    kept_record,
    later_run_id,
    newest_records,
    totals_so_far,
)
from orphangc.collect.state.store import RootState
from orphangc.core.documents.run_record import JobRecord, RunResult, Totals
from orphangc.core.documents.self_sustained_record import RememberedUsageCheck
from support.builders import JOB, T0
from unit.app.status.records import ROOT, a_phase, a_record


@pytest.fixture
def state(tmp_path) -> RootState:
    return RootState(LocalStateFiles(canonical(str(tmp_path))), canonical(ROOT))


def test_records_come_back_newest_first(state) -> None:
    """Whole, with the totals of all before."""
    kept = [kept_record(state, a_record(number)) for number in range(3)]
    assert list(newest_records(state)) == kept[::-1]
    assert [each.totals.runs["plan/done"] for each in kept] == [1, 2, 3]


def test_no_record_is_no_error(state) -> None:
    """Nothing was ever counted."""
    assert list(newest_records(state)) == []
    assert totals_so_far(state) == Totals()
    assert not has_planned(state)


def test_only_a_plan_that_was_done_has_told_anybody_anything(state) -> None:
    """However many runs failed since."""
    for number, result in enumerate([RunResult.FAILED, RunResult.REFUSED, RunResult.MISSED]):
        kept_record(state, a_record(number, phases=(a_phase(result),)))
        assert not has_planned(state)
    kept_record(state, a_record(5))
    kept_record(state, a_record(6, phases=(a_phase(RunResult.UNREACHABLE),)))
    assert has_planned(state)


def test_a_machine_whose_clock_is_behind_loses_no_count(state) -> None:
    """Its record is not the newest by name, and holds the newest totals all the same."""
    for number in (10, 3, 11, 4, 12):
        last = kept_record(state, a_record(number))
    assert last.totals.runs["plan/done"] == 5


def test_the_oldest_records_go(state, monkeypatch) -> None:
    """Totals stay: they stand in the newest."""
    monkeypatch.setattr("orphangc.collect.state.history._KEPT", 3)
    kept = [kept_record(state, a_record(number)) for number in range(6)]
    assert list(newest_records(state)) == kept[:2:-1]
    assert kept[-1].totals.runs["plan/done"] == 6


def test_only_as_many_records_are_read_as_are_asked_for(state, monkeypatch) -> None:
    """Each is a request."""
    for number in range(5):
        kept_record(state, a_record(number))
    read = []
    plain = LocalStateFiles.read
    monkeypatch.setattr(LocalStateFiles, "read", lambda *a: read.append(a[1]) or plain(*a))
    assert len(list(islice(newest_records(state), 2))) == 2
    assert len(read) == 2


def a_look(hour: int) -> RememberedUsageCheck:
    at = T0 + timedelta(hours=hour)
    return RememberedUsageCheck(
        value=True, why="because", at=at, since=at, since_checkpoint_id=hour
    )


def record(state: RootState, number: int, *looks: RememberedUsageCheck) -> None:
    """Keep the record of a run that knows the job."""
    kept_record(state, a_record(number, jobs=(JobRecord(job_id=JOB, looks=looks),)))


def test_the_newest_look_counts_whoever_took_it(state) -> None:
    """A scheduled run, or the command."""
    assert checks_of_job(state, JOB) == ()
    keep_checks(state, JOB, [a_look(3)])
    assert checks_of_job(state, JOB) == (a_look(3),)
    record(state, 1, a_look(2))
    assert checks_of_job(state, JOB) == (a_look(3),)
    record(state, 2, a_look(4))
    assert checks_of_job(state, JOB) == (a_look(4),)


def test_a_run_that_did_not_get_so_far_has_not_forgotten_the_job(state) -> None:
    """Its record knows no job; the one before does."""
    record(state, 1, a_look(1))
    kept_record(state, a_record(2, jobs=()))
    assert checks_before(state) == {JOB: (a_look(1),)}


def test_looks_that_cannot_be_read_begin_anew(state) -> None:
    """Losing them costs one look more."""
    keep_checks(state, JOB, [a_look(3)])
    state.files.write(f"{state.folder}/looks/{JOB}.json", b"torn")
    assert checks_of_job(state, JOB) == ()


@pytest.mark.parametrize("newest", ["20991101T000000000000Z-00000000", "20991101T000000Z-0-expiry"])
def test_a_run_is_later_than_one_whose_clock_was_ahead(state, newest) -> None:
    """Else its record goes at once where many are dated so, and the next run misses its totals."""
    own = "20261128T101131161461Z-236f9ad7"
    assert later_run_id(state, own) == own
    state.files.write(f"{state.folder}/records/{newest}.json", b"{}")
    assert later_run_id(state, own) == "20991101T000000000001Z-236f9ad7"
    plans = ["21000101T000000999999Z-00000000", "lost+found"]
    assert later_run_id(state, own, plans) == "21000101T000001000000Z-236f9ad7"
