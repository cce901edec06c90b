"""What a person does next: the command to copy, the earliest time for it, and how to undo."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from flinkstate.text.shown_text import counted
from orphangc.app.config.load import IMPLIED
from orphangc.app.config.validate import SPELLED
from orphangc.app.console.text import duration, instant
from orphangc.app.render.stops import widest
from orphangc.collect.runs.result import SweepResult
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.documents.plan import Plan
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.lineage.checkpoint_fates import RetentionAction
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, Outcome
from orphangc.core.times.instants import shifted

_NOT_OPTIONS = frozenset({"root", "max_delete_share", *IMPLIED})


def plan_command(settings: StorageRootSettings, out: Path) -> str:
    """Return the command that plans with these settings again, into another folder."""
    words = ["orphangc", "plan", settings.root]
    shown = settings.model_dump(mode="json", exclude={*_NOT_OPTIONS}, exclude_defaults=True)
    for name, value in shown.items():
        words += _option(name, getattr(settings, name), value)
    words += _shares(settings.max_delete_share)
    return shlex.join([*words, "--out", str(out)])


def _option(name: str, value: object, shown: Any) -> list[str]:
    option = f"--{SPELLED.get(name, name).replace('_', '-')}"
    if isinstance(value, bool):
        return [option]
    if isinstance(value, timedelta):
        return [option, duration(value)]
    each = shown if isinstance(shown, list) else [shown]
    return [word for one in each for word in (option, str(one))]


def _shares(value: float | Mapping[str, float]) -> list[str]:
    default = StorageRootSettings.model_fields["max_delete_share"].default
    if value == default:
        return []
    shares = {"": value} if not isinstance(value, Mapping) else value
    return [
        word
        for job, share in shares.items()
        for word in ("--max-delete-share", f"{job}={share}" if job else str(share))
    ]


def another(folder: Path) -> Path:
    """Return a folder beside a plan's that does not exist yet."""
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in range(2, 10_000))
    return next(each for each in numbered if not each.exists())


def after_plan(plan: Plan, folder: Path | None, due_at: datetime | None) -> Iterator[str]:
    """Yield what comes after a plan.

    Args:
        folder: Its folder; ``None`` if it was not saved.
        due_at: Time from which the oldest tombstone's object may go; ``None`` without one.
    """
    if (stopped := _stopped(plan)) is not None:
        yield stopped
        return
    new, due = plan.objects(Action.TOMBSTONE), plan.objects(Action.DELETE)
    if folder is None and new + due:
        yield "Next: save the plan, which a sweep carries out"
        yield _shown(plan_command(plan.settings, Path("plan-1")))
    elif due:
        yield f"Next: delete {counted(due, 'object')}"
        yield _shown("orphangc", "sweep", str(folder), "--delete")
    elif new:
        yield f"Next: write {counted(new, 'tombstone')}, which deletes nothing"
        yield _shown("orphangc", "sweep", str(folder))
    elif due_at is not None:
        yield f"Next: plan again from {instant(due_at)} on, when the first quarantine is over"


def after_expire(plan: Plan, folder: Path | None) -> Iterator[str]:
    """Yield what comes after a plan of ``expire``, with the earliest time for it."""
    report = plan.expiry
    if report is None or report.policy is None:
        return
    new = [each for each in report.expiring if each.expired_at is None]
    over = len(report.expiring) - len(new)
    waiting = [e.expired_at for e in report.checkpoints if e.reason == "in_quarantine"]
    if report.expiring and folder is None:
        yield "Next: the same command with --out DIR saves a plan, which a sweep carries out"
    elif new:
        yield f"Next: put {counted(len(new), 'checkpoint')} into quarantine, now or later"
        yield _shown("orphangc", "sweep", str(folder), "--delete")
    elif over:
        yield f"Next: end the quarantine of {counted(over, 'checkpoint')}, now or later"
        yield _shown("orphangc", "sweep", str(folder), "--delete")
    if due := [at for at in waiting if at is not None]:
        until = shifted(min(due), plan.settings.margins.quarantine_period)
        yield f"Next: expire again from {instant(until)} on, when the first quarantine is over"


def _stopped(plan: Plan) -> str | None:
    if not plan.jobs or any(not job.is_stopped for job in plan.jobs):
        return None
    first = widest(plan.jobs)
    return f"Next: nothing can be deleted while {first.code} stands. {first.advice.text}"


def after_signal(result: SweepResult, folder: Path) -> str:
    """Return what a sweep that a signal ended has deleted, and what goes on with the rest."""
    if not result.objects:
        return "nothing was deleted; the same command begins again"
    done = sum(
        result.objects[each, Outcome.DONE] for each in (Action.DELETE, RetentionAction.EXPIRE)
    )
    return (
        f"{done:,} objects were deleted, which"
        f" {folder / 'outcomes.parquet'} names; all others are as they were. The same command goes"
        " on with them"
    )


