"""Uploads are aborted as carefully as objects are deleted: marked first, checked before and after.

Nothing brings an aborted upload back (R50).
"""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from orphangc.adapters.open import open_state_files
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep import upload_abortion
from orphangc.collect.sweep.upload_abortion import UploadAbortion, read_marks
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import artifact_name
from orphangc.core.model.rate import DeletionRate
from orphangc.errors import NotReportedError, RefusedError, StorageUnreachableError
from orphangc.ports import Upload
from support.builders import BASE, JOB, UUID, ago

DAY = timedelta(days=1)
OLD = ago("60d")
FIRST = ago("10d")
"""When a first sweep runs."""


@dataclass
class Store:
    uploads: dict[str, Upload] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    problem: Exception | None = None
    aborted: list[str] = field(default_factory=list)

    def begin(self, number: int, key: str, begun_at: datetime | None = OLD) -> None:
        self.uploads[f"u{number}"] = Upload(key=key, upload_id=f"u{number}", begun_at=begun_at)

    def unfinished(self):
        if self.problem is not None:
            raise self.problem
        yield from list(self.uploads.values())

    def abort(self, upload: Upload) -> bool:
        if upload.upload_id in self.refused:
            raise StorageUnreachableError("503")
        self.aborted.append(upload.upload_id)
        return self.uploads.pop(upload.upload_id, None) is not None


@dataclass
class References:
    named: UuidSet = field(default_factory=UuidSet)


@dataclass
class Evidence:
    """Stands for the revalidation: what checkpoints name before a batch, and after it."""

    state: RootState
    before: UuidSet = field(default_factory=UuidSet)
    after: UuidSet = field(default_factory=UuidSet)
    problem: Exception | None = None
    renewed: int = 0

    def renew(self) -> None:
        self.renewed += 1

    def check(self) -> References:
        if self.problem is not None:
            raise self.problem
        return References(self.before)

    def check_after(self) -> References:
        return References(self.after)


@pytest.fixture
def state(tmp_path) -> RootState:
    return RootState(open_state_files(str(tmp_path / "state")), BASE)


def key_of(number: int) -> str:
    return f"{JOB}/chk-{number}/_metadata"


def is_dead(key: str, begun_at: datetime | None) -> bool:
    return begun_at is not None and "pending" not in key


def sweep(state: RootState, store: Store, *, at: datetime, is_deleting: bool = True, **evidence):
    """Sweep once, with a quarantine of one day; return the work and what ended it."""
    checks = Evidence(state, **evidence)
    work = UploadAbortion(
        run=HeldRun(settings=None, state=state, lock=checks, run_id=f"run-{at:%d}"),
        storage=store,
        plan_id="plan",
        now=at,
        quarantine_start=at - DAY,
        is_dead=is_dead,
        revalidation=checks,
        limiter=RateLimiter(DeletionRate.of(100_000, 100)),
    )
    return work, work.carry_out(is_deleting=is_deleting)


def test_the_sweep_that_finds_an_upload_only_marks_it(state) -> None:
    """R17: a later one aborts it, once the quarantine is over; a tie is not over."""
    store = Store()
    store.begin(1, key_of(1))
    for at in (FIRST, FIRST + DAY / 2, FIRST + DAY):
        work, stopped = sweep(state, store, at=at)
        assert (store.aborted, stopped, work.outcomes.total()) == ([], None, 0)
        assert [mark.since for mark in read_marks(state)] == [FIRST]
    work, _ = sweep(state, store, at=FIRST + 2 * DAY)
    assert (store.aborted, dict(+work.outcomes)) == (["u1"], {"done": 1})


def test_an_upload_that_is_not_dead_for_one_sweep_begins_its_quarantine_anew(state) -> None:
    """As a tombstone whose object was referred to."""
    store = Store()
    store.begin(1, key_of(1))
    sweep(state, store, at=FIRST)
    store.begin(1, f"{JOB}/pending/_metadata")
    sweep(state, store, at=FIRST + DAY)
    store.begin(1, key_of(1))
    sweep(state, store, at=FIRST + 3 * DAY)
    assert store.aborted == []


def test_another_upload_of_the_same_key_has_a_mark_of_its_own(state) -> None:
    """A checkpoint of this id is written again after a restart without state."""
    store = Store()
    store.begin(1, key_of(1))
    sweep(state, store, at=FIRST)
    del store.uploads["u1"]
    store.begin(2, key_of(1))
    sweep(state, store, at=FIRST + 3 * DAY)
    assert store.aborted == []


def test_without_delete_nothing_is_aborted(state) -> None:
    store = Store()
    store.begin(1, key_of(1))
    sweep(state, store, at=FIRST)
    work, _ = sweep(state, store, at=FIRST + 3 * DAY, is_deleting=False)
    assert (store.aborted, dict(+work.outcomes)) == ([], {"planned": 1})


