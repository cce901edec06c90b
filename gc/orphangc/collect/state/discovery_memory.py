"""The memory of discoveries in the state location.

A marker beside the folder shows that there was a memory, should a rule of the store or a person
remove the folder alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

from orphangc.collect.state.memory_documents import (
    DamagedMemoryError,
    read_documents,
    write_document,
)
from orphangc.core.discovery.discovered_facts import Origin, UnclearFact
from orphangc.core.discovery.remembered_facts import DiscoveryMemory
from orphangc.core.model.joined_facts import joined
from orphangc.errors import OrphanGcError
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


@dataclass(frozen=True, slots=True)
class Memories:
    """What the state locations remember, and why some of them cannot be read."""

    reads: tuple[DiscoveryRead, ...] = ()
    problems: tuple[UnclearFact, ...] = ()

    @property
    def before(self) -> DiscoveryMemory:
        """Return what all of them remember together."""
        return reduce(joined, (each.memory for each in self.reads), DiscoveryMemory())


def read_memories(states: Iterable[StateFiles]) -> Memories:
    """Return what every state location remembers; one that cannot be read is not understood."""
    reads: list[DiscoveryRead] = []
    problems: list[UnclearFact] = []
    for files in states:
        try:
            reads.append(read_discovery_memory(files))
        except OrphanGcError as err:
            field = FOLDER if isinstance(err, DamagedMemoryError) else ""
            origin = Origin(kind="State", namespace="", name=str(files.location), field=field)
            why = f"{err}: restore it" if field else str(err)
            problems.append(UnclearFact(why=why, origin=origin))
    return Memories(tuple(reads), tuple(problems))


def remember(memory: DiscoveryMemory, memories: Memories) -> None:
    """Write what later cycles must know to every state location, or raise ``OrphanGcError``."""
    for read in memories.reads:
        write_discovery_memory(memory, read)


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
    """Remove a memory that is lost, as a person acknowledged: the next run writes a new one."""
    for name in tuple(files.names(FOLDER)):
        files.remove(f"{FOLDER}/{name}")
    files.remove(MARKER)


def write_discovery_memory(memory: DiscoveryMemory, read: DiscoveryRead) -> None:
    """Write a memory where one was read, and its marker, or raise ``OrphanGcError``."""
    write_document(read.files, FOLDER, memory, replaced=read.names)
    read.files.write(MARKER, b"{}\n")
