"""What the looks before saw: kept for the command, and read from the records of runs."""

from datetime import timedelta

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.collect.state.history import checks_before, kept_record
from orphangc.collect.state.self_sustained_history import checks_of_job, keep_checks
from orphangc.collect.state.store import RootState
from orphangc.core.documents.run_record import JobRecord
from orphangc.core.documents.self_sustained_record import RememberedUsageCheck
from support.builders import JOB, T0
from unit.app.status.records import ROOT, a_record


@pytest.fixture
def state(tmp_path) -> RootState:
    """A state location without any look."""
    return RootState(LocalStateFiles(canonical(str(tmp_path))), canonical(ROOT))


def a_look(hour: int) -> RememberedUsageCheck:
    """Return a yes of some hour."""
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
