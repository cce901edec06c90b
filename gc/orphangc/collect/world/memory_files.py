"""The memory of the world in the state location: one file each writer, merged by each reader.

A writer adds a file that holds all that it read and saw, and then removes those that it read. Two
writers at once leave two files, and the next reader unites them: nothing is lost, no lock needed.
A marker beside the folder shows that there was a memory, should a person remove the folder alone.
Of what is in quarantine there is a record beside each copy too: whatever becomes of the memory, and
whatever a person acknowledges about it, a checkpoint that can be put back protects what it names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from orphangc.collect.observe.expired_checkpoints import copies_folder, copy_name, record_name
from orphangc.collect.state.store import RootState
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.remembered import WorldMemory, merged_memory
from orphangc.core.model.codes import Condition
from orphangc.core.model.joined_facts import table
from orphangc.core.world.known_states import MemoryMarker
from orphangc.errors import OrphanGcError

MARKER = "remembers.json"
"""Name of the marker in the folder of a storage root."""
MEMORY = "world"
"""Name of the folder of the memory in the folder of a storage root."""

_ATTEMPTS = 5
_NAME = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{16}-([0-9a-f]{64})\.json", re.ASCII)
_Document = TypeVar("_Document", bound=BaseModel)


class DamagedMemoryError(OrphanGcError):
    """A file of the memory is not what was written; what it held is unknown."""

    def __init__(self, message: str, *, name: str) -> None:
        """Keep the file beside the sentence."""
        super().__init__(message)
        self.name = name


@dataclass(frozen=True, slots=True)
class MemoryRead:
    """What the state location remembers.

    Attributes:
        marker: Marker that shows that there was a memory; ``None`` if there was none.
    """

    memory: WorldMemory
    names: tuple[str, ...]
    marker: MemoryMarker | None = None


def read_memory(state: RootState) -> MemoryRead:
    """Return what all writers remember.

    The marker is read first: it is written after the memory that it belongs to.

    Raises:
        DamagedMemoryError: A file is not, byte for byte, what was written, or of another version
            of orphangc: it never means that nothing is remembered.
        StorageUnreachableError: The state location cannot be listed or read.
    """
    marker, folder = _read_marker(state), memory_folder(state)
    for _ in range(_ATTEMPTS):
        names = tuple(state.files.names(folder))
        found = [(name, state.files.read(f"{folder}/{name}")) for name in names]
        if all(data is not None for _, data in found):
            break  # else another writer has replaced one between both requests
    else:
        raise DamagedMemoryError(f"{folder} changes all the time", name=folder)
    memories = [_memory(state, name, data or b"") for name, data in found]
    memory = merged_memory(memories)
    if marker is None or marker.state not in memory.states:  # it is new, or something is lost
        known = (*memory.expired, *_records(state))
        memory = memory.model_copy(update={"expired": table(known)})
    return MemoryRead(memory, names, marker)


def memory_bytes(memory: WorldMemory) -> bytes:
    """Return the contents of a file of the memory; what a reader assumes anyway is left out."""
    return (memory.model_dump_json(exclude_defaults=True) + "\n").encode()


def write_memory(state: RootState, memory: WorldMemory, read: MemoryRead, token: str) -> None:
    """Write a memory, and remove the files that it was made from.

    Args:
        token: 16 hexadecimal digits that no other writer uses.

    Raises:
        StorageUnreachableError: The state location cannot be written.
    """
    if memory.written_at is None:
        return
    data = memory_bytes(memory)
    digest = hashlib.sha256(data).hexdigest()
    name = f"{memory.written_at:%Y%m%dT%H%M%S%fZ}-{token}-{digest}.json"
    state.files.write(f"{memory_folder(state)}/{name}", data)
    for old in read.names:
        if old != name:
            state.files.remove(f"{memory_folder(state)}/{old}")
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
    marker = _document(MemoryMarker, data, state, name)
    if marker.root != str(state.root):
        raise DamagedMemoryError(
            f"{state.files.location}/{name} belongs to another storage root", name=name
        )
    return marker


def _marker_name(state: RootState) -> str:
    return f"{state.folder}/{MARKER}"


def set_aside(state: RootState, name: str) -> None:
    """Move a damaged file out of the memory, where a person can still inspect it.

    With a part of the memory the marker goes too, which the rest may not bear out: the next writer
    makes a new one.

    Raises:
        StorageUnreachableError: The state location cannot be read or written.
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
    """Write what the memory is to remember of expired checkpoints beside their copies.

    Raises:
        StorageUnreachableError: The state location cannot be written.
    """
    for each in records:
        state.files.write(record_name(state, each), (each.model_dump_json() + "\n").encode())


def _records(state: RootState) -> list[ExpiredCheckpoint]:
    """Return the records beside the copies of expired ``_metadata``.

    Raises:
        DamagedMemoryError: One cannot be understood, or a copy has none.
        StorageUnreachableError: The state location cannot be listed or read.
    """
    found, copies = {}, []
    for name in state.files.names(copies_folder(state)):
        path = f"{copies_folder(state)}/{name}"
        if not name.endswith(".json"):
            copies.append(path)
        elif (data := state.files.read(path)) is not None:
            record = _document(ExpiredCheckpoint, data, state, path)
            found[copy_name(state, record)] = record
    for path in copies:
        if path not in found:
            what = f"no record says which checkpoint {state.files.location}/{path} is a copy of"
            raise DamagedMemoryError(what, name=path)
    return [*found.values()]


def _memory(state: RootState, name: str, data: bytes) -> WorldMemory:
    path = f"{memory_folder(state)}/{name}"
    match = _NAME.fullmatch(name)
    if match is None or hashlib.sha256(data).hexdigest() != match[1]:
        raise DamagedMemoryError(
            f"{state.files.location}/{path} is not what was written there", name=path
        )
    memory = _document(WorldMemory, data, state, path)
    if memory.root != str(state.root):
        raise DamagedMemoryError(
            f"{state.files.location}/{path} belongs to another storage root", name=path
        )
    return memory


def _document(kind: type[_Document], data: bytes, state: RootState, path: str) -> _Document:
    try:
        return kind.model_validate_json(data, strict=True)
    except (ValidationError, RecursionError) as err:
        what = f"{state.files.location}/{path} cannot be understood"
        raise DamagedMemoryError(f"{what}: damaged, or by another version", name=path) from err


# --- a person's word


def read_acknowledgements(state: RootState) -> tuple[Acknowledgement, ...]:
    """Return everything that persons acknowledged about the storage root.

    Raises:
        DamagedMemoryError: A file is no acknowledgement.
        StorageUnreachableError: The state location cannot be listed or read.
    """
    folder = f"{state.folder}/acknowledged"
    found = []
    for name in state.files.names(folder):
        path = f"{folder}/{name}"
        found.append(_document(Acknowledgement, state.files.read(path) or b"", state, path))
    return tuple(found)


def keep_acknowledgement(state: RootState, word: Acknowledgement) -> None:
    """Write a person's word; it is never changed nor removed.

    Raises:
        StorageUnreachableError: The state location cannot be written.
    """
    data = (word.model_dump_json(indent=1) + "\n").encode()
    name = hashlib.sha256(data).hexdigest()[:32]
    state.files.write(f"{state.folder}/acknowledged/{name}.json", data)
