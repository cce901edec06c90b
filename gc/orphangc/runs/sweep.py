"""Carrying out a saved plan: marked anew, agreed by both, in batches, written down first.

A verdict is carried out only if the saved plan and a fresh cycle both hold it, for the very same
object. So a plan is a permission, never an order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import pyarrow as pa
import structlog

from orphangc import __version__
from orphangc.core.model import Action, JobId, ObjectKey, Outcome, StoredObject, Tombstone
from orphangc.core.names import parse_artifact_name
from orphangc.core.plan import Plan
from orphangc.core.settings import StorageRootSettings
from orphangc.core.uris import canonical
from orphangc.errors import (
    ExitCode,
    LockHeldError,
    PlanMismatchError,
    RefusedError,
    StorageUnreachableError,
)
from orphangc.ports import VERDICT_SCHEMA, DeletionResult, DeletionStatus
from orphangc.runs.cycle import Cycle, run_cycle
from orphangc.runs.lock import Lock
from orphangc.runs.observe import Outside
from orphangc.runs.recheck import Recheck
from orphangc.runs.roots import RootReader
from orphangc.runs.state import RootState
from orphangc.runs.verdicts import JobView

__all__ = ["OUTCOME_SCHEMA", "Sweep", "SweepResult", "check_plan"]

OUTCOME_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("outcome", pa.string(), nullable=False))
    .append(pa.field("error", pa.string()))
    .append(pa.field("version_id", pa.string()))
)

_MINIMAL_PLAN_LIFE = timedelta(hours=1)
_BATCH = 1000
_OUTCOMES = {
    DeletionStatus.DELETED: Outcome.DONE,
    DeletionStatus.GONE: Outcome.GONE,
    DeletionStatus.CHANGED: Outcome.CHANGED,
    DeletionStatus.FAILED: Outcome.FAILED,
}

log = structlog.get_logger()


def check_plan(plan: Plan, settings: StorageRootSettings, now: datetime) -> None:
    """Make sure that a plan is for this storage root, by this version, and young enough.

    Raises:
        PlanMismatchError: It is not; nothing was touched.

    """
    if plan.tool_version != __version__:
        raise PlanMismatchError(f"the plan is by version {plan.tool_version}, not {__version__}")
    if plan.root != str(canonical(settings.root)):
        raise PlanMismatchError(f"the plan is for {plan.root}, not {settings.root}")
    life = max(settings.grace_period, _MINIMAL_PLAN_LIFE)
    age = now - plan.created_at
    if not -settings.clock_skew - _MINIMAL_PLAN_LIFE <= age <= life:
        raise PlanMismatchError(f"the plan was made {age} ago, longer than {life}: make a new one")


@dataclass(frozen=True, slots=True)
class _Planned:
    """One verdict of the saved plan that asks for something."""

    row: Mapping[str, Any]

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.row["key"])

    @property
    def action(self) -> Action:
        return Action(self.row["action"])

    @property
    def stored(self) -> StoredObject:
        row = self.row
        return StoredObject(
            key=self.key, size=row["size"], modified_at=row["modified_at"], etag=row["etag"]
        )


@dataclass(slots=True)
class _Fresh:
    """Takes the verdicts of the fresh cycle, and keeps what asks for something."""

    known: Mapping[ObjectKey, Tombstone]
    asking: dict[ObjectKey, _Planned] = field(default_factory=dict)
    listed_tombstones: set[ObjectKey] = field(default_factory=set)
    in_quarantine: set[ObjectKey] = field(default_factory=set)

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            key = ObjectKey(row["key"])
            if key in self.known:
                self.listed_tombstones.add(key)
            if row["action"] != Action.KEEP:
                self.asking[key] = _Planned(row)
            elif row["reason"] == "in_quarantine":
                self.in_quarantine.add(key)


@dataclass(slots=True)
class SweepResult:
    """What a sweep did.

    Attributes:
        rows: One for each verdict of the plan that asked for something, ``OUTCOME_SCHEMA``.
        stopped: Why it ended early, ``None`` if it did not.
        refused: Jobs that a guard or an unmet condition kept from deletion, with the reason.
        exit_code: What the run amounts to.

    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None
    refused: dict[str, str] = field(default_factory=dict)
    exit_code: ExitCode = ExitCode.DONE

    def counts(self) -> dict[str, dict[str, int]]:
        """Return objects and bytes by action and outcome."""
        objects: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for row in self.rows:
            name = f"{row['action']}/{row['outcome']}"
            objects[name] += 1
            sizes[name] += row["size"]
        return {n: {"objects": objects[n], "bytes": sizes[n]} for n in sorted(objects)}


