"""Distributed deletion: several processes, one rate and one lock.

Each partition of the due objects is processed at most once: a process takes its lease before its
first request. No process repeats the partition of a dead worker, or one that a scheduler hands
out twice; the storage shows the outcomes of its objects instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.collect.delete.batch import resolved_outcomes
from orphangc.collect.delete.deletion import Deletion
from orphangc.collect.delete.halt import halted_after
from orphangc.collect.delete.journal import MARKER_SCHEMA, Journal, markers_of
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import first_tries, tries_again
from orphangc.collect.delete.revalidation import Precondition, Revalidation
from orphangc.collect.delete.undisturbed import undisturbed
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.observation import Environment
from orphangc.collect.state.lock import Holder, Lock
from orphangc.collect.state.store import RootState
from orphangc.core.model.rate import DeletionRate
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Outcome
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import OUTCOME_SCHEMA, VERDICT_SCHEMA, Storage, TemporaryRows, TemporarySpace

_LOST = "the process that was to delete it was lost"
_CHECK_SECONDS = 2.0
_FINAL_CHECKS = 2
"""Number of stop checks to wait for before the objects of a lost partition are checked."""
_HEADS_AT_ONCE = 1000

log = structlog.get_logger()

RecordOutcomes = Callable[[pa.RecordBatch], None]


class WorkerPool(Protocol):
    """Several processes, on other machines maybe."""

    @property
    def slots(self) -> int:
        """Return how many work at once."""
        ...

    @property
    def scratch(self) -> TemporarySpace:
        """Return room that all of them see."""
        ...

    def run_partitions(
        self, work: PartitionWork, piles: Sequence[TemporaryRows]
    ) -> list[PartitionDone]:
        """Return the results of partitions, in any order, without those that were lost.

        Raises:
            OrphanGcError: The processes could not be asked.

        """
        ...


@dataclass(frozen=True, slots=True)
class PartitionDone:
    """Result of one partition.

    Attributes:
        number: Number of the partition.
        recorded: Outcomes of its objects, ``OUTCOME_SCHEMA``.
        stopped_by: Reason why it ended early.

    """

    number: int
    recorded: TemporaryRows
    stopped_by: OrphanGcError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionWork:
    """Work of a process on its partition; picklable.

    Attributes:
        open_environment: Opens the environment in that process; holds no credentials.
        open_state: Opens the state in that process; holds no credentials.
        settings: Settings of the storage root.
        preconditions: Facts that must not change.
        lock: Folder, name and holder of the run's lock.
        run_id: Identifier of the run.
        at: Store time of the run's cycle.
        rate: Keys a second of one process.
        scratch: Temporary space for the outcomes.

    """

    open_environment: Callable[[], Environment]
    open_state: Callable[[], RootState]
    settings: StorageRootSettings
    preconditions: tuple[Precondition, ...]
    lock: tuple[str, str, Holder]
    run_id: str
    at: datetime
    rate: float
    scratch: TemporarySpace

    def __call__(self, number: int, due: TemporaryRows) -> PartitionDone | None:
        """Return the result of a partition; ``None`` if another process holds its lease."""
        environment, state = self.open_environment(), self.open_state()
        if not state.files.create(lease_of(state, self.run_id, number), uuid4().hex.encode()):
            return None
        recorded = self.scratch.rows(OUTCOME_SCHEMA)
        limiter = RateLimiter(DeletionRate.of(self.rate, environment.storage.batch_size))
        deletion = Deletion(
            storage=environment.storage,
            revalidation=self.revalidation(environment, state),
            journal=Journal(state, self.run_id, f"share-{number:04d}"),
            limiter=limiter,
            at=self.at,
            progress=lambda *_: None,
        )
        over = threading.Event()
        watching = threading.Thread(
            target=_await_stop, args=(state, self.run_id, limiter, over), name="stop", daemon=True
        )
        watching.start()
        try:
            stopped_by = deletion.delete(due.batches(), recorded.append)
        finally:
            over.set()
        recorded.close()
        return PartitionDone(number, recorded, stopped_by)

    def revalidation(self, environment: Environment, state: RootState) -> Revalidation:
        """Return the checks before and after each batch."""
        folder, name, holder = self.lock
        return Revalidation(
            environment=environment,
            settings=self.settings,
            reader=CheckpointReader.of(self.settings),
            jobs=self.preconditions,
            state=state,
            lock=Lock(state.files, folder, name, holder),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedWorkers:
    """A worker pool, and the functions that open its processes' environment and state.

    Attributes:
        pool: Deletes.
        open_environment: See ``PartitionWork``.
        open_state: See ``PartitionWork``.

    """

    pool: WorkerPool
    open_environment: Callable[[], Environment]
    open_state: Callable[[], RootState]


def lease_of(state: RootState, run_id: str, number: int) -> str:
    """Return the name of the lease file of a partition."""
    return f"{state.folder}/shares/{run_id}-{number:04d}"


def _stop_of(state: RootState, run_id: str) -> str:
    return f"{state.folder}/shares/{run_id}-stop"


def _await_stop(state: RootState, run_id: str, limiter: RateLimiter, over: threading.Event) -> None:
    """Stop the deletion as soon as the run asks its workers to stop."""
    while not over.wait(_CHECK_SECONDS):
        try:
            if state.files.read(_stop_of(state, run_id)) is not None:
                limiter.stop()
                return
        except OrphanGcError as err:
            log.warning("sweep.unwatched", reason=str(err))


@dataclass(slots=True, kw_only=True)
class DistributedDeletion:
    """Deletes for one run with a worker pool.

    Attributes:
        pool: Pool that deletes.
        work: Work of each process.
        storage: Shows the outcomes of lost partitions.
        state: Holds leases and the stop marker.

    """

    pool: WorkerPool
    work: PartitionWork
    storage: Storage
    state: RootState

    def delete(
        self, due: Iterator[pa.RecordBatch], record: RecordOutcomes, *, total: int
    ) -> OrphanGcError | None:
        """Record the outcome of each due object; return what ended the deletion early.

        After a signal nothing more begins, running batches end and are recorded, and the signal
        is raised.
        """
        piles = self._partitions(due, total)
        return undisturbed(partial(self._delete, piles, record), self._stop, "crew")

    def _delete(
        self, piles: Sequence[TemporaryRows], record: RecordOutcomes
    ) -> OrphanGcError | None:
        """Delete partitions, and record the outcome of each object; return what ended it early."""
        done: dict[int, PartitionDone] = {}
        failure: OrphanGcError | None = None
        try:
            for each in self.pool.run_partitions(self.work, piles):
                done[each.number] = each
        except OrphanGcError as err:
            failure = err
        except BaseException:
            self._stop()
            raise
        is_whole = failure is None and len(done) == len(piles)
        if not is_whole:  # a running worker must not go on when this run has ended
            self._stop()
        stopped_by = self._record_all(piles, done, record)
        if is_whole:
            self._clean_up(len(piles))
        return stopped_by or failure

    def _partitions(self, due: Iterator[pa.RecordBatch], total: int) -> list[TemporaryRows]:
        """Return the due objects in as many partitions as workers, each a range of keys."""
        size = max(1, -(-total // self.pool.slots))
        piles = [self.pool.scratch.rows(VERDICT_SCHEMA) for _ in range(-(-total // size))]
        position = 0
        for batch in due:
            start = 0
            while start < batch.num_rows:
                rows = batch.slice(start, size - position % size)
                piles[position // size].append(rows)
                start += rows.num_rows
                position += rows.num_rows
        for pile in piles:
            pile.close()
        return piles

    def _stop(self) -> None:
        """Write the stop marker; a worker that does not see it stops when the lock is gone."""
        try:
            self.state.files.write(_stop_of(self.state, self.work.run_id), b"")
        except OrphanGcError as err:
            log.warning("sweep.no_stop_sign", reason=str(err))

    def _record_all(
        self,
        piles: Sequence[TemporaryRows],
        done: Mapping[int, PartitionDone],
        record: RecordOutcomes,
    ) -> OrphanGcError | None:
        """Record the outcomes of every partition; return what ended one early."""
        stopped_by: OrphanGcError | None = None
        for number, pile in enumerate(piles):
            partition = done.get(number)
            if partition is None:
                log.warning("sweep.share_lost", partition=number)
                lost = self._record_lost(pile, record)
                stopped_by = stopped_by or lost
                continue
            for rows in partition.recorded.batches():
                record(rows)
            stopped_by = stopped_by or partition.stopped_by
        return stopped_by

    def _record_lost(self, pile: TemporaryRows, record: RecordOutcomes) -> OrphanGcError:
        """Record the outcomes of a lost partition, as storage and journal show them."""
        threading.Event().wait(_FINAL_CHECKS * _CHECK_SECONDS)
        halted: OrphanGcError | None = None
        markers = self._markers()
        for batch in pile.batches():
            for start in range(0, batch.num_rows, _HEADS_AT_ONCE):
                rows = first_tries(batch.slice(start, _HEADS_AT_ONCE))
                is_unknown = np.ones(rows.num_rows, np.bool_)
                again = tries_again(rows, is_unknown, [_LOST] * rows.num_rows)
                recorded = _with_versions(resolved_outcomes(self.storage, again), markers)
                record(recorded)
                halted = halted or self._check_nothing_live_went(recorded)
        return halted or StorageUnreachableError(f"{_LOST}; stopped")

    def _markers(self) -> pa.Table:
        """Return the delete markers that this run's processes wrote down."""
        return pa.Table.from_batches(markers_of(self.state, self.work.run_id), MARKER_SCHEMA)

    def _check_nothing_live_went(self, recorded: pa.RecordBatch) -> OrphanGcError | None:
        """Halt all collection if a stored checkpoint names a deleted object (R22)."""
        gone = recorded.filter(pc.equal(recorded["outcome"], Outcome.DONE)).select(
            VERDICT_SCHEMA.names
        )
        return halted_after(
            gone,
            lambda: self.work.revalidation(self.work.open_environment(), self.state),
            self.storage,
            self.work.at,
        )

    def _clean_up(self, partitions: int) -> None:
        """Remove claims and the sign to stop; left behind they would only take room."""
        names = [lease_of(self.state, self.work.run_id, number) for number in range(partitions)]
        try:
            for name in (*names, _stop_of(self.state, self.work.run_id)):
                self.state.files.remove(name)
        except OrphanGcError as err:
            log.warning("sweep.claims_left", reason=str(err))


def _with_versions(recorded: pa.RecordBatch, markers: pa.Table) -> pa.RecordBatch:
    """Return outcomes with the delete markers that are known of them."""
    versions = markers["version_id"].take(pc.index_in(recorded["key"], value_set=markers["key"]))
    known = versions.combine_chunks() if isinstance(versions, pa.ChunkedArray) else versions
    position = recorded.schema.get_field_index("version_id")
    return recorded.set_column(position, recorded.schema.field(position), known)
