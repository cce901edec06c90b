"""State locations: tombstones, journal, history and lock."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from orphangc.core.model.locations import Location


class StateFiles(Protocol):
    """The state location: tombstones, journal, history and lock; never inside a storage root."""

    location: Location

    def names(self, folder: str) -> list[str]:
        """Return the names directly in ``folder``, sorted; empty if it does not exist."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return a whole file, or ``None`` if it is not there."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically, over an older one if there is one."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Write a file unless it exists; return whether this call made it (exactly one does)."""
        ...

    def remove(self, name: str) -> None:
        """Remove one file; absent is fine."""
        ...

    def modified_at(self, name: str) -> datetime | None:
        """Return the store time of a file, ``None`` if absent: a probe of the store's clock."""
        ...
