"""The state of the model: jobs, storage and collectors, as small tuples.

A file is ``(job, checkpoint, table)``: whose ``shared/`` it lies in, which checkpoint it was
uploaded for, which of RocksDB's tables it holds; ``PRIVATE`` is the checkpoint's own (MANIFEST).
Instants are small numbers whose order alone matters; ``canonical`` makes them consecutive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

PRIVATE = -1

File = tuple[int, int, int]
Handles = tuple[tuple[int, File], ...]
"""Tables, and the file that holds each."""
Place = tuple[int, int]
"""Of a root: the job whose directory it lies in, and its checkpoint id."""


class Root(NamedTuple):
    home: int
    number: int
    handles: Handles
    at: int

    @property
    def place(self) -> Place:
        return self.home, self.number

    @property
    def files(self) -> tuple[File, ...]:
        return tuple(file for _, file in self.handles)


SNAPPED, UPLOADED, ACKNOWLEDGED = range(3)


class Part(NamedTuple):
    """What one task does for a pending checkpoint: everything that it will refer to."""

    state: int
    handles: Handles
    fresh: tuple[File, ...]


class Flight(NamedTuple):
    """A pending checkpoint; ``written`` is the instant of its ``_metadata``, -1 before it."""

    number: int
    issued: int
    parts: tuple[Part, ...]
    written: int = -1


class Upload(NamedTuple):
    """What a task remembers of one of its checkpoints."""

    number: int
    is_completed: bool
    handles: Handles


class Task(NamedTuple):
    """One subtask: its tables, and the checkpoint that it builds upon (-1: none)."""

    tables: tuple[int, ...]
    base: int
    uploads: tuple[Upload, ...]


class Entry(NamedTuple):
    """One entry of the shared state registry; the key is the file, or the table up to 1.15."""

    key: Any
    file: File
    used: int
    is_confirmed: bool


class Retained(NamedTuple):
    """A member of the completed store; what is not claimed counts as a savepoint there."""

    place: Place
    is_claimed: bool


class Rest(NamedTuple):
    """What Flink's REST API says of a job at one moment."""

    is_running: bool
    epoch: int
    latest: int
    restored: Place | None
    lasting: tuple[int, ...]


class Job(NamedTuple):
    """A job and its JobManager; ``latest`` and ``shown`` begin anew with each JobManager."""

    is_running: bool = False
    epoch: int = 0
    following: int = 1
    next_table: int = 1
    tasks: tuple[Task, ...] = ()
    flights: tuple[Flight, ...] = ()
    late: tuple[tuple[int, Part], ...] = ()
    registry: tuple[Entry, ...] = ()
    store: tuple[Retained, ...] = ()
    latest: int = -1
    restored: Place | None = None
    shown: tuple[int, ...] = ()
    cached: Rest | None = None
    is_full: bool = False


class World(NamedTuple):
    jobs: tuple[Job, ...]
    files: tuple[tuple[File, int], ...] = ()
    roots: tuple[Root, ...] = ()
    lost: frozenset[File] = frozenset()  # files that collectors deleted
    deaths: int = 0  # how many there were; so with ``changes``, ``aborts``, ``faults``
    changes: int = 0
    aborts: int = 0
    collectors: tuple[Any, ...] = ()
    tombstones: tuple[tuple[File, int], ...] = ()  # files, and since when
    holder: int = -1  # of the lock
    is_halted: bool = False
    faults: int = 0
    clock: int = -1  # the collectors', where it ticks; -1 where only the order of instants counts
    ahead: int = 0  # how far the JobManagers' clocks are ahead of it
    teller: int = 0  # how far that machine of the store is ahead of it that tells the time

    def root(self, place: Place) -> Root | None:
        return next((root for root in self.roots if root.place == place), None)

    def with_job(self, index: int, **changes: Any) -> World:
        job = self.jobs[index]._replace(**changes)
        return self._replace(jobs=(*self.jobs[:index], job, *self.jobs[index + 1 :]))


def instants(world: World) -> Iterator[int]:
    for _, at in world.files:
        yield at
    for root in world.roots:
        yield root.at
    for job in world.jobs:
        for flight in job.flights:
            yield flight.issued
            if flight.written >= 0:
                yield flight.written
    for _, since in world.tombstones:
        yield since
    for each in world.collectors:
        yield from each.instants()


def next_instant(world: World) -> int:
    return world.clock if world.clock >= 0 else max(instants(world), default=0) + 1


def told_instant(world: World) -> int:
    return next_instant(world) + world.teller


def canonical(world: World) -> World:
    """Return the world with instants 0, 1, 2, ... in the same order: no rule asks for more.

    Sound where every margin is 0, for then instants are compared and never subtracted.
    """
    known = sorted(set(instants(world))) if world.clock < 0 else []
    if not known or known[-1] == len(known) - 1:
        return world
    return moved(world, dict(zip(known, range(len(known)), strict=True)).__getitem__)


def moved(world: World, to: Callable[[int], int]) -> World:
    return world._replace(
        jobs=tuple(
            job._replace(
                flights=tuple(
                    flight._replace(
                        issued=to(flight.issued),
                        written=-1 if flight.written < 0 else to(flight.written),
                    )
                    for flight in job.flights
                )
            )
            if job.flights
            else job
            for job in world.jobs
        ),
        files=tuple((file, to(at)) for file, at in world.files),
        roots=moved_roots(world.roots, to),
        tombstones=tuple((file, to(since)) for file, since in world.tombstones),
        collectors=tuple(each.moved(to) for each in world.collectors),
    )


def moved_roots(roots: tuple[Root, ...], to: Callable[[int], int]) -> tuple[Root, ...]:
    return tuple(root._replace(at=to(root.at)) for root in roots)


def lost_file(world: World) -> str | None:
    """Return the invariant's breach: some readable ``_metadata`` names what a collector deleted.

    Every root counts, also one that is subsumed and not yet deleted: it is a legal restore point.
    """
    if world.lost:
        for root in world.roots:
            for file in root.files:
                if file in world.lost:
                    return f"{told_root(root.place)} refers to {told(file)}, which was collected"
    return None


def told(file: File) -> str:
    job, number, table = file
    what = "private" if table == PRIVATE else f"table {table}"
    return f"{'ABC'[job]}/shared/{number}:{what}"


def told_root(place: Place) -> str:
    return f"{'ABC'[place[0]]}/chk-{place[1]}"
