"""The steps of a run that carries out a plan: a signal between any two, and a lock that is lost."""

import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from orphangc.adapters.open import open_state_files
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.runs import planned_run
from orphangc.collect.runs.held_run import HeldRun, RunStoppedError
from orphangc.collect.runs.planned_run import PlannedRun
from orphangc.collect.runs.result import SweepResult
from orphangc.collect.state.lock import Renewal
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.folder_removal import FolderRemoval, FolderRule
from orphangc.collect.sweep.upload_abortion import UploadAbortion, UploadMark, write_marks
from orphangc.collect.world.recalling import NOTHING_RECALLED
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import Owners, artifact_name
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey
from orphangc.errors import LockHeldError
from orphangc.ports import DeletionResult, DeletionStatus, Upload
from support import speed
from support.builders import BASE, JOB, T0, UUID, ago

PLAN = SimpleNamespace(plan_id="plan", root=str(BASE), live_set_sha256="", jobs=(), roots=())
DEAD = Upload(key=f"{JOB}/shared/{artifact_name(None, UUID)}", upload_id="u1", begun_at=ago("60d"))
FOLDERS = ["savepoint-1", "savepoint-2"]


def signalled() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@dataclass
class World:
    """Stands for the environment."""

    progress: Callable[..., None] = lambda *_: None


@dataclass
class Lock:
    problem: Exception | None = None

    def renew(self) -> None:
        if self.problem is not None:
            raise self.problem


@dataclass(slots=True, kw_only=True)
class Run(PlannedRun[Any]):
    """A run that does what a test wants."""

    event = "test.finished"

    does: Callable[["Run"], None] = lambda _: None
    finds: Callable[["Run", Any], None] = lambda *_: None
    steps: list[str] = field(default_factory=list)

    def evidence(self, environment: Any) -> Any:
        self.finds(self, environment)
        evidence = SimpleNamespace(now=T0)
        return SimpleNamespace(cycle=SimpleNamespace(plan=PLAN, evidence=evidence))

    def check_remembered(self, _: object) -> None:
        self.steps.append("remembered")

    def check(self, _: object) -> None:
        self.steps.append("checked")

    def act(self, _: object) -> None:
        self.does(self)

    def exit_code(self, _: object) -> int:
        return 0

    def interrupted(self) -> list[str]:
        return self.run.state.interrupted_runs()

    def ending(self, _: object, interrupted: object) -> dict[str, Any]:
        return {"code": self.result.exit_code, "interrupted": interrupted}


@pytest.fixture
def state(tmp_path) -> RootState:
    return RootState(open_state_files(str(tmp_path / "state")), BASE)


def a_run(state: RootState, **changes: Any) -> Run:
    settings = StorageRootSettings(root=str(BASE))
    return Run(
        environment=World(),
        run=HeldRun(settings=settings, state=state, lock=Lock(), run_id="run"),
        plan=PLAN,
        is_deleting=True,
        before=NOTHING_RECALLED,
        outcomes=None,
        **changes,
    )


@dataclass
class Evidence:
    """Stands for the revalidation: a checkpoint names what is gone, once it is."""

    state: RootState
    named: UuidSet = field(default_factory=UuidSet)

    def check(self) -> "Evidence":
        return self

    def check_after(self) -> "Evidence":
        return Evidence(self.state, UuidSet({UUID}))


@dataclass
class Storage:
    """A storage with an upload and empty folders, where a signal follows the first deletion."""

    run: HeldRun

    def unfinished(self) -> list[Upload]:
        return [DEAD]

    def abort(self, _: Upload) -> bool:
        signalled()
        return True

    def empty_folders(self, folders: list[str], _: object) -> list[str]:
        return list(folders)

    def remove_empty(self, key: str) -> DeletionResult:
        if key == FOLDERS[0]:
            signalled()
            assert self.run.stopped.wait(speed.patience())
        return DeletionResult(key=ObjectKey(key), status=DeletionStatus.DELETED)


