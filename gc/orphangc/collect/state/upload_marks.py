"""Marks of dead uploads in the state location: since when nothing completes each one (R50).

One file, replaced by each sweep. Losing or damaging it keeps uploads longer: their quarantine
begins again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import structlog
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from orphangc.collect.state.store import RootState
from orphangc.core.times.instants import Instant
from orphangc.ports import Upload

_NAME = "uploads.json"

log = structlog.get_logger()


class UploadMark(BaseModel):
    """An upload, and since when it has been found dead.

    Attributes:
        key: Key relative to the storage root.
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
    """Replace the marks.

    Raises:
        StorageUnreachableError: The state location cannot be written.
    """
    rows = json.dumps([each.model_dump(mode="json") for each in marks]).encode()
    state.files.write(f"{state.folder}/{_NAME}", _digest(rows) + b"\n" + rows)


def _digest(rows: bytes) -> bytes:
    return hashlib.sha256(rows).hexdigest().encode()
