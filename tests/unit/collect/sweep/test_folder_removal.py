"""Empty folders go like anything else: the evidence is checked, and the journal says it first."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from orphangc.adapters.open import open_state_files
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.folder_removal import FolderRemoval, FolderRule
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import Owners
from orphangc.errors import LockHeldError, OrphanGcError, RefusedError
from orphangc.ports import DeletionResult, DeletionStatus
from support.builders import BASE, ago

FOUND = ["savepoint-1", "savepoint-2", "savepoint-3"]


@dataclass
class Store:
    """A storage with folders that hold nothing."""

    state: RootState
    removed: list[str] = field(default_factory=list)

    def empty_folders(self, folders: Sequence[str], _: object) -> list[str]:
        return list(folders)

    def remove_empty(self, key: str) -> DeletionResult:
        parts = self.state.journal_names("run")
        assert key.encode() in b"".join(self.state.read_lines("run", each) for each in parts)
        self.removed.append(key)
        return DeletionResult(key=key, status=DeletionStatus.DELETED)


@dataclass
class Evidence:
    """Stands for the revalidation: from some check on the evidence no longer holds."""

    problem: Exception | None = None
    good_checks: int = 0
    named: UuidSet = field(default_factory=UuidSet)

    def check(self) -> "Evidence":
        self.good_checks -= 1
        if self.problem is not None and self.good_checks < 0:
            raise self.problem
        return self


@pytest.fixture
def state(tmp_path) -> RootState:
    return RootState(open_state_files(str(tmp_path / "state")), BASE)


def sweep(
    state: RootState, evidence: Evidence, *, is_deleting: bool = True
) -> tuple[FolderRemoval, OrphanGcError | None]:
    work = FolderRemoval(
        run=HeldRun(settings=None, state=state, lock=None, run_id="run"),
        storage=Store(state),
        rule=FolderRule(
            owners=Owners(BASE, {}), jobs={}, areas=frozenset(), savepoints=frozenset(FOUND)
        ),
        now=ago("1h"),
        revalidation=evidence,
    )
    return work, work.carry_out(is_deleting=is_deleting)


def test_a_folder_is_journalled_before_it_goes_and_afterwards(state) -> None:
    """R23: the storage of this test looks, too."""
    work, stopped = sweep(state, Evidence())
    assert (work.storage.removed, stopped, dict(+work.outcomes)) == (FOUND, None, {"done": 3})
    lines = state.read_lines("run", "folders-000000-outcomes").splitlines()
    assert [json.loads(each)["outcome"] for each in lines] == ["done"] * 3


@pytest.mark.parametrize("problem", [RefusedError("started again"), LockHeldError("taken over")])
def test_evidence_that_no_longer_holds_keeps_the_rest(state, monkeypatch, problem) -> None:
    """Only a lost lock ends the whole sweep: an empty folder costs nothing."""
    monkeypatch.setattr(FolderRemoval, "most_at_once", 2)
    work, stopped = sweep(state, Evidence(problem, good_checks=1))
    assert work.storage.removed == FOUND[:2]
    assert dict(+work.outcomes) == {"done": 2, "planned": 1}
    assert stopped is (problem if isinstance(problem, LockHeldError) else None)


def test_a_sweep_that_does_not_delete_only_counts(state) -> None:
    """Nothing is asked, and nothing is written."""
    work, stopped = sweep(state, Evidence(), is_deleting=False)
    assert (work.storage.removed, stopped, dict(+work.outcomes)) == ([], None, {"planned": 3})
    assert state.journal_names("run") == []
