"""Carrying out a plan, journalled batch by batch: the one just made, or a saved one.

A run carries out the verdicts of the cycle that it made (decision 23). For a saved plan the sweep
makes a cycle, and carries out a verdict only if plan and cycle both contain it for the same object.
So a saved plan permits deletions, and never orders them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import structlog

from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle, run_cycle
from orphangc.collect.decide.abandoned_savepoints import SAVEPOINTS
from orphangc.collect.decide.judge_uploads import UploadRule
from orphangc.collect.decide.verdicts import decided_job
from orphangc.collect.delete.deletion import Deletion, RecordOutcomes
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import RetryQueue
from orphangc.collect.mark.pins import keys_at
from orphangc.collect.observe.observation import Environment
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.collect.runs.journal import Journal
from orphangc.collect.runs.planned_run import PlannedRun
from orphangc.collect.runs.result import exit_code_of
from orphangc.collect.sweep.folder_removal import FolderRemoval, FolderRule
from orphangc.collect.sweep.plan_intersection import (
    Fresh,
    FreshSink,
    TombstonedObjects,
    confirmed_shards,
    requested_verdicts,
)
from orphangc.collect.sweep.temporary_rows import Shards, TemporaryRows, TemporarySpace
from orphangc.collect.sweep.tombstoning import (
    GoneTombstones,
    Recovered,
    TombstoneUpdate,
    agreed_deletions,
    sort_due_deletions,
)
from orphangc.collect.sweep.upload_abortion import UploadAbortion
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.model.codes import WORLD_CONDITIONS
from orphangc.core.model.naming import Owners
from orphangc.core.model.types import Action
from orphangc.core.times.instants import shifted
from orphangc.ports import OUTCOME_SCHEMA

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmingCycle:
    """The cycle that a sweep acts on, the verdicts of its plan, and what the cycle says of them."""

    cycle: Cycle
    planned: Shards
    fresh: Fresh


@dataclass(slots=True, kw_only=True)
class Sweep(PlannedRun[ConfirmingCycle]):
    """One sweep of one storage root.

    Attributes:
        rows: Verdicts of the plan.
    """

    event = "sweep.finished"

    rows: Iterable[pa.RecordBatch]
    scratch: TemporarySpace
    made: Cycle | None = None

    def interrupted(self) -> Sequence[str]:
        """Return all crashed runs: a sweep alone takes over the delete markers that they made."""
        run_ids = self.run.state.interrupted_runs()
        for run_id in run_ids:
            log.warning("run.interrupted", run_id=run_id)
        return run_ids

    def evidence(self, environment: Environment) -> ConfirmingCycle:
        """Return what the plan is held against; see ``PlannedRun``."""
        if self.made is not None:
            seen = TombstonedObjects.among(self.made.tombstones)
            planned = requested_verdicts(map(seen.take, self.rows), self.scratch)
            fresh = Fresh(self.made.tombstones, seen, parts=None)
            return ConfirmingCycle(cycle=self.made, planned=planned, fresh=fresh)
        planned = requested_verdicts(self.rows, self.scratch)
        known = self.run.state.tombstones()
        cycle = run_cycle(
            environment,
            tombstones=known,
            halted=self.run.state.halted(),
            open_sink=partial(FreshSink.opened, known, planned.cuts, self.scratch),
            before=self.before,
        )
        is_listed_anew = cycle.evidence.listed_at is None
        fresh = Fresh.of(known, cycle.decided.sinks, is_listed_anew=is_listed_anew)
        return ConfirmingCycle(cycle=cycle, planned=planned, fresh=fresh)

    def check(self, found: ConfirmingCycle) -> None:
        """Note which jobs lose nothing, and why: what stops one job stops no other."""
        for key, view in found.cycle.decided.views.items():
            self.result.refuse(key, view)

    def act(self, found: ConfirmingCycle) -> None:
        """Write the tombstones of all shards, and only then delete: four values, one by one."""
        cycle = found.cycle
        update, deletions = self._agreed(found)
        tombstones = self._next_generation(update, cycle)
        gone = GoneTombstones(tombstones)

        def record(rows: pa.RecordBatch) -> None:
            self.record(rows)
            gone.take(rows)

        free = self._free(cycle)
        due, total = self._due(deletions, cycle.mark.owners, free, record)
        judged = cycle.known.judged.items()
        in_part = frozenset(key for key, e in judged if e.refused is not None and e.spared)
        revalidation = self.revalidation(
            _relied_on(cycle), in_part, has_savepoints=SAVEPOINTS in free
        )
        storage = self.environment.storage
        deletion = Deletion(
            storage=storage,
            revalidation=revalidation,
            journal=Journal(self.run.state, self.run.run_id),
            limiter=RateLimiter.of(self.run, storage.batch_size),
            at=cycle.evidence.now,
            due=RetryQueue(batch.select(OUTCOME_SCHEMA.names[:-3]) for batch in due.batches()),
            record=record,
            progress=self.environment.progress,
            total=total,
        )
        self.result.stopped_by = deletion.carry_out()
        self._forget_deleted(gone)
        for task in self._tasks(cycle, free, revalidation):
            if self.result.stopped_by is None:
                self.run.check_goes_on()
                self.result.stopped_by = task.carry_out(is_deleting=self.is_deleting)

    def exit_code(self, found: ConfirmingCycle) -> int:
        """Return what the sweep amounts to."""
        return exit_code_of(found.cycle, self.result, is_deleting=self.is_deleting)

    def ending(self, found: ConfirmingCycle, interrupted: Sequence[str]) -> dict[str, Any]:
        """Return the outcome that the state location keeps."""
        return self.result.document(self.plan, is_deleting=self.is_deleting) | {
            "started_at": found.cycle.evidence.now.isoformat(),
            "interrupted_runs": list(interrupted),
        }

    def _agreed(self, found: ConfirmingCycle) -> tuple[TombstoneUpdate, TemporaryRows]:
        """Return what plan and cycle agree on, by shards: tombstones, deletions with outcomes."""
        evidence = found.cycle.evidence
        update = TombstoneUpdate(
            found.fresh,
            self.plan.plan_id,
            evidence.observed_until or evidence.now,
            self.scratch.rows(TOMBSTONE_SCHEMA),
            _deferred(found.cycle),
        )
        deletions = self.scratch.rows(OUTCOME_SCHEMA)
        dead = self._dead_runs(found.planned)
        storage = self.environment.storage
        for part in confirmed_shards(found.planned, found.fresh, storage):
            self.run.check_goes_on()
            for rows in update.take(part):
                self.record(rows)
            deletions.append(agreed_deletions(part.with_action(Action.DELETE), dead, storage))
        return update, deletions

    def _dead_runs(self, planned: Shards) -> Recovered:
        """Return the journals of crashed runs; only versioned storages record more than the key."""
        self.result.is_undoable = self.environment.storage.is_versioned
        run_ids = self.run.state.interrupted_runs() if self.result.is_undoable else []
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
        self, deletions: TemporaryRows, owners: Owners, free: frozenset[str], record: RecordOutcomes
    ) -> tuple[TemporaryRows, int]:
        """Return the deletions that are due, of the jobs that nothing stops, and their number.

        The others are recorded.
        """
        rows = self.scratch.rows(OUTCOME_SCHEMA)
        take = rows.append if self.is_deleting else record
        total = sort_due_deletions(deletions, free, owners, take=take, record=record)
        return rows, total if self.is_deleting else 0

    def _free(self, cycle: Cycle) -> frozenset[str]:
        """Return the keys of the jobs that nothing stops, at least in some areas.

        Files of savepoints' folders, which any job may write, take that nothing stops any job.
        """
        is_halted = self.run.state.halted() is not None
        free = frozenset(
            key
            for key, view in cycle.decided.views.items()
            if not is_halted and not view.judgement.blocked and not view.judgement.is_wholly_refused
        )
        is_all_free = free and free == cycle.decided.views.keys()
        return free | {SAVEPOINTS} if is_all_free and cycle.decided.savepoints else free

    def _tasks(
        self, cycle: Cycle, free: frozenset[str], revalidation: Revalidation
    ) -> Iterator[UploadAbortion | FolderRemoval]:
        jobs = {key: decided_job(view) for key, view in cycle.decided.views.items() if key in free}
        with_hidden, with_folders = self.environment.with_hidden, self.environment.with_folders
        settings, now = self.environment.settings, cycle.evidence.now
        areas = frozenset(settings.scope)
        if settings.abort_uploads and with_hidden is not None:
            yield UploadAbortion(
                run=self.run,
                storage=with_hidden,
                plan_id=self.plan.plan_id,
                now=now,
                quarantine_start=shifted(now, -settings.quarantine_period),
                is_dead=UploadRule(cycle.mark, jobs, areas).is_dead,
                revalidation=revalidation,
                limiter=RateLimiter.of(self.run, UploadAbortion.most_at_once),
                outcomes=self.result.uploads,
            )
        if with_folders is not None and free:
            yield FolderRemoval(
                storage=with_folders,
                rule=FolderRule(
                    owners=cycle.mark.owners,
                    jobs=jobs,
                    areas=areas,
                    savepoints=cycle.decided.savepoints if SAVEPOINTS in free else frozenset(),
                    kept=_kept_folders(cycle, settings.pins),
                ),
                run=self.run,
                now=now,
                revalidation=revalidation,
                outcomes=self.result.folders,
            )

    def _forget_deleted(self, gone: GoneTombstones) -> None:
        left = gone.left()
        if left is not None:
            self.run.lock.renew()
            self.run.state.keep_tombstones(left)


def _deferred(cycle: Cycle) -> frozenset[str]:
    """Return the ids of the jobs that get no tombstone: not all of their world was searched."""
    return frozenset(
        view.evidence.job_id
        for view in cycle.decided.views.values()
        if any(each.condition in WORLD_CONDITIONS for each in view.judgement.blocked)
    )


def _kept_folders(cycle: Cycle, pins: Iterable[Location]) -> list[Location]:
    base = cycle.mark.owners.base
    in_quarantine = (each.uri for each in cycle.remembered.expired if each.is_in_quarantine)
    kept = (*pins, *map(canonical, in_quarantine))
    return [base.child(key) for each in kept for key in keys_at(each, base)]


def _relied_on(cycle: Cycle) -> list[JobEvidence]:
    """Return the jobs that the deletion depends on; a wholly refused job loses nothing anyway.

    Files of savepoints depend on every job.
    """
    collected = set(cycle.decided.views)
    return [
        job
        for key, job in cycle.known.jobs.items()
        if not cycle.known.judged[key].is_wholly_refused
        and (key in collected or job.depends_on & collected or cycle.decided.savepoints)
    ]