def test_what_is_alive_or_of_unknown_age_is_never_marked(state) -> None:
    """Unknown is young."""
    store = Store()
    store.begin(1, f"{JOB}/pending/_metadata")
    store.begin(2, key_of(2), None)
    for at in (FIRST, FIRST + 3 * DAY):
        sweep(state, store, at=at)
    assert (store.aborted, read_marks(state)) == ([], ())


def marked(state: RootState, *numbers: int) -> Store:
    store = Store()
    for number in numbers:
        store.begin(number, f"{JOB}/shared/{artifact_name(None, bytes([number]) * 16)}")
    store.begin(99, f"{JOB}/shared/{artifact_name(None, UUID)}")
    sweep(state, store, at=FIRST)
    return store


def test_a_name_that_a_checkpoint_has_by_now_is_spared(state) -> None:
    """R22: what was proven at the start of the sweep is checked again before each batch."""
    store = marked(state, 1)
    work, stopped = sweep(state, store, at=FIRST + 2 * DAY, before=UuidSet({UUID}))
    assert (store.aborted, stopped) == (["u1"], None)
    assert dict(+work.outcomes) == {"done": 1, "changed": 1}


def test_a_name_that_a_checkpoint_has_afterwards_halts_all_collection(state) -> None:
    """A proof has failed: a person must look."""
    store = marked(state)
    _, stopped = sweep(state, store, at=FIRST + 2 * DAY, after=UuidSet({UUID}))
    assert isinstance(stopped, RefusedError)
    assert "upload of" in (state.halted() or "")


def test_outcomes_that_cannot_be_written_down_skip_no_check(state, monkeypatch) -> None:
    """R22 matters more than the journal."""
    store, write = marked(state), HeldRun.write_journal

    def write_some(self, name, lines):
        if name.endswith("-outcomes"):
            raise StorageUnreachableError("state: 503")
        write(self, name, lines)

    monkeypatch.setattr(HeldRun, "write_journal", write_some)
    _, stopped = sweep(state, store, at=FIRST + 2 * DAY, after=UuidSet({UUID}))
    assert isinstance(stopped, RefusedError)
    assert "upload of" in (state.halted() or "")


def test_evidence_that_no_longer_holds_aborts_nothing(state) -> None:
    """What was due stays planned."""
    store = marked(state, 1)
    problem = RefusedError("the job was started again")
    work, stopped = sweep(state, store, at=FIRST + 2 * DAY, problem=problem)
    assert (store.aborted, stopped) == ([], problem)
    assert dict(+work.outcomes) == {"planned": 2}


def test_each_batch_is_checked_and_journalled_before_it_is_aborted(state, monkeypatch) -> None:
    """R23: the journal says first what is about to go, and then what became of it."""
    monkeypatch.setattr(UploadAbortion, "most_at_once", 2)
    store = marked(state, 1, 2, 3)
    store.refused = frozenset({"u2"})
    work, stopped = sweep(state, store, at=FIRST + 2 * DAY)
    assert stopped is None
    assert dict(+work.outcomes) == {"done": 3, "failed": 1}
    run_id = work.run.run_id
    assert set(state.journal_names(run_id)) == {
        *("uploads-000000", "uploads-000000-outcomes"),
        *("uploads-000001", "uploads-000001-outcomes"),
    }
    lines = state.read_lines(run_id, "uploads-000000-outcomes").splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["done", "failed"]


@pytest.mark.parametrize(
    ("problem", "is_silent"),
    [
        (NotReportedError("forbidden", is_forbidden=True), True),
        (StorageUnreachableError("pages do not add up"), False),
    ],
)
def test_a_store_that_shows_not_all_of_its_uploads_loses_none(state, problem, is_silent) -> None:
    """A part is never taken for all; one that has no such request is no failure."""
    store = marked(state, 1)
    store.problem = problem
    _, stopped = sweep(state, store, at=FIRST + 2 * DAY)
    assert (store.aborted, stopped is None) == ([], is_silent)


@pytest.mark.parametrize("damage", [b"", b"[]", b'x\n[{"key": "x"}]'])
def test_damaged_marks_begin_every_quarantine_anew(state, damage) -> None:
    """A flipped bit in a time would end one early."""
    store = marked(state, 1)
    state.files.write(f"{state.folder}/uploads.json", damage)
    sweep(state, store, at=FIRST + 2 * DAY)
    assert store.aborted == []


def test_only_the_oldest_of_very_many_uploads_are_marked(state, monkeypatch) -> None:
    """A leak of millions is aborted over several sweeps, within a bounded memory."""
    monkeypatch.setattr(upload_abortion, "MOST_UPLOADS", 2)
    store = Store()
    for number in range(5):
        store.begin(number, key_of(number), OLD - number * DAY)
    sweep(state, store, at=FIRST)
    assert {mark.upload_id for mark in read_marks(state)} == {"u3", "u4"}
