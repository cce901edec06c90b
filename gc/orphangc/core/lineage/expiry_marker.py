"""The marker in the folder of a checkpoint whose ``_metadata`` is in quarantine (R44).

It stands for that ``_metadata``: wherever a search would count the one, it counts the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from flinkstate.places.locations import Location
from orphangc.core.model.naming import EXPIRY_MARKER, TEMPORARY, depth_of_expiry, uuid_of
from orphangc.core.model.types import StoredObject


@dataclass(frozen=True, slots=True)
class ExpiryMarker:
    """What an expiry, or its undoing, left in the folder of a checkpoint.

    Attributes:
        folder: The checkpoint's folder.
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
