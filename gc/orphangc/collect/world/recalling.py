"""Memory of earlier cycles before a cycle begins, and its own memory afterwards.

What cycles of other storage roots of one state location saw counts too: all of them are of one
world. They run at other times, and a cluster shows a job for a while. One of them may be
this storage root, by the name that it had before.
"""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import NamedTuple

from flinkstate.files.paths import overlap, spelled_in, spellings
from flinkstate.places.locations import Location, canonical, places_of
from orphangc.collect.state.memory_documents import DamagedMemoryError
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import (
    MemoryRead,
    bound_roots,
    memory_folder,
    read_acknowledgements,
    read_memory,
    write_memory,
)
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker
from orphangc.core.memory.acknowledgement import (
    Acknowledgement,
    acknowledging_command,
    is_acknowledged,
)
from orphangc.core.memory.compare_cycles import CycleComparison
from orphangc.core.memory.remembered import RememberedPlace, StandingFact, WorldMemory
from orphangc.core.memory.seen_cycles import STORAGE
from orphangc.core.model.codes import Condition
from orphangc.core.model.joined_facts import table
from orphangc.core.world.known_states import KnownState, known_state
from orphangc.core.world.known_world import World, WorldChange
from orphangc.errors import StorageUnreachableError

MemoryBeside = tuple[RootState, WorldMemory]
"""Another storage root of the state location, and what its cycles left."""

_AT_ONCE = 16
"""Number of memories that are read at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled(MemoryRead):
    """What earlier cycles left to this one.

    Attributes:
        state_problem: Reason for which this may not be the state location of earlier plans.
        standing: The lost state location as a fact that a person can acknowledge.
        expected: Identifiers of the state location that is lost; none if it is not.
        is_new: Whether the state location has nothing at all about the storage root.
        halted: Reason for which collection was stopped in the same place by another name.
        beside: What cycles of the other storage roots of the state location left.
    """

    given: tuple[Acknowledgement, ...] = ()
    memory_problem: str | None = None
    state_problem: str | None = None
    standing: tuple[StandingFact, ...] = ()
    expected: tuple[str, ...] = ()
    is_new: bool = False
    place: str = ""
    halted: str | None = None
    beside: tuple[MemoryBeside, ...] = ()

    @property
    def quarantined(self) -> frozenset[Location]:
        """Return the folders of checkpoints in quarantine, also by other storage roots."""
        memories = (self.memory, *(each for _, each in self.beside))
        expired = (each for memory in memories for each in memory.expired)
        return frozenset(canonical(each.uri) for each in expired if each.is_in_quarantine)


_SET_BACK = "set-back-"
"""Beginning of the name of a loss: the state location is older than it was."""

NOTHING_RECALLED = Recalled()
"""For a cycle without a memory, as tests of other things run it."""


def recalled_for(plan: Plan, state: RootState) -> Recalled:
    """Return what earlier cycles left to a plan's run, or raise ``StorageUnreachableError``."""
    known = known_state(plan.states, plan.created_at, "this plan", plan.remembered_at)
    return recalled(state, known)


def recalled(state: RootState, known: Sequence[KnownState] = ()) -> Recalled:
    """Return what earlier cycles left to this one, or raise ``StorageUnreachableError``.

    A memory that cannot be read is a problem that blocks, never an empty memory; so is that of
    another storage root of the state location.
    """
    beside = states_beside(state)
    near = frozenset(each.root for each in beside if overlap(each.root, state.root))
    try:
        read, given = read_memory(state), read_acknowledgements(state)
        memories = memories_of(beside)
    except DamagedMemoryError as err:
        place = str(state.files.location)
        return Recalled(memory_problem=_damage_message(state, beside, err), place=place)
    memory = with_memories_beside(read, state, memories, near)
    if not memory.states:
        memory = memory.model_copy(update={"states": (uuid.uuid4().hex,)})
    is_new = not read.names and not given and not state.files.names(f"{state.folder}/tombstones")
    found = Recalled(
        memory=memory,
        given=given,
        is_new=is_new,
        names=read.names,
        marker=read.marker,
        place=str(state.files.location),
        halted=_halted_in(each for each in beside if each.root in near),
        beside=memories,
    )
    for loss in _losses(found, read.memory.states, known, memory_folder(state)):
        if not loss.is_acknowledged(given):
            condition = Condition.STATE_LOST
            fact = StandingFact(condition=condition, what=loss.what, since=loss.since)
            problem = f"{loss.problem}, or run: {_command(state, condition, loss.what)}"
            return replace(
                found, state_problem=problem, standing=(fact,), expected=tuple(loss.expected)
            )
    return found