@dataclass(slots=True, kw_only=True)
class Sweep:
    """One sweep of one storage root.

    Attributes:
        outside: The same ports as a cycle's.
        settings: As in the plan.
        state: Tombstones, journal, history.
        lock: Held by this run.
        run_id: Of this run.
        is_deleting: Delete what is due; otherwise only tombstones are written.

    """

    outside: Outside
    settings: StorageRootSettings
    state: RootState
    lock: Lock
    run_id: str
    is_deleting: bool
    reader: RootReader = field(init=False)

    def __post_init__(self) -> None:
        """Start with a reader that knows no root."""
        self.reader = RootReader(self.settings.aliases, self.settings.acknowledged)

    def carry_out(self, plan: Plan, planned_rows: Iterable[pa.RecordBatch]) -> SweepResult:
        """Return what became of the plan.

        Raises:
            StorageUnreachableError: The storage could not be listed; nothing was touched.
            LockHeldError: Another run took the lock over; nothing more was touched.
            RefusedError: The plan or the state is for another storage root.

        """
        self.state.bind()
        interrupted = self.state.interrupted_runs()
        for run_id in interrupted:
            log.warning("run.interrupted", run_id=run_id)
        planned = [
            _Planned(row)
            for batch in planned_rows
            for row in batch.to_pylist()
            if row["action"] != Action.KEEP
        ]
        tombstones = self.state.tombstones()
        fresh = _Fresh(tombstones)
        cycle = run_cycle(
            self.outside,
            self.settings,
            reader=self.reader,
            tombstones=tombstones,
            halted=self.state.halted(),
            sink=fresh,
        )
        self.state.start_run(self.run_id, cycle.evidence.now)
        self._write_down_evidence(plan, cycle)
        result = SweepResult()
        self._note_refusals(cycle, result)
        result.rows += self._mind_tombstones(plan, planned, cycle=cycle, fresh=fresh)
        self._delete_due(planned, cycle, fresh, result)
        self._forget_deleted(result)
        result.exit_code = _exit_code(cycle, result, is_deleting=self.is_deleting)
        self._finish(plan, cycle, result, interrupted)
        return result

    # --- evidence

    def _write_down_evidence(self, plan: Plan, cycle: Cycle) -> None:
        header = {
            "plan_id": plan.plan_id,
            "root": plan.root,
            "live_set_sha256": cycle.plan.live_set_sha256,
            "jobs": [job.model_dump(mode="json") for job in cycle.plan.jobs],
            "roots": [root.model_dump(mode="json") for root in cycle.plan.roots],
        }
        self.state.write_journal(self.run_id, "evidence", [header])

    def _note_refusals(self, cycle: Cycle, result: SweepResult) -> None:
        for key, view in cycle.views.items():
            reason = _why_not(view)
            if reason is not None:
                result.refused[key] = reason
                log.warning("job.refused", job_id=key, reason=reason)

    # --- tombstones

    def _mind_tombstones(
        self, plan: Plan, planned: Sequence[_Planned], *, cycle: Cycle, fresh: _Fresh
    ) -> list[dict[str, Any]]:
        """Lay, drop and forget tombstones, in one new generation, before anything is deleted.

        Returns the rows of what asked for a tombstone or its end.
        """
        rows: list[dict[str, Any]] = []
        kept = {key: t for key, t in fresh.known.items() if key in fresh.listed_tombstones}
        before = dict(fresh.known)
        revived = [key for key, each in fresh.asking.items() if each.action is Action.REVIVE]
        for key in revived:
            kept.pop(key, None)
        for each in planned:
            if each.action is Action.TOMBSTONE:
                laid = _lay(each, plan, now=cycle.evidence.now, fresh=fresh)
                if isinstance(laid, Tombstone):
                    kept[each.key] = laid
                outcome = Outcome.DONE if isinstance(laid, Tombstone) else laid
                rows.append({**each.row, "outcome": outcome})
            elif each.action is Action.REVIVE:
                rows.append({**each.row, "outcome": Outcome.DONE})
        if kept != before:
            self.lock.renew()
            self.state.keep_tombstones(kept.values())
        if revived:
            reason = f"{revived[0]} had a tombstone and is referred to again"
            self.state.halt(reason, cycle.evidence.now)
            log.error("sweep.halted", reason=reason)
        return rows

    # --- deletion

    def _delete_due(
        self, planned: Sequence[_Planned], cycle: Cycle, fresh: _Fresh, result: SweepResult
    ) -> None:
        """Delete what both plans hold to be due, of the jobs that nothing stops."""
        due: list[_Planned] = []
        by_job = {view.evidence.job_id: key for key, view in cycle.views.items()}
        for each in planned:
            if each.action is not Action.DELETE:
                continue
            now = fresh.asking.get(each.key)
            if by_job.get(each.row["job_id"]) in result.refused:
                result.rows.append({**each.row, "outcome": Outcome.PLANNED})
            elif now is None or now.action is not Action.DELETE or now.stored != each.stored:
                result.rows.append({**each.row, "outcome": Outcome.CHANGED})
            elif not self.is_deleting:
                result.rows.append({**each.row, "outcome": Outcome.PLANNED})
            else:
                due.append(now)
        self._delete(due, cycle, result)

    def _delete(self, due: Sequence[_Planned], cycle: Cycle, result: SweepResult) -> None:
        recheck = Recheck(self.outside, self.settings, self.reader, dict(cycle.views))
        batches = list(_batches(due, min(_BATCH, self.outside.storage.batch_size)))
        for number, batch in enumerate(batches):
            try:
                result.rows += self._delete_batch(number, batch, recheck, cycle)
            except (RefusedError, StorageUnreachableError, LockHeldError) as err:
                result.stopped = str(err)
                number -= 1  # noqa: PLW2901 - this batch was not carried out
            else:
                result.stopped = self.state.halted()
            if result.stopped is not None:
                log.warning("sweep.stopped", reason=result.stopped, batch=number)
                left = [each for later in batches[number + 1 :] for each in later]
                result.rows += [{**each.row, "outcome": Outcome.PLANNED} for each in left]
                return
            self.outside.progress("deleting", number + 1, len(batches))

    def _delete_batch(
        self, number: int, batch: Sequence[_Planned], recheck: Recheck, cycle: Cycle
    ) -> list[dict[str, Any]]:
        """Delete one batch after looking at everything again; return its rows."""
        self.lock.renew()
        recheck.check_gate()
        live = recheck.live_now()
        fresh_facts = self.outside.storage.stat([each.key for each in batch])
        rows: list[dict[str, Any]] = []
        going: list[_Planned] = []
        for each, facts in zip(batch, fresh_facts, strict=True):
            outcome = _why_kept(each, facts, live)
            if outcome is None:
                going.append(each)
            else:
                rows.append({**each.row, "outcome": outcome})
        self.state.write_journal(
            self.run_id, f"batch-{number:06d}", ({**each.row} for each in going)
        )
        deleted = self.outside.storage.delete([each.stored for each in going]) if going else []
        rows += [
            _deleted_row(each, each_result)
            for each, each_result in zip(going, deleted, strict=True)
        ]
        self._check_nothing_live_went(going, recheck, cycle)
        return rows

    def _check_nothing_live_went(
        self, going: Sequence[_Planned], recheck: Recheck, cycle: Cycle
    ) -> None:
        """Halt everything if a root that is there now names what was just deleted (R22)."""
        try:
            live = recheck.live_now()
        except (RefusedError, StorageUnreachableError) as err:
            log.warning("sweep.unchecked", reason=str(err))
            return
        for each in going:
            if _uuid(each.key) in live:
                reason = f"{each.key} was deleted, and a root names it now"
                self.state.halt(reason, cycle.evidence.now)
                log.error("sweep.halted", reason=reason)
                return

    def _forget_deleted(self, result: SweepResult) -> None:
        """Drop the tombstones of what is gone now."""
        gone = {
            row["key"]
            for row in result.rows
            if row["action"] == Action.DELETE and row["outcome"] in {Outcome.DONE, Outcome.GONE}
        }
        if gone:
            current = self.state.tombstones()
            self.state.keep_tombstones(t for key, t in current.items() if key not in gone)

    def _finish(
        self, plan: Plan, cycle: Cycle, result: SweepResult, interrupted: Sequence[str]
    ) -> None:
        outcome = {
            "run_id": self.run_id,
            "plan_id": plan.plan_id,
            "root": plan.root,
            "started_at": cycle.evidence.now.isoformat(),
            "deleting": self.is_deleting,
            "counts": result.counts(),
            "refused": result.refused,
            "stopped": result.stopped,
            "interrupted_runs": list(interrupted),
            "exit_code": int(result.exit_code),
        }
        self.state.finish_run(self.run_id, outcome)
        self.state.close_run(self.run_id)
        for run_id in interrupted:
            self.state.close_run(run_id)
        log.info("sweep.finished", **{**outcome, "counts": result.counts()})


