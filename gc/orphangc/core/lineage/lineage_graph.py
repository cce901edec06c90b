"""Lineages: jobs that continued one another, with the checkpoints of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.model.types import JobState

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageJob:
    """One job of a lineage.

    Attributes:
        key: Key of the job in the cycle.
        job_id: Identifier of the job, "" if unknown.
        places: Job directories.
        state: State of the job.
        is_of_root: Whether a directory of it is in the storage root.
        is_over: Whether positive evidence proves its end, and its directory has been still since.
        problem: Name of the guard or condition that stops its work; ``None`` if nothing does.
        last_life_at: Last time at which anything of it was written or a source showed it alive.
        first_life_at: Store time of the oldest object or checkpoint of it; ``None`` if unknown.
        resources: Kubernetes resources that ran it.
        is_self_sustained: Whether it needs no file that is not its own; ``None`` if unknown (R30).
        ended_as: Terminal states that Flink itself reported; none if it reported no end.

    """

    key: str
    job_id: str
    places: tuple[str, ...]
    state: JobState
    is_of_root: bool = True
    is_over: bool = False
    problem: str | None = None
    last_life_at: datetime | None = None
    first_life_at: datetime | None = None
    resources: tuple[str, ...] = ()
    is_self_sustained: bool | None = None
    ended_as: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """Return every name that a person may use: its id, and the resources that ran it."""
        return frozenset({self.job_id, *self.resources} - {""})


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageCheckpoint:
    """A checkpoint or savepoint, as retention sees it.

    Attributes:
        uri: Folder of its ``_metadata``.
        place: Job directory or savepoint folder that is its node.
        checkpoint_id: Identifier in the metadata.
        is_savepoint: Whether it is a savepoint.
        stored_at: Store time of its ``_metadata``, before it was put back; ``None`` if unknown.
        sha256: Digest of its ``_metadata``.
        is_restorable: Whether every file that it names was found.
        is_collectable: Whether its files are collected: they are in job directories of the
            storage root, or it is a savepoint that may go with its folder.
        obstacle: Reason for which they are not.
        holds: What needs it now (R43), as words for people: a pin, an HA entry, a restored path.
        deleted_on: Ends of its job upon which Flink deletes it, and ``SUBSUMED``; ``None`` if
            unknown (R40).
        expired_at: Time at which its ``_metadata`` was put into quarantine; ``None`` if it was not.
        put_back_at: Time at which ``undelete`` stored it again; ``None`` if it did not.

    """

    uri: str
    place: str
    checkpoint_id: int
    is_savepoint: bool
    stored_at: datetime | None
    sha256: str
    is_restorable: bool = True
    is_collectable: bool = True
    obstacle: str = "not all of its files are in the storage root"
    holds: tuple[tuple[str, str], ...] = ()
    deleted_on: frozenset[str] | None = None
    expired_at: datetime | None = None
    put_back_at: datetime | None = None

    @property
    def order(self) -> tuple[datetime, int, str]:
        """Return the order of age: an unknown store time is oldest."""
        return (self.stored_at or _LONG_AGO, self.checkpoint_id, self.uri)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Jobs that continued one another.

    Attributes:
        jobs: Its jobs, oldest first.
        checkpoints: Their checkpoints and savepoints, oldest first.
        continuations: Edges between its places.
        job_of_place: Job of each job directory.
        newer_of: Places that surely continued each place.
        began_by: Earliest time at which each job is known to have begun, by its key.

    """

    jobs: tuple[LineageJob, ...]
    checkpoints: tuple[LineageCheckpoint, ...] = ()
    continuations: tuple[Continuation, ...] = ()
    job_of_place: Mapping[str, LineageJob] = field(default_factory=dict)
    newer_of: Mapping[str, Collection[str]] = field(default_factory=dict)
    began_by: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return its name: the resource that ran its newest job, else the id of its oldest job."""
        for job in reversed(self.jobs):
            if job.resources:
                return job.resources[0]
        known = [job.job_id for job in self.jobs if job.job_id]
        if known:
            return known[0]
        return self.checkpoints[0].uri if self.checkpoints else ""

    @property
    def names(self) -> frozenset[str]:
        """Return every name that a person may use: resources, and job ids."""
        return frozenset[str]().union(*(job.names for job in self.jobs)) | {self.name}

    @property
    def is_over(self) -> bool:
        """Return whether every job of it is proven to be over."""
        return bool(self.jobs) and all(job.is_over for job in self.jobs)

    def job_at(self, place: str) -> LineageJob | None:
        """Return the job of a place: of a savepoint's folder, the one that it was taken of."""
        if place in self.job_of_place:
            return self.job_of_place[place]
        makers = {
            job.key: job
            for edge in self.continuations
            if edge.newer == place and (job := self.job_of_place.get(edge.older)) is not None
        }
        return next(iter(makers.values())) if len(makers) == 1 else None

    def is_maker_proven(self, place: str) -> bool:
        """Return whether more than six digits of a folder's name say which job made a savepoint."""
        if place in self.job_of_place:
            return True
        edges = [edge for edge in self.continuations if edge.newer == place]
        by_name = ContinuationSource.SAVEPOINT_NAME
        is_proven = any(edge.source is not by_name for edge in edges)
        return is_proven and len({_maker_of(edge, self.job_of_place) for edge in edges}) == 1

    def places_after(
        self, places: Iterable[str], stored_at: datetime | None = None
    ) -> frozenset[str]:
        """Return the places that continued some places, these included.

        Args:
            places: Places to begin with.
            stored_at: Store time of a checkpoint in them: a job that had begun by then did not
                continue it, but is a branch of an older one. ``None`` for any.

        """
        found = set(places)
        todo = list(found)
        while todo:
            place = todo.pop()
            newer = set(self.newer_of.get(place, ()))
            for job in [self.job_of_place.get(each) for each in (place, *newer)]:
                if job is not None and place not in job.places and self._has_begun(job, stored_at):
                    newer -= set(job.places)
                elif job is not None:
                    newer |= set(job.places)
            todo += newer - found
            found |= newer
        return frozenset(found)

    @property
    def last_jobs(self) -> tuple[LineageJob, ...]:
        """Return the jobs that no other one continued; all jobs if each one was continued."""
        keys = {place: job.key for place, job in self.job_of_place.items()}
        last = (
            job
            for job in self.jobs
            if {keys[each] for each in self.places_after(job.places) if each in keys} == {job.key}
        )
        return tuple(last) or self.jobs

    def _has_begun(self, job: LineageJob, at: datetime | None) -> bool:
        """Return whether a job had begun before some time, by its files or an earlier cycle."""
        began = self.began_by.get(job.key)
        return at is not None and began is not None and began < at


