"""Deletion in batches: each is journalled, then revalidated before it, and checked after it.

Several batches run at a time, all at one rate. Whatever happens to a request, each of its keys
gets the outcome that the storage confirms: a key that was refused for now, or got no answer, is
revalidated and requested again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.collect.delete.halt import halt_for, halted_after
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.retry_queue import (
    RETRY_SCHEMA,
    RetryQueue,
    outcome_of,
    tries_again,
    with_outcomes,
)
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.collect.runs.journal import Journal
from orphangc.core.columns.stored_objects import stored_objects
from orphangc.core.model.types import Outcome
from orphangc.errors import OrphanGcError, StorageUnreachableError
from orphangc.ports import (
    OUTCOME_SCHEMA,
    VERDICT_SCHEMA,
    DeletionResult,
    DeletionStatus,
    Progress,
    Storage,
)

_TRIES = 12
"""Maximum number of requests for one object that fail or are left unanswered after one was."""
_TOO_MANY = 0.1
"""A request is too large if more than this part of its keys was unsuccessful."""

_Mask = npt.NDArray[np.bool_]
_MAY_BE_GONE = pa.array([Outcome.DONE, Outcome.FAILED, Outcome.GONE], pa.string())
_ANSWERS = {DeletionStatus.DELETED, DeletionStatus.GONE, DeletionStatus.CHANGED}
_NOTHING = pa.RecordBatch.from_pylist([], schema=OUTCOME_SCHEMA)
_NONE_AGAIN = pa.RecordBatch.from_pylist([], schema=RETRY_SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDone:
    """Result of a batch.

    Attributes:
        outcomes: Outcomes of its objects, ``OUTCOME_SCHEMA``.
        again: Objects to request again, unrequested or unsuccessful, ``RETRY_SCHEMA``.
        is_answered: Whether the store said of one of them what became of it.
        is_failure: Whether at least one object was requested and each failed or got no answer.
        stopped_by: Reason why nothing more may be deleted.
    """

    outcomes: pa.RecordBatch = field(default_factory=lambda: _NOTHING)
    again: pa.RecordBatch = field(default_factory=lambda: _NONE_AGAIN)
    is_answered: bool = False
    is_failure: bool = False
    why: str | None = None
    stopped_by: OrphanGcError | None = None


@dataclass(slots=True)
class BatchWork:
    """One batch, and what deletes it.

    Attributes:
        rows: ``RETRY_SCHEMA``, of one job, ordered by key.
        has_asked: Whether the storage may have been asked to delete.
    """

    by: Deletion
    number: int
    rows: pa.RecordBatch
    has_asked: bool = field(default=False, init=False)

    def do(self) -> BatchDone:
        """Delete what still may go, and return what became of all."""
        try:
            is_named = self._revalidated()
        except OrphanGcError as err:
            return BatchDone(again=self.rows, stopped_by=err)
        going = self.rows.filter(pa.array(~is_named))
        kept, stopped_by = self._kept(self.rows.filter(pa.array(is_named)))
        if stopped_by is not None or not going.num_rows:
            return BatchDone(outcomes=kept, again=going, stopped_by=stopped_by)
        return self._delete(going, kept)

    def _revalidated(self) -> npt.NDArray[np.bool_]:
        """Return bool[n], which rows a checkpoint names; the others may go. All are journalled.

        If the store asks for a pause meanwhile, the check is too old and is repeated.
        """
        self.by.journal.write_batch(self.number, self.rows.select(VERDICT_SCHEMA.names))
        while True:
            turn = self.by.limiter.take_turn(self.rows.num_rows)
            is_named: npt.NDArray[np.bool_] = self.by.revalidation.check().names(self.rows)
            if is_named.all() or self.by.limiter.await_turn(turn):
                return is_named

    def left(self) -> pa.RecordBatch:
        """Return the rows of a batch that was broken off."""
        is_unknown = np.full(self.rows.num_rows, self.has_asked)
        return tries_again(self.rows, is_unknown, ["broken off"] * self.rows.num_rows)

    def _delete(self, going: pa.RecordBatch, kept: pa.RecordBatch) -> BatchDone:
        sent_at = self.by.limiter.clock()
        self.has_asked = True
        results = self._ask(going)
        statuses = [result.status for result in results]
        self._adapt_rate(statuses, sent_at)
        recorded, again = _sorted_out(going, results)
        is_last = pc.greater_equal(again["tries"], _TRIES)
        done = _joined([kept, recorded, resolved_outcomes(self.by.storage, again.filter(is_last))])
        again = again.filter(pc.invert(is_last))
        unwritten = self._record(done)
        stopped_by = self._check_nothing_live_went(done, again) or unwritten
        is_answered = not _ANSWERS.isdisjoint(statuses)
        return BatchDone(
            outcomes=done,
            again=again,
            is_answered=is_answered,
            is_failure=not is_answered and DeletionStatus.REFUSED not in statuses,
            why=next((result.error for result in results if result.error), None),
            stopped_by=stopped_by,
        )

    def _ask(self, going: pa.RecordBatch) -> Sequence[DeletionResult]:
        """Return what the storage said of each key; a request that failed failed for all."""
        objects = stored_objects(going)
        try:
            return self.by.storage.delete(objects)
        except StorageUnreachableError as err:
            failed = DeletionStatus.FAILED
            return [DeletionResult(key=o.key, status=failed, error=str(err)) for o in objects]

    def _adapt_rate(self, statuses: Sequence[DeletionStatus], sent_at: float) -> None:
        refused = statuses.count(DeletionStatus.REFUSED)
        unknown = statuses.count(DeletionStatus.UNKNOWN)
        unsuccessful = unknown + (refused if refused < len(statuses) else 0)
        if refused:
            self.by.limiter.note_refusal(sent_at)
        if unsuccessful > _TOO_MANY * len(statuses):
            self.by.limiter.note_failure()
        elif not refused:
            self.by.limiter.note_success(sent_at)

    def _record(self, done: pa.RecordBatch) -> OrphanGcError | None:
        try:
            self.by.journal.write_outcomes(self.number, done)
        except OrphanGcError as err:
            return err
        return None

    def _kept(self, named: pa.RecordBatch) -> tuple[pa.RecordBatch, OrphanGcError | None]:
        """Return the outcomes of objects that a checkpoint names now.

        If one of them was requested before without an answer, it may be gone: a proof has failed.
        """
        is_outcome_unknown = named["is_outcome_unknown"]
        unknown = resolved_outcomes(self.by.storage, named.filter(is_outcome_unknown))
        is_gone = pc.equal(unknown["outcome"], Outcome.DONE)
        gone = unknown.filter(is_gone)
        kept = [named.filter(pc.invert(is_outcome_unknown)), unknown.filter(pc.invert(is_gone))]
        recorded = _joined([gone, *(with_outcomes(rows, Outcome.CHANGED) for rows in kept)])
        if not gone.num_rows:
            return recorded, None
        return recorded, halt_for(gone["key"][0].as_py(), self.by.revalidation, self.by.at)

    def _check_nothing_live_went(
        self, done: pa.RecordBatch, again: pa.RecordBatch
    ) -> OrphanGcError | None:
        """Halt all collection if a stored checkpoint names an object that was just deleted (R22).

        Failed objects are checked too: a request that broke off may have deleted some of them. So
        are those that were gone: something on the way may have repeated our own request.
        """
        names = VERDICT_SCHEMA.names
        went = done.filter(pc.is_in(done["outcome"], value_set=_MAY_BE_GONE)).select(names)
        may_be_gone = again.filter(again["is_outcome_unknown"]).select(names)
        rows = pa.concat_batches([went, may_be_gone])
        return halted_after(rows, self.by.revalidation, self.by.storage, self.by.at)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.concat_batches([each for each in batches if each.num_rows] or batches[:1])


def _sorted_out(
    going: pa.RecordBatch, results: Sequence[DeletionResult]
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Return the outcomes that the answers settle, and the objects to request again.

    An object that is gone after an unanswered request was deleted by that request. An object
    that could not be checked since then may be gone: its failure is not known.
    """
    is_outcome_unknown = going["is_outcome_unknown"].to_numpy(zero_copy_only=False)
    is_again, is_unknown, is_refused = _unsuccessful(results, is_outcome_unknown)
    outcomes = [
        Outcome.DONE if unknown and result.status is DeletionStatus.GONE else
        outcome_of(result.status)
        for result, unknown in zip(results, is_outcome_unknown, strict=True)
    ]  # fmt: skip
    recorded = with_outcomes(
        going,
        outcomes,
        errors=[result.error for result in results],
        versions=[result.version_id for result in results],
    )
    why = [result.error for result in results]
    again = tries_again(going, is_unknown, why, is_refused)
    mask = pa.array(is_again)
    return recorded.filter(pc.invert(mask)), again.filter(mask)


