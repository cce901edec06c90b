"""``expire --out``, and the sweep and the undoing of its plan (R44)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from flinkstate.places.locations import canonical
from orphangc.adapters.open import open_storage
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.app.config.validate import check_outside
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.advice import LIFT_HALT
from orphangc.app.render.retention.unneeded_text import LIST_PRICE
from orphangc.app.runner.checkpoint_folders import CheckpointFolders
from orphangc.app.runner.held_plan import HeldPlan, held_lock
from orphangc.app.runner.lineage_cycle import (
    LineageCycle,
    check_report,
    lineage_cycle,
    opened_lineage_cycle,
    remembered,
    write_report,
)
from orphangc.app.telemetry.audit_log import Audited
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import opened, state_of
from orphangc.collect.delete.deletion import RecordOutcomes
from orphangc.collect.delete.held_run import HeldRun
from orphangc.collect.delete.retry_queue import with_outcomes
from orphangc.collect.delete.revalidation import Revalidation, preconditions_of
from orphangc.collect.expire.expired_copies import forget_copies
from orphangc.collect.expire.expiry_rows import expiry_plan, rows_of, stored_metadata
from orphangc.collect.expire.quarantine import (
    Quarantine,
    agreed,
    expired_of,
    is_release,
    newest_expired_at,
    remember_expired,
    remove_marker,
)
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.expired_checkpoints import copy_name
from orphangc.collect.observe.observation import Environment
from orphangc.collect.state.lock import Lock, Renewal
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.result import SweepResult
from orphangc.collect.sweep.sweep import recalled_for
from orphangc.collect.world.recalling import Recalled, not_kept, recalled
from orphangc.core.decision.evidence import UnreadableCheckpoint
from orphangc.core.documents.lineage_report import LineageCheckpointPart
from orphangc.core.documents.plan import Plan
from orphangc.core.documents.run_record import ExpiryRecord
from orphangc.core.lineage.checkpoint_fates import RetentionAction, RetentionReason
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey, Outcome, StoredObject
from orphangc.errors import ExitCode, OrphanGcError, RefusedError, SettingsError
from orphangc.ports import Storage

log = structlog.get_logger()

_NOT_REMEMBERED = "the state location does not remember what this cycle saw; nothing expires"


def make_expiry(
    settings: StorageRootSettings,
    policy: RetentionPolicy | None,
    out: Path | None,
    *,
    report: Path | None = None,
    price: float = LIST_PRICE,
) -> Plan:
    """Return a plan of ``expire``, written to a new folder; nothing else is changed.

    Its cycle is remembered, as that of ``plan`` is.

    Args:
        price: Price of a GiB a month in it.

    Raises:
        OrphanGcError: Nothing was planned, and nothing was written.
    """
    check_outside(settings, [] if out is None else [out])
    _check_savepoints(settings, policy)
    check_report(settings, report)
    directory = None if out is None else PlanDirectory(out)
    if directory is not None:
        directory.prepare()
    state = state_of(settings)
    before = recalled(state)
    found = opened_lineage_cycle(settings, policy, state, before)
    for each in found.report.impossible:
        raise SettingsError(each)
    write_report(found.report, report, price)
    return _written(replace(found, cycle=remembered(found.cycle, state, before)), directory)


def _check_savepoints(settings: StorageRootSettings, policy: RetentionPolicy | None) -> None:
    """Make sure that the places of savepoints are searched.

    Raises:
        SettingsError: One is not: it would let none go, and say so of each.
    """
    for uri in () if policy is None else policy.savepoints:
        if not any(place.contains(canonical(uri)) for place in settings.own_places):
            raise SettingsError(f"savepoints: {uri} is in no extra root: name one around it, too")


def _written(found: LineageCycle, directory: PlanDirectory | None) -> Plan:
    """Return the plan of ``expire`` of one cycle, written to a prepared folder if there is one."""
    rows = rows_of(found.report.checkpoints, stored_metadata(found.cycle))
    plan = expiry_plan(found.cycle, found.report, rows)
    if directory is None:
        return plan.signed()
    sink = VerdictFiles(directory.verdicts)
    if rows.num_rows:
        sink.write(rows)
    sink.close()
    return directory.write(plan, sink.digests)


@dataclass(frozen=True, slots=True)
class HeldExpiry:
    """Sweep of a plan of ``expire`` by a run that holds the lock.

    Attributes:
        made: Cycle that made the plan under the same lock; ``None`` for a saved plan.
    """

    held: HeldPlan
    made: LineageCycle | None = None

    def carry_out(self) -> SweepResult:
        """Expire and release what plan and a fresh cycle agree on; write the outcome beside it.

        Raises:
            OrphanGcError: Nothing was changed.
        """
        run = self.held.run
        run.state.bind()
        with self.held.recorded() as sink, Renewal(run.lock) as renewal:
            self._go(sink, renewal)
        return self.held.result

    def _go(self, sink: Audited, renewal: Renewal) -> None:
        run, planned = self.held.run, self.held.plan.expiry
        assert planned is not None  # noqa: S101 - a plan of expire, or this was not called
        before = recalled_for(self.held.plan, run.state)
        reader = CheckpointReader.of(run.settings)
        with (
            shown_progress() as progress,
            opened(run.settings, run.state, progress, memory=before.memory) as environment,
        ):
            fresh = self.made or lineage_cycle(
                environment,
                run.settings,
                planned.policy,
                state=run.state,
                before=before,
                reader=reader,
            )
            renewal.check()
            self._check_remembered(fresh, before)
            self._check_state(fresh)
            self._act(environment, fresh, reader, sink)

    def _check_remembered(self, fresh: LineageCycle, before: Recalled) -> None:
        """Make sure that what the cycle saw is written down: later cycles protect by it.

        Raises:
            RefusedError: It is not.
        """
        if self.made is None:
            problem = not_kept(self.held.run.state, before, fresh.cycle.remembered)
        else:
            problem = None if fresh.cycle.plan.states else _NOT_REMEMBERED
        if problem is not None:
            raise RefusedError(problem, guard=Condition.MEMORY_UNREADABLE)

    def _check_state(self, fresh: LineageCycle) -> None:
        """Make sure that nothing is halted, and that this is the state of what is in quarantine.

        Raises:
            RefusedError: It is not: a marker that another one left beside a checkpoint must stay.
        """
        lost, halted = fresh.cycle.evidence.state_problem, self.held.run.state.halted()
        if lost is not None:
            raise RefusedError(lost, guard=Condition.STATE_LOST)
        if halted is not None:
            raise RefusedError(halted, guard=Condition.HALTED)

    def _act(
        self, environment: Environment, fresh: LineageCycle, reader: CheckpointReader, sink: Audited
    ) -> None:
        """Carry out what is agreed on, journalled; write down what becomes of the rest."""
        held, run, cycle = self.held, self.held.run, fresh.cycle
        wanted, stale = self._agreed(fresh)

        def record(rows: Any) -> None:
            if rows.num_rows:
                sink.write(rows)
                held.result.count(rows)

        stored = stored_metadata(cycle)
        record(with_outcomes(rows_of(stale, stored), Outcome.CHANGED))
        if not held.is_deleting:
            record(with_outcomes(rows_of(wanted, stored), Outcome.PLANNED))
            return
        run.begin(held.plan, cycle.plan, cycle.evidence.now)
        quarantine = self._quarantine(environment, fresh, reader, record)
        held.result.stopped_by = quarantine.carry_out(wanted)
        quarantine.remove_leftovers()
        held.result.exit_code = _exit_code(held.result)
        self._forget_copies(cycle.evidence.now)
        outcome = held.outcome()
        run.finish(outcome)
        log.info("expiry.finished", **outcome)

    def _agreed(
        self, fresh: LineageCycle
    ) -> tuple[list[LineageCheckpointPart], list[LineageCheckpointPart]]:
        """Return the checkpoints that plan and cycle agree on, and those that only the plan has.

        Raises:
            RefusedError: More of them expire than ``max_deletes`` allows.
        """
        planned = self.held.plan.expiry
        assert planned is not None  # noqa: S101 - see _go
        wanted = agreed(planned, fresh.report)
        most = self.held.run.settings.max_deletes
        new = [each for each in wanted if not is_release(each)]
        if most is not None and len(new) > most:
            raise RefusedError(
                f"{len(new)} checkpoints would expire, more than max_deletes allows ({most});"
                " nothing expires: raise max_deletes",
                guard=Condition.MAX_DELETES,
            )
        agreed_on = {each.uri for each in wanted}
        return wanted, [each for each in planned.expiring if each.uri not in agreed_on]

    def _quarantine(
        self,
        environment: Environment,
        fresh: LineageCycle,
        reader: CheckpointReader,
        record: RecordOutcomes,
    ) -> Quarantine:
        run, cycle = self.held.run, fresh.cycle
        return Quarantine(
            storage=environment.storage,
            extra=environment.extra,
            run=run,
            revalidation=Revalidation(
                environment=environment,
                settings=run.settings,
                reader=reader,
                jobs=preconditions_of(
                    job for key, job in cycle.jobs.items() if cycle.judged[key].refused is None
                ),
                state=run.state,
                lock=run.lock,
            ),
            cycle=cycle,
            report=fresh.report,
            beside=CheckpointFolders(run.settings),
            record_outcomes=record,
        )

    def _forget_copies(self, at: datetime) -> None:
        """Remove copies that can restore nothing; where that fails, the next run tries again."""
        try:
            removed = forget_copies(
                self.held.run.state, at, partial(_has_lost_files, self.held.run.settings)
            )
        except OrphanGcError as err:
            log.warning("expiry.copies_left", reason=str(err))
        else:
            log.info("expiry.copies_removed", copies=removed)


def scheduled_expiry(
    run: HeldRun, made: LineageCycle, folder: Path, *, is_deleting: bool
) -> tuple[ExpiryRecord, str | None]:
    """Return what a scheduled run did by a retention policy, and what ended it early.

    It carries out the cycle of the run, as the sweep does (decision 23): the storage root is not
    listed again. What that cycle rests on is read again before each batch.

    Raises:
        OrphanGcError: Nothing was changed.
    """
    directory = PlanDirectory(folder)
    directory.prepare()
    plan = _written(made, directory)
    assert plan.expiry is not None  # noqa: S101 - made above
    result = SweepResult()
    if is_deleting:
        held = HeldPlan(run=run, path=folder, plan=plan, is_deleting=True)
        result = HeldExpiry(held, made).carry_out()
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


def _exit_code(result: SweepResult) -> ExitCode:
    if isinstance(result.stopped_by, OrphanGcError):
        is_part_done = any(outcome == Outcome.DONE for _, outcome in result.objects)
        return ExitCode.FAILED if is_part_done else ExitCode(result.stopped_by.exit_code)
    is_failed = any(outcome == Outcome.FAILED for _, outcome in result.objects)
    return ExitCode.SOME_DELETES_FAILED if is_failed else ExitCode.DONE


def undo_expiry(plan: Plan, places: Collection[str] = ()) -> dict[str, Any]:
    """Put back every ``_metadata`` that sweeps of a plan of ``expire`` put into quarantine.

    One whose quarantine is over is put back only while all of its files are stored. If some of
    them have a tombstone, the document warns that the next sweep halts (R17).

    Args:
        places: Folders of the checkpoints to put back instead, whichever run expired them.

    Raises:
        RefusedError: Nothing of it is in quarantine.
        LockHeldError: Another run holds the lock.
    """
    state = state_of(plan.settings)
    expiring = () if plan.expiry is None else plan.expiry.expiring
    counts: Counter[str] = Counter()
    failed: list[dict[str, str]] = []
    warning: str | None = None
    with held_lock(state) as lock, Renewal(lock):
        records = list(expired_of(state, {(each.uri, each.sha256) for each in expiring}))
        if places:
            records = newest_expired_at(state, places)
        for uri in sorted(set(places) - {each.uri for each in records}):
            raise RefusedError(f"no sweep of {plan.root} put {uri} into quarantine")
        if not records:
            raise RefusedError("no sweep of that plan put anything into quarantine")
        for each in records:
            try:
                keys = _undo(plan.settings, state, each, lock)
                if each.released_at is not None:
                    warning = warning or _halt_warning(state, keys)
            except OrphanGcError as err:
                failed.append({"key": each.key, "error": str(err)})
                counts["failed"] += 1
            else:
                counts["restored"] += 1
    document = {"plan_id": plan.plan_id, "root": plan.root, "counts": counts, "failed": failed}
    return document | {"warning": warning}


def _halt_warning(state: RootState, keys: Sequence[ObjectKey]) -> str | None:
    """Return that files put back into use halt the next sweep, ``None`` if none has a tombstone."""
    tombstones = state.tombstones()
    marked = next((key for key in keys if tombstones.get(key) is not None), None)
    if marked is None:
        return None
    return (
        f"{marked} is in use again and has a tombstone: the next sweep deletes nothing and halts"
        f" (R17). {LIFT_HALT}"
    )


def _undo(
    settings: StorageRootSettings, state: RootState, record: ExpiredCheckpoint, lock: Lock
) -> list[ObjectKey]:
    """Put one ``_metadata`` back, and end its quarantine; return the keys that it names.

    Raises:
        LockHeldError: Another run has taken the lock over, and may just end that quarantine.
        RefusedError: Its copy is damaged, or a file that it names is gone.
    """
    name = copy_name(state, record)
    data = state.files.read(name)
    if data is None and record.released_at is not None:
        raise RefusedError(
            f"{record.uri}: its quarantine ended long ago, and files of it are gone; so is the copy"
        )
    if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
        raise RefusedError(f"{state.files.location}/{name} is gone or damaged")
    keys = _stored_files(settings, record, data)
    lock.check()
    beside = CheckpointFolders(settings)
    beside.put_back(record, data)
    remove_marker(state, beside, record)
    remember_expired(state, [record.model_copy(update={"restored_at": now()})])
    return keys


def _stored_files(
    settings: StorageRootSettings, record: ExpiredCheckpoint, data: bytes
) -> list[ObjectKey]:
    """Return the keys of the files of a checkpoint, all of which are stored.

    Raises:
        RefusedError: One is gone: what is put back could not be restored.
    """
    storage, keys = _named_keys(settings, record, data)
    lost = _lost_key(storage, keys)
    if lost is not None:
        raise RefusedError(f"{storage.location}/{lost} is gone: it cannot be restored")
    return keys


def _has_lost_files(settings: StorageRootSettings, record: ExpiredCheckpoint, data: bytes) -> bool:
    """Return whether some file of a checkpoint is gone for certain."""
    storage, keys = _named_keys(settings, record, data)
    return _lost_key(storage, keys) is not None


def _lost_key(storage: Storage, keys: Sequence[ObjectKey]) -> ObjectKey | None:
    """Return a key that is not stored, ``None`` if all are.

    Their folders are listed, as a run may not read files of state, nor ask for the facts of one.
    """
    folders: dict[str, list[ObjectKey]] = {}
    for key in keys:
        folders.setdefault(key.rpartition("/")[0], []).append(key)
    for folder, own in folders.items():
        stored = {each.key for each in storage.folder(folder).objects}
        for key in own:
            if key not in stored:
                return key
    return None


def _named_keys(
    settings: StorageRootSettings, record: ExpiredCheckpoint, data: bytes
) -> tuple[Storage, list[ObjectKey]]:
    """Return the storage of a checkpoint, and the keys there that it names.

    Raises:
        RefusedError: Its ``_metadata`` cannot be read.
    """
    storage = open_storage(record.base or settings.root)
    stored = StoredObject(key=ObjectKey(record.key), size=record.size, modified_at=record.stored_at)
    folder = record.key.rpartition("/")[0]
    reader = CheckpointReader.of(settings)
    checkpoint = reader.decoded(data, storage.location, folder, stored)
    if isinstance(checkpoint, UnreadableCheckpoint):
        raise RefusedError(f"{checkpoint.uri}: {checkpoint.reason}")
    keys = [
        ObjectKey(f"{below}/{name}")
        for place, names in checkpoint.files.items()
        if (below := storage.location.key_of(place)) is not None
        for name in names
    ]
    return storage, keys
