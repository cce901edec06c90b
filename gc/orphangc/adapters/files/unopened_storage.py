"""A storage that could not be opened: every method raises the reason."""

from __future__ import annotations

from typing import NoReturn

from flinkstate.places.locations import Location
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Storage


class UnopenedStorage(Storage):
    """Represents a location that must be searched and cannot be opened."""

    def __init__(self, location: Location, reason: str) -> None:
        self.location = location
        self.reason = reason

    def _raise(self, *_: object, **__: object) -> NoReturn:
        raise StorageUnreachableError(self.reason)

    objects = pages = folder = read = part = stat = delete = now = _raise