def states_beside(state: RootState) -> list[RootState]:
    """Return the states of the location's other roots, or raise ``StorageUnreachableError``."""
    roots = (each.root for each in bound_roots(state.files))
    return [RootState(state.files, each) for each in roots if each not in {None, state.root}]


def _halted_in(states: Iterable[RootState]) -> str | None:
    """Return why collection was stopped in the same place by another name, ``None`` if nowhere."""
    stopped = ((each.root, each.halted()) for each in states)
    return next((f"storage root {root}: {said}" for root, said in stopped if said), None)


def memories_of(states: Sequence[RootState]) -> tuple[MemoryBeside, ...]:
    """Return the memories of some storage roots; raises as ``read_memory``."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        read = pool.map(read_memory, states)
        return tuple((state, each.memory) for state, each in zip(states, read, strict=True))


def with_memories_beside(
    read: MemoryRead, state: RootState, beside: Sequence[MemoryBeside], near: Collection[Location]
) -> WorldMemory:
    """Return a memory with what cycles of other storage roots saw of storages, clusters and jobs.

    A storage root without a memory of its own takes over what was seen of it by other names.

    Args:
        near: Those of the other storage roots that are in the same place.
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
        own = [each for other, each in beside if other.root in near]
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


class _Loss(NamedTuple):
    """Loss of a state location, as something shows it.

    Attributes:
        since: Last time of which it is known that the state was in use.
        expected: Identifiers of the lost state, where another one is in its place.
    """

    what: str
    problem: str
    since: datetime
    expected: Sequence[str] = ()

    def is_acknowledged(self, given: Iterable[Acknowledgement]) -> bool:
        """Return whether a person has acknowledged it.

        A state has one identifier, so its loss is one fact whenever it is noticed; but a state that
        was in use after that word was there again, and is lost again.
        """
        return any(
            (each.condition, each.what) == (Condition.STATE_LOST, self.what)
            and self.since <= each.at
            for each in given
        )


def _losses(
    found: Recalled, own: Sequence[str], known: Sequence[KnownState], folder: str
) -> Iterator[_Loss]:
    """Yield what shows that the state location is not what it was: marker, a later plan, another.

    A cycle writes to one that was set back, and is later still: so that loss stands until it is
    acknowledged.

    Args:
        own: Identifiers of the state in the memory as it was read.
    """
    marker, memory = found.marker, found.memory
    if marker is not None and marker.state not in memory.states:
        problem = (
            f"{found.place}/{folder} does not hold what cycles since"
            f" {marker.since:%Y-%m-%dT%H:%M:%SZ} saw, so nothing shows what is missing now: restore"
            " that folder"
        )
        yield _Loss(marker.state, problem, marker.since)
    lost = (each for each in memory.standing if each.condition == Condition.STATE_LOST)
    times = [each.since for each in lost if each.what.startswith(_SET_BACK)]
    times += [
        each.remembered_at
        for each in known
        if each.remembered_at is not None
        and each.states.intersection(memory.states)
        and (memory.written_at is None or memory.written_at < each.remembered_at)
    ]
    if times:
        since = max(times)
        problem = (
            f"{found.place} was set back: it does not hold what cycles until"
            f" {since:%Y-%m-%dT%H:%M:%SZ} left in it; restore what it was then"
        )
        yield _Loss(f"{_SET_BACK}{since:%Y%m%dT%H%M%S%fZ}", problem, since)
    for other in known:
        if other.states.isdisjoint(own):
            what = min(other.states)
            problem = (
                f"{other.source} used state {what}, and {found.place} holds another one, which"
                " knows neither its tombstones nor its memory: give that one with --state or"
                " restore it"
            )
            yield _Loss(what, problem, other.at, sorted(other.states))


