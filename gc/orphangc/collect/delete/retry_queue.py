"""What is still to be deleted, in the order of keys, and what is to be tried once more."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.core.model.types import Outcome
from orphangc.ports import OUTCOME_SCHEMA, VERDICT_SCHEMA, DeletionStatus

RETRY_SCHEMA = (
    VERDICT_SCHEMA.append(pa.field("tries", pa.int32(), nullable=False))
    .append(pa.field("is_outcome_unknown", pa.bool_(), nullable=False))
    .append(pa.field("why", pa.string()))
)
"""``VERDICT_SCHEMA``, with the number of unsuccessful requests, whether one of them got no answer
(so that it may have deleted the object), and the error of the last one."""

_OUTCOMES = {
    DeletionStatus.DELETED: Outcome.DONE,
    DeletionStatus.GONE: Outcome.GONE,
    DeletionStatus.CHANGED: Outcome.CHANGED,
}


def outcome_of(status: DeletionStatus) -> Outcome:
    """Return the outcome that an answer of the storage stands for."""
    return _OUTCOMES.get(status, Outcome.FAILED)


def first_tries(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of ``VERDICT_SCHEMA`` as ``RETRY_SCHEMA``."""
    count = rows.num_rows
    columns = [
        *rows.columns,
        pa.repeat(pa.scalar(0, pa.int32()), count),
        pa.repeat(pa.scalar(False), count),  # noqa: FBT003 - a value
        pa.nulls(count, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RETRY_SCHEMA)


def tries_again(
    rows: pa.RecordBatch,
    is_unknown: npt.NDArray[np.bool_],
    why: Iterable[str | None],
    is_refused: npt.NDArray[np.bool_] | None = None,
) -> pa.RecordBatch:
    """Return rows of ``RETRY_SCHEMA`` after one more unsuccessful request.

    A request that the store refused is no try: it touched nothing, and says nothing of the object.
    """
    tried = np.ones(rows.num_rows, np.bool_) if is_refused is None else ~is_refused
    columns = [
        *rows.columns[: len(VERDICT_SCHEMA)],
        pc.add(rows["tries"], pa.array(tried.astype(np.int32))),
        pc.or_(rows["is_outcome_unknown"], pa.array(is_unknown)),
        pa.array(why, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=RETRY_SCHEMA)


def with_outcomes(
    rows: pa.RecordBatch,
    outcomes: Outcome | Iterable[str],
    *,
    errors: Iterable[str | None] | None = None,
    versions: Iterable[str | None] | None = None,
) -> pa.RecordBatch:
    """Return rows with their outcomes, ``OUTCOME_SCHEMA``; one outcome may apply to all."""
    count = rows.num_rows
    said = [str(outcomes)] * count if isinstance(outcomes, Outcome) else outcomes
    columns = [
        *rows.columns[: len(VERDICT_SCHEMA)],
        pa.array(said, pa.string()),
        pa.nulls(count, pa.string()) if errors is None else pa.array(errors, pa.string()),
        pa.nulls(count, pa.string()) if versions is None else pa.array(versions, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=OUTCOME_SCHEMA)


@dataclass(slots=True)
class RetryQueue:
    """Gives out batches of one job each.

    Attributes:
        batches: Rows of ``VERDICT_SCHEMA``, ordered by key.
    """

    batches: Iterator[pa.RecordBatch]
    _rest: pa.RecordBatch | None = None
    _again: list[pa.RecordBatch] = field(default_factory=list)

    def take(self, most: int) -> pa.RecordBatch | None:
        """Return the next batch of at most so many rows, ``RETRY_SCHEMA``; ``None`` at the end.

        What is to be tried again waits until it fills a batch, or nothing else is left.
        """
        waiting = sum(rows.num_rows for rows in self._again)
        if waiting < most:
            fresh = self._next()
            if fresh is not None:
                batch = _of_one_job(fresh.slice(0, most))
                self._rest = fresh.slice(batch.num_rows)
                return first_tries(batch)
        if not waiting:
            return None
        table = pa.Table.from_batches(self._again).sort_by("key").combine_chunks()
        rows = table.to_batches()[0]
        batch = _of_one_job(rows.slice(0, most))
        self._again = [rows.slice(batch.num_rows)]
        return batch

    def put_back(self, rows: pa.RecordBatch) -> None:
        """Keep rows of ``RETRY_SCHEMA`` to be tried again."""
        if rows.num_rows:
            self._again.append(rows)

    def left(self) -> Iterator[pa.RecordBatch]:
        """Yield everything that was not given out, or was put back, as ``RETRY_SCHEMA``."""
        while self._again:
            yield self._again.pop()
        while (rows := self._next()) is not None:
            self._rest = None
            yield first_tries(rows)

    def _next(self) -> pa.RecordBatch | None:
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self.batches, None)
            if self._rest is None:
                return None
        return self._rest


def _of_one_job(rows: pa.RecordBatch) -> pa.RecordBatch:
    other = pc.index(pc.not_equal(rows["job_id"], rows["job_id"][0]), True).as_py()
    return rows if other < 0 else rows.slice(0, other)
