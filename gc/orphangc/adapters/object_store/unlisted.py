"""What no listing of a bucket shows: unfinished uploads, versions, what soft deletion keeps."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.errors import NotReportedError
from orphangc.ports import Upload


class Unlisted:
    """Unlisted data below one root of a bucket; see ``Storage``. A store may report none of it."""

    def __init__(self, location: Location) -> None:
        self._location = location

    def uploads(self) -> Iterator[pa.RecordBatch]:
        """Yield unfinished uploads; see ``Storage``."""
        raise self._not_reported("uploads")

    def unfinished(self) -> Iterator[Upload]:
        """Yield unfinished uploads with their ids; see ``Storage``."""
        raise self._not_reported("uploads")

    def abort(self, upload: Upload) -> bool:
        """Abort an upload; see ``Storage``."""
        del upload
        raise self._not_reported("uploads")

    def versions(self) -> Iterator[pa.RecordBatch]:
        """Yield what is kept of deleted or replaced objects; see ``Storage``."""
        raise self._not_reported("versions")

    def _not_reported(self, what: str) -> NotReportedError:
        return NotReportedError(f"{self._location} reports no {what}", is_forbidden=False)
