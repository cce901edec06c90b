"""``run``: one run of each storage root, from the lock to its record, and the records of runs."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any

import structlog
from rich.console import RenderableType

from flinkstate.text.redaction import redacted
from orphangc.adapters.rows.plan_directory import PlanDirectory, write_atomically
from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.console.exit import Signals, is_signal, shielded
from orphangc.app.render.reason_groups import ByKind, by_kind
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.runner.lineages import written_expiry
from orphangc.app.runner.make_plan import MadePlan, PlanFiles, make_plan
from orphangc.app.runner.plan_store import KeptPlans
from orphangc.app.runner.record import Draft, phase_record, tombstones_part
from orphangc.app.runner.sweep_plan import HeldPlan, expire_held_plan, held_lock, sweep_held_plan
from orphangc.app.telemetry.audit_log import log_refusal, log_run
from orphangc.app.telemetry.logs import configure_logs, run_named
from orphangc.app.telemetry.metrics import push, write_textfile
from orphangc.app.wiring.clock import now, this_process
from orphangc.app.wiring.compose import PassSharing, shared_in_pass, start_of, state_of
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.app.wiring.engines import EngineChoice
from orphangc.collect.expire.assemble_report import LineageCycle
from orphangc.collect.quarantine.quarantine import is_release
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.runs.result import SweepResult, code_of
from orphangc.collect.state.history import (
    checks_before,
    has_planned,
    kept_record,
    later_run_id,
    newest_records,
    totals_so_far,
)
from orphangc.collect.state.lock import Holder, Lock, Renewal
from orphangc.collect.state.store import RootState
from orphangc.core.documents.lineage_report import LINEAGES_FILE
from orphangc.core.documents.run_record import (
    ExpiryRecord,
    Phase,
    RunRecord,
    Totals,
    run_id_at,
    totals_after,
)
from orphangc.core.lineage.checkpoint_fates import RetentionAction, RetentionReason
from orphangc.core.model.shown import RunMode
from orphangc.core.model.types import Action, Outcome
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
    run_id = run_id_at(at, holder.token[:8])
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
        draft.run_id = later_run_id(self.state, draft.run_id, self.plans.run_ids())
        with run_named(run_id=draft.run_id):
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
        settings = self.draft.settings
        start = start_of(settings.bare, self.plans.known_state())
        folder = self.plans.new(self.draft.run_id)
        made = self.made = make_plan(
            start,
            PlanFiles(out=folder),
            engine=EngineChoice.of(
                settings.engine, settings.work, settings.spark_threshold, settings.schedule
            ),
            logs_blocked=True,
            shared=self.sharing.plans,
            policy=settings.expire,
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
            self._held(draft.run_id),
            Path(draft.plan_folder),
            made.plan,
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
        held = HeldPlan(run, folder, plan, is_deleting=True)
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


_SHOWN = 50


def run_configured(
    configuration: Configuration, roots: Sequence[ScheduledRoot], *, is_child: bool = False
) -> tuple[list[RunRecord], int]:
    """Run some storage roots of a configuration once, in order; return records and exit code.

    Args:
        is_child: Whether the daemon started this process: it stops when the daemon dies, and leaves
            metrics to the daemon.
    """
    records: list[RunRecord] = []
    with shielded() as signals, shared_in_pass(roots, configuration.plans_folder) as sharing:
        if is_child:
            _end_with_stdin()
        for root in roots:
            record = run_root(root, KeptPlans.of(configuration, root), signals, sharing)
            records.append(record)
            if not is_child:
                push(configuration.metrics, root, record)
            if signals.exit_code is not None:
                break
        if not is_child:
            write_textfile(configuration, records, lambda root: newest_records(state_of(root)))
        code = signals.exit_code
    return records, exit_code_of_all(records) if code is None else code


def loaded(config: Path, *, is_remembered: bool = False, is_child: bool = False) -> Configuration:
    """Return the configuration of a file, completed by what is discovered, and log as it says."""
    configuration = load_and_discover(config, is_remembered=is_remembered).configuration
    configure_logs(configuration.log, takes_others=True, is_daemon=is_child)
    return configuration


def _end_with_stdin() -> None:
    def watch() -> None:
        while os.read(0, 1024):
            pass
        log.warning("daemon.gone")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def known_records(roots: Iterable[ScheduledRoot]) -> dict[str, Any]:
    """Return the newest records of each storage root, or why they cannot be read."""
    found: dict[str, Any] = {}
    for root in roots:
        try:
            records = _shown(newest_records(state_of(root)))
        except OrphanGcError as err:
            found[root.root] = {"error": str(err), "records": []}
        else:
            documents = [each.model_dump(mode="json") for each in records]
            found[root.root] = {"error": None, "records": documents}
    return found


def _shown(records: Iterator[RunRecord]) -> list[RunRecord]:
    """Return the newest records, and the newest plan's: it says what is known of jobs."""
    found = list(islice(records, _SHOWN))
    if all(each.plan_id is None for each in found):
        found += islice((each for each in records if each.plan_id is not None), 1)
    return found


def keep_records(roots: Iterable[ScheduledRoot], text: str) -> list[RunRecord]:
    """Write records for runs that left none, or were killed; ``OrphanGcError`` if that fails."""
    known = {each.root: each for each in roots}
    records = [RunRecord.model_validate(each) for each in json.loads(text)]
    return [_kept_later(state_of(known[each.root]), each) for each in records]


def _kept_later(state: RootState, record: RunRecord) -> RunRecord:
    run_id = later_run_id(state, record.run_id)
    return kept_record(state, record.model_copy(update={"run_id": run_id}))


def record_tables(records: Sequence[RunRecord]) -> list[RenderableType]:
    """Return the results of runs as a table."""
    rows = (
        (
            *(each.root, each.result, each.effective_mode),
            _orphaned(each),
            "" if each.tombstones is None else f"{each.tombstones.objects:,}",
            f"{each.swept_objects(Action.DELETE, Outcome.DONE):,}",
        )
        for each in records
    )
    columns = ("storage root", "result", "mode", "orphans", "tombstones", "deleted")
    reasons = ((each, each.error or each.effective_mode_reason) for each in records)
    lines = [f"{each.result}: {each.root}: {why}" for each, why in reasons if why]
    lines += filter(None, map(_verdict, records))
    return [text_table(columns, rows), *(as_text(line) for line in lines)]


def interrupted(records: Sequence[RunRecord]) -> str:
    """Return what interrupted runs did, in a sentence."""
    done = sum(each.swept_objects(Action.DELETE, Outcome.DONE) for each in records)
    return (
        f"{done:,} objects were deleted, and every run that began is on record; the next run goes"
        " on with the rest"
    )


def _verdict(record: RunRecord) -> str:
    """Return of how many jobs nothing can be deleted, and why; "" if there are none."""
    found = record.blocked
    if found is None:
        return ""
    word = "blocked" if found.are_all else "partly blocked"
    return (
        f"{word}: {record.root}: nothing can be deleted of {found.jobs} of {found.of_jobs} jobs;"
        f" {found.code}: {found.message}"
    )


def _orphaned(record: RunRecord) -> str:
    if record.plan_id is None:
        return ""
    found = ByKind(kinds=by_kind(record.amounts)).orphaned
    return f"{found.objects:,} ({found.bytes:,} B)"
