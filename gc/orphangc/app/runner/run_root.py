"""``run``: one run of a storage root, from the lock to its record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import structlog

from flinkstate.files.paths import located
from flinkstate.text.redaction import redacted
from orphangc.adapters.rows.plan_directory import PlanDirectory, write_atomically
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.console.exit import Signals, is_signal
from orphangc.app.runner.held_plan import HeldPlan, held_lock
from orphangc.app.runner.lineages import written_expiry
from orphangc.app.runner.make_plan import MadePlan, PlanFiles, make_plan
from orphangc.app.runner.plan_store import KeptPlans
from orphangc.app.runner.record import Draft, phase_record, tombstones_part
from orphangc.app.runner.sweep_plan import expire_held_plan, sweep_held_plan
from orphangc.app.telemetry.audit_log import log_refusal, log_run
from orphangc.app.telemetry.logs import run_named
from orphangc.app.wiring.clock import now, this_process
from orphangc.app.wiring.compose import start_of, state_of
from orphangc.app.wiring.engines import EngineChoice
from orphangc.app.wiring.sharing import PassSharing
from orphangc.collect.expire.lineage_cycle import LineageCycle
from orphangc.collect.quarantine.quarantine import is_release
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.runs.result import SweepResult, code_of
from orphangc.collect.state.history import checks_before, has_planned, kept_record, totals_so_far
from orphangc.collect.state.lock import Holder, Lock, Renewal
from orphangc.collect.state.store import RootState
from orphangc.collect.world.recalling import recalled_for
from orphangc.core.documents.lineage_report import LINEAGES_FILE
from orphangc.core.documents.run_record import ExpiryRecord, Phase, RunRecord, Totals, totals_after
from orphangc.core.lineage.checkpoint_fates import RetentionAction, RetentionReason
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Outcome
from orphangc.errors import ExitCode, LockHeldError, OrphanGcError, RefusedError

log = structlog.get_logger()

_WORST_FIRST = (
    ExitCode.FAILED,
    ExitCode.USAGE,
    ExitCode.UNREACHABLE,
    ExitCode.LOCK_HELD,
    ExitCode.SOME_DELETES_FAILED,
    ExitCode.REFUSED,
)


def exit_code_of_all(records: list[RunRecord]) -> int:
    """Return the exit code of a command that ran several storage roots.

    One storage root: its own code. Several: the worst, in the order 1, 2, 10, 11, 3, 4, 0. As 4
    promises that no object was deleted, it becomes 1 if the run of another storage root deleted
    some.
    """
    codes = {record.exit_code for record in records}
    if len(records) == 1:
        return records[0].exit_code
    worst = next((int(code) for code in _WORST_FIRST if code in codes), int(ExitCode.DONE))
    if worst == ExitCode.REFUSED and any(record.has_deleted for record in records):
        return ExitCode.FAILED
    return worst


def run_root(
    settings: ScheduledRoot, plans: KeptPlans, signals: Signals, sharing: PassSharing
) -> RunRecord:
    """Run one storage root, and return the record of the run, however it ended.

    The record is also written to the state location, unless another run holds the lock or the
    location is not writable. A signal ends the run where ``signals`` lets it through; the record
    names it.
    """
    holder, at = this_process(), now()
    run_id = f"{at:%Y%m%dT%H%M%S%fZ}-{holder.token[:8]}"
    mode = settings.mode or RunMode.REPORT
    draft = Draft(run_id=run_id, settings=settings, started_at=at, effective_mode=mode)
    with run_named(run_id=run_id, root=settings.root):
        log.info("run.started", mode=mode)
        record = _recorded(draft, plans, signals, holder=holder, sharing=sharing)
        log_run(record)
    return record


def _recorded(
    draft: Draft, plans: KeptPlans, signals: Signals, *, holder: Holder, sharing: PassSharing
) -> RunRecord:
    record = None
    try:
        state = state_of(draft.settings)
        try:
            with held_lock(state, holder=holder) as lock:
                run = _ScheduledRun(draft, plans, state, lock, sharing)
                try:
                    with signals.let_through():
                        run.go()
                except (Exception, SystemExit) as err:  # noqa: BLE001 - the record holds it
                    _note(draft, err)
                run.record_end()
                record = _written(draft.finished(now()), state)
        except LockHeldError as err:
            if record is None:
                return _locked(draft, err, state)
            raise
    except Exception as err:  # noqa: BLE001 - a run must never stop those of other storage roots
        if record is not None:
            log.warning("lock.not_released", reason=str(err))
            return record
        _note(draft, err)
    return draft.finished(now()) if record is None else record


def _locked(draft: Draft, err: LockHeldError, state: RootState) -> RunRecord:
    """Return the record of a run that found the lock held; it is not written."""
    _note(draft, err)
    record = draft.finished(now())
    try:
        totals = totals_so_far(state)
    except OrphanGcError:
        totals = Totals()
    return record.model_copy(update={"totals": totals_after(totals, record)})


def _note(draft: Draft, err: BaseException) -> None:
    draft.fail(err, code_of(err))
    if not draft.phases:
        draft.phases.append(phase_record(Phase.PLAN, draft.exit_code, draft.started_at, 0.0))
    if isinstance(err, RefusedError):
        log_refusal(err)
    elif is_signal(draft.exit_code):
        log.warning("run.interrupted", exit_code=draft.exit_code)
    elif isinstance(err, OrphanGcError):
        log.warning("run.failed", reason=draft.error)
    else:
        log.error("run.failed", reason=draft.error)
        log.debug("run.crashed", exc_info=err)


def _written(record: RunRecord, state: RootState) -> RunRecord:
    """Write the record and return it with its totals; a failure to write does not fail the run."""
    try:
        return kept_record(state, record)
    except Exception as err:  # noqa: BLE001
        log.error("record.not_written", reason=str(err))  # noqa: TRY400 - one line
        return record


@dataclass(slots=True)
class _ScheduledRun:
    draft: Draft
    plans: KeptPlans
    state: RootState
    lock: Lock
    sharing: PassSharing
    made: MadePlan | None = None

    def go(self) -> None:
        draft = self.draft
        if draft.effective_mode is not RunMode.REPORT and not has_planned(self.state):
            draft.effective_mode = RunMode.REPORT
            draft.reason = "the first run on a storage root only reports"
        draft.checks_before = checks_before(self.state)
        with Renewal(self.lock) as renewal:
            self._phase(Phase.PLAN, self._plan)
            renewal.check()
            self.state.bind()  # what could never be read is no storage root of this location
        if draft.effective_mode is not RunMode.REPORT and draft.exit_code == ExitCode.DONE:
            # the retention policy is a part of the same phase, which renews by itself
            self._phase(Phase.SWEEP, lambda: self._sweep() or self._expire())
        elif draft.exit_code == ExitCode.DONE:
            draft.exit_code = self._expire()

    def _phase(self, phase: Phase, work: Callable[[], int]) -> None:
        started_at, begun = now(), monotonic()
        code: int = ExitCode.FAILED
        try:
            code = work()
            self.draft.exit_code = code
        except BaseException as err:
            code = code_of(err)
            raise
        finally:
            self.draft.phases.append(phase_record(phase, code, started_at, monotonic() - begun))

    def _plan(self) -> int:
        start = start_of(self.draft.settings.bare, self.plans.known_state())
        folder = self.plans.new(self.draft.run_id)
        made = self.made = make_plan(
            start,
            PlanFiles(out=folder),
            engine=_engine(self.draft.settings),
            logs_blocked=True,
            shared=self.sharing.plans,
            policy=self.draft.settings.expire,
            asks_lineages=True,
        )
        self.draft.plan, self.draft.breakdown = made.plan, made.breakdown
        self.draft.plan_folder = str(folder)
        assert made.lineages is not None  # noqa: S101 - asked for
        write_atomically(folder / LINEAGES_FILE, made.lineages.model_dump_json().encode())
        may_collect = (
            self.draft.effective_mode is not RunMode.REPORT and not made.plan.is_wholly_refused
        )
        if may_collect or not made.plan.are_all_refused:
            return ExitCode.DONE
        self.draft.error = "a guard refused every job"
        return ExitCode.REFUSED

    def _sweep(self) -> int:
        draft, made = self.draft, self.made
        assert made is not None  # noqa: S101 - the phase before
        assert draft.plan_folder is not None  # noqa: S101
        held = HeldPlan(
            run=self._held(draft.run_id),
            path=Path(draft.plan_folder),
            plan=made.plan,
            before=recalled_for(made.plan, self.state),
            is_deleting=draft.effective_mode is RunMode.DELETE,
        )
        draft.swept = held.result
        PlanDirectory(held.path).check(held.plan)
        result = sweep_held_plan(held, shared=self.sharing.sweeps, made=made.cycle)
        if result.stopped is not None:
            draft.error = redacted(result.stopped)
        elif result.exit_code == ExitCode.REFUSED:
            draft.error = "nothing that is due may be deleted: see what refuses or blocks its jobs"
        return result.exit_code

    def _held(self, run_id: str) -> HeldRun:
        settings = self.draft.settings.bare
        return HeldRun(settings=settings, state=self.state, lock=self.lock, run_id=run_id)

    def _expire(self) -> int:
        """Carry out the retention policy as far as the mode allows.

        What stops it fails the run: the sweep before it may have deleted something.
        """
        draft, made = self.draft, self.made
        if made is None or draft.settings.expire is None:
            return ExitCode.DONE
        assert draft.plan_folder is not None  # noqa: S101 - the phase before
        assert made.lineages is not None  # noqa: S101 - asked for
        try:
            draft.expiry, stopped = scheduled_expiry(
                self._held(f"{draft.run_id}-expiry"),
                LineageCycle(cycle=made.cycle, report=made.lineages),
                Path(draft.plan_folder) / "expiry",
                is_deleting=draft.effective_mode is RunMode.DELETE,
            )
        except OrphanGcError as err:
            stopped = str(err)
        if stopped is not None:
            draft.error = redacted(stopped)
        return ExitCode.DONE if stopped is None else ExitCode.FAILED

    def record_end(self) -> None:
        """Record tombstones and halt at the end, and remove old plans; neither fails the run."""
        draft = self.draft
        try:
            period = draft.settings.quarantine_period
            draft.tombstones = tombstones_part(self.state.tombstones(), period)
            draft.halted = self.state.halted()
        except Exception as err:  # noqa: BLE001
            log.warning("state.unread", reason=str(err))
        self.plans.prune()


def _engine(settings: ScheduledRoot) -> EngineChoice:
    work = None if settings.work is None else located(settings.work)
    return EngineChoice.of(settings.engine, work, settings.spark_threshold, settings.schedule)


def scheduled_expiry(
    run: HeldRun, made: LineageCycle, folder: Path, *, is_deleting: bool
) -> tuple[ExpiryRecord, str | None]:
    """Return what a scheduled run did by a retention policy, and what ended it early.

    It carries out the cycle of the run, as the sweep does (decision 23): the storage root is not
    listed again. What that cycle rests on is read again before each batch.

    Raises:
        OrphanGcError: Nothing was changed.
    """
    plan = written_expiry(made, PlanDirectory(folder).prepared())
    assert plan.expiry is not None  # noqa: S101 - made above
    result = SweepResult()
    if is_deleting:
        before = recalled_for(plan, run.state)
        held = HeldPlan(run=run, path=folder, plan=plan, before=before, is_deleting=True)
        result = expire_held_plan(held, plan.expiry, made=made)
    done = {each.uri for each in plan.expiry.expiring if is_release(each)} if is_deleting else ()
    quarantined = [each for each in plan.expiry.checkpoints if each.expired_at is not None]
    released = min(len(done), result.objects[RetentionAction.EXPIRE, Outcome.DONE])
    record = ExpiryRecord(
        expired=result.objects[RetentionAction.EXPIRE, Outcome.DONE] - released,
        released=released,
        in_quarantine=len(quarantined),
        in_use=sum(each.reason is RetentionReason.HELD for each in quarantined),
        unneeded_bytes=plan.expiry.unneeded_bytes,
        expiring_bytes=plan.expiry.expiring_bytes,
    )
    return record, result.stopped
