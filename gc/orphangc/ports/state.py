"""State locations: tombstones, journal, history and lock."""

from datetime import datetime
from typing import Protocol

from flinkstate.places.locations import Location


class StateFiles(Protocol):
    """The state location: tombstones, journal, history and lock; never inside a storage root."""

    location: Location

    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; empty if it does not exist."""

    def read(self, name: str) -> bytes | None:
        """Return a whole file, or ``None`` if it is absent."""

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically; replace an older one."""

    def create(self, name: str, data: bytes) -> bool:
        """Create a file unless it exists; return whether this call created it: one call does."""

    def remove(self, name: str) -> None:
        """Remove one file, or the folder of files that were; an absent one is no error."""

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file, ``None`` if absent: this reads the store's clock."""
