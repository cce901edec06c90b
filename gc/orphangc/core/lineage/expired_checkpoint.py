"""What the state location remembers of a checkpoint that expired (R44).

Its ``_metadata`` is in quarantine: away from the storage, with a copy in the state location. Until
it is released every cycle protects what it names, as if it were still stored. The marker
in its folder stands for the ``_metadata``: wherever a search would count the one, it counts the
other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated

from pydantic import Field

from flinkstate.places.locations import Location
from orphangc.core.model.joined_facts import EARLIEST, Fact, table
from orphangc.core.model.naming import EXPIRY_MARKER, TEMPORARY, depth_of_expiry, uuid_of
from orphangc.core.model.types import StoredObject
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
        """Return how the names of its copy and record in the state location begin."""
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


def written_times(records: Iterable[ExpiredCheckpoint]) -> dict[tuple[str, str], datetime]:
    """Return when each checkpoint was written that may have been put back, by folder and digest."""
    return {
        (each.uri, each.sha256): each.stored_at
        for each in table(records)
        if each.stored_at is not None
    }


@dataclass(frozen=True, slots=True)
class ExpiryMarker:
    """What an expiry, or its undoing, left in the folder of a checkpoint.

    Attributes:
        state: State location that knows of the quarantine; "" for a file that was being written.
        stored_at: When the store took it; ``None`` if that is not known.
        root: Storage root or extra root whose expiry it is: no checkpoint expires that names files
            outside it. ``None`` if unknown.
    """

    folder: Location
    state: str
    stored_at: datetime | None
    root: Location | None = None

    @property
    def doubt(self) -> str:
        """Return why it is unknown what the checkpoint needs, where its copy is not read."""
        return (
            "its _metadata is in quarantine, and may come back: which files it names is not read"
            " here"
        )

    @classmethod
    def at(cls, place: Location, stored_at: datetime | None = None) -> ExpiryMarker | None:
        """Return what a file is by its name; ``None`` if no expiry wrote it."""
        uuid, folder = uuid_of(place.name), place.parent
        if uuid is None or not place.name.startswith((EXPIRY_MARKER, TEMPORARY)):
            return None
        if place.name.startswith(TEMPORARY):
            return cls(folder, "", stored_at)
        depth = depth_of_expiry(place.name)
        root = None if depth is None else next(islice(folder.upwards(), depth, None), None)
        return cls(folder, uuid.hex(), stored_at, root)


def markers_in(
    parts: Iterable[tuple[Location, Iterable[StoredObject]]],
) -> tuple[ExpiryMarker, ...]:
    """Return the markers among what expiries left in some places, each once."""
    found = (ExpiryMarker.at(at.child(e.key), e.modified_at) for at, left in parts for e in left)
    return tuple(dict.fromkeys(each for each in found if each is not None))
