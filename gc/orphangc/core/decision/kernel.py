"""The rule over whole columns; tests hold it to an oracle that decides single objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from orphangc.core.columns.listing_columns import NO_ID, NO_TIME, Columns
from orphangc.core.model.bounds import JobBounds
from orphangc.core.model.types import Action, DirectoryLayout, Reason
from orphangc.core.times.instants import microseconds_of

VERDICT_SCHEMA: Final = pa.schema(
    [
        pa.field("job_id", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("scope", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified_at", pa.timestamp("us", tz="UTC")),
        pa.field("etag", pa.string()),
        pa.field("checkpoint_id", pa.int64()),
        pa.field("action", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
"""One row an object: the verdict files of a plan."""

_Codes = npt.NDArray[np.uint8]
_Mask = npt.NDArray[np.bool_]
_Instants = npt.NDArray[np.int64]
_Owners = npt.NDArray[np.int32]

_ACTIONS: Final = tuple(Action)
_REASONS: Final = tuple(Reason)
_LEAST, _MOST = -(2**63), 2**63 - 1


class Verdicts(NamedTuple):
    """What is to happen to n objects, and the one reason each.

    Attributes:
        actions: uint8[n], place in ``tuple(Action)``.
        reasons: uint8[n], place in ``tuple(Reason)``.
    """

    actions: _Codes
    reasons: _Codes


def action_code(action: Action) -> int:
    """Return the number of an action in ``Verdicts.actions``."""
    return _ACTIONS.index(action)


def reason_code(reason: Reason) -> int:
    """Return the number of a reason in ``Verdicts.reasons``."""
    return _REASONS.index(reason)


def action_words(codes: _Codes) -> pa.StringArray:
    """Return the words of actions, as the plan spells them."""
    return _ACTION_WORDS.take(pa.array(codes))


def reason_words(codes: _Codes) -> pa.StringArray:
    """Return the words of reasons, as the plan spells them."""
    return _REASON_WORDS.take(pa.array(codes))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsTable:
    """What the rule compares with, as columns: one row for each of a sequence of bounds.

    Attributes:
        cutoff_us: int64[m], what is stored at or after it stays.
        newest_older_id: int64[m], the largest checkpoint id that does not forbid.
        quarantine_us: int64[m], a tombstone laid at or after it is still in quarantine: the
            period runs, or no newer checkpoint has completed since (R17).
    """

    is_refused: _Mask
    is_report_only: _Mask
    cutoff_us: _Instants
    newest_older_id: npt.NDArray[np.int64]
    quarantine_us: _Instants

    @classmethod
    def of(cls, bounds: Sequence[JobBounds]) -> Self:
        """Return the table of these; ``owner`` in ``kernel`` is an index into the sequence."""
        return cls(
            is_refused=np.array([each.is_refused for each in bounds], np.bool_),
            is_report_only=np.array([each.is_report_only for each in bounds], np.bool_),
            cutoff_us=np.array([microseconds_of(each.cutoff) for each in bounds], np.int64),
            newest_older_id=np.array([_newest_older_id(each) for each in bounds], np.int64),
            quarantine_us=np.array([_quarantine_us(each) for each in bounds], np.int64),
        )

    def __len__(self) -> int:
        """Return m."""
        return len(self.is_refused)


def _newest_older_id(bounds: JobBounds) -> int:
    """Return the largest id that does not forbid; of an unknown oldest retained one all do."""
    if bounds.is_ended:
        return _MOST
    oldest = bounds.oldest_retained_checkpoint_id
    if oldest is None:
        return _LEAST
    return min(max(oldest - bounds.checkpoint_id_margin - 1, _LEAST), _MOST)


def _quarantine_us(bounds: JobBounds) -> int:
    start, newest = bounds.quarantine_start, bounds.newest_completed_at
    return microseconds_of(start if newest is None else min(start, newest))


def kernel(
    columns: Columns,
    *,
    is_live: _Mask,
    since_us: _Instants,
    has_tombstone: _Mask,
    owner: _Owners,
    bounds: BoundsTable,
) -> Verdicts:
    """Return the fate of n objects, in the same order.

    Args:
        is_live: bool[n], whether a checkpoint, snapshot or pin names the UUID; read only where
            ``columns.is_artifact``.
        since_us: int64[n], ``since`` of the tombstone of this very object, else ``NO_TIME``.
        has_tombstone: bool[n], whether the key has a tombstone, of whatever object.
        owner: int32[n], row of ``bounds`` for each object; often
            ``owner_of_kind[columns.kind]``.

    Raises:
        ValueError: An array has another length or type than it must.
        IndexError: An owner is not in the table.
    """
    _check(columns, (is_live, has_tombstone), since_us=since_us, owner=owner)
    stored_us, checkpoint_id = columns.modified_us, columns.checkpoint_id
    is_older = (stored_us > 0) & (stored_us < bounds.cutoff_us[owner])
    has_id = checkpoint_id != NO_ID
    questions = (
        (bounds.is_refused[owner], Reason.JOB_REFUSED),
        (bounds.is_report_only[owner], Reason.REPORT_ONLY),
        (_is_unrecognised(columns), Reason.UNRECOGNISED),
        (~columns.is_artifact, Reason.REPORT_ONLY),
        (is_live, Reason.REFERENCED),
        (
            has_id & (checkpoint_id > bounds.newest_older_id[owner]),
            Reason.NOT_OLDER_THAN_OLDEST_RETAINED,
        ),
        (~is_older, Reason.TOO_YOUNG),
        (~has_tombstone | (since_us == NO_TIME), Reason.ORPHAN),
        (since_us >= bounds.quarantine_us[owner], Reason.IN_QUARANTINE),
    )
    reasons = np.full(len(columns), reason_code(Reason.QUARANTINE_OVER), np.uint8)
    for answer, reason in reversed(questions):  # the first question that holds wins
        reasons[answer] = reason_code(reason)
    actions = _ACTION_OF_REASON[reasons]
    is_revived = (reasons == reason_code(Reason.REFERENCED)) & has_tombstone
    actions[is_revived] = action_code(Action.REVIVE)
    return Verdicts(actions, reasons)


def _check(
    columns: Columns, masks: Sequence[_Mask], *, since_us: _Instants, owner: _Owners
) -> None:
    """Raise unless all are columns of n and mean what they must.

    numpy would stretch one value over all objects, count a negative owner from the end, invert a
    mask of numbers to nearly always true, and find a missing time neither early nor late.
    """
    masks = (*masks, columns.is_artifact)
    times = (since_us, columns.modified_us, columns.checkpoint_id)
    if any(each.shape != (len(columns),) for each in (*masks, *times, owner)):
        raise ValueError("what is said of the objects is not one value an object")
    if any(each.dtype != np.bool_ for each in masks):
        raise ValueError("a mask is no mask")
    if any(each.dtype != np.int64 for each in times):
        raise ValueError("a time or checkpoint id is no whole number")
    if len(owner) and owner.min() < 0:
        raise IndexError("an object's owner is not in the table of bounds")


def _is_unrecognised(columns: Columns) -> _Mask:
    flags = [each.artifact.layout is DirectoryLayout.UNRECOGNISED for each in columns.kinds]
    return np.array(flags, np.bool_)[columns.kind]


_ACTION_OF_REASON = np.full(len(_REASONS), action_code(Action.KEEP), np.uint8)
_ACTION_OF_REASON[reason_code(Reason.ORPHAN)] = action_code(Action.TOMBSTONE)
_ACTION_OF_REASON[reason_code(Reason.QUARANTINE_OVER)] = action_code(Action.DELETE)
_ACTION_WORDS = pa.array([each.value for each in _ACTIONS])
_REASON_WORDS = pa.array([each.value for each in _REASONS])


def verdict_batch(
    columns: Columns, actions: _Codes, reasons: _Codes, *, owner: _Owners, job_ids: Sequence[str]
) -> pa.RecordBatch:
    """Return the verdicts as ``VERDICT_SCHEMA``, one row an object, in the listing's order.

    Args:
        owner: int32[n], index into ``job_ids``.
        job_ids: Job ids in the order of the bounds; "" for objects in no job directory.
    """
    scopes = pa.array([each.place.scope.value for each in columns.kinds])
    ids = columns.checkpoint_id
    return pa.RecordBatch.from_arrays(
        [
            pa.array(job_ids).take(pa.array(owner)),
            columns.batch.column("key"),
            scopes.take(pa.array(columns.kind)),
            columns.batch.column("size"),
            columns.batch.column("modified_at"),
            columns.batch.column("etag"),
            pa.array(ids, mask=ids == NO_ID),
            action_words(actions),
            reason_words(reasons),
        ],
        schema=VERDICT_SCHEMA,
    )
