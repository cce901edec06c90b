"""What the state location remembers of a checkpoint that expired (R44).

Its ``_metadata`` is in quarantine: away from the storage, with a copy in the state location. Until
it is released every cycle protects what it names, as if it were still stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

from pydantic import Field

from orphangc.core.model.joined_facts import EARLIEST, Fact, table
from orphangc.core.times.instants import Instant


class ExpiredCheckpoint(Fact, subject=("uri", "sha256"), seen="step"):
    """One checkpoint whose ``_metadata`` was put into quarantine.

    Attributes:
        key: Key of its ``_metadata`` in the storage root, or in ``base``.
        base: Extra root that it is in, "" for the storage root.
        state: State location whose marker is beside it; "" if an older version wrote it.
        sha256: Digest of its ``_metadata``, and of the copy.
        stored_at: Store time of it, before it was ever put back.
        expired_at: Time just before it was put into quarantine, by the storage's clock.
    """

    uri: str = Field(min_length=1)
    key: str = Field(min_length=1)
    base: str = ""
    state: str = ""
    job_id: str
    checkpoint_id: int
    sha256: str = Field(min_length=64, max_length=64)
    size: int
    stored_at: Annotated[Instant | None, EARLIEST] = None
    expired_at: Instant
    run_id: str
    reason: str
    released_at: Instant | None = None
    restored_at: Instant | None = None

    @property
    def name(self) -> str:
        """Return the name of its copy in the state location."""
        return hashlib.sha256(f"{self.uri}\n{self.sha256}".encode()).hexdigest()

    @property
    def step(self) -> tuple[datetime, int]:
        """Return which record is later: that of the later expiry, of one that of the later step."""
        steps = (self.released_at is not None) + 2 * (self.restored_at is not None)
        return self.expired_at, steps

    @property
    def is_released(self) -> bool:
        """Return whether its quarantine is over, and nothing put it back."""
        return self.released_at is not None and self.restored_at is None

    @property
    def is_in_quarantine(self) -> bool:
        """Return whether its references still count."""
        return self.released_at is None and self.restored_at is None


def written_times(
    records: Iterable[ExpiredCheckpoint],
) -> dict[tuple[str, str], datetime]:
    """Return when each checkpoint was written that may have been put back, by folder and digest."""
    return {
        (each.uri, each.sha256): each.stored_at
        for each in table(records)
        if each.stored_at is not None
    }
