"""The storage roots that one state location serves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from orphangc.collect.state.store import RootState
from orphangc.core.model.locations import Location, canonical
from orphangc.ports import StateFiles

_FOLDER = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BoundRoot:
    """A folder of the state location that belongs to a storage root.

    Attributes:
        folder: Location of the folder.
        root: The storage root; ``None`` if the folder's ``root.json`` cannot be understood.

    """

    folder: Location
    root: Location | None


def bound_roots(files: StateFiles) -> Iterator[BoundRoot]:
    """Yield every storage root that was ever swept or run with this state location.

    Raises:
        StorageUnreachableError: The state location cannot be listed or read.

    """
    for name in files.names(""):
        if _FOLDER.fullmatch(name) and (data := files.read(f"{name}/root.json")) is not None:
            yield BoundRoot(files.location.child(name), _root_of(data, name, files))


def _root_of(data: bytes, name: str, files: StateFiles) -> Location | None:
    """Return the storage root that ``root.json`` names, if the folder's own name bears it out."""
    try:
        root = canonical(json.loads(data)["root"])
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None
    return root if RootState(files, root).folder == name else None