def _lay(each: _Planned, plan: Plan, *, now: datetime, fresh: _Fresh) -> Tombstone | Outcome:
    """Return the tombstone of one object if the fresh cycle agrees, else what became of it."""
    if each.key in fresh.in_quarantine:
        return Outcome.DONE
    asked = fresh.asking.get(each.key)
    if asked is not None and asked.action is Action.DELETE:
        return Outcome.DONE
    if asked is None or asked.action is not Action.TOMBSTONE:
        return Outcome.CHANGED
    if not asked.stored.is_same_as(each.stored):
        return Outcome.CHANGED
    job_id = JobId(asked.row["job_id"])
    return Tombstone(object=asked.stored, job_id=job_id, since=now, plan_id=plan.plan_id)


def _uuid(key: str) -> bytes:
    parsed = parse_artifact_name(key.rpartition("/")[2])
    if parsed is None:
        raise RefusedError(f"{key} is no artifact; stopped")
    return parsed[1]


def _why_kept(each: _Planned, facts: StoredObject | None, live: set[bytes]) -> Outcome | None:
    """Return why an object that was due is not deleted after all, ``None`` if it is."""
    if facts is None:
        return Outcome.GONE
    if _uuid(each.key) in live or not facts.is_same_as(each.stored):
        return Outcome.CHANGED
    return None


