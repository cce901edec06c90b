"""The memory of the world in the state location.

A marker beside the folder shows that there was a memory, should a person remove the folder alone.
Of what is in quarantine there is a record beside each copy too: whatever becomes of the memory, and
whatever a person acknowledges about it, a checkpoint that can be put back protects what it names.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flinkstate.places.locations import Location, canonical
from orphangc.collect.observe.expired_checkpoints import copies_folder, copy_name, record_name
from orphangc.collect.state.memory_documents import (
    DamagedMemoryError,
    read_documents,
    understood,
    write_document,
)
from orphangc.collect.state.store import BINDING, RootState
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.codes import Condition
from orphangc.core.model.joined_facts import table
from orphangc.core.world.known_states import MemoryMarker
from orphangc.ports import StateFiles

MARKER = "remembers.json"
"""Name of the marker in the folder of a storage root."""
MEMORY = "world"
"""Name of the folder of the memory in the folder of a storage root."""


@dataclass(frozen=True, slots=True)
class MemoryRead:
    """What the state location remembers.

    Attributes:
        marker: Marker that shows that there was a memory; ``None`` if there was none.
    """

    memory: WorldMemory = field(default_factory=WorldMemory)
    names: tuple[str, ...] = ()
    marker: MemoryMarker | None = None


def read_memory(state: RootState) -> MemoryRead:
    """Return what all writers remember.

    The marker is read first: it is written after the memory that it belongs to.

    Raises:
        DamagedMemoryError: A file is not, byte for byte, what was written, or of another version
            of orphangc: it never means that nothing is remembered.
        StorageUnreachableError: The state location cannot be listed or read.
    """
    marker, root = _read_marker(state), str(state.root)
    memory, names = read_documents(state.files, memory_folder(state), WorldMemory(), root)
    if marker is None or marker.state not in memory.states:  # it is new, or something is lost
        known = (*memory.expired, *_records(state))
        memory = memory.model_copy(update={"expired": table(known)})
    return MemoryRead(memory, names, marker)


def write_memory(state: RootState, memory: WorldMemory, read: MemoryRead, token: str) -> None:
    """Write a memory in place of the files read, or raise ``StorageUnreachableError``.

    Args:
        token: 16 hexadecimal digits that no other writer uses.
    """
    if memory.written_at is None:
        return
    stem = f"{memory.written_at:%Y%m%dT%H%M%S%fZ}-{token}-"
    write_document(state.files, memory_folder(state), memory, replaced=read.names, stem=stem)
    _write_marker(state, memory, read.marker)


def _write_marker(state: RootState, memory: WorldMemory, known: MemoryMarker | None) -> None:
    """Write the marker of a new memory; while the loss of an old one remains, its marker stays."""
    if known is not None and known.state in memory.states:
        return
    lost = {each.what for each in memory.standing if each.condition == Condition.STATE_LOST}
    if memory.written_at is None or not memory.states or (known and known.state in lost):
        return
    marker = MemoryMarker(root=memory.root, state=memory.states[0], since=memory.written_at)
    data = (marker.model_dump_json() + "\n").encode()
    state.files.write(_marker_name(state), data)


def _read_marker(state: RootState) -> MemoryMarker | None:
    name = _marker_name(state)
    data = state.files.read(name)
    if data is None:
        return None
    return understood(state.files, name, data, MemoryMarker, root=str(state.root))


def _marker_name(state: RootState) -> str:
    return f"{state.folder}/{MARKER}"


def set_aside(state: RootState, name: str) -> None:
    """Move a damaged file where a person finds it, or raise ``StorageUnreachableError``.

    With a part of the memory the marker goes too, which the rest may not bear out: the next writer
    makes a new one.
    """
    data = state.files.read(name)
    if data is not None:
        state.files.write(f"{state.folder}/damaged/{name.rpartition('/')[2]}", data)
        state.files.remove(name)
        if name.startswith(f"{memory_folder(state)}/"):
            state.files.remove(_marker_name(state))


def memory_folder(state: RootState) -> str:
    """Return the folder of the memory in the state location."""
    return f"{state.folder}/{MEMORY}"


def keep_records(state: RootState, records: Iterable[ExpiredCheckpoint]) -> None:
    """Write records of expired checkpoints beside copies, or raise ``StorageUnreachableError``."""
    for each in records:
        state.files.write(record_name(state, each), (each.model_dump_json() + "\n").encode())


def _records(state: RootState) -> list[ExpiredCheckpoint]:
    found, copies = {}, []
    for name in state.files.names(copies_folder(state)):
        path = f"{copies_folder(state)}/{name}"
        if not name.endswith(".json"):
            copies.append(path)
        elif (data := state.files.read(path)) is not None:
            record = understood(state.files, path, data, ExpiredCheckpoint)
            found[copy_name(state, record)] = record
    for path in copies:
        if path not in found:
            what = f"no record says which checkpoint {state.files.location}/{path} is a copy of"
            raise DamagedMemoryError(what, name=path)
    return [*found.values()]


# --- a person's word


def read_acknowledgements(state: RootState) -> tuple[Acknowledgement, ...]:
    """Return all that persons acknowledged about the storage root, or ``DamagedMemoryError``."""
    folder = f"{state.folder}/acknowledged"
    found = []
    for name in state.files.names(folder):
        path = f"{folder}/{name}"
        found.append(understood(state.files, path, state.files.read(path) or b"", Acknowledgement))
    return tuple(found)


def keep_acknowledgement(state: RootState, word: Acknowledgement) -> None:
    """Write a person's word, never changed nor removed, or raise ``StorageUnreachableError``."""
    data = (word.model_dump_json(indent=1) + "\n").encode()
    name = hashlib.sha256(data).hexdigest()[:32]
    state.files.write(f"{state.folder}/acknowledged/{name}.json", data)


# --- the storage roots that one state location serves


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
