"""Tombstone update: laid, dropped and forgotten in one new generation, before any deletion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.collect.decide.abandoned_savepoints import SAVEPOINTS
from orphangc.collect.delete.deletion import RecordOutcomes
from orphangc.collect.delete.retry_queue import with_outcomes
from orphangc.collect.runs.journal import MARKER_SCHEMA, markers_of
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.plan_intersection import ConfirmedShard, Fresh, are_gone, mask_of
from orphangc.collect.sweep.temporary_rows import (
    Cuts,
    Shards,
    TemporaryRows,
    TemporarySpace,
    shard_of,
)
from orphangc.core.columns.tombstone_packing import TOMBSTONE_SCHEMA
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.model.naming import Owners, place_of_folder
from orphangc.core.model.types import Action, Outcome, Scope
from orphangc.ports import Storage

_ENDED = pa.array([Outcome.DONE, Outcome.GONE], pa.string())
_COPIED = ["key", "size", "modified_at", "etag", "job_id"]


@dataclass(slots=True)
class TombstoneUpdate:
    """What is to become of the tombstones.

    Attributes:
        since: End of the cycle: R17 counts checkpoints after the *whole* of it.
        laid: Receives the new tombstones, ``TOMBSTONE_SCHEMA``.
        deferred: Ids of the jobs that get none yet: not all of their world was searched.
    """

    fresh: Fresh
    plan_id: str
    since: datetime
    laid: TemporaryRows
    deferred: frozenset[str] = frozenset()
    has_laid: bool = field(default=False, init=False)

    @property
    def revived_key(self) -> str | None:
        """Return the key of an object that had a tombstone and is referred to again."""
        is_revived = self.fresh.tombstoned.is_revived
        if not is_revived.any():
            return None
        only_first = np.zeros_like(is_revived)
        only_first[int(np.argmax(is_revived))] = True
        (first,) = self.fresh.known.to_batches(only_first)
        return str(first["key"][0].as_py())

    def take(self, part: ConfirmedShard) -> list[pa.RecordBatch]:
        """Return what became of the verdicts that ask for a tombstone or for its end."""
        return [
            self._lay(part.with_action(Action.TOMBSTONE)),
            self._drop(part.with_action(Action.REVIVE)),
        ]

    def _lay(self, part: ConfirmedShard) -> pa.RecordBatch:
        deferred = pa.array(sorted(self.deferred), pa.string())
        is_deferred = mask_of(pc.is_in(part.rows["job_id"], value_set=deferred))
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
        return with_outcomes(part.rows, outcomes.tolist(), errors=part.errors)

    def _drop(self, part: ConfirmedShard) -> pa.RecordBatch:
        had_one = part.tombstone >= 0
        self.fresh.tombstoned.is_revived[part.tombstone[had_one]] = True
        outcomes = np.where(had_one, Outcome.DONE.value, Outcome.GONE.value)
        return with_outcomes(part.rows, outcomes.tolist())

    def generation(self) -> Tombstones | None:
        """Return all tombstones from now on, ``None`` if they are the same as before.

        Those of objects that are not stored any more are forgotten.
        """
        seen = self.fresh.tombstoned
        is_kept = seen.is_listed & ~seen.is_revived
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


def agreed_deletions(part: ConfirmedShard, dead: Recovered, reader: Storage) -> pa.RecordBatch:
    """Return the outcomes of planned deletions before they begin: ``planned`` rows are due.

    An object that is gone and has a version id was deleted by a crashed run.

    Raises:
        StorageUnreachableError: The storage did not say whether such an object is stored.
    """
    versions = dead.versions(part.number, part.rows["key"])
    is_asked = mask_of(versions.is_valid()) & ~part.is_absent
    is_absent = part.is_absent | are_gone(part.rows, is_asked, reader)
    outcomes = np.where(is_absent, Outcome.GONE.value, part.outcomes)
    of_gone = pc.if_else(pa.array(is_absent), versions, None)
    return with_outcomes(part.rows, outcomes.tolist(), errors=part.errors, versions=of_gone)


def sort_due_deletions(
    deletions: TemporaryRows,
    free: frozenset[str],
    owners: Owners,
    *,
    take: RecordOutcomes,
    record: RecordOutcomes,
) -> int:
    """Return the number of due deletions, each handed on; record what becomes of the others.

    Args:
        deletions: Verdicts that ask for a deletion, each with the outcome that it would have.
        free: Keys of the jobs that nothing stops.
    """
    total = 0
    for rows in deletions.batches():
        is_free = _is_of_jobs(free, rows, owners)
        is_due = pc.and_(is_free, pc.equal(rows["outcome"], Outcome.PLANNED))
        record(with_outcomes(rows.filter(pc.invert(is_free)), Outcome.PLANNED))
        record(rows.filter(pc.and_not(is_free, is_due)))
        take(rows.filter(is_due))
        total += pc.sum(is_due).as_py() or 0
    return total


def _is_of_jobs(keys: frozenset[str], rows: pa.RecordBatch, owners: Owners) -> pa.BooleanArray:
    """Return bool[n]: whether each row is in a directory of one of the jobs.

    The id alone does not identify a job: several jobs may have the same id (decision 20).
    """
    folders = pc.replace_substring_regex(rows["key"], r"/[^/]*$", "").dictionary_encode()
    places = (place_of_folder(each, owners.base.name) for each in folders.dictionary.to_pylist())
    is_free = [
        (SAVEPOINTS if place.scope is Scope.SAVEPOINT else owners.job_key(place)) in keys
        for place in places
    ]
    return pa.array(is_free, pa.bool_()).take(folders.indices)


@dataclass(slots=True)
class Recovered:
    """Delete markers by shard.

    What a crashed run deleted is ``gone`` to the next one; but only with its marker's version id
    can it be brought back.
    """

    markers: Shards

    @classmethod
    def of(
        cls, state: RootState, run_ids: Iterable[str], cuts: Cuts, scratch: TemporarySpace
    ) -> Recovered:
        """Return the markers that the journals of these runs record."""
        markers = Shards(scratch, MARKER_SCHEMA, cuts)
        for run_id in run_ids:
            for batch in markers_of(state, run_id):
                markers.write(batch)
        markers.close()
        return cls(markers)

    def versions(self, number: int, keys: pa.Array) -> pa.Array:
        """Return the marker's version id of each key of a shard, null where none is known."""
        known = shard_of([self.markers], number, MARKER_SCHEMA)
        return known["version_id"].take(pc.index_in(keys, value_set=known["key"]))
