"""Tombstone update: laid, dropped and forgotten in one new generation, before any deletion."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.collect.delete.retry_queue import with_outcomes
from orphangc.collect.sweep.plan_intersection import ConfirmedShard, Fresh, mask_of
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.types import Action, Outcome
from orphangc.ports import TemporaryRows

_ENDED = pa.array([Outcome.DONE, Outcome.GONE], pa.string())
_COPIED = ["key", "size", "modified_at", "etag", "job_id"]


@dataclass(slots=True)
class TombstoneUpdate:
    """What is to become of the tombstones.

    Attributes:
        since: End of the cycle: R17 counts checkpoints after the *whole* of it.
        laid: Receives the new tombstones, ``TOMBSTONE_SCHEMA``.
        deferred: Ids of the jobs that get none yet: not all of their world was searched.
        is_revived: bool[len(known)], objects that plan or cycle refer to again.
    """

    fresh: Fresh
    plan_id: str
    since: datetime
    laid: TemporaryRows
    deferred: frozenset[str] = frozenset()
    has_laid: bool = field(default=False, init=False)
    is_revived: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        """Begin with what the cycle refers to again."""
        self.is_revived = self.fresh.is_revived.copy()

    @property
    def revived_key(self) -> str | None:
        """Return the key of an object that had a tombstone and is referred to again."""
        if not self.is_revived.any():
            return None
        (first,) = self.fresh.known.to_batches(_only_first(self.is_revived))
        return str(first["key"][0].as_py())

    def take(self, part: ConfirmedShard) -> list[pa.RecordBatch]:
        """Return what became of the verdicts that ask for a tombstone or for its end."""
        return [
            self._lay(part.with_action(Action.TOMBSTONE)),
            self._drop(part.with_action(Action.REVIVE)),
        ]

    def _lay(self, part: ConfirmedShard) -> pa.RecordBatch:
        is_deferred = mask_of(pc.is_in(part.rows["job_id"], value_set=self._deferred_ids()))
        is_laid = part.agrees & ~part.waits & ~is_deferred
        rows = part.rows.filter(pa.array(is_laid))
        count = rows.num_rows
        since = pa.scalar(self.since, TOMBSTONE_SCHEMA.field("since").type)
        columns = [rows[name] for name in _COPIED]
        columns += [pa.repeat(since, count), pa.repeat(pa.scalar(self.plan_id), count)]
        if count:
            self.laid.append(pa.RecordBatch.from_arrays(columns, schema=TOMBSTONE_SCHEMA))
            self.has_laid = True
        outcomes = np.where(part.agrees | part.waits, Outcome.DONE.value, part.outcomes)
        outcomes = np.where(is_deferred & ~part.waits, Outcome.PLANNED.value, outcomes)
        return with_outcomes(part.rows, outcomes.tolist())

    def _deferred_ids(self) -> pa.Array:
        return pa.array(sorted(self.deferred), pa.string())

    def _drop(self, part: ConfirmedShard) -> pa.RecordBatch:
        had_one = part.tombstone >= 0
        self.is_revived[part.tombstone[had_one]] = True
        outcomes = np.where(had_one, Outcome.DONE.value, Outcome.GONE.value)
        return with_outcomes(part.rows, outcomes.tolist())

    def generation(self) -> Tombstones | None:
        """Return all tombstones from now on, ``None`` if they are the same as before.

        Those of objects that are not stored any more are forgotten.
        """
        is_kept = self.fresh.is_listed & ~self.is_revived
        if not self.has_laid and is_kept.all():
            return None
        kept = self.fresh.known.to_batches(is_kept)
        return Tombstones.from_batches(chain(kept, self.laid.batches()))


class GoneTombstones:
    """The tombstones of one generation whose objects a sweep deleted, or found gone."""

    def __init__(self, generation: Tombstones) -> None:
        """Begin with none of them."""
        self._generation = generation
        self._has_gone = np.zeros(len(generation), np.bool_)

    def take(self, rows: pa.RecordBatch) -> None:
        """Take what became of some verdicts into account."""
        is_gone = pc.and_(
            pc.equal(rows["action"], Action.DELETE), pc.is_in(rows["outcome"], value_set=_ENDED)
        )
        if pc.any(is_gone).as_py():
            gone = self._generation.rows_of(rows["key"].filter(is_gone))
            self._has_gone[gone[gone >= 0]] = True

    def left(self) -> Tombstones | None:
        """Return the generation without them, ``None`` if it is the same."""
        if not self._has_gone.any():
            return None
        return self._generation.restricted(~self._has_gone)


def _only_first(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    only = np.zeros(len(mask), np.bool_)
    only[int(np.argmax(mask))] = True
    return only
