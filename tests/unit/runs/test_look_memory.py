"""What the looks before saw: kept for the command, and read from the records of runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from builders import JOB, T0
from orphangc.adapters.state_files import LocalStateFiles
from orphangc.core.looks import RememberedLook
from orphangc.core.run_record import JobRecord
from orphangc.core.uris import canonical
from orphangc.runs.history import kept_record, looks_before
from orphangc.runs.look_memory import keep_looks, looks_at_job
from orphangc.runs.state import RootState
from unit.shell.records import ROOT, a_record


@pytest.fixture
def state(tmp_path) -> RootState:
    """A state location without any look."""
    return RootState(LocalStateFiles(canonical(str(tmp_path))), canonical(ROOT))


def a_look(hour: int) -> RememberedLook:
    """Return a yes of some hour."""
    at = T0 + timedelta(hours=hour)
    return RememberedLook(value=True, why="because", at=at, since=at, since_checkpoint_id=hour)


def record(state: RootState, number: int, *looks: RememberedLook) -> None:
    """Keep the record of a run that knows the job."""
    kept_record(state, a_record(number, jobs=(JobRecord(job_id=JOB, looks=looks),)))


def test_the_newest_look_counts_whoever_took_it(state) -> None:
    """A scheduled run, or the command."""
    assert looks_at_job(state, JOB) == ()
    keep_looks(state, JOB, [a_look(3)])
    assert looks_at_job(state, JOB) == (a_look(3),)
    record(state, 1, a_look(2))
    assert looks_at_job(state, JOB) == (a_look(3),)
    record(state, 2, a_look(4))
    assert looks_at_job(state, JOB) == (a_look(4),)


def test_a_run_that_did_not_get_so_far_has_not_forgotten_the_job(state) -> None:
    """Its record knows no job; the one before does."""
    record(state, 1, a_look(1))
    kept_record(state, a_record(2, jobs=()))
    assert looks_before(state) == {JOB: (a_look(1),)}


def test_looks_that_cannot_be_read_begin_anew(state) -> None:
    """Losing them costs one look more."""
    keep_looks(state, JOB, [a_look(3)])
    state.files.write(f"{state.folder}/looks/{JOB}.json", b"torn")
    assert looks_at_job(state, JOB) == ()
