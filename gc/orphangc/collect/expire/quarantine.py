"""Carry out a plan of ``expire``: ``_metadata`` alone into quarantine, and out of it (R44).

In this order: the journal; a copy of the ``_metadata`` in the state location, read back; the record
in the memory that every cycle reads; a marker beside the ``_metadata``, by which a cycle notices
that its state location is not the one which knows of the quarantine; the evidence once more (R18);
and only then its deletion. A crash at any point leaves a checkpoint that is stored, or one whose
references still count.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa
import structlog

from flinkstate.files.paths import spellings
from flinkstate.places.checkpoint_names import MAX_METADATA_BYTES, METADATA_NAME
from flinkstate.places.locations import Location, canonical
from orphangc.collect.cycle import Cycle
from orphangc.collect.delete.held_run import HeldRun
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import outcome_of, with_outcomes
from orphangc.collect.delete.revalidation import CurrentReferences, Revalidation
from orphangc.collect.expire.expiry_rows import rows_of, stored_metadata
from orphangc.collect.expire.savepoint_folders import own_files
from orphangc.collect.observe.expired_checkpoints import copy_name
from orphangc.collect.observe.reported import Naming, namings
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import keep_records, read_memory, write_memory
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.documents.lineage_report import LineageCheckpointPart, LineageReport
from orphangc.core.lineage.checkpoint_fates import KEPT_BY_POLICY, RetentionReason
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.lineage.expiry_marker import ExpiryMarker
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.joined_facts import table
from orphangc.core.model.rate import DeletionRate
from orphangc.core.model.types import JobState, ObjectKey, Outcome, StoredObject
from orphangc.errors import OrphanGcError, RefusedError
from orphangc.ports import DeletionResult, DeletionStatus, Storage

log = structlog.get_logger()

_BATCH = 20
_GONE = frozenset({DeletionStatus.DELETED, DeletionStatus.GONE})


class BesideCheckpoints(Protocol):
    """What an expiry writes into the folders of checkpoints; nothing else ever does."""

    def put_back(self, record: ExpiredCheckpoint, data: bytes) -> None:
        """Store a ``_metadata`` again, unless something is stored there."""
        ...

    def mark(self, record: ExpiredCheckpoint) -> None:
        """Write the marker of the state location that has the record.

        Raises:
            RefusedError: That right is not given.
        """
        ...

    def unmark(self, folder: Location, states: Collection[str] = ()) -> None:
        """Remove what a run was writing in a folder, and the markers of some state locations.

        Raises:
            RefusedError: Something of it cannot be removed.
        """
        ...


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


@dataclass(slots=True, kw_only=True)
class Quarantine:
    """The steps of one run.

    Attributes:
        extra: Extra roots, of which a policy may name folders of savepoints.
        record_outcomes: Receives what became of each checkpoint, ``OUTCOME_SCHEMA``.
    """

    storage: Storage
    extra: Sequence[Storage]
    run: HeldRun
    revalidation: Revalidation
    cycle: Cycle
    report: LineageReport
    beside: BesideCheckpoints
    record_outcomes: Callable[[pa.RecordBatch], None]
    _cleared: int = 0
    _stored: Mapping[str, StoredObject] = field(init=False)
    _facts: dict[str, StoredObject] = field(default_factory=dict)
    _savepoints: Mapping[tuple[str, str], Checkpoint] = field(init=False)
    _named: frozenset[Naming] = field(init=False)
    _limiter: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        """Take the facts of every ``_metadata``, and what was named in the cycle."""
        self._stored = stored_metadata(self.cycle)
        everything = self.cycle.mark.checkpoints
        self._savepoints = {
            (str(each.folder), each.sha256): each for each in everything if each.directory is None
        }
        seen, settings = self.cycle.seen, self.run.settings
        self._named = namings(
            (*seen.before, *seen.after),
            seen.snapshots,
            settings,
            ha=seen.ha,
        )
        self._limiter = RateLimiter(DeletionRate.of(settings.delete_rate, self.storage.batch_size))

    def carry_out(self, checkpoints: Sequence[LineageCheckpointPart]) -> OrphanGcError | None:
        """Expire and release some checkpoints; return what ended it early, ``None`` if nothing."""
        parts = [[each] for each in checkpoints if is_release(each)]
        new = [each for each in checkpoints if not is_release(each)]
        parts += [new[start : start + _BATCH] for start in range(0, len(new), _BATCH)]
        stopped: OrphanGcError | None = None
        try:
            self._end_what_is_stored({each.uri for each in checkpoints})
        except OrphanGcError as err:
            stopped = err
        for number, part in enumerate(parts):
            rows = rows_of(part, self._stored)
            if stopped is not None:
                self.record_outcomes(with_outcomes(rows, Outcome.PLANNED))
                continue
            self.run.write_journal(f"expiry-{number:06d}", rows.to_pylist())
            try:
                outcomes = self._release(part) if is_release(part[0]) else self._expire(part)
            except OrphanGcError as err:
                stopped, outcomes = err, [(Outcome.PLANNED, None, None)] * len(part)
            says, errors, versions = zip(*outcomes, strict=True)
            done = with_outcomes(rows, list(map(str, says)), errors=errors, versions=versions)
            self.run.write_journal(f"expiry-{number:06d}-done", done.to_pylist())
            self.record_outcomes(done)
        return stopped

    def remove_leftovers(self) -> None:
        """Remove what interrupted runs left, and the markers of what is not in quarantine.

        Only markers that the cycle saw, none of which stopped this run: another state location may
        have left one since. What cannot be removed is left to the next run.
        """
        known = read_memory(self.run.state).memory.expired
        quarantined = [each.folder for each in self.revalidation.environment.quarantined]
        quarantined += [canonical(each.uri) for each in known if each.is_in_quarantine]
        kept = frozenset().union(*map(spellings, quarantined))
        left: dict[Location, set[str]] = {}
        for each in filter(self._is_ours, self.cycle.expiries):
            left.setdefault(each.folder, set()).add(each.state)
        for folder, states in left.items():
            try:
                self.beside.unmark(folder, states if kept.isdisjoint(spellings(folder)) else ())
            except OrphanGcError as err:
                log.warning("expiry.marker_left", folder=str(folder), reason=str(err))

    def _is_ours(self, marker: ExpiryMarker) -> bool:
        """Return whether a marker is in the storage root or, of this state, in an extra root."""
        if self.storage.location.contains(marker.folder):
            return True
        is_beside = any(each.location.contains(marker.folder) for each in self.extra)
        return is_beside and marker.state in self.cycle.remembered.states

    def _end_what_is_stored(self, but: Collection[str]) -> None:
        """End each quarantine whose ``_metadata`` is stored, but of what expires now.

        A run that ended early left it, or put it back: what hides it later is no expiry. What a run
        took away since this cycle began, which has taken the lock over, the cycle saw stored, too.
        """
        own, began = self.cycle.seen.second[: 1 + len(self.extra)], self.cycle.evidence.now
        stored = {(str(each.folder), each.sha256) for part in own for each in part.checkpoints}
        at = self._now()
        back = [
            each.model_copy(update={"restored_at": at})
            for each in read_memory(self.run.state).memory.expired
            if each.is_in_quarantine
            and each.expired_at < began
            and (each.uri, each.sha256) in stored
            and each.uri not in but
        ]
        for each in back:
            remove_marker(self.run.state, self.beside, each)
        if back:
            self._remember(back)

    def _release(self, part: Sequence[LineageCheckpointPart]) -> list[_Done]:
        """End a quarantine: from now on the references of the checkpoint do not count.

        Its marker goes first: one without a quarantine shows that the state was set back.
        """
        self._check(part)
        expired = read_memory(self.run.state).memory.expired
        known = {(each.uri, each.sha256): each for each in expired}
        records = [known[each.uri, each.sha256] for each in part]
        for each, record in zip(part, records, strict=True):
            self._clear(each)
            remove_marker(self.run.state, self.beside, record)
        at = self._now()
        self._remember(each.model_copy(update={"released_at": at}) for each in records)
        return [(Outcome.DONE, None, None)] * len(part)

    def _expire(self, part: Sequence[LineageCheckpointPart]) -> list[_Done]:
        """Put the ``_metadata`` of some checkpoints into quarantine."""
        records = [self._record(each) for each in part]
        copies = [self._copied(each) for each in records]
        self._remember(records)
        for each in records:
            self.beside.mark(each)
        self._check(part)
        results = [self._taken_away(each) for each in records]
        self._put_back_what_is_named(records, copies)
        return [(outcome_of(each.status), each.error, each.version_id) for each in results]

    def _taken_away(self, record: ExpiredCheckpoint) -> DeletionResult:
        """Delete one ``_metadata``, if it is still what the cycle saw.

        An error is its result: what went before it is still checked, and written down.
        """
        facts = self._facts[record.uri]
        try:
            (result,) = self._storage_of(record.base).delete([facts])
        except OrphanGcError as err:
            return DeletionResult(key=facts.key, status=DeletionStatus.FAILED, error=str(err))
        return result

    def _clear(self, part: LineageCheckpointPart) -> None:
        """Delete the files of a savepoint whose quarantine is over: no other rule does (R42).

        Where it ends early, the next run goes on: until all are gone, the savepoint stays in
        quarantine.

        Raises:
            OrphanGcError: A file is in use after all, or could not be deleted.
        """
        savepoint = self._savepoints.get((part.uri, part.sha256))
        if savepoint is None:
            return
        storage, prefix = self._place_of(savepoint.folder)
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
            self._check_unnamed(savepoint, self.revalidation.check())
            name = f"expiry-{part.sha256[:16]}-{start:06d}"
            self.run.write_journal(name, [_file_row(part, e) for e in batch])
            for result in storage.delete(batch):
                if result.status not in _GONE:
                    raise OrphanGcError(f"{part.uri}: {result.error or result.status}")
            self._check_unnamed(savepoint, self.revalidation.check_after())
        log.info("expiry.savepoint_cleared", uri=part.uri, files=len(files))

    def _check_unnamed(self, savepoint: Checkpoint, current: CurrentReferences) -> None:
        """Make sure that no stored checkpoint names a file of a savepoint.

        Raises:
            RefusedError: One does; everything is halted, as a file of it may be gone.
        """
        for names in savepoint.files.values():
            if current.named.contains(*names.uuids).any():
                reason = f"a checkpoint names files of {savepoint.folder}, which expires"
                self.run.state.halt(reason, self.cycle.evidence.now)
                raise RefusedError(reason)

    def _place_of(self, folder: Location) -> tuple[Storage, str]:
        """Return the storage of a folder, and its key there.

        Raises:
            RefusedError: It is in no storage that was opened.
        """
        for storage in (self.storage, *self.extra):
            key = storage.location.key_of(folder)
            if key:
                return storage, key
        raise RefusedError(f"{folder} is in no extra root any more: name one, or it stays")

    def _storage_of(self, base: str) -> Storage:
        known = {str(each.location): each for each in self.extra}
        return known[base] if base else self.storage

    def _put_back_what_is_named(
        self, records: Sequence[ExpiredCheckpoint], copies: Sequence[bytes]
    ) -> None:
        """Check once more after a deletion, and undo it where anything has changed (R22).

        Raises:
            OrphanGcError: The evidence does not hold any more; everything of the batch is back.
        """
        problem: OrphanGcError | None = None
        named = frozenset(each.uri for each in records)
        try:
            self._check_evidence()
            named = self._newly_named()
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
            remove_marker(self.run.state, self.beside, record)
            self._remember([record.model_copy(update={"restored_at": record.expired_at})])
        if problem is not None:
            raise problem

    def _is_put_back(self, record: ExpiredCheckpoint, data: bytes) -> bool:
        """Put one ``_metadata`` back; return whether it is: one that is not keeps no other away."""
        try:
            self.beside.put_back(record, data)
        except OrphanGcError as err:
            log.warning("expiry.not_put_back", uri=record.uri, reason=str(err))
            return False
        return True

    def _newly_named(self) -> frozenset[str]:
        """Return the checkpoints that a job or a resource names that did not in the cycle."""
        return frozenset(uri for _, uri in self.revalidation.namings() - self._named)

    def _check(self, part: Iterable[LineageCheckpointPart]) -> None:
        """Make sure that the evidence still holds, and that nothing names a checkpoint (R18).

        A cycle may be hours old: what stands for a checkpoint must be there still, and what
        continued its job must run.

        Raises:
            OrphanGcError: It does not, or something does.
        """
        self._check_evidence()
        self._check_relied_on()
        named = self._newly_named()
        for each in part:
            if each.uri in named:
                raise RefusedError(f"{each.uri} is in use by now; stopped, nothing more expires")

    def _check_evidence(self) -> None:
        """Make sure that the evidence holds, and that no job hides what it is restored from.

        Raises:
            OrphanGcError: It does not, or one does.
        """
        self.revalidation.check()
        hidden = self.revalidation.hidden_origin()
        if hidden is not None:
            raise RefusedError(f"{hidden}; nothing expires, the next run goes on", guard=Guard.GATE)

    def _check_relied_on(self) -> None:
        """Make sure that every job that ran still runs, and that what was kept is still stored.

        Raises:
            RefusedError: One does not, or is not.
        """
        for job in self.cycle.jobs.values():
            if job.state is JobState.RUNNING and self.revalidation.has_ended(job.job_id):
                raise RefusedError(f"job {job.job_id} ended since the cycle; stopped")
        for each in self.report.checkpoints:
            is_relied_on = each.reason in KEPT_BY_POLICY and each.is_restorable
            if is_relied_on and not self.revalidation.is_stored(each.uri, each.sha256):
                raise RefusedError(f"{each.uri}, which was to stay, is gone; stopped")

    def _record(self, checkpoint: LineageCheckpointPart) -> ExpiredCheckpoint:
        stored, base = self._stored[checkpoint.uri], ""
        folder = canonical(checkpoint.uri)
        if not self.storage.location.contains(folder):
            storage, key = self._place_of(folder)
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
        """Return the bytes of a ``_metadata``, after writing a copy and reading it back.

        Raises:
            RefusedError: The stored bytes, or the copy, are not those that were judged.
            StorageUnreachableError: The storage or the state location does not answer.
        """
        storage = self._storage_of(record.base)
        data = storage.read(ObjectKey(record.key), max_bytes=MAX_METADATA_BYTES)
        if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
            raise RefusedError(f"{record.uri} changed since the cycle; stopped")
        name, files = copy_name(self.run.state, record), self.run.state.files
        files.write(name, data)
        if files.read(name) != data:
            raise RefusedError(f"{files.location}/{name} is not what was written there")
        return data

    def _now(self) -> datetime:
        """Return the storage's time: a quarantine begins now, and the cycle may be hours old."""
        time = self.storage.now()
        return max(time.now or time.local, self.cycle.evidence.now)

    def _remember(self, records: Iterable[ExpiredCheckpoint]) -> None:
        remember_expired(self.run.state, records)


