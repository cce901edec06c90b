"""Abort unfinished uploads that nothing completes any more, as carefully as objects go (R50).

An aborted upload cannot be brought back, so the operator asks for it (``abort_uploads``). The
sweep that first finds an upload only marks it; a later one aborts it, once its mark is as old as
the quarantine period, and if the rule of its key still holds. The bytes of an upload are in no
listing, and no checkpoint names an upload: what is proven is that its writer is gone.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from orphangc.collect.delete.halt import halt_for
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.delete.revalidation import Revalidation
from orphangc.collect.state.store import RootState
from orphangc.collect.state.upload_marks import UploadMark, read_marks, write_marks
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import uuid_of
from orphangc.core.model.types import Outcome
from orphangc.errors import NotReportedError, OrphanGcError, StorageUnreachableError
from orphangc.ports import Storage, Upload

MOST_UPLOADS = 10_000
"""Maximum number of uploads that one sweep marks or aborts, the oldest first: each is a request."""

MOST_IN_A_BATCH = 100
"""Uploads that are aborted upon one check of the evidence."""

log = structlog.get_logger()

IsDead = Callable[[str, datetime | None], bool]
"""Returns whether nothing completes an upload of a key, begun at a time."""


@dataclass(slots=True, kw_only=True)
class UploadAbortion:
    """Abortion of the unfinished uploads of one storage root by one sweep.

    Attributes:
        quarantine_start: Time before which an upload must have been marked.
        outcomes: Number of uploads that were due, by outcome.
    """

    extras: Storage
    state: RootState
    run_id: str
    plan_id: str
    now: datetime
    quarantine_start: datetime
    is_dead: IsDead
    revalidation: Revalidation
    limiter: RateLimiter
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def carry_out(self, *, is_deleting: bool) -> OrphanGcError | None:
        """Mark what is dead, and abort what was marked long enough; return what ended it early.

        A store that lists only a part of its uploads, or none, aborts none.

        Args:
            is_deleting: Whether uploads that are due are aborted.
        """
        try:
            marks = self._marked()
            self.revalidation.lock.renew()
            write_marks(self.state, marks)
        except NotReportedError as err:
            log.warning("uploads.not_reported", reason=str(err))
            return None
        except OrphanGcError as err:
            return err
        due = [each.upload for each in marks if each.since < self.quarantine_start]
        if not is_deleting:
            self.outcomes[Outcome.PLANNED] += len(due)
            return None
        for number, start in enumerate(range(0, len(due), MOST_IN_A_BATCH)):
            try:
                self._abort(number, due[start : start + MOST_IN_A_BATCH])
            except OrphanGcError as err:
                self.outcomes[Outcome.PLANNED] += len(due) - self.outcomes.total()
                return err
        return None

    def _marked(self) -> list[UploadMark]:
        """Return the uploads that are dead now, each with the time when it was first found so."""
        known = {each.upload: each for each in read_marks(self.state)}
        oldest = heapq.nsmallest(MOST_UPLOADS, self._dead(), key=lambda e: (e.begun_at, e.key))
        return [known.get(each.upload, each) for each in oldest]

    def _dead(self) -> Iterator[UploadMark]:
        """Yield the uploads that are dead now, as if this sweep were the first to find them."""
        for upload in self.extras.unfinished():
            if upload.begun_at is not None and self.is_dead(upload.key, upload.begun_at):
                yield UploadMark(
                    key=upload.key,
                    upload_id=upload.upload_id,
                    begun_at=upload.begun_at,
                    since=self.now,
                    plan_id=self.plan_id,
                )

    def _abort(self, number: int, due: Sequence[Upload]) -> None:
        """Check the evidence, journal a batch, abort it, and check again.

        Raises:
            RefusedError: The evidence no longer holds, or a checkpoint names an aborted upload.
            StorageUnreachableError: The state could not be written, or evidence not be read.
        """
        self.limiter.wait_for_turn(len(due))
        named = self.revalidation.check().named
        going = [each for each in due if not _is_named(each, named)]
        self.outcomes[Outcome.CHANGED] += len(due) - len(going)
        name = f"uploads-{number:06d}"
        self.state.write_journal(
            self.run_id, name, ({"key": each.key, "upload_id": each.upload_id} for each in going)
        )
        done = [(each, *self._ask(each)) for each in going]
        self.outcomes.update(outcome for _, outcome, _ in done)
        self.state.write_journal(self.run_id, f"{name}-outcomes", _lines(done))
        now_named = self.revalidation.check_after().named
        wrong = next((each for each in going if _is_named(each, now_named)), None)
        if wrong is not None:
            raise halt_for(f"the upload of {wrong.key}", self.revalidation, self.now)

    def _ask(self, upload: Upload) -> tuple[Outcome, str | None]:
        """Return what became of an upload, and why it failed."""
        try:
            return (Outcome.DONE if self.extras.abort(upload) else Outcome.GONE), None
        except StorageUnreachableError as err:
            log.warning("upload.not_aborted", reason=str(err))
            return Outcome.FAILED, str(err)


def _is_named(upload: Upload, named: UuidSet) -> bool:
    uuid = uuid_of(upload.key.rpartition("/")[2])
    return uuid is not None and uuid in named


def _lines(done: Sequence[tuple[Upload, Outcome, str | None]]) -> Iterator[dict[str, str | None]]:
    """Yield what the journal says of each upload afterwards."""
    for upload, outcome, why in done:
        yield {
            "key": upload.key,
            "upload_id": upload.upload_id,
            "outcome": outcome.value,
            "error": why,
        }
