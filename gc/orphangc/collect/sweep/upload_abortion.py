"""Abort unfinished uploads that nothing completes any more, as carefully as objects go (R50).

An aborted upload cannot be brought back, so the operator asks for it (``abort_uploads``). The
sweep that first finds an upload only marks it; a later one aborts it, once its mark is as old as
the quarantine period, and if the rule of its key still holds. The bytes of an upload are in no
listing, and no checkpoint names an upload: what is proven is that its writer is gone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import structlog

from orphangc.collect.delete.held_task import HeldTask
from orphangc.collect.state.upload_marks import UploadMark, read_marks, write_marks
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import uuid_of
from orphangc.core.model.types import Outcome
from orphangc.errors import NotReportedError, OrphanGcError, StorageUnreachableError
from orphangc.ports import Storage, Upload

MOST_UPLOADS = 10_000
"""Maximum number of uploads that one sweep marks or aborts, the oldest first: each is a request."""

log = structlog.get_logger()

IsDead = Callable[[str, datetime | None], bool]
"""Returns whether nothing completes an upload of a key, begun at a time."""


@dataclass(slots=True, kw_only=True)
class UploadAbortion(HeldTask[Upload]):
    """Abortion of the unfinished uploads of one storage root by one sweep.

    Attributes:
        quarantine_start: Time before which an upload must have been marked.
    """

    journal_name = "uploads"
    most_at_once = 100
    holds_data = True

    extras: Storage
    plan_id: str
    quarantine_start: datetime
    is_dead: IsDead

    def carry_out(self, *, is_deleting: bool) -> OrphanGcError | None:
        """Mark what is dead, and abort what was marked long enough; return what ended it early.

        A store that lists only a part of its uploads, or none, aborts none.

        Args:
            is_deleting: Whether uploads that are due are aborted.
        """
        try:
            marks = self._marked()
            self.run.lock.renew()
            write_marks(self.run.state, marks)
        except NotReportedError as err:
            log.warning("uploads.not_reported", reason=str(err))
            return None
        except OrphanGcError as err:
            return err
        due = [each.upload for each in marks if each.since < self.quarantine_start]
        try:
            self.take_all_away(due, is_deleting=is_deleting)
        except OrphanGcError as err:
            return err
        return None

    def _marked(self) -> list[UploadMark]:
        """Return the uploads that are dead now, each with the time when it was first found so."""
        known = {each.upload: each for each in read_marks(self.run.state)}
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

    def line(self, thing: Upload) -> dict[str, str]:
        """Return what the journal says of an upload."""
        return {"key": thing.key, "upload_id": thing.upload_id}

    def take_away(self, thing: Upload) -> tuple[Outcome, str | None]:
        """Return what became of an upload, and why it failed."""
        try:
            return (Outcome.DONE if self.extras.abort(thing) else Outcome.GONE), None
        except StorageUnreachableError as err:
            log.warning("upload.not_aborted", reason=str(err))
            return Outcome.FAILED, str(err)

    def is_named(self, thing: Upload, named: UuidSet) -> bool:
        """Return whether a checkpoint names the key of an upload."""
        uuid = uuid_of(thing.key.rpartition("/")[2])
        return uuid is not None and uuid in named
