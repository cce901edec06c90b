"""Carrying out a plan, journalled batch by batch: the one just made, or a saved one.

A run carries out the verdicts of the cycle that it made (decision 23). For a saved plan the sweep
makes a cycle, and carries out a verdict only if plan and cycle both contain it for the same object.
So a saved plan permits deletions, and never orders them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
import structlog

from flinkstate.places.locations import canonical
from orphangc.collect.cycle import Cycle, run_cycle
from orphangc.collect.decide.abandoned_savepoints import SAVEPOINTS
from orphangc.collect.decide.judge_uploads import UploadRule
from orphangc.collect.decide.verdicts import decided_job
from orphangc.collect.delete.deletion import Deletion, RecordOutcomes
from orphangc.collect.delete.held_run import HeldRun
from orphangc.collect.delete.journal import Journal
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.revalidation import Revalidation, preconditions_of
from orphangc.collect.mark.pins import keys_at
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.observation import Environment
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.state.lock import Renewal
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.folder_removal import FolderRemoval, FolderRule
from orphangc.collect.sweep.plan_intersection import (
    Fresh,
    FreshSink,
    TombstonedObjects,
    confirmed_shards,
    requested_verdicts,
)
from orphangc.collect.sweep.result import SweepResult, code_of, exit_code_of
from orphangc.collect.sweep.shards import Shards
from orphangc.collect.sweep.tombstoning import (
    DueDeletions,
    GoneTombstones,
    Recovered,
    TombstoneUpdate,
    agreed_deletions,
    sort_due_deletions,
)
from orphangc.collect.sweep.upload_abortion import UploadAbortion
from orphangc.collect.world.recalling import Recalled, not_kept, recalled
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.documents.plan import Plan
from orphangc.core.model.codes import WORLD_CONDITIONS
from orphangc.core.model.owners import Owners
from orphangc.core.model.rate import DeletionRate
from orphangc.core.model.types import Action
from orphangc.core.times.instants import shifted
from orphangc.core.world.known_states import known_state
from orphangc.errors import OrphanGcError
from orphangc.ports import OUTCOME_SCHEMA, OutcomeSink, Progress, TemporaryRows, TemporarySpace

log = structlog.get_logger()


def recalled_for(plan: Plan, state: RootState) -> Recalled:
    """Return what earlier cycles left to the sweep of a plan.

    Raises:
        StorageUnreachableError: The state location cannot be listed or read.
    """
    return recalled(state, known_state(plan.states, plan.created_at, "this plan"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedPlan:
    """What a saved plan and a fresh cycle agree on.

    Attributes:
        deletions: Verdicts that ask for a deletion, each with the outcome that it would have.
    """

    update: TombstoneUpdate
    deletions: TemporaryRows


@dataclass(slots=True, kw_only=True)
class Sweep:
    """One sweep of one storage root.

    Attributes:
        is_deleting: Whether to delete due objects; otherwise the sweep writes only tombstones.
        before: Facts of earlier cycles, with which ``environment`` was opened.
        result: Result so far, also after an error or a signal.
    """

    environment: Environment
    run: HeldRun
    is_deleting: bool
    before: Recalled
    scratch: TemporarySpace
    outcomes: OutcomeSink
    shared: SharedCheckpoints | None = None
    result: SweepResult = field(default_factory=SweepResult)
    reader: CheckpointReader = field(init=False)

    def __post_init__(self) -> None:
        """Start with a reader of its own, and a result with the run's identifier."""
        self.result.run_id = self.run.run_id
        self.reader = CheckpointReader.of(self.run.settings, self.shared)

    def carry_out(
        self, plan: Plan, planned_rows: Iterable[pa.RecordBatch], *, made: Cycle | None = None
    ) -> SweepResult:
        """Return what became of the plan.

        Args:
            made: Cycle that made the plan under this lock; ``None`` for a saved plan.

        Raises:
            StorageUnreachableError: The storage could not be listed; nothing was touched.
            LockHeldError: Another run took the lock over; nothing more was touched.
            RefusedError: The plan or the state belongs to another storage root.
        """
        self.run.state.bind()
        interrupted = self.run.state.interrupted_runs()
        for run_id in interrupted:
            log.warning("run.interrupted", run_id=run_id)
        with Renewal(self.run.lock) as renewal:
            if made is None:
                planned = requested_verdicts(planned_rows, self.scratch)
                cycle = self._run_cycle(planned, renewal)
                is_listed_anew = cycle.evidence.listed_at is None
                fresh = Fresh.of(cycle.tombstones, cycle.sinks, is_listed_anew=is_listed_anew)
            else:
                cycle, seen = made, TombstonedObjects.among(made.tombstones)
                planned = requested_verdicts(map(seen.take, planned_rows), self.scratch)
                fresh = Fresh.of_plan(made.tombstones, seen)
            self.run.begin(plan, cycle.plan, cycle.evidence.now)
            for key, view in cycle.views.items():
                self.result.refuse(key, view)
            try:
                self._act(plan, planned, cycle, fresh)
            except SystemExit as signalled:
                self.result.stopped_by = signalled
                self.result.exit_code = code_of(signalled)
                self._finish(plan, cycle, interrupted)
                raise
            self.result.exit_code = exit_code_of(cycle, self.result, is_deleting=self.is_deleting)
            self._finish(plan, cycle, interrupted)
        return self.result

    def _run_cycle(self, planned: Shards, renewal: Renewal) -> Cycle:
        """Return a fresh cycle, and remember it; end it if the lock is lost meanwhile."""
        known = self.run.state.tombstones()
        cycle = run_cycle(
            replace(self.environment, progress=_checking(self.environment.progress, renewal)),
            self.run.settings,
            reader=self.reader,
            tombstones=known,
            halted=self.run.state.halted(),
            open_sink=partial(FreshSink.opened, known, planned.cuts, self.scratch),
            before=self.before,
        )
        renewal.check()
        problem = not_kept(self.run.state, self.before, cycle.remembered)
        if problem is not None:
            log.warning("world.not_remembered", reason=problem)
        return cycle

    def _act(self, plan: Plan, planned: Shards, cycle: Cycle, fresh: Fresh) -> None:
        """Write the tombstones of all shards, and only then delete: four values, one by one."""
        agreed = self._agreed(plan, planned, cycle, fresh)
        tombstones = self._next_generation(agreed.update, cycle)
        gone = GoneTombstones(tombstones)
        record = partial(self._record, gone=gone)
        free = self._free(cycle)
        due = self._due(agreed.deletions, cycle.mark.owners, free, record)
        deletion = self._deletion(cycle, free)
        self.result.stopped_by = deletion.delete(due.verdicts(), record, total=due.total)
        self._forget_deleted(gone)
        if self.run.settings.abort_uploads and self.result.stopped_by is None:
            self.result.stopped_by = self._abort_uploads(plan, cycle, free)
        if self.result.stopped_by is None:
            self.result.stopped_by = self._remove_folders(cycle, free)

    def _agreed(self, plan: Plan, planned: Shards, cycle: Cycle, fresh: Fresh) -> AgreedPlan:
        """Return what the saved plan and the fresh cycle agree on, shard by shard."""
        update = TombstoneUpdate(
            fresh,
            plan.plan_id,
            cycle.evidence.observed_until or cycle.evidence.now,
            self.scratch.rows(TOMBSTONE_SCHEMA),
            _deferred(cycle),
        )
        deletions = self.scratch.rows(OUTCOME_SCHEMA)
        dead = self._dead_runs(planned)
        storage = self.environment.storage
        for part in confirmed_shards(planned, fresh, storage):
            for rows in update.take(part):
                self._record(rows)
            deletions.append(agreed_deletions(part.with_action(Action.DELETE), dead, storage))
        return AgreedPlan(update=update, deletions=deletions)

    def _dead_runs(self, planned: Shards) -> Recovered:
        """Return the journals of crashed runs; only versioned storages record more than the key."""
        run_ids = self.run.state.interrupted_runs() if self.environment.storage.is_versioned else []
        others = [run_id for run_id in run_ids if run_id != self.run.run_id]
        return Recovered.of(self.run.state, others, planned.cuts, self.scratch)

    def _next_generation(self, update: TombstoneUpdate, cycle: Cycle) -> Tombstones:
        """Return the tombstones from now on, written; halt everything if a rule is broken (R17)."""
        revived = update.revived_key
        if revived is not None:
            reason = f"{revived} had a tombstone and is referred to again"
            self.run.state.halt(reason, cycle.evidence.now)
            log.error("sweep.halted", reason=reason)
        generation = update.generation()
        if generation is None:
            return update.fresh.known
        self.run.lock.renew()
        self.run.state.keep_tombstones(generation)
        return generation

    def _due(
        self,
        deletions: TemporaryRows,
        owners: Owners,
        free: frozenset[str],
        record: RecordOutcomes,
    ) -> DueDeletions:
        """Return the deletions that are due, of the jobs that nothing stops; record the others."""
        rows = self.scratch.rows(OUTCOME_SCHEMA)
        take = rows.append if self.is_deleting else record
        total = sort_due_deletions(deletions, free, owners, take=take, record=record)
        return DueDeletions(rows=rows, total=total if self.is_deleting else 0)

    def _free(self, cycle: Cycle) -> frozenset[str]:
        """Return the keys of the jobs that nothing stops, at least in some areas.

        Files of savepoints' folders, which any job may write, take that nothing stops any job.
        """
        is_halted = self.run.state.halted() is not None
        free = frozenset(
            key
            for key, view in cycle.views.items()
            if not is_halted and not view.judgement.blocked and not view.judgement.is_wholly_refused
        )
        is_all_free = free and free == cycle.views.keys()
        return free | {SAVEPOINTS} if is_all_free and cycle.savepoints else free

    def _abort_uploads(
        self, plan: Plan, cycle: Cycle, free: frozenset[str]
    ) -> OrphanGcError | None:
        """Abort unfinished uploads of the jobs that nothing stops; return what ended it early."""
        extras = self.environment.extras
        if extras is None:
            return None
        rule = UploadRule(
            owners=cycle.mark.owners,
            jobs={key: decided_job(view) for key, view in cycle.views.items() if key in free},
            live=cycle.mark.live,
            pinned=cycle.mark.pinned,
            areas=frozenset(self.run.settings.scope),
        )
        work = UploadAbortion(
            run=self.run,
            extras=extras,
            plan_id=plan.plan_id,
            now=cycle.evidence.now,
            quarantine_start=shifted(cycle.evidence.now, -self.run.settings.quarantine_period),
            is_dead=rule.is_dead,
            revalidation=self._revalidation(cycle, free),
            limiter=RateLimiter(
                DeletionRate.of(self.run.settings.delete_rate, UploadAbortion.most_at_once)
            ),
            outcomes=self.result.uploads,
        )
        return work.carry_out(is_deleting=self.is_deleting)

    def _remove_folders(self, cycle: Cycle, free: frozenset[str]) -> OrphanGcError | None:
        """Remove empty folders of the jobs that nothing stops; return what ended the sweep."""
        folders = self.environment.folders
        if folders is None or not free:
            return None
        base = cycle.mark.owners.base
        in_quarantine = (e.uri for e in cycle.remembered.expired if e.is_in_quarantine)
        kept = (*self.run.settings.pins, *map(canonical, in_quarantine))
        work = FolderRemoval(
            storage=folders,
            rule=FolderRule(
                owners=cycle.mark.owners,
                jobs={key: decided_job(view) for key, view in cycle.views.items() if key in free},
                areas=frozenset(self.run.settings.scope),
                savepoints=cycle.savepoints if SAVEPOINTS in free else frozenset(),
                kept=[base.child(key) for each in kept for key in keys_at(each, base)],
            ),
            run=self.run,
            now=cycle.evidence.now,
            revalidation=self._revalidation(cycle, free),
            outcomes=self.result.folders,
        )
        return work.carry_out(is_deleting=self.is_deleting)

    def _revalidation(self, cycle: Cycle, free: frozenset[str]) -> Revalidation:
        """Return what checks the evidence of a cycle again."""
        return Revalidation(
            environment=self.environment,
            settings=self.run.settings,
            reader=self.reader,
            jobs=preconditions_of(_relied_on(cycle), _refused_in_part(cycle)),
            state=self.run.state,
            lock=self.run.lock,
            has_savepoints=SAVEPOINTS in free,
        )

    def _deletion(self, cycle: Cycle, free: frozenset[str]) -> Deletion:
        """Return what deletes."""
        storage = self.environment.storage
        return Deletion(
            storage=storage,
            revalidation=self._revalidation(cycle, free),
            journal=Journal(self.run.state, self.run.run_id),
            limiter=RateLimiter(DeletionRate.of(self.run.settings.delete_rate, storage.batch_size)),
            at=cycle.evidence.now,
            progress=self.environment.progress,
        )

    def _record(self, rows: pa.RecordBatch, gone: GoneTombstones | None = None) -> None:
        """Write down and count what became of some verdicts."""
        if not rows.num_rows:
            return
        self.outcomes.write(rows)
        self.result.count(rows)
        if gone is not None:
            gone.take(rows)

    def _forget_deleted(self, gone: GoneTombstones) -> None:
        """Drop the tombstones of deleted objects."""
        left = gone.left()
        if left is not None:
            self.run.lock.renew()
            self.run.state.keep_tombstones(left)

    def _finish(self, plan: Plan, cycle: Cycle, interrupted: Sequence[str]) -> None:
        result = self.result
        outcome = {
            "run_id": self.run.run_id,
            "plan_id": plan.plan_id,
            "root": plan.root,
            "started_at": cycle.evidence.now.isoformat(),
            "deleting": self.is_deleting,
            "counts": result.counts(),
            "uploads": result.upload_counts(),
            "folders": result.folder_counts(),
            "refused": result.refused,
            "stopped": result.stopped,
            "interrupted_runs": list(interrupted),
            "exit_code": int(result.exit_code),
        }
        self.run.finish(outcome)
        for run_id in interrupted:
            self.run.state.close_run(run_id)
        log.info("sweep.finished", **outcome)


def _deferred(cycle: Cycle) -> frozenset[str]:
    """Return the ids of the jobs that get no tombstone: not all of their world was searched."""
    return frozenset(
        view.evidence.job_id
        for view in cycle.views.values()
        if any(each.condition in WORLD_CONDITIONS for each in view.judgement.blocked)
    )


def _checking(progress: Progress, renewal: Renewal) -> Progress:
    """Return a progress that ends the work where the lock is lost."""

    def show(phase: str, done: int, total: int | None = None) -> None:
        renewal.check()
        progress(phase, done, total)

    return show


def _refused_in_part(cycle: Cycle) -> frozenset[str]:
    """Return the jobs that are refused but for some areas."""
    judged = cycle.judged.items()
    return frozenset(key for key, each in judged if each.refused is not None and each.spared)


def _relied_on(cycle: Cycle) -> list[JobEvidence]:
    """Return the jobs that the deletion depends on; a wholly refused job loses nothing anyway.

    Files of savepoints depend on every job.
    """
    collected = set(cycle.views)
    return [
        job
        for key, job in cycle.jobs.items()
        if not cycle.judged[key].is_wholly_refused
        and (key in collected or job.depends_on & collected or cycle.savepoints)
    ]
