"""The deletions of a sweep that are due: agreed by plan and cycle, of jobs that nothing stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from orphangc.collect.decide.abandoned_savepoints import SAVEPOINTS
from orphangc.collect.delete.deletion import RecordOutcomes
from orphangc.collect.delete.retry_queue import with_outcomes
from orphangc.collect.sweep.crashed_runs import Recovered
from orphangc.collect.sweep.plan_intersection import ConfirmedShard, are_gone, mask_of
from orphangc.core.model.naming import place_of_folder
from orphangc.core.model.owners import Owners
from orphangc.core.model.types import Outcome, Scope
from orphangc.ports import OUTCOME_SCHEMA, Storage, TemporaryRows


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDeletions:
    """Deletions to carry out now.

    Attributes:
        rows: Verdicts, ``OUTCOME_SCHEMA``.
    """

    rows: TemporaryRows
    total: int

    def verdicts(self) -> Iterator[pa.RecordBatch]:
        """Yield the verdicts without their outcomes."""
        for batch in self.rows.batches():
            yield batch.select(OUTCOME_SCHEMA.names[:-3])


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
    return with_outcomes(part.rows, outcomes.tolist(), versions=of_gone)


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