def _deleted_row(each: _Planned, deleted: DeletionResult) -> dict[str, Any]:
    return {
        **each.row,
        "outcome": _OUTCOMES[deleted.status],
        "error": deleted.error,
        "version_id": deleted.version_id,
    }


def _why_not(view: JobView) -> str | None:
    """Return why nothing of a job may be deleted."""
    if view.judgement.refused is not None:
        return f"{view.judgement.refused.guard}: {view.judgement.refused.message}"
    if view.judgement.blocked:
        return "; ".join(f"{each.condition}: {each.message}" for each in view.judgement.blocked)
    return None


def _batches(due: Sequence[_Planned], size: int) -> Iterator[list[_Planned]]:
    """Yield the due objects in batches of one job each."""
    ordered = sorted(due, key=lambda each: (each.row["job_id"], each.key))
    for _, group in groupby(ordered, key=lambda each: each.row["job_id"]):
        members = list(group)
        for start in range(0, len(members), size):
            yield members[start : start + size]


def _exit_code(cycle: Cycle, result: SweepResult, *, is_deleting: bool) -> ExitCode:
    """Return what a sweep amounts to: a refusal is never a success."""
    outcomes = Counter(row["outcome"] for row in result.rows if row["action"] == Action.DELETE)
    if outcomes[Outcome.FAILED]:
        return ExitCode.SOME_DELETES_FAILED
    if result.stopped is not None:
        return ExitCode.FAILED if outcomes[Outcome.DONE] else ExitCode.REFUSED
    if cycle.plan.are_all_refused:
        return ExitCode.REFUSED
    is_idle = not outcomes[Outcome.DONE] and outcomes[Outcome.PLANNED]
    return ExitCode.REFUSED if is_deleting and is_idle and result.refused else ExitCode.DONE
