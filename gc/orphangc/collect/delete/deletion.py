"""Deletion in batches: each is revalidated, journalled before it, and checked after it.

Several batches run at a time, all at one rate. Whatever happens to a request, each of its keys
gets the outcome that the storage confirms: a key that was refused for now, or got no answer, is
revalidated and requested again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.collect.delete.batch import BatchDeletion, BatchDone, BatchWork, resolved_outcomes
from orphangc.collect.delete.retry_queue import RetryQueue, with_outcomes
from orphangc.core.model.types import Outcome
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import Progress

_FAILURES = 5
"""So many batches in a row of which every key failed end the deletion."""
_REFUSALS = 20
"""So many refusals in a row do too: with the pauses between them that is about eight minutes."""

log = structlog.get_logger()

RecordOutcomes = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion(BatchDeletion):
    """Deletes the objects of one run."""

    progress: Progress

    def delete(
        self, due: Iterable[pa.RecordBatch], record: RecordOutcomes, *, total: int | None = None
    ) -> OrphanGcError | None:
        """Record the outcome of each due object; return what ended the deletion early.

        Objects that were not reached are ``planned``: the next run decides again. Once the limiter
        is stopped nothing more begins; running batches end and are recorded.

        Args:
            due: Rows of ``VERDICT_SCHEMA``, ordered by key.
            record: Receives rows of ``OUTCOME_SCHEMA``.
        """
        run = _DeletionRun(self, RetryQueue(iter(due)), record, total)
        return run.all(run.one_by_one if self.storage.at_once == 1 else run.many_at_once)


@dataclass(slots=True)
class _DeletionRun:
    """One call of ``Deletion.delete``."""

    deletion: Deletion
    due: RetryQueue
    record: RecordOutcomes
    total: int | None
    stopped_by: OrphanGcError | None = None
    number: int = 0
    recorded: int = 0
    failures: int = 0
    under_way: dict[int, BatchWork] = field(default_factory=dict)

    def all(self, in_batches: Callable[[], None]) -> OrphanGcError | None:
        """Deal with everything, and record what was not reached; return what ended it early."""
        try:
            in_batches()
        finally:
            self.finish()
        return self.stopped_by

    def one_by_one(self) -> None:
        """Deal with everything, one batch after the other."""
        while (work := self._next()) is not None:
            self._take(work, work.do())

    def many_at_once(self) -> None:
        """Deal with everything, as many batches at a time as the storage profits from."""
        at_once = self.deletion.storage.at_once
        pending: dict[Future[BatchDone], BatchWork] = {}
        with ThreadPoolExecutor(at_once, thread_name_prefix="batch") as pool:
            try:
                while True:
                    while len(pending) < at_once and (work := self._next()) is not None:
                        pending[pool.submit(work.do)] = work
                    if not pending:
                        return
                    for each in wait(pending, return_when=FIRST_COMPLETED).done:
                        self._take(pending.pop(each), each.result())
            finally:
                if pending:  # one of them met with a fault of ours: the others end in order
                    self.deletion.limiter.stopped.set()
                for future, work in pending.items():
                    if future.exception() is None:
                        self._take(work, future.result())

    def _next(self) -> BatchWork | None:
        """Return the next batch, ``None`` when there is none or nothing may go any more."""
        deletion = self.deletion
        if self.stopped_by is not None:
            return None
        rows = self.due.take(min(deletion.limiter.keys(), deletion.storage.batch_size))
        if rows is None:
            return None
        work = BatchWork(deletion, self.number, rows)
        self.under_way[self.number] = work
        self.number += 1
        return work

    def _take(self, work: BatchWork, done: BatchDone) -> None:
        """Record the outcomes of a batch, and decide whether to go on."""
        self._record(done.outcomes)
        self.due.put_back(done.again)
        del self.under_way[work.number]
        if done.is_answered:
            self.failures = 0
        self.failures += done.is_failure
        stopped_by = done.stopped_by or self._enough(done)
        if stopped_by is not None and self.stopped_by is None:
            self.stopped_by = stopped_by
            self.deletion.limiter.stopped.set()
            log.warning("sweep.stopped", reason=str(stopped_by), batch=work.number)

    def _enough(self, done: BatchDone) -> OrphanGcError | None:
        """Return why to give up although the evidence still holds."""
        if self.failures >= _FAILURES:
            return StorageUnreachableError(
                f"{self.failures} batches in a row failed, the last one: {done.why}; stopped"
            )
        refusals = self.deletion.limiter.refusals
        if refusals >= _REFUSALS:
            return StorageUnreachableError(
                f"the store has asked for less {refusals} times in a row; stopped"
            )
        return None

    def finish(self) -> None:
        """Record everything that is left: not reached, or requested without an answer."""
        for work in self.under_way.values():  # broken off, by a signal or by a fault of ours
            self.due.put_back(work.left())
        for rows in self.due.left():
            is_outcome_unknown = rows["is_outcome_unknown"]
            self._record(resolved_outcomes(self.deletion.storage, rows.filter(is_outcome_unknown)))
            self._record(with_outcomes(rows.filter(pc.invert(is_outcome_unknown)), Outcome.PLANNED))

    def _record(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self.record(rows)
            self.recorded += rows.num_rows
            self.deletion.progress("deleting", self.recorded, self.total)
