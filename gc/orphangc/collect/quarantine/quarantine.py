"""Carry out a plan of ``expire``: ``_metadata`` alone into quarantine, and out of it (R44).

In this order: the journal; a copy of the ``_metadata`` in the state location, read back; the record
in the memory that every cycle reads; a marker beside the ``_metadata``, by which a cycle notices
that its state location is not the one which knows of the quarantine; the evidence once more (R18);
and only then its deletion. A crash at any point leaves a checkpoint that is stored, or one whose
references still count.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog

from flinkstate.files.paths import spellings
from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES, METADATA_NAME
from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle
from orphangc.collect.delete.deletion import RecordOutcomes
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import outcome_of, with_outcomes
from orphangc.collect.expire.assemble_report import LineageCycle
from orphangc.collect.expire.expiry_rows import rows_of, stored_metadata
from orphangc.collect.expire.savepoint_folders import own_files
from orphangc.collect.observe.expired_checkpoints import copy_name
from orphangc.collect.observe.reported import Naming
from orphangc.collect.quarantine.checkpoint_folders import RunStorages
from orphangc.collect.quarantine.expired_records import ExpiredRecords, Leftovers
from orphangc.collect.revalidate.revalidation import CurrentReferences, Revalidation
from orphangc.collect.runs.held_run import HeldRun
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.documents.lineage_report import LineageCheckpointPart, LineageReport
from orphangc.core.lineage.checkpoint_fates import KEPT_BY_POLICY, RetentionReason
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import JobState, ObjectKey, Outcome, StoredObject
from orphangc.errors import OrphanGcError, RefusedError
from orphangc.ports import DeletionResult, DeletionStatus

_GONE = frozenset({DeletionStatus.DELETED, DeletionStatus.GONE})


@dataclass(slots=True, kw_only=True)
class SavepointClearing:
    """Deletes the files of savepoints whose quarantine is over; no other rule does (R42)."""

    storages: RunStorages
    run: HeldRun
    revalidation: Revalidation
    checkpoints: Iterable[Checkpoint]
    at: datetime
    _cleared: int = 0
    _savepoints: dict[tuple[str, str], Checkpoint] = field(init=False)
    _limiter: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        """Find the savepoints, and begin at the rate of deletions."""
        self._savepoints = {
            (str(each.folder), each.sha256): each
            for each in self.checkpoints
            if each.directory is None
        }
        self._limiter = RateLimiter.of(self.run, self.storages.own.batch_size)

    def clear(self, part: LineageCheckpointPart) -> None:
        """Delete the files of a savepoint; ``OrphanGcError`` if one is in use, or stays.

        Where it ends early, the next run goes on: until all are gone, the savepoint stays in
        quarantine.
        """
        savepoint = self._savepoints.get((part.uri, part.sha256))
        if savepoint is None:
            return
        storage, prefix = self.storages.place_of(savepoint.folder)
        files = own_files(savepoint, storage, prefix)
        self._cleared += len(files)
        most = self.run.settings.max_deletes
        if most is not None and self._cleared > most:
            raise RefusedError(
                f"{part.uri}: its files are more than max_deletes allows ({most});"
                " they stay: raise max_deletes",
                guard=Condition.MAX_DELETES,
            )
        for start in range(0, len(files), storage.batch_size):
            batch = files[start : start + storage.batch_size]
            self._limiter.wait_for_turn(len(batch))
            name = f"expiry-{part.sha256[:16]}-{start:06d}"
            self.run.write_journal(name, [_file_row(part, e) for e in batch])
            self._check_unnamed(savepoint, self.revalidation.check())
            try:
                for result in storage.delete(batch):
                    if result.status not in _GONE:
                        raise OrphanGcError(f"{part.uri}: {result.error or result.status}")
            finally:
                self._check_unnamed(savepoint, self.revalidation.check_after())
        log.info("expiry.savepoint_cleared", uri=part.uri, files=len(files))

    def _check_unnamed(self, savepoint: Checkpoint, current: CurrentReferences) -> None:
        """Halt everything if a checkpoint names a file of a savepoint: one may be gone."""
        for names in savepoint.files.values():
            if current.named.contains(*names.uuids).any():
                reason = f"a checkpoint names files of {savepoint.folder}, which expires"
                self.run.state.halt(reason, self.at)
                raise RefusedError(reason)


def _file_row(savepoint: LineageCheckpointPart, file: StoredObject) -> dict[str, Any]:
    """Return the record of one file in the journal, written before the file is deleted (R23)."""
    return {
        "savepoint": savepoint.uri,
        "key": file.key,
        "size": file.size,
        "modified_at": file.modified_at,
        "etag": file.etag,
    }


@dataclass(slots=True, kw_only=True)
class ExpiryEvidence:
    """The evidence of one cycle, checked before and after each batch."""

    revalidation: Revalidation
    found: LineageCycle
    _named: frozenset[Naming] = field(init=False)

    def __post_init__(self) -> None:
        """Take what was named in the cycle."""
        self._named = self.found.cycle.seen.answers.namings

    def check(self, part: Iterable[LineageCheckpointPart]) -> None:
        """Raise ``OrphanGcError`` unless the evidence holds, and nothing names one (R18).

        A cycle may be hours old: what stands for a checkpoint must be there still, and what
        continued its job must run.
        """
        self.check_evidence()
        self._check_relied_on()
        named = self.newly_named()
        for each in part:
            if each.uri in named:
                raise RefusedError(f"{each.uri} is in use by now; stopped, nothing more expires")

    def check_evidence(self) -> None:
        """Raise ``OrphanGcError`` unless the evidence holds, and no job hides its origin."""
        self.revalidation.check()
        hidden = self.revalidation.hidden_origin()
        if hidden is not None:
            raise RefusedError(f"{hidden}; nothing expires, the next run goes on", guard=Guard.GATE)

    def _check_relied_on(self) -> None:
        """Refuse unless every job that ran runs, and what was kept is still stored."""
        for job in self.found.cycle.known.jobs.values():
            if job.state is JobState.RUNNING and self.revalidation.has_ended(job.job_id):
                raise RefusedError(f"job {job.job_id} ended since the cycle; stopped")
        for each in self.found.report.checkpoints:
            is_relied_on = each.reason in KEPT_BY_POLICY and each.is_restorable
            if is_relied_on and not self.revalidation.is_stored(each.uri, each.sha256):
                raise RefusedError(f"{each.uri}, which was to stay, is gone; stopped")

    def newly_named(self) -> frozenset[str]:
        """Return the checkpoints that a job or a resource names that did not in the cycle.

        It may name them through other links than the settings.
        """
        new = {uri for _, uri in self.revalidation.namings() - self._named}
        names = frozenset[Location]().union(*(spellings(canonical(uri)) for uri in new))
        found = (each.uri for each in self.found.report.checkpoints) if new else ()
        return frozenset(uri for uri in found if not names.isdisjoint(spellings(canonical(uri))))


log = structlog.get_logger()

_BATCH = 20


def agreed(planned: LineageReport, now: LineageReport) -> list[LineageCheckpointPart]:
    """Return the checkpoints that expire by the plan and by a fresh cycle, for the same step."""
    fresh = {(each.uri, each.sha256): each for each in now.expiring}
    return [
        each
        for each in planned.expiring
        if (same := fresh.get((each.uri, each.sha256))) is not None
        and is_release(same) == is_release(each)
    ]


def is_release(checkpoint: LineageCheckpointPart) -> bool:
    """Return whether its ``_metadata`` is in quarantine already, which is to end."""
    return checkpoint.reason is RetentionReason.QUARANTINE_OVER


_Done = tuple[Outcome, str | None, str | None]
"""What became of one checkpoint: outcome, error, version id of its delete marker."""


@dataclass(slots=True, kw_only=True)
class Quarantine:
    """The steps of one run.

    Attributes:
        record_outcomes: Receives what became of each checkpoint, ``OUTCOME_SCHEMA``.
    """

    run: HeldRun
    cycle: Cycle
    storages: RunStorages
    evidence: ExpiryEvidence
    clearing: SavepointClearing
    leftovers: Leftovers
    records: ExpiredRecords
    record_outcomes: RecordOutcomes
    _stored: Mapping[str, StoredObject] = field(init=False)
    _facts: dict[str, StoredObject] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take the facts of every ``_metadata``."""
        self._stored = stored_metadata(self.cycle)

    def carry_out(self, checkpoints: Sequence[LineageCheckpointPart]) -> OrphanGcError | None:
        """Expire and release some checkpoints; return what ended it early, ``None`` if nothing."""
        parts = [[each] for each in checkpoints if is_release(each)]
        new = [each for each in checkpoints if not is_release(each)]
        parts += [new[start : start + _BATCH] for start in range(0, len(new), _BATCH)]
        stopped: OrphanGcError | None = None
        try:
            self.leftovers.end_what_is_stored({each.uri for each in checkpoints}, self._now())
        except OrphanGcError as err:
            stopped = err
        for number, part in enumerate(parts):
            if stopped is not None:
                self.record_outcomes(with_outcomes(rows_of(part, self._stored), Outcome.PLANNED))
                continue
            stopped = self._batch(number, part)
        return stopped

    def _batch(self, number: int, part: Sequence[LineageCheckpointPart]) -> OrphanGcError | None:
        stopped, rows = None, rows_of(part, self._stored)
        self.run.write_journal(f"expiry-{number:06d}", rows.to_pylist())
        try:
            self.run.check_goes_on()
            outcomes = self._release(part) if is_release(part[0]) else self._expire(part)
        except OrphanGcError as err:
            stopped, outcomes = err, [(Outcome.PLANNED, None, None)] * len(part)
        says, errors, versions = zip(*outcomes, strict=True)
        done = with_outcomes(rows, list(map(str, says)), errors=errors, versions=versions)
        self.run.write_journal(f"expiry-{number:06d}-done", done.to_pylist())
        self.record_outcomes(done)
        return stopped

    def _release(self, part: Sequence[LineageCheckpointPart]) -> list[_Done]:
        """End a quarantine: from now on the references of the checkpoint do not count.

        Its marker goes first: one without a quarantine shows that the state was set back.
        """
        self.evidence.check(part)
        known = {(each.uri, each.sha256): each for each in self.records.known()}
        records = [known[each.uri, each.sha256] for each in part]
        for each, record in zip(part, records, strict=True):
            self.clearing.clear(each)
            self.records.remove_marker(record)
        at = self._now()
        self.records.remember([e.model_copy(update={"released_at": at}) for e in records])
        return [(Outcome.DONE, None, None)] * len(part)

    def _expire(self, part: Sequence[LineageCheckpointPart]) -> list[_Done]:
        records = [self._record(each) for each in part]
        copies = [self._copied(each) for each in records]
        self.records.remember(records)
        for each in records:
            self.records.folders.mark(each)
        self.evidence.check(part)
        results = [self._taken_away(each) for each in records]
        self._put_back_what_is_named(records, copies)
        return [(outcome_of(each.status), each.error, each.version_id) for each in results]

    def _taken_away(self, record: ExpiredCheckpoint) -> DeletionResult:
        """Delete one ``_metadata``, if it is still what the cycle saw.

        An error is its result: what went before it is still checked, and written down.
        """
        facts = self._facts[record.uri]
        try:
            (result,) = self.storages.storage_of(record.base).delete([facts])
        except OrphanGcError as err:
            return DeletionResult(key=facts.key, status=DeletionStatus.FAILED, error=str(err))
        return result

    def _put_back_what_is_named(
        self, records: Sequence[ExpiredCheckpoint], copies: Sequence[bytes]
    ) -> None:
        """Check again after a deletion; if anything changed, put all back and raise (R22)."""
        problem: OrphanGcError | None = None
        named = frozenset(each.uri for each in records)
        try:
            self.evidence.check_evidence()
            named = self.evidence.newly_named()
        except OrphanGcError as err:
            problem = err
        back = [each for each in zip(records, copies, strict=True) if each[0].uri in named]
        returned = [record for record, data in back if self._is_put_back(record, data)]
        if back and problem is None:
            left = [record for record, _ in back if record not in returned]
            first = (left or returned)[0]
            done = "it could not be put back: undelete it" if left else "it is put back"
            reason = f"{first.uri} expired while something restored it; {done}"
            self.run.state.halt(reason, first.expired_at)
            problem = RefusedError(reason)
        for record in returned:  # a marker that cannot be removed keeps no other one away
            self.records.remove_marker(record)
            self.records.remember([record.model_copy(update={"restored_at": record.expired_at})])
        if problem is not None:
            raise problem

    def _is_put_back(self, record: ExpiredCheckpoint, data: bytes) -> bool:
        """Put one ``_metadata`` back; return whether it is: one that is not keeps no other away."""
        try:
            self.records.folders.put_back(record, data)
        except OrphanGcError as err:
            log.warning("expiry.not_put_back", uri=record.uri, reason=str(err))
            return False
        return True

    def _record(self, checkpoint: LineageCheckpointPart) -> ExpiredCheckpoint:
        stored, base = self._stored[checkpoint.uri], ""
        folder = canonical(checkpoint.uri)
        if not self.storages.own.location.contains(folder):
            storage, key = self.storages.place_of(folder)
            (found,) = storage.stat([ObjectKey(f"{key}/{METADATA_NAME}")])
            if found is None:
                raise RefusedError(f"{checkpoint.uri} is gone since the cycle; stopped")
            stored, base = found, str(storage.location)
        self._facts[checkpoint.uri] = stored
        return ExpiredCheckpoint.like(
            checkpoint,
            key=stored.key,
            base=base,
            state=self.cycle.remembered.states[0],
            size=stored.size,
            stored_at=stored.modified_at,
            expired_at=self._now(),
            run_id=self.run.run_id,
            released_at=None,
            restored_at=None,
        )

    def _copied(self, record: ExpiredCheckpoint) -> bytes:
        """Return the judged bytes of a ``_metadata``, after writing a copy and reading it back."""
        storage = self.storages.storage_of(record.base)
        data = storage.read(ObjectKey(record.key), max_bytes=MAX_METADATA_BYTES)
        if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
            raise RefusedError(f"{record.uri} changed since the cycle; stopped")
        name, files = copy_name(self.run.state, record), self.run.state.files
        files.write(name, data)
        if files.read(name) != data:
            raise RefusedError(f"{files.location}/{name} is not what was written there")
        return data

    def _now(self) -> datetime:
        return self.storages.now(self.cycle.evidence.now)