def _unsuccessful(
    results: Sequence[DeletionResult], is_outcome_unknown: _Mask
) -> tuple[_Mask, _Mask, _Mask]:
    """Return bool[n] three times: which objects to request again, got no answer, were refused."""
    statuses = [result.status for result in results]
    is_refused = np.array([s is DeletionStatus.REFUSED for s in statuses], np.bool_)
    is_unknown = np.array([s is DeletionStatus.UNKNOWN for s in statuses], np.bool_)
    has_failed = np.array([s is DeletionStatus.FAILED for s in statuses], np.bool_)
    return is_refused | is_unknown | (has_failed & is_outcome_unknown), is_unknown, is_refused


def resolved_outcomes(storage: Storage, unknown: pa.RecordBatch) -> pa.RecordBatch:
    """Return the outcomes of objects requested without an answer, after a last HEAD request."""
    if not unknown.num_rows:
        return _NOTHING
    outcomes: list[str] = []
    errors: list[str | None] = []
    try:
        found = storage.stat(unknown["key"].to_pylist())
    except StorageUnreachableError as err:
        why = f"no answer came, and whether it is gone cannot be seen: {err}"
        return with_outcomes(unknown, Outcome.FAILED, errors=[why] * unknown.num_rows)
    judged = stored_objects(unknown)
    for before, now, why in zip(judged, found, unknown["why"].to_pylist(), strict=True):
        is_same = now is not None and now.is_same_as(before)
        outcomes.append(
            Outcome.DONE if now is None else Outcome.FAILED if is_same else Outcome.CHANGED
        )
        errors.append(why if is_same else None)
    return with_outcomes(unknown, outcomes, errors=errors)