def with_expiries(
    before: Recalled, root: Location, markers: Iterable[ExpiryMarker], at: datetime
) -> Recalled:
    """Return what is left where a marker shows an expiry that no memory knows (R44).

    A marker goes before the record of its quarantine ends, so one of this very state location that
    no quarantine explains shows that it was set back. A person who acknowledged the loss of a state
    gave up what it had in quarantine then, and nothing since.
    """
    if before.memory_problem is not None:  # which blocks, and says nothing of what it knew
        return before
    condition = Condition.STATE_LOST
    known = frozenset().union(*map(spellings, before.quarantined))

    def is_given_up(marker: ExpiryMarker) -> bool:
        at = marker.stored_at
        return at is not None and is_acknowledged(before.given, condition, marker.state, at)

    lost = {
        each.state: each.folder
        for each in sorted(markers, key=str, reverse=True)
        if known.isdisjoint(spellings(each.folder)) and not is_given_up(each)
    }
    for state, folder in lost.items():
        command = acknowledging_command(str(root), condition, state, state=before.place)
        problem = (
            f"{folder} has the marker of an expiry by state {state}, of which {before.place} does"
            " not know: give the state location that does with --state or restore it, or run:"
            f" {command}"
        )
        fact = StandingFact(condition=condition, what=state, since=at)
        standing = (*before.standing, fact)
        before = replace(before, state_problem=before.state_problem or problem, standing=standing)
    return before


def _damage_message(state: RootState, beside: Iterable[RootState], err: DamagedMemoryError) -> str:
    """Return why nothing is known, and what lifts it for the storage root whose memory it is."""
    owner = next((each for each in beside if err.name.startswith(f"{each.folder}/")), state)
    return (
        f"{err}, so what earlier cycles saw is unknown: restore that file, or run:"
        f" {_command(owner, Condition.MEMORY_UNREADABLE, err.name)}"
    )


def _command(state: RootState, condition: Condition, what: str) -> str:
    place = str(state.files.location)
    return acknowledging_command(str(state.root), condition, what, state=place)


def not_kept(state: RootState, before: Recalled, after: WorldMemory | None) -> str | None:
    """Write what a cycle leaves to the next one; return why it could not, ``None`` if it could."""
    if after is None or before.memory_problem is not None:
        return before.memory_problem
    memory = after.model_copy(update={"standing": (*after.standing, *before.standing)})
    try:
        write_memory(state, memory, before, uuid.uuid4().hex[:16])
    except StorageUnreachableError as err:
        return (
            f"what this cycle saw is not remembered, so a later one may miss what disappears: {err}"
        )
    return None


def outside_directories(memory: WorldMemory) -> list[Location]:
    """Return the remembered directories that no place was around: in none, or in a storage.

    One that is no place any more is left out: it is not found, and blocks.
    """
    storages = {each.uri for each in memory.places if each.kind == STORAGE}
    found = (
        each.uri
        for each in memory.directories
        if each.resolved_at is None and each.place in {each.uri, *storages}
    )
    return [*places_of(found)]


def new_state_warning(state: RootState) -> str:
    """Return the plan's warning about a state location without anything of the storage root."""
    return (
        f"no tombstones known here, as before a first run: {state.files.location} holds nothing of"
        f" {state.root} yet; if there was one, is this the right state?"
    )


def with_memory(plan: Plan, comparison: CycleComparison, expected: Sequence[str] = ()) -> Plan:
    """Return a plan with what earlier cycles saw and this one does not."""
    memory = comparison.memory
    states = tuple(expected) or memory.states
    update: dict[str, object] = {"states": states, "remembered_at": memory.written_at}
    if plan.world is not None:
        update["world"] = world_with_memory(plan.world, comparison, memory)
    return plan.model_copy(update=update)


def world_with_memory(world: World, comparison: CycleComparison, memory: WorldMemory) -> World:
    """Return the world with what earlier cycles saw of it and this one does not."""
    since = {each.uri: each.first_seen_at for each in memory.places}
    return world.model_copy(
        update={
            "places": tuple(
                each.model_copy(update={"since": since.get(each.uri)}) for each in world.places
            ),
            "changed": tuple(
                WorldChange.like(each, acknowledged=each.is_acknowledged)
                for each in comparison.facts
            ),
        }
    )
