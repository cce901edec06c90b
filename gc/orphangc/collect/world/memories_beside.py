"""What cycles of other storage roots of one state location saw: all of them are of one world.

They run at other times, and a cluster shows a job for a while. One of them may be
this storage root, by the name that it had before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from flinkstate.files.paths import overlap, spelled_in
from flinkstate.places.locations import Location, canonical
from orphangc.collect.state.store import RootState
from orphangc.collect.world.bound_roots import bound_roots
from orphangc.collect.world.memory_files import MemoryRead, read_memory
from orphangc.core.memory.remembered import RememberedPlace, WorldMemory
from orphangc.core.memory.seen_cycles import STORAGE
from orphangc.core.model.joined_facts import table

MemoryBeside = tuple[RootState, WorldMemory]
"""Another storage root of the state location, and what its cycles left."""

_AT_ONCE = 16
"""Number of memories that are read at the same time."""


def states_beside(state: RootState) -> list[RootState]:
    """Return the states of the location's other roots, or raise ``StorageUnreachableError``."""
    roots = (each.root for each in bound_roots(state.files))
    return [RootState(state.files, each) for each in roots if each not in {None, state.root}]


def halted_beside(state: RootState, states: Iterable[RootState]) -> str | None:
    """Return why collection was stopped in the same place by another name, ``None`` if nowhere."""
    stopped = ((each.root, each.halted()) for each in states if overlap(each.root, state.root))
    return next((f"storage root {root}: {said}" for root, said in stopped if said), None)


def memories_of(states: Sequence[RootState]) -> tuple[MemoryBeside, ...]:
    """Return the memories of some storage roots; raises as ``read_memory``."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        read = pool.map(read_memory, states)
        return tuple((state, each.memory) for state, each in zip(states, read, strict=True))


def with_memories_beside(
    read: MemoryRead, state: RootState, beside: Sequence[MemoryBeside]
) -> WorldMemory:
    """Return a memory with what cycles of other storage roots saw of storages, clusters and jobs.

    A storage root without a memory of its own takes over what was seen of it by other names.
    """
    others = [each for _, each in beside]
    memory, every = read.memory, (read.memory, *others)
    update: dict[str, object] = {
        "places": (*memory.places, *_storages(memory, others)),
        "reports": table(each for one in every for each in one.reports),
        "clusters": table(each for one in every for each in one.clusters),
        "jobs": table(each for one in every for each in one.jobs),
    }
    if not read.names and read.marker is None:
        own = [each for other, each in beside if overlap(other.root, state.root)]
        update |= _of_one_place(own, state.root)
    return memory.model_copy(update=update)


def _storages(memory: WorldMemory, others: Iterable[WorldMemory]) -> Iterator[RememberedPlace]:
    """Yield the storages that only others searched; a statement about one counts for each.

    A storage root that states nothing yet covers all of them by its first statement.
    """
    known = {each.uri for each in memory.places}
    is_stated = any(each.is_stated for each in memory.places)
    for each in table(place for one in others for place in one.places if place.kind == STORAGE):
        if each.uri not in known:
            yield each.model_copy(update={"is_stated": each.is_stated and is_stated})


def _of_one_place(memories: Sequence[WorldMemory], root: Location) -> Mapping[str, object]:
    """Return what was seen of a storage root by other names, by the name that it has now."""

    @cache
    def of(uri: str) -> str:
        return str(spelled_in(root, canonical(uri)))

    directories = (
        each.model_copy(
            update={
                "uri": of(each.uri),
                "place": of(each.place),
                "depends_on": tuple(map(of, each.depends_on)),
                "names": tuple(map(of, each.names)),
                "checkpoints": tuple(
                    one.model_copy(update={"uri": of(one.uri)}) for one in each.checkpoints
                ),
            }
        )
        for memory in memories
        for each in memory.directories
    )
    registries = (
        each.model_copy(update={"directories": tuple(map(of, each.directories))})
        for memory in memories
        for each in memory.registries
    )
    savepoints = {of(uri) for memory in memories for uri in memory.savepoints}
    return {
        "directories": table(directories),
        "registries": table(registries),
        "savepoints": tuple(sorted(savepoints)),
    }
