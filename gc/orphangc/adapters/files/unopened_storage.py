"""A storage that could not be opened: every method raises the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.core.ranges.key_ranges import EVERYTHING, KeyRange
from orphangc.errors import StorageUnreachableError
from orphangc.ports import DeletionResult, Folder, Storage, StoreTime


class UnopenedStorage(Storage):
    """Represents a location that must be searched and cannot be opened."""

    def __init__(self, location: Location, reason: str) -> None:
        self.location = location
        self.reason = reason

    def _raise(self) -> NoReturn:
        raise StorageUnreachableError(self.reason)

    def objects(self, prefix: str = "") -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def pages(self, within: KeyRange = EVERYTHING) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def folder(self, prefix: str = "") -> Folder:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def read(self, key: ObjectKey, *, max_bytes: int) -> bytes | None:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def part(self, key: ObjectKey, *, start: int, size: int) -> bytes | None:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def stat(self, keys: Sequence[ObjectKey]) -> list[StoredObject | None]:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def delete(self, objects: Sequence[StoredObject]) -> list[DeletionResult]:  # noqa: ARG002
        """Raise; see ``Storage``."""
        self._raise()

    def now(self) -> StoreTime:
        """Raise; see ``Storage``."""
        self._raise()
