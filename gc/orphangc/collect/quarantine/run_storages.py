"""The storages whose checkpoints one run lets expire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import Location
from orphangc.errors import RefusedError
from orphangc.ports import Storage


@dataclass(frozen=True, slots=True)
class RunStorages:
    """The storage root and its extra roots, of which a policy may name folders of savepoints."""

    own: Storage
    extra: Sequence[Storage]

    @property
    def all(self) -> tuple[Storage, ...]:
        """Return all of them, the storage root first."""
        return (self.own, *self.extra)

    def now(self, at: datetime) -> datetime:
        """Return the storage root's time, no earlier than a cycle, which may be hours old."""
        time = self.own.now()
        return max(time.now or time.local, at)

    def place_of(self, folder: Location) -> tuple[Storage, str]:
        """Return the storage of a folder, and its key there; ``RefusedError`` if none is open."""
        for storage in self.all:
            key = storage.location.key_of(folder)
            if key:
                return storage, key
        raise RefusedError(f"{folder} is in no extra root any more: name one, or it stays")

    def storage_of(self, base: str) -> Storage:
        """Return the storage of a record, by its base."""
        known = {str(each.location): each for each in self.extra}
        return known[base] if base else self.own
