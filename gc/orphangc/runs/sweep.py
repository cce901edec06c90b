"""Carrying out a saved plan: marked anew, agreed by both, in batches, written down first.

A verdict is carried out only if the saved plan and a fresh cycle both hold it, for the very same
object. So a plan is a permission, never an order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import structlog

from orphangc.core.evidence import JobEvidence
from orphangc.core.model import Action, Outcome, Tombstone
from orphangc.core.plan import Plan
from orphangc.core.settings import StorageRootSettings
from orphangc.errors import ExitCode, OrphanGcError
from orphangc.ports import VERDICT_SCHEMA
from orphangc.runs.cycle import Cycle, run_cycle
from orphangc.runs.deletion import Deletion
from orphangc.runs.lock import Lock
from orphangc.runs.observe import Outside
from orphangc.runs.permission import Asked, Fresh, asked_of, tombstone_for
from orphangc.runs.recheck import Recheck
from orphangc.runs.roots import RootReader
from orphangc.runs.state import RootState
from orphangc.runs.verdicts import JobView

__all__ = ["OUTCOME_SCHEMA", "Sweep", "SweepResult"]

OUTCOME_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("outcome", pa.string(), nullable=False))
    .append(pa.field("error", pa.string()))
    .append(pa.field("version_id", pa.string()))
)

log = structlog.get_logger()


@dataclass(slots=True)
class SweepResult:
    """What a sweep did.

    Attributes:
        rows: One for each verdict of the plan that asked for something, ``OUTCOME_SCHEMA``.
        stopped_by: What ended it early, ``None`` if nothing did.
        refused: Jobs that a guard or an unmet condition kept from deletion, with the reason.
        exit_code: What the run amounts to.

    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    stopped_by: BaseException | None = None
    refused: dict[str, str] = field(default_factory=dict)
    exit_code: ExitCode = ExitCode.DONE

    @property
    def stopped(self) -> str | None:
        """Return why the sweep ended early, ``None`` if it did not."""
        return None if self.stopped_by is None else str(self.stopped_by) or "interrupted"

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
        result: What was done so far, also where an error or a signal ends the run.

    """

    outside: Outside
    settings: StorageRootSettings
    state: RootState
    lock: Lock
    run_id: str
    is_deleting: bool
    result: SweepResult = field(default_factory=SweepResult)
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
        planned = asked_of(planned_rows)
        tombstones = self.state.tombstones()
        fresh = Fresh(tombstones)
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
        result = self.result
        self._note_refusals(cycle, result)
        try:
            result.rows += self._mind_tombstones(plan, planned, cycle=cycle, fresh=fresh)
            self._delete_due(planned, cycle, fresh, result)
            self._forget_deleted(result)
        except SystemExit as signalled:
            result.stopped_by = signalled
            self._finish(plan, cycle, result, interrupted)
            raise
        result.exit_code = _exit_code(cycle, result, is_deleting=self.is_deleting)
        self._finish(plan, cycle, result, interrupted)
        return result

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

    def _mind_tombstones(
        self, plan: Plan, planned: Sequence[Asked], *, cycle: Cycle, fresh: Fresh
    ) -> list[dict[str, Any]]:
        """Lay, drop and forget tombstones, in one new generation, before anything is deleted.

        Returns the rows of what asked for a tombstone or its end.
        """
        rows: list[dict[str, Any]] = []
        # R17 counts checkpoints after the *whole* cycle, so a tombstone dates from its end
        since = cycle.evidence.looked_until or cycle.evidence.now
        kept = {key: t for key, t in fresh.known.items() if key in fresh.listed_tombstones}
        revived = [
            key
            for key, each in (*fresh.asking.items(), *((each.key, each) for each in planned))
            if each.action is Action.REVIVE and key in fresh.known
        ]
        if revived:
            reason = f"{revived[0]} had a tombstone and is referred to again"
            self.state.halt(reason, cycle.evidence.now)
            log.error("sweep.halted", reason=reason)
        for key in revived:
            kept.pop(key, None)
        for each in planned:
            if each.action is Action.TOMBSTONE:
                laid = tombstone_for(each, plan, since=since, fresh=fresh)
                if isinstance(laid, Tombstone):
                    kept[each.key] = laid
                outcome = Outcome.DONE if isinstance(laid, Tombstone) else laid
                rows.append(each.with_outcome(outcome))
            elif each.action is Action.REVIVE:
                is_dropped = each.key in revived
                rows.append(each.with_outcome(Outcome.DONE if is_dropped else Outcome.GONE))
        if kept != fresh.known:
            self.lock.renew()
            self.state.keep_tombstones(kept.values())
        return rows

    def _delete_due(
        self, planned: Sequence[Asked], cycle: Cycle, fresh: Fresh, result: SweepResult
    ) -> None:
        """Delete what both plans hold to be due, of the jobs that nothing stops."""
        due: list[Asked] = []
        is_halted = self.state.halted() is not None
        free = {
            view.evidence.job_id
            for key, view in cycle.views.items()
            if key not in result.refused and not is_halted
        }
        for each in planned:
            if each.action is not Action.DELETE:
                continue
            if each.row["job_id"] not in free:
                result.rows.append(each.with_outcome(Outcome.PLANNED))
            elif not fresh.agrees(each):
                result.rows.append(each.with_outcome(Outcome.CHANGED))
            elif not self.is_deleting:
                result.rows.append(each.with_outcome(Outcome.PLANNED))
            else:
                due.append(each)
        deletion = Deletion(
            storage=self.outside.storage,
            recheck=Recheck(self.outside, self.settings, self.reader, _relied_on(cycle)),
            state=self.state,
            lock=self.lock,
            run_id=self.run_id,
            at=cycle.evidence.now,
            progress=self.outside.progress,
        )
        result.stopped_by = deletion.delete(due, result.rows)

    def _forget_deleted(self, result: SweepResult) -> None:
        """Drop the tombstones of what is gone now."""
        gone = {
            row["key"]
            for row in result.rows
            if row["action"] == Action.DELETE and row["outcome"] in {Outcome.DONE, Outcome.GONE}
        }
        if gone:
            self.lock.renew()
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


def _relied_on(cycle: Cycle) -> list[JobEvidence]:
    """Return the jobs whose evidence the deletion rests on; a refused one loses nothing anyway."""
    collected = set(cycle.views)
    return [
        job
        for key, job in cycle.jobs.items()
        if cycle.judged[key].refused is None and (key in collected or job.feeds & collected)
    ]


def _why_not(view: JobView) -> str | None:
    """Return why nothing of a job may be deleted."""
    if view.judgement.refused is not None:
        return f"{view.judgement.refused.guard}: {view.judgement.refused.message}"
    if view.judgement.blocked:
        return "; ".join(f"{each.condition}: {each.message}" for each in view.judgement.blocked)
    return None


def _exit_code(cycle: Cycle, result: SweepResult, *, is_deleting: bool) -> ExitCode:
    """Return what a sweep amounts to: a refusal is never a success."""
    outcomes = Counter(row["outcome"] for row in result.rows if row["action"] == Action.DELETE)
    if outcomes[Outcome.FAILED]:
        return ExitCode.SOME_DELETES_FAILED
    if isinstance(result.stopped_by, OrphanGcError):
        is_refusal = result.stopped_by.exit_code is ExitCode.REFUSED
        is_part_done = is_refusal and outcomes[Outcome.DONE]
        return ExitCode.FAILED if is_part_done else result.stopped_by.exit_code
    if cycle.plan.are_all_refused:
        return ExitCode.REFUSED
    is_idle = not outcomes[Outcome.DONE] and outcomes[Outcome.PLANNED]
    return ExitCode.REFUSED if is_deleting and is_idle and result.refused else ExitCode.DONE
