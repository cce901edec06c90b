"""The storage roots that one state location serves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from flinkstate.places.locations import Location, canonical
from orphangc.collect.state.store import BINDING, RootState
from orphangc.collect.world.memory_files import MARKER, MEMORY
from orphangc.ports import StateFiles

_FOLDER = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BoundRoot:
    """A folder of the state location for one storage root.

    Attributes:
        root: The storage root; ``None`` if no file of the folder can be understood.
    """

    folder: Location
    root: Location | None


def bound_roots(files: StateFiles) -> Iterator[BoundRoot]:
    """Yield every root that used this state location, or raise ``StorageUnreachableError``."""
    for name in files.names(""):
        if not _FOLDER.fullmatch(name):
            continue
        words = list(_words_in(name, files))
        roots = (_root_of(data, name, files) for data in words)
        if words:
            root = next((each for each in roots if each is not None), None)
            yield BoundRoot(files.location.child(name), root)


def _words_in(folder: str, files: StateFiles) -> Iterator[bytes]:
    """Yield what a folder says of its storage root: the binding, else what a plan remembers.

    A plan binds nothing, as it deletes nothing; but the jobs that it saw may need files elsewhere.
    """
    for name in (f"{folder}/{BINDING}", f"{folder}/{MARKER}"):
        if (data := files.read(name)) is not None:
            yield data
            return
    for name in files.names(f"{folder}/{MEMORY}"):
        if (data := files.read(f"{folder}/{MEMORY}/{name}")) is not None:
            yield data


def _root_of(data: bytes, name: str, files: StateFiles) -> Location | None:
    """Return the storage root that a document names, if the folder's own name confirms it."""
    try:
        root = canonical(json.loads(data)["root"])
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None
    return root if RootState(files, root).folder == name else None
