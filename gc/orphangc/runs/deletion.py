"""Deleting what is due: in batches, each looked at again, written down first, checked after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import structlog

from orphangc.core.model import Outcome, StoredObject
from orphangc.core.names import parse_artifact_name
from orphangc.errors import (
    LockHeldError,
    OrphanGcError,
    RefusedError,
    StorageUnreachableError,
)
from orphangc.ports import DeletionResult, DeletionStatus, Progress, Storage
from orphangc.runs.lock import Lock
from orphangc.runs.permission import Asked
from orphangc.runs.recheck import Recheck
from orphangc.runs.state import RootState

__all__ = ["Deletion"]

_BATCH = 1000
_OUTCOMES = {
    DeletionStatus.DELETED: Outcome.DONE,
    DeletionStatus.GONE: Outcome.GONE,
    DeletionStatus.CHANGED: Outcome.CHANGED,
    DeletionStatus.FAILED: Outcome.FAILED,
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """Deletes for one run.

    Attributes:
        storage: What is deleted from.
        recheck: Looks again before and after each batch.
        state: Takes the journal.
        lock: Must still be held.
        run_id: Of the run.
        at: Store time of the run's cycle.
        progress: Is told of each batch.

    """

    storage: Storage
    recheck: Recheck
    state: RootState
    lock: Lock
    run_id: str
    at: datetime
    progress: Progress

    def delete(self, due: Sequence[Asked], rows: list[dict[str, Any]]) -> OrphanGcError | None:
        """Append a row for each object that was due; return what ended the deletion early.

        What was not reached is ``planned``: the next run decides anew. Rows are appended batch
        by batch, so that a signal in between leaves what was done written down.
        """
        batches = list(_batches(due, min(_BATCH, self.storage.batch_size)))
        stopped_by: OrphanGcError | None
        for number, batch in enumerate(batches):
            try:
                rows += self._delete_batch(number, batch)
                halted = self.state.halted()
                stopped_by = None if halted is None else RefusedError(halted)
            except (RefusedError, StorageUnreachableError, LockHeldError) as err:
                rows += [each.with_outcome(Outcome.PLANNED) for each in batch]
                stopped_by = err
            if stopped_by is not None:
                log.warning("sweep.stopped", reason=str(stopped_by), batch=number)
                left = (each for later in batches[number + 1 :] for each in later)
                rows += [each.with_outcome(Outcome.PLANNED) for each in left]
                return stopped_by
            self.progress("deleting", number + 1, len(batches))
        return None

    def _delete_batch(self, number: int, batch: Sequence[Asked]) -> list[dict[str, Any]]:
        """Delete one batch after looking at everything again; return its rows.

        Raises:
            RefusedError: The evidence no longer holds; nothing of the batch was deleted.
            StorageUnreachableError: The storage could not be looked at; nothing was deleted.
            LockHeldError: Another run holds the lock; nothing was deleted.

        """
        self.lock.renew()
        self.recheck.check_gate()
        live = self.recheck.live_now()
        now = self.storage.stat([each.key for each in batch])
        kept = {
            each.key: outcome
            for each, facts in zip(batch, now, strict=True)
            if (outcome := _why_kept(each, facts, live)) is not None
        }
        going = [each for each in batch if each.key not in kept]
        self.state.write_journal(self.run_id, f"batch-{number:06d}", (each.row for each in going))
        rows = [each.with_outcome(kept[each.key]) for each in batch if each.key in kept]
        rows += [
            each.with_outcome(
                _OUTCOMES[result.status], error=result.error, version_id=result.version_id
            )
            for each, result in zip(going, self._delete_exactly(going), strict=True)
        ]
        self.state.write_journal(self.run_id, f"batch-{number:06d}-done", rows)
        self._check_nothing_live_went(going)
        return rows

    def _delete_exactly(self, going: Sequence[Asked]) -> list[DeletionResult]:
        """Return what the storage said of each key; a request that failed failed for all."""
        if not going:
            return []
        try:
            return self.storage.delete([each.stored for each in going])
        except StorageUnreachableError as err:
            return [
                DeletionResult(key=each.key, status=DeletionStatus.FAILED, error=str(err))
                for each in going
            ]

    def _check_nothing_live_went(self, going: Sequence[Asked]) -> None:
        """Halt everything if a root that is there now names what was just deleted (R22)."""
        try:
            live = self.recheck.live_now()
        except (RefusedError, StorageUnreachableError) as err:
            log.warning("sweep.unchecked", reason=str(err))
            return
        for each in going:
            if _uuid(each.key) in live:
                reason = f"{each.key} was deleted, and a root names it now"
                self.state.halt(reason, self.at)
                log.error("sweep.halted", reason=reason)
                return


def _uuid(key: str) -> bytes:
    parsed = parse_artifact_name(key.rpartition("/")[2])
    if parsed is None:
        raise RefusedError(f"{key} is no artifact; stopped")
    return parsed[1]


def _why_kept(each: Asked, facts: StoredObject | None, live: set[bytes]) -> Outcome | None:
    """Return why an object that was due is not deleted after all, ``None`` if it is."""
    if facts is None:
        return Outcome.GONE
    if _uuid(each.key) in live or not facts.is_same_as(each.stored):
        return Outcome.CHANGED
    return None


def _batches(due: Sequence[Asked], size: int) -> Iterator[list[Asked]]:
    """Yield the due objects in batches of one job each."""
    ordered = sorted(due, key=lambda each: (each.row["job_id"], each.key))
    for _, group in groupby(ordered, key=lambda each: each.row["job_id"]):
        members = list(group)
        for start in range(0, len(members), size):
            yield members[start : start + size]