def lineages_of(
    jobs: Sequence[LineageJob],
    checkpoints: Iterable[LineageCheckpoint],
    continuations: Iterable[Continuation],
) -> tuple[Lineage, ...]:
    """Return the lineages: every job and checkpoint is in exactly one.

    Args:
        jobs: Jobs of all searched places.
        checkpoints: Checkpoints and savepoints of all searched places.
        continuations: Edges; one of an unknown place joins what it names all the same.

    """
    known = [job for job in jobs if job.places]
    own = sorted(checkpoints, key=lambda each: each.order)
    edges = [each for each in continuations if each.older != each.newer]
    joined = _Joined()
    for edge in edges:
        joined.join(edge.older, edge.newer)
    for job in known:
        for place in job.places[1:]:
            joined.join(job.places[0], place)
    jobs_of = _grouped(known, lambda job: joined.top(job.places[0]))
    checkpoints_of = _grouped(own, lambda each: joined.top(each.place))
    edges_of = _grouped(edges, lambda edge: joined.top(edge.older))
    found = (
        _lineage(jobs_of.get(top, []), checkpoints_of.get(top, []), edges_of.get(top, []))
        for top in {**jobs_of, **checkpoints_of}
    )
    return tuple(sorted(found, key=_oldest_first))


def stated_continuations(
    stated: Mapping[str, str], jobs: Mapping[str, LineageJob], at: datetime
) -> Iterator[Continuation]:
    """Yield the edges that the owner states; one that cannot be true counts for nothing.

    Args:
        stated: Job id of the older job, by that of the newer one.
        jobs: Jobs by id, where one directory alone has it.
        at: Time of the cycle.

    """
    for newer_id, older_id in stated.items():
        newer, older = jobs.get(newer_id), jobs.get(older_id)
        if newer is None or older is None:
            continue
        if (newer.first_life_at or _LONG_AGO) <= (older.first_life_at or _LONG_AGO):
            continue
        yield Continuation(
            older=older.places[0],
            newer=newer.places[0],
            source=ContinuationSource.STATEMENT,
            seen_at=at,
        )