def after_sweep(
    plan: Plan,
    outcome: Mapping[str, Any],
    folder: Path,
    due_at: datetime | None,
    *,
    until: datetime,
    is_undoable: bool,
) -> Iterator[str]:
    """Yield what comes after a sweep: the next plan, how to undo, and the rows of all objects.

    Args:
        until: Time at which a quarantine that begins now is over.
        is_undoable: Whether the storage shows that it keeps what is deleted.
    """
    counts = outcome["counts"]
    deleted = counts.get(f"{Action.DELETE}/{Outcome.DONE}")
    expired = counts.get(f"{RetentionAction.EXPIRE}/{Outcome.DONE}")
    if failed := _objects(outcome, Outcome.FAILED):
        yield _mending(failed, folder)
        again = ["orphangc", "sweep", str(folder)]
        yield _shown(*again, *(["--delete"] if outcome["deleting"] else []))
    if young := outcome.get("too_young"):
        skew = duration(plan.settings.clock_skew)
        yield (
            f"Next: list again. {counted(young, 'object')} of the plan would have to be older than"
            f" its listing by {skew} (--clock-skew)"
        )
        yield _shown("orphangc", "sweep", str(folder), "--relist")
    if expired is not None and plan.expiry is not None:
        yield from _after_expiry(plan.expiry, folder, until)
    elif outcome["refused"] and (stopped := _stopped(plan)) is not None:
        yield stopped
    elif due_at is not None and plan.expiry is None and not failed:
        after = another(folder)
        yield f"Next: from {instant(due_at)} on, when the first quarantine is over"
        yield _shown(plan_command(plan.settings, after))
        yield _shown("orphangc", "sweep", str(after), "--delete")
    if deleted:
        yield from _undo(folder, is_undoable=is_undoable)
    if counts:
        yield f"Each object: {folder / 'outcomes.parquet'}"


def _objects(outcome: Mapping[str, Any], became: Outcome) -> int:
    return sum(n["objects"] for name, n in outcome["counts"].items() if name.endswith(f"/{became}"))


def _mending(failed: int, folder: object) -> str:
    """Return what comes before all else where objects failed: no time has to pass."""
    rows = f"{folder}/outcomes.parquet"
    return f"Next: {counted(failed, 'object')} failed, {rows} says why; mend that, then go on"


def _after_expiry(report: LineageReport, folder: Path, until: datetime) -> Iterator[str]:
    if any(each.expired_at is None for each in report.expiring):
        yield f"Next: expire again from {instant(until)} on, when the quarantine is over"
        yield "Undo: until then, and as long as all of its files are stored, this brings it back"
        yield _shown("orphangc", "undelete", str(folder))
    else:
        yield "Next: plan again, which judges the files that only these checkpoints held"


def _undo(folder: object, *, is_undoable: bool) -> Iterator[str]:
    if not is_undoable:
        yield "Undo: not possible, the storage does not show that it keeps versions"
        return
    yield "Undo: bring all of it back"
    yield _shown("orphangc", "undelete", str(folder))


def _shown(*words: str) -> str:
    """Return a command on a line of its own, which no terminal breaks."""
    return f"  {words[0] if len(words) == 1 else shlex.join(words)}"


def after_run(
    records: Sequence[RunRecord],
    config: Path,
    roots: Iterable[StorageRootSettings],
    is_versioned: Callable[[StorageRootSettings], bool],
) -> Iterator[str]:
    """Yield what comes after scheduled runs: the next one, how to undo, and where the rows are."""
    settings = {each.root: each for each in roots}
    yield from _next_run(records, config, settings)
    for each in records:
        if each.has_deleted:
            yield from _undo(each.plan_folder, is_undoable=is_versioned(settings[each.root]))
        if each.swept:
            yield f"Each object: {each.plan_folder}/outcomes.parquet"


def _next_run(
    records: Sequence[RunRecord], config: Path, settings: Mapping[str, StorageRootSettings]
) -> Iterator[str]:
    again = _shown("orphangc", "run", "--config", str(config))
    done = [each for each in records if each.error is None]
    first = [each for each in done if each.effective_mode is not each.mode]
    due = [
        shifted(each.tombstones.oldest_at, settings[each.root].quarantine_period)
        for each in records
        if each.tombstones is not None and each.tombstones.oldest_at is not None
    ]
    failed = {
        each.plan_folder: sum(part.objects for part in each.swept if part.outcome is Outcome.FAILED)
        for each in records
    }
    if any(failed.values()):
        yield from (_mending(count, folder) for folder, count in failed.items() if count)
        yield again
    elif stopped := [each for each in records if each.blocked is not None and each.blocked.are_all]:
        found = widest(stopped[0].jobs)
        yield f"Next: lift {found.code} of {stopped[0].root}. {found.advice.text}"
    elif first:
        yield f"Next: the next run acts in mode {first[0].mode}"
        yield again
    elif all(each.mode is RunMode.REPORT for each in records):
        if done == [*records]:
            yield f"Next: set mode: quarantine in {config}, then"
            yield again
    elif due:
        time = f"from {instant(min(due))} on"
        if any(each.mode is RunMode.DELETE for each in records):
            yield f"Next: {time}, when the first quarantine is over"
        else:
            step = f"{time} set mode: delete in {config}, then"
            yield f"Next: if the plans show the right orphans, {step}"
        yield again
