"""The memory of discoveries in the state location.

A marker beside the folder shows that there was a memory, should a rule of the store or a person
remove the folder alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from orphangc.collect.state.memory_documents import (
    DamagedMemoryError,
    read_documents,
    write_document,
)
from orphangc.core.discovery.remembered_facts import DiscoveryMemory
from orphangc.ports import StateFiles

FOLDER = "discovery"
"""Name of the folder in the state location; no folder of a storage root is named so."""
MARKER = "discovered.json"
"""Name of the marker in the state location."""


@dataclass(frozen=True, slots=True)
class DiscoveryRead:
    """What earlier cycles discovered, the files that say so, and where they are."""

    files: StateFiles
    memory: DiscoveryMemory
    names: tuple[str, ...] = ()


def read_discovery_memory(files: StateFiles) -> DiscoveryRead:
    """Return what all writers remember.

    Raises:
        DamagedMemoryError: A file is not, byte for byte, what was written, or all of them are gone:
            it never means that nothing is remembered.
        OrphanGcError: The state location cannot be read.
    """
    is_known = files.read(MARKER) is not None  # first: it is written after the memory
    memory, names = read_documents(files, FOLDER, DiscoveryMemory())
    if is_known and not names:
        raise DamagedMemoryError(f"{files.location}/{FOLDER} is gone", name=FOLDER)
    return DiscoveryRead(files, memory, names)


def forget_discovery(files: StateFiles) -> None:
    """Remove a memory that is lost, as a person acknowledged: the next run writes a new one.

    Raises:
        OrphanGcError: The state location cannot be written.
    """
    for name in tuple(files.names(FOLDER)):
        files.remove(f"{FOLDER}/{name}")
    files.remove(MARKER)


def write_discovery_memory(memory: DiscoveryMemory, read: DiscoveryRead) -> None:
    """Write a memory where one was read, and its marker.

    Raises:
        OrphanGcError: The state location cannot be written.
    """
    write_document(read.files, FOLDER, memory, replaced=read.names)
    read.files.write(MARKER, b"{}\n")