def _file_row(savepoint: LineageCheckpointPart, file: StoredObject) -> dict[str, Any]:
    """Return the record of one file in the journal, written before the file is deleted (R23)."""
    return {
        "savepoint": savepoint.uri,
        "key": file.key,
        "size": file.size,
        "modified_at": file.modified_at,
        "etag": file.etag,
    }


_Done = tuple[Outcome, str | None, str | None]
"""What became of one checkpoint: outcome, error, version id of its delete marker."""


def remember_expired(state: RootState, records: Iterable[ExpiredCheckpoint]) -> None:
    """Write records beside the copies, and into the memory that every cycle reads.

    Raises:
        OrphanGcError: The memory cannot be read or written: nothing may be deleted.
    """
    records = [*records]
    keep_records(state, records)
    read = read_memory(state)
    memory = read.memory.model_copy(update={"expired": table((*read.memory.expired, *records))})
    if memory.written_at is None:
        raise RefusedError("no cycle has written the memory yet; nothing expires")
    write_memory(state, memory, read, uuid.uuid4().hex[:16])


def remove_marker(
    state: RootState, beside: BesideCheckpoints, checkpoint: ExpiredCheckpoint
) -> None:
    """Remove the marker beside a checkpoint before its quarantine ends.

    It stays for another checkpoint in quarantine at the same path, as that of another state
    location does.

    Raises:
        OrphanGcError: It cannot be removed: then the quarantine does not end.
    """
    memory = read_memory(state).memory
    is_another = any(
        each.is_in_quarantine and each.uri == checkpoint.uri and each.sha256 != checkpoint.sha256
        for each in memory.expired
    )
    own = (checkpoint.state, *memory.states)
    beside.unmark(canonical(checkpoint.uri), () if is_another else own)


def expired_of(
    state: RootState, checkpoints: Collection[tuple[str, str]]
) -> Iterator[ExpiredCheckpoint]:
    """Yield which of some checkpoints expired and were not put back, by folder and digest."""
    for each in read_memory(state).memory.expired:
        if (each.uri, each.sha256) in checkpoints and each.restored_at is None:
            yield each


def newest_expired_at(state: RootState, places: Collection[str]) -> list[ExpiredCheckpoint]:
    """Return what expired last in some folders, and was not put back."""
    records = (each for each in read_memory(state).memory.expired if each.uri in places)
    newest = {each.uri: each for each in sorted(records, key=lambda one: one.expired_at)}
    return [each for each in newest.values() if each.restored_at is None]
