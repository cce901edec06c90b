"""Abort unfinished uploads that nothing completes any more, as carefully as objects go (R50).

An aborted upload cannot be brought back, so the operator asks for it (``abort_uploads``). The
sweep that first finds an upload only marks it; a later one aborts it, once its mark is as old as
the quarantine period, and if the rule of its key still holds. The bytes of an upload are in no
listing, and no checkpoint names an upload: what is proven is that its writer is gone.

The marks are one file of the state location, replaced by each sweep. Losing or damaging it keeps
uploads longer: their quarantine begins again.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from orphangc.collect.delete.held_task import HeldTask
from orphangc.collect.state.store import RootState
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.naming import uuid_of
from orphangc.core.model.types import Outcome
from orphangc.core.times.instants import Instant
from orphangc.errors import NotReportedError, OrphanGcError, StorageUnreachableError
from orphangc.ports import Storage, Upload

MOST_UPLOADS = 10_000
"""Maximum number of uploads that one sweep marks or aborts, the oldest first: each is a request."""

log = structlog.get_logger()

IsDead = Callable[[str, datetime | None], bool]
"""Returns whether nothing completes an upload of a key, begun at a time."""


@dataclass(slots=True, kw_only=True)
class UploadAbortion(HeldTask[Upload]):
    """Abortion of the unfinished uploads of one storage root by one sweep."""

    journal_name = "uploads"
    most_at_once = 100
    holds_data = True

    storage: Storage
    plan_id: str
    quarantine_start: datetime
    is_dead: IsDead

    def carry_out(self, *, is_deleting: bool) -> OrphanGcError | None:
        """Mark what is dead, and abort what was marked long enough; return what ended it early.

        A store that lists only a part of its uploads, or none, aborts none.
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
        known = {each.upload: each for each in read_marks(self.run.state)}
        oldest = heapq.nsmallest(MOST_UPLOADS, self._dead(), key=lambda e: (e.begun_at, e.key))
        return [known.get(each.upload, each) for each in oldest]

    def _dead(self) -> Iterator[UploadMark]:
        """Yield the uploads that are dead now, as if this sweep were the first to find them."""
        for upload in self.storage.unfinished():
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
            return (Outcome.DONE if self.storage.abort(thing) else Outcome.GONE), None
        except StorageUnreachableError as err:
            log.warning("upload.not_aborted", reason=str(err))
            return Outcome.FAILED, str(err)

    def is_named(self, thing: Upload, named: UuidSet) -> bool:
        """Return whether a checkpoint names the key of an upload."""
        uuid = uuid_of(thing.key.rpartition("/")[2])
        return uuid is not None and uuid in named


_NAME = "uploads.json"


class UploadMark(BaseModel):
    """An upload, and since when it has been found dead.

    Attributes:
        begun_at: Time when it was begun, by the store's clock.
        since: Store time of the cycle that first found it dead.
        plan_id: The plan that was carried out then.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    upload_id: str
    begun_at: Instant
    since: Instant
    plan_id: str

    @property
    def upload(self) -> Upload:
        """Return the upload without its mark."""
        return Upload(key=self.key, upload_id=self.upload_id, begun_at=self.begun_at)


_MARKS = TypeAdapter(tuple[UploadMark, ...])


def read_marks(state: RootState) -> tuple[UploadMark, ...]:
    """Return the marks of the last sweep; of a damaged file none.

    Raises:
        StorageUnreachableError: The state location cannot be read.
    """
    data = state.files.read(f"{state.folder}/{_NAME}")
    if data is None:
        return ()
    try:
        digest, _, rows = data.partition(b"\n")
        if digest != _digest(rows):
            raise ValueError("it is not what was written")  # noqa: TRY301 - one place for both
        return _MARKS.validate_json(rows)
    except (ValueError, ValidationError) as err:
        log.warning("uploads.marks_damaged", reason=str(err))
        return ()


def write_marks(state: RootState, marks: Sequence[UploadMark]) -> None:
    """Replace the marks; ``StorageUnreachableError`` if the state location cannot be written."""
    rows = json.dumps([each.model_dump(mode="json") for each in marks]).encode()
    state.files.write(f"{state.folder}/{_NAME}", _digest(rows) + b"\n" + rows)


def _digest(rows: bytes) -> bytes:
    return hashlib.sha256(rows).hexdigest().encode()