_T = TypeVar("_T")


def _grouped(each: Iterable[_T], key: Callable[[_T], str]) -> dict[str, list[_T]]:
    groups: dict[str, list[_T]] = {}
    for one in each:
        groups.setdefault(key(one), []).append(one)
    return groups


def _lineage(
    jobs: list[LineageJob], checkpoints: list[LineageCheckpoint], edges: list[Continuation]
) -> Lineage:
    ordered = sorted(jobs, key=lambda job: (job.first_life_at or _LONG_AGO, job.key))
    job_of_place = {place: job for job in ordered for place in job.places}
    return Lineage(
        jobs=tuple(ordered),
        checkpoints=tuple(checkpoints),
        continuations=tuple(edges),
        job_of_place=job_of_place,
        newer_of=_newer_of(edges, job_of_place),
        began_by=_began_by(ordered, edges, job_of_place),
    )


def _newer_of(
    edges: Iterable[Continuation], job_of_place: Mapping[str, LineageJob]
) -> dict[str, set[str]]:
    """Return what surely continued each place.

    A savepoint's name alone is no proof, and of one whose name fits several jobs its contents are
    none either.
    """
    makers: dict[str, set[str]] = {}
    for edge in edges:
        makers.setdefault(edge.newer, set()).add(_maker_of(edge, job_of_place))
    found: dict[str, set[str]] = {}
    for edge in edges:
        is_alike = edge.source is ContinuationSource.SAVEPOINT_CONTENTS
        is_proven = not is_alike or len(makers[edge.newer]) == 1
        if is_proven and edge.source is not ContinuationSource.SAVEPOINT_NAME:
            found.setdefault(edge.older, set()).add(edge.newer)
    return found


def _maker_of(edge: Continuation, job_of_place: Mapping[str, LineageJob]) -> str:
    """Return the key of the older job of an edge, or its place if the job is not known."""
    job = job_of_place.get(edge.older)
    return edge.older if job is None else job.key


def _began_by(
    jobs: Iterable[LineageJob],
    edges: Iterable[Continuation],
    job_of_place: Mapping[str, LineageJob],
) -> dict[str, datetime]:
    """Return the earliest time at which each job had begun: by its files, or by earlier cycles."""
    known = [(job.key, job.first_life_at) for job in jobs]
    known += [
        (job.key, edge.first_seen_at)
        for edge in edges
        if (job := job_of_place.get(edge.newer)) is not None
    ]
    found: dict[str, datetime] = {}
    for key, at in known:
        if at is not None:
            found[key] = min(at, found.get(key, at))
    return found


def _oldest_first(lineage: Lineage) -> tuple[datetime, str]:
    times = [job.last_life_at for job in lineage.jobs if job.last_life_at is not None]
    times += [each.stored_at for each in lineage.checkpoints if each.stored_at is not None]
    return (max(times, default=_LONG_AGO), lineage.name)


class _Joined:
    """Disjoint sets of places."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def top(self, place: str) -> str:
        """Return the place that stands for the set of a place."""
        above = self._above.setdefault(place, place)
        while above != place:
            place, above = above, self._above[above]
        return place

    def join(self, one: str, other: str) -> None:
        """Make one set of two."""
        first, second = sorted((self.top(one), self.top(other)))
        self._above[second] = first