def aborts(run: Run) -> None:
    mark = UploadMark(
        key=DEAD.key,
        upload_id=DEAD.upload_id,
        begun_at=DEAD.begun_at,
        since=ago("10d"),
        plan_id="plan",
    )
    write_marks(run.run.state, [mark])
    UploadAbortion(
        run=run.run,
        storage=Storage(run.run),
        plan_id="plan",
        now=T0,
        quarantine_start=ago("1d"),
        is_dead=lambda *_: True,
        revalidation=Evidence(run.run.state),
        limiter=RateLimiter.of(run.run, 100),
        outcomes=run.result.uploads,
    ).carry_out(is_deleting=True)


def removes(run: Run) -> None:
    FolderRemoval(
        run=run.run,
        storage=Storage(run.run),
        rule=FolderRule(
            owners=Owners(BASE, {}), jobs={}, areas=frozenset(), savepoints=frozenset(FOLDERS)
        ),
        now=T0,
        revalidation=Evidence(run.run.state),
        outcomes=run.result.folders,
    ).carry_out(is_deleting=True)


def ended(run: Run) -> SweepResult:
    with pytest.raises(SystemExit) as raised:
        run.carry_out()
    assert raised.value.code == 143
    return run.result


def test_a_signal_waits_for_the_check_after_an_upload_was_aborted(state) -> None:
    """A checkpoint names it by now: all collection halts, as without a signal (R22)."""
    result = ended(a_run(state, does=aborts))
    assert "upload of" in (state.halted() or "")
    assert dict(+result.uploads) == {"done": 1}


def test_a_signal_waits_until_what_went_is_written_down(state) -> None:
    """No checkpoint names an empty folder; the journal says what became of the whole batch."""
    result = ended(a_run(state, does=removes))
    assert dict(+result.folders) == {"done": 2}
    lines = state.read_lines("run", "folders-000000-outcomes").splitlines()
    assert [json.loads(each)["outcome"] for each in lines] == ["done", "done"]


def test_after_a_signal_no_further_batch_begins(state, monkeypatch) -> None:
    """The next run goes on."""
    monkeypatch.setattr(FolderRemoval, "most_at_once", 1)
    result = ended(a_run(state, does=removes))
    assert dict(+result.folders) == {"done": 1, "planned": 1}


def test_a_run_that_is_stopped_waits_for_no_turn(state) -> None:
    """At a slow rate it may be hours."""
    run = a_run(state).run
    limiter = RateLimiter.of(run, 1)
    run.stopped.set()
    with pytest.raises(RunStoppedError):
        limiter.take_turn(1)


def test_a_signal_ends_the_caller_as_well(state) -> None:
    """A run with other steps, as one with a retention policy, must not go on to them."""
    run = a_run(state, does=lambda _: signalled())
    with pytest.raises(SystemExit) as raised:
        run.carry_out()
    assert (raised.value.code, run.result.stopped_by) == (143, raised.value)
    assert json.loads(state.files.read(f"{state.folder}/history/run.json"))["code"] == 143


def test_crashed_runs_are_closed_with_the_run_that_took_them_over(state) -> None:
    """Else each later run says again that they were interrupted."""
    state.start_run("crashed", ago("1h"))
    run = a_run(state)
    run.carry_out()
    outcome = json.loads(state.files.read(f"{state.folder}/history/run.json"))
    assert outcome["interrupted"] == ["crashed"]
    assert set(state.interrupted_runs()) == {"crashed", "run"}, "the outcome stands nowhere else"
    run.run.close()
    assert state.interrupted_runs() == []


@pytest.mark.parametrize("shows", [True, False], ids=["between two steps", "in the last step"])
def test_a_run_whose_lock_is_lost_during_its_cycle_ends_it_and_remembers_nothing(
    state, monkeypatch, shows
) -> None:
    """The memory is that of the run that holds the lock by now."""
    monkeypatch.setattr(planned_run, "Renewal", partial(Renewal, every=timedelta(microseconds=1)))
    lost = LockHeldError("taken over")

    def notices(run: Run, environment: World) -> None:
        for renewal in (each for each in threading.enumerate() if each.name == "lock"):
            renewal.join(speed.patience())
        if shows:
            environment.progress("listing", 1)
        run.steps.append("listed")

    run = a_run(state, finds=notices)
    run.run.lock.problem = lost
    with pytest.raises(LockHeldError):
        run.carry_out()
    assert run.steps == ([] if shows else ["listed"])
    assert state.files.names(f"{state.folder}/runs/run") == []