_FAILURES = 5
"""So many batches in a row of which every key failed end the deletion."""
_REFUSALS = 20
"""So many refusals in a row do too: with the pauses between them that is about eight minutes."""

log = structlog.get_logger()

RecordOutcomes = Callable[[pa.RecordBatch], None]


@dataclass(slots=True, kw_only=True)
class Deletion:
    """Deletes the objects of one run.

    Attributes:
        at: Store time of its cycle.
        record: Receives rows of ``OUTCOME_SCHEMA``.
        total: Number of due objects, if it is known.
    """

    storage: Storage
    revalidation: Revalidation
    journal: Journal
    limiter: RateLimiter
    at: datetime
    due: RetryQueue
    record: RecordOutcomes
    progress: Progress
    total: int | None = None
    _stopped_by: OrphanGcError | None = field(default=None, init=False)
    _number: int = field(default=0, init=False)
    _recorded: int = field(default=0, init=False)
    _failures: int = field(default=0, init=False)
    _under_way: dict[int, BatchWork] = field(default_factory=dict, init=False)

    def carry_out(self) -> OrphanGcError | None:
        """Record the outcome of each due object; return what ended the deletion early.

        Objects that were not reached are ``planned``: the next run decides again. Once the limiter
        is stopped nothing more begins; running batches end and are recorded.
        """
        try:
            self._in_batches()
        finally:
            self._finish()
        return self._stopped_by

    def _in_batches(self) -> None:
        at_once = self.storage.at_once
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
                    self.limiter.stopped.set()
                for future, work in pending.items():
                    if future.exception() is None:
                        self._take(work, future.result())

    def _next(self) -> BatchWork | None:
        if self._stopped_by is not None:
            return None
        rows = self.due.take(min(self.limiter.keys(), self.storage.batch_size))
        if rows is None:
            return None
        work = BatchWork(self, self._number, rows)
        self._under_way[self._number] = work
        self._number += 1
        return work

    def _take(self, work: BatchWork, done: BatchDone) -> None:
        self._record(done.outcomes)
        self.due.put_back(done.again)
        del self._under_way[work.number]
        if done.is_answered:
            self._failures = 0
        self._failures += done.is_failure
        stopped_by = done.stopped_by or self._enough(done)
        if stopped_by is not None and self._stopped_by is None:
            self._stopped_by = stopped_by
            self.limiter.stopped.set()
            log.warning("sweep.stopped", reason=str(stopped_by), batch=work.number)

    def _enough(self, done: BatchDone) -> OrphanGcError | None:
        if self._failures >= _FAILURES:
            return StorageUnreachableError(
                f"{self._failures} batches in a row failed, the last one: {done.why}; stopped"
            )
        refusals = self.limiter.refusals
        if refusals >= _REFUSALS:
            return StorageUnreachableError(
                f"the store has asked for less {refusals} times in a row; stopped"
            )
        return None

    def _finish(self) -> None:
        for work in self._under_way.values():  # broken off, by a signal or by a fault of ours
            self.due.put_back(work.left())
        for rows in self.due.left():
            is_outcome_unknown = rows["is_outcome_unknown"]
            self._record(resolved_outcomes(self.storage, rows.filter(is_outcome_unknown)))
            self._record(with_outcomes(rows.filter(pc.invert(is_outcome_unknown)), Outcome.PLANNED))

    def _record(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self.record(rows)
            self._recorded += rows.num_rows
            self.progress("deleting", self._recorded, self.total)
