"""Parts of a run: which code several roots amount to, signals, plans that are kept, days due."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from orphangc.app.console.exit import shielded
from orphangc.app.runner.plan_store import KeptPlans
from orphangc.app.runner.record import is_signal, result_of, tombstones_part
from orphangc.app.runner.run_root import exit_code_of_all
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.documents.run_record import RunRecord, RunResult, SweptPart
from orphangc.core.model.types import Action, JobId, ObjectKey, Outcome, StoredObject
from orphangc.errors import SettingsError
from support.tombstone_tables import Tombstone, laid_as
from unit.app.status.records import a_record

DELETED = (SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=1, bytes=1),)


def ended(code: int, **more: object) -> RunRecord:
    return a_record(exit_code=code, result=result_of(code), **more)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([0], 0),
        ([4], 4),
        ([2], 2),
        ([0, 0], 0),
        ([0, 4], 4),
        ([4, 3, 0], 3),
        ([3, 11], 11),
        ([11, 10, 4], 10),
        ([10, 1, 11], 1),
        ([2, 10], 2),
        ([], 0),
    ],
)
def test_the_worst_of_several_codes_counts(codes, expected) -> None:
    """One root alone has its own."""
    assert exit_code_of_all([ended(code) for code in codes]) == expected


def test_4_promises_that_nothing_was_deleted() -> None:
    """Anywhere; the worse codes promise no such thing."""
    assert exit_code_of_all([ended(4), ended(0, swept=DELETED)]) == 1
    assert exit_code_of_all([ended(10), ended(0, swept=DELETED)]) == 10
    assert exit_code_of_all([ended(4, swept=DELETED)]) == 4


RESULTS = (
    *((0, "done"), (1, "failed"), (2, "failed"), (3, "some_deletes_failed"), (4, "refused")),
    *((10, "unreachable"), (11, "locked"), (143, "interrupted"), (130, "interrupted")),
)


@pytest.mark.parametrize(("code", "result"), RESULTS)
def test_each_code_is_a_result(code, result) -> None:
    assert result_of(code) is RunResult(result)
    assert is_signal(code) is (code > 128)


def test_a_signal_is_kept_until_something_may_be_broken_off() -> None:
    """And then it is raised at once; all but the first are ignored."""
    before = signal.getsignal(signal.SIGTERM)
    with shielded() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.exit_code == 143
        with pytest.raises(SystemExit) as raised, signals.let_through():
            pytest.fail("it came before")
        os.kill(os.getpid(), signal.SIGINT)
        assert (raised.value.code, signals.exit_code) == (143, 143)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_breaks_off_what_may_be_broken_off() -> None:
    """Once: what then ends in order is not disturbed again."""
    steps = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("not reached")
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("ended in order")

    with shielded() as signals:
        with pytest.raises(SystemExit), signals.let_through():
            work()
        steps.append("written down")
    assert steps == ["ended in order", "written down"]
    assert signals.exit_code == 130


def test_an_interrupted_plan_is_gone_on_with_and_a_whole_one_is_not(tmp_path) -> None:
    """Only the newest; what is older would be thrown away anyway."""
    plans = KeptPlans(tmp_path, 2)
    ids = [f"20261101T00000000000{n}Z-0000000{n}" for n in range(4)]
    (tmp_path / ids[0] / ".listing").mkdir(parents=True)
    assert plans.new(ids[1]) == tmp_path / ids[1]
    assert [each.name for each in tmp_path.iterdir()] == [ids[1]]
    (tmp_path / ids[1] / "plan.json").touch()
    assert not plans.new(ids[2]).exists()
    assert (tmp_path / ids[1] / ".listing").exists()


def test_only_folders_of_runs_are_removed(tmp_path) -> None:
    """Neither links nor folders of foreign names."""
    plans = KeptPlans(tmp_path / "plans", 1)
    plans.prune()
    ids = [f"20261101T00000000000{n}Z-0000000{n}" for n in range(3)]
    for name in (*ids[:2], "mine"):
        (tmp_path / "plans" / name).mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "plans" / ids[2].replace("2026", "2020")).symlink_to(tmp_path / "elsewhere")
    plans.prune()
    left = sorted(each.name for each in (tmp_path / "plans").iterdir())
    assert left == sorted([ids[1], "mine", ids[2].replace("2026", "2020")])
    assert (tmp_path / "elsewhere").exists()


def test_plans_that_cannot_be_listed_are_said_and_fail_no_other_step(tmp_path, monkeypatch) -> None:
    """A newest plan may know of a lost state, so its folder is not taken for an empty one."""
    plans = KeptPlans(tmp_path / "plans", 1)

    def denied(path: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", denied)
    for ask in (plans.known_state, lambda: plans.new("run")):
        with pytest.raises(SettingsError, match="plans: Permission denied"):
            ask()
    plans.prune()


def test_tombstones_are_reported_by_the_day_on_which_they_fall_due() -> None:
    """In UTC; a quarantine that ends at midnight ends on the new day."""

    def tombstone(number: int, since: datetime) -> Tombstone:
        key = ObjectKey(f"j/shared/{number:08}-0000-4000-8000-000000000000")
        stored = StoredObject(key=key, size=number, modified_at=since, etag=None)
        return Tombstone(object=stored, job_id=JobId("j"), since=since, plan_id="p")

    first = datetime(2026, 11, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    second = first + timedelta(microseconds=1)
    stones = laid_as([tombstone(1, first), tombstone(2, second), tombstone(4, second)])
    part = tombstones_part(stones, timedelta(hours=24))
    assert (part.objects, part.bytes, part.oldest_at) == (3, 7, first)
    assert [(each.day, each.objects, each.bytes) for each in part.due] == [
        (date(2026, 11, 2), 1, 1),
        (date(2026, 11, 3), 2, 6),
    ]
    assert tombstones_part(Tombstones.empty(), timedelta(0)).oldest_at is None
