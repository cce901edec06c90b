"""The memory of discoveries in the state location: one file each writer, merged by each reader.

A marker beside the folder shows that there was a memory, should a rule of the store or a person
remove the folder alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pydantic import ValidationError

from orphangc.core.discovery.remembered_facts import DiscoveryMemory, merged_memories
from orphangc.errors import OrphanGcError
from orphangc.ports import StateFiles

FOLDER = "discovery"
"""Name of the folder in the state location; no folder of a storage root is named so."""
MARKER = "discovered.json"
"""Name of the marker in the state location."""

_ATTEMPTS = 5


class LostDiscoveryError(OrphanGcError):
    """What earlier cycles discovered is lost; only a person may say that it matters no more."""


@dataclass(frozen=True, slots=True)
class DiscoveryRead:
    """What earlier cycles discovered, the files that say so, and where they are."""

    files: StateFiles
    memory: DiscoveryMemory
    names: tuple[str, ...] = ()


def read_discovery_memory(files: StateFiles) -> DiscoveryRead:
    """Return what all writers remember.

    Raises:
        LostDiscoveryError: A file is not, byte for byte, what was written, or all of them are gone:
            it never means that nothing is remembered.
        OrphanGcError: The state location cannot be read.
    """
    is_known = files.read(MARKER) is not None  # first: it is written after the memory
    for _ in range(_ATTEMPTS):
        names = tuple(files.names(FOLDER))
        found = [files.read(f"{FOLDER}/{name}") for name in names]
        if all(data is not None for data in found):
            break  # else another writer has replaced one between both requests
    else:
        raise OrphanGcError(f"{files.location}/{FOLDER} changes all the time")
    if is_known and not names:
        raise LostDiscoveryError(f"{files.location}/{FOLDER} is gone: restore it")
    pairs = zip(names, found, strict=True)
    memory = merged_memories(_parsed(files, name, data or b"") for name, data in pairs)
    return DiscoveryRead(files, memory, names)


def forget_discovery(files: StateFiles) -> None:
    """Remove a memory that is lost, as a person acknowledged: the next run writes a new one.

    Raises:
        OrphanGcError: The state location cannot be written.
    """
    for name in tuple(files.names(FOLDER)):
        files.remove(f"{FOLDER}/{name}")
    files.remove(MARKER)


def _parsed(files: StateFiles, name: str, data: bytes) -> DiscoveryMemory:
    where = f"{files.location}/{FOLDER}/{name}"
    if name != _name_of(data):
        raise LostDiscoveryError(f"{where} is damaged: restore it")
    try:
        return DiscoveryMemory.model_validate_json(data)
    except ValidationError as err:
        raise LostDiscoveryError(f"{where} is of another version of orphangc") from err


def write_discovery_memory(memory: DiscoveryMemory, read: DiscoveryRead) -> None:
    """Write a memory where one was read, and remove the files that it was made from.

    An unchanged one is written again: a rule of the store by which old files expire must not find
    that a memory in use is old.

    Raises:
        OrphanGcError: The state location cannot be written.
    """
    data = (memory.model_dump_json(exclude_defaults=True) + "\n").encode()
    name = _name_of(data)
    read.files.write(f"{FOLDER}/{name}", data)
    for old in read.names:
        if old != name:
            read.files.remove(f"{FOLDER}/{old}")
    read.files.write(MARKER, b"{}\n")


def _name_of(data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()}.json"
