"""``sweep``: carries out a plan, of objects or of ``expire``, while it holds the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from orphangc.adapters.open import open_state_files, open_storage
from orphangc.adapters.rows.earlier_storage import planned_storage
from orphangc.adapters.rows.outcome_files import OutcomeFiles
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.app.config.validate import check_outside, settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.shown_names import JobNames
from orphangc.app.telemetry.audit_log import Audited, log_stops
from orphangc.app.telemetry.logs import audit_file, audit_log, run_named
from orphangc.app.wiring.clock import is_dead, now, this_process
from orphangc.app.wiring.compose import CycleStart, opened, state_of
from orphangc.app.wiring.engines import LOCAL, EngineChoice, KnownSize, settled
from orphangc.collect.cycle import Cycle
from orphangc.collect.expire.assemble_report import LineageCycle
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders
from orphangc.collect.quarantine.expiry import Expiry
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.runs.planned_run import PlannedRun
from orphangc.collect.runs.result import SweepResult, code_of
from orphangc.collect.runs.undisturbed import undisturbed
from orphangc.collect.state.lock import Holder, Lock, acquire
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.plan_intersection import check_plan
from orphangc.collect.sweep.sweep import Sweep
from orphangc.collect.sweep.temporary_rows import TemporarySpace
from orphangc.collect.world.recalling import recalled_for
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.documents.plan import Plan
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.ports import LISTING_SCHEMA, Storage


def sweep_plan(
    path: Path,
    result: SweepResult,
    *,
    is_deleting: bool,
    flink_rest: Sequence[str] = (),
    delete_rate: int | None = None,
    clears_halt: bool = False,
    engine: EngineChoice = LOCAL,
    relists: bool = False,
) -> Plan:
    """Carry out a saved plan, and return it.

    Args:
        result: Becomes the result so far, also after an error or a signal.
        flink_rest: Endpoints with credentials, which a plan does not hold; replaces the plan's.
        delete_rate: Maximum number of keys deleted per second, in place of the plan's.
        clears_halt: Whether a person has resolved the cause of a halt.
        relists: Whether the storage root is listed again; the plan's own listing serves otherwise.

    Raises:
        OrphanGcError: The plan was not swept.
    """
    plan = PlanDirectory(path).read()
    settings = _settings_now(plan.settings, flink_rest, delete_rate)
    check_plan(plan, settings, now())
    state = state_of(settings)
    engine = settled(engine, state, KnownSize(plan.objects_listed, "the plan"))
    with held_lock(state) as lock:
        if clears_halt:
            state.clear_halt()
        run_id = f"{now():%Y%m%dT%H%M%SZ}-{lock.holder.token[:8]}"
        with run_named(run_id=run_id, root=plan.root):
            run = HeldRun(settings=settings, state=state, lock=lock, run_id=run_id)
            held = HeldPlan(run, path, plan, is_deleting=is_deleting, result=result)
            if plan.expiry is not None:
                expire_held_plan(held, plan.expiry)
            else:
                sweep_held_plan(held, engine=engine, relists=relists)
    return plan


def sweep_held_plan(
    held: HeldPlan,
    *,
    engine: EngineChoice = LOCAL,
    shared: SharedCheckpoints | None = None,
    made: Cycle | None = None,
    relists: bool = False,
) -> SweepResult:
    """Sweep a plan by a run that holds the lock; write the outcome beside it, and return it.

    Args:
        made: Cycle that made the plan under the same lock; ``None`` for a saved plan.
        relists: Whether the storage root is listed again for a saved plan.

    Raises:
        OrphanGcError: The sweep ended early; it left an outcome if it had begun.
    """
    plan, directory = held.plan, PlanDirectory(held.path)
    lists = relists or (made is not None and made.evidence.listed_at is None)
    listing = partial(directory.rows, plan, LISTING_SCHEMA.names)
    with TemporaryFolder() as folder:
        return _carried_out(
            held,
            partial(
                Sweep, rows=directory.rows(plan), scratch=TemporarySpace(Path(folder)), made=made
            ),
            engine=engine,
            earlier=None if lists else lambda storage: planned_storage(storage, plan, listing),
            shared=shared,
        )


def expire_held_plan(
    held: HeldPlan, planned: LineageReport, *, made: LineageCycle | None = None
) -> SweepResult:
    """Carry out a plan of ``expire`` by a run that holds the lock, as ``sweep_held_plan`` does.

    Args:
        made: Cycle that made the plan under the same lock; ``None`` for a saved plan.

    Raises:
        OrphanGcError: Nothing was changed.
    """
    files = partial(open_state_files, is_probed=False)
    beside = CheckpointFolders(held.run.settings, files, open_storage)
    return _carried_out(held, partial(Expiry, planned=planned, made=made, beside=beside))


def _carried_out(
    held: HeldPlan,
    kind: Callable[..., PlannedRun[Any]],
    *,
    engine: EngineChoice = LOCAL,
    earlier: Callable[[Storage], Storage] | None = None,
    shared: SharedCheckpoints | None = None,
) -> SweepResult:
    run, plan = held.run, held.plan
    before = recalled_for(plan, run.state)
    start = CycleStart(run.settings, run.state, before)
    with (
        shown_progress() as progress,
        opened(start, progress, shared=shared, listing=earlier, engine=engine) as environment,
        held.recorded() as outcomes,
    ):
        work = kind(
            environment=environment,
            run=run,
            plan=plan,
            is_deleting=held.is_deleting,
            before=before,
            outcomes=outcomes,
            result=held.result,
        )
        try:
            work.carry_out()
        finally:
            log_stops(held.result.unmet.items(), JobNames.of(plan.jobs))
    return held.result


def _settings_now(
    settings: StorageRootSettings, flink_rest: Sequence[str], delete_rate: int | None
) -> StorageRootSettings:
    """Return a plan's settings with those that may be replaced: endpoints, the deletion rate.

    Endpoints may only gain credentials, which a plan does not hold; fewer endpoints would be less
    evidence.

    Raises:
        SettingsError: The endpoints are not those of the plan, or the rate is invalid.
    """
    anew: dict[str, Any] = {"flink_rest": tuple(flink_rest)} if flink_rest else {}
    if delete_rate is not None:
        anew["delete_rate"] = delete_rate
    if not anew:
        return settings
    given = settings_from({**settings.model_dump(), **anew})
    if set(given.model_dump(mode="json")["flink_rest"]) != set(settings.flink_rest):
        raise SettingsError("--flink-rest must name exactly the endpoints of the plan")
    return given


@dataclass(frozen=True, slots=True)
class HeldPlan:
    """Plan in the hands of a run.

    Attributes:
        is_deleting: Whether what is due goes; else the run only checks, and writes tombstones.
        result: Result so far, also after an error or a signal.
    """

    run: HeldRun
    path: Path
    plan: Plan
    _: KW_ONLY
    is_deleting: bool
    result: SweepResult = field(default_factory=SweepResult)

    @contextmanager
    def recorded(self) -> Iterator[Audited]:
        """Yield the sink of outcomes; write the outcome, however the work with it ends.

        Without any row an error leaves none: nothing was done. Only then no run counts as crashed.
        """
        self.result.run_id = self.run.run_id
        check_outside(self.plan.settings, [audit_file()])
        with audit_log() as audit:
            outcomes = OutcomeFiles(self.path)
            outcomes.open()
            try:
                yield Audited(outcomes, audit)
            except BaseException as err:
                self.result.stopped_by = self.result.stopped_by or err
                self.result.exit_code = code_of(err)
                if outcomes.rows:
                    self._end(outcomes)
                else:
                    outcomes.discard()
                    self.run.close()
                raise
            undisturbed(partial(self._end, outcomes), self.run.stopped.set, "outcome")

    def _end(self, outcomes: OutcomeFiles) -> None:
        outcomes.publish(self.result.outcome(self.plan, is_deleting=self.is_deleting))
        self.run.close()


def lock_folder(state: RootState) -> str:
    """Return the path of a storage root's lock in its state location."""
    return f"{state.folder}/lock"


@contextmanager
def held_lock(state: RootState, *, holder: Holder | None = None) -> Iterator[Lock]:
    """Yield the lock of a storage root, or raise ``LockHeldError``; each holder renews a halt."""
    wanting = holder or this_process()
    lock = acquire(state.files, lock_folder(state), wanting, is_dead=is_dead)
    try:
        state.renew_halt()
        yield lock
    finally:
        lock.release()
