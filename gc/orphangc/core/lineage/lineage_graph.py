"""Lineages: jobs that continued one another, with the checkpoints of each."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain

from flinkstate.places.checkpoint_names import checkpoint_id_of
from orphangc.core.groups import grouped, reached, sets_of
from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.model.types import JobState, may_recur

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageJob:
    """One job of a lineage.

    Attributes:
        is_of_root: Whether a directory of it is in the storage root.
        is_over: Whether positive evidence proves its end, and its directory has been still since.
        problem: Name of the guard or condition that stops its work; ``None`` if nothing does.
        is_blocked: Whether a condition of deletion is unmet for it, whatever refuses it, too.
        last_life_at: Last time at which anything of it was written or a source showed it alive.
        first_life_at: Store time of the oldest object or checkpoint of it; ``None`` if unknown.
        started_at: Earliest known start of its present run, by Flink's clock.
        is_running_throughout: Whether Flink showed it RUNNING before the listing and after it.
        may_recur: Whether another run may have the same id, or the same directory.
        has_one_origin: Whether each of its runs began with one checkpoint, or one of its own.
        began_otherwise: Whether a run of it surely began with nothing, or with something that no
            edge to it shows.
        is_self_sustained: Whether it needs no file that is not its own; ``None`` if unknown (R30).
        recovers_from_its_own: Whether a lost JobManager of it surely goes on from a checkpoint
            of its own, and not from what it was first started from.
        ended_as: Terminal states that Flink itself reported; none if it reported no end.
        ended_between: Times between which what is stored is of the run that ended.
    """

    key: str
    job_id: str
    places: tuple[str, ...]
    state: JobState
    is_of_root: bool = True
    is_over: bool = False
    problem: str | None = None
    is_blocked: bool = False
    last_life_at: datetime | None = None
    first_life_at: datetime | None = None
    started_at: datetime | None = None
    is_running_throughout: bool = False
    may_recur: bool = False
    has_one_origin: bool = False
    began_otherwise: bool = False
    resources: tuple[str, ...] = ()
    is_self_sustained: bool | None = None
    recovers_from_its_own: bool = False
    ended_as: frozenset[str] = frozenset()
    ended_between: tuple[datetime, datetime] | None = None

    @property
    def names(self) -> frozenset[str]:
        """Return every name that a person may use: its id, and the resources that ran it."""
        return frozenset({self.job_id, *self.resources} - {""})


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageCheckpoint:
    """A checkpoint or savepoint, as retention sees it.

    Attributes:
        place: Job directory or savepoint folder that is its node.
        stored_at: Store time of its ``_metadata``, before it was put back; ``None`` if unknown.
        is_restorable: Whether every file that it names was found; ``None`` if not all were looked
            for, upon which nothing relies.
        is_collectable: Whether its files are collected: they are in job directories of the
            storage root, or it is a savepoint that may go with its folder.
        holds: What needs it now (R43), as words for people: a pin, an HA entry, a restored path.
        deleted_on: Ends of its job upon which Flink deletes it, and ``SUBSUMED``; ``None`` if
            unknown (R40).
        operators: Ids of the operators of its job.
        stateful: Ids of those that have state in it.
        put_back_at: Time at which ``undelete`` stored it again; ``None`` if it did not.
    """

    uri: str
    place: str
    checkpoint_id: int
    is_savepoint: bool
    stored_at: datetime | None
    sha256: str
    is_restorable: bool | None = True
    is_collectable: bool = True
    obstacle: str = "not all of its files are in the storage root"
    holds: tuple[tuple[str, str], ...] = ()
    deleted_on: frozenset[str] | None = None
    operators: frozenset[str] = frozenset()
    stateful: frozenset[str] = frozenset()
    expired_at: datetime | None = None
    put_back_at: datetime | None = None

    @property
    def order(self) -> tuple[datetime, int, str]:
        """Return the order of age: an unknown store time is oldest."""
        return (self.stored_at or _LONG_AGO, self.checkpoint_id, self.uri)


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """Jobs that continued one another."""

    jobs: tuple[LineageJob, ...]
    checkpoints: tuple[LineageCheckpoint, ...] = ()
    continuations: tuple[Continuation, ...] = ()
    job_of_place: Mapping[str, LineageJob] = field(default_factory=dict)
    fixed_ids: Collection[str] = frozenset()

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

    @cached_property
    def names(self) -> frozenset[str]:
        """Return every name that a person may use: resources, and job ids."""
        return frozenset[str]().union(*(job.names for job in self.jobs)) | {self.name}

    @cached_property
    def is_over(self) -> bool:
        """Return whether every job of it is proven to be over."""
        return bool(self.jobs) and all(job.is_over for job in self.jobs)

    @property
    def recurring_ids(self) -> frozenset[str]:
        """Return the ids of its jobs that another run may bear, too."""
        return frozenset(job.job_id for job in self.jobs if self._recurs(job.key)) - {""}

    def job_at(self, place: str) -> LineageJob | None:
        """Return the job of a place: of a savepoint's folder, the one that it was taken of."""
        if place in self.job_of_place:
            return self.job_of_place[place]
        keys = {self._key_of(edge.older) for edge in self._taken.get(place, ())}
        makers = [self._jobs[key] for key in keys if key in self._jobs]
        return makers[0] if len(makers) == 1 else None

    def is_maker_proven(self, place: str) -> bool:
        """Return whether more than six digits of a folder's name say which job made a savepoint."""
        if place in self.job_of_place:
            return True
        edges = self._taken.get(place, ())
        by_name = ContinuationSource.SAVEPOINT_NAME
        is_proven = any(edge.source is not by_name for edge in edges)
        return is_proven and len({self._key_of(edge.older) for edge in edges}) == 1

    def continued_by(self, checkpoint: LineageCheckpoint) -> frozenset[str]:
        """Return the keys of the jobs that surely continued a checkpoint, itself or by others.

        A job that another one was restored from had this one's state in all that it wrote. Of an
        id that comes back it is not known which run was, and a newer job of one continued nothing.
        Nor did one that lacks an operator with state in it, or is known to go on from such a one.
        """
        return self._heirs[checkpoint]

    def may_be_continued_by(self, checkpoint: LineageCheckpoint) -> tuple[LineageJob, ...]:
        """Return the jobs that may have continued a checkpoint, by whatever edge.

        Not by one that shows a restore from an older point of the same run.
        """
        own = {checkpoint.place, *self._places_of(self._runs[checkpoint.place])}
        shared = (each for place in own for each in self._savepoints_of.get(place, ()))
        first = {
            edge.newer
            for place in {*own, *shared}
            for edge in self.led_from(place)
            if not self._is_from_before(edge, checkpoint)
        }
        keys = {self._key_of(place) for place in reached(first, self._after_place) - own}
        return tuple(job for job in self.jobs if job.key in keys)

    def stand_ins(self, checkpoint: LineageCheckpoint) -> tuple[LineageCheckpoint, ...]:
        """Return what may stand for a checkpoint, itself included, in any order.

        That is what its run completed after it and a job continued, and what that job completed.
        """
        heirs = self.continued_by(checkpoint)
        own = (
            each
            for each, others in self._made_by.get(self._runs[checkpoint.place], ())
            if each.uri == checkpoint.uri
            or (_is_before(checkpoint, each) and not heirs.isdisjoint(others))
        )
        return (*own, *(each for run in heirs for each, _ in self._made_by.get(run, ())))

    def of_job(self, job: LineageJob) -> list[LineageCheckpoint]:
        """Return the checkpoints in a job's own directories."""
        return [each for place in job.places for each in self._at.get(place, ())]

    def restored_by(self, uri: str) -> Sequence[Continuation]:
        """Return the edges that show a restore from a checkpoint."""
        return self._shown.get(uri, ())

    def led_from(self, place: str) -> Sequence[Continuation]:
        """Return the edges that lead from a place."""
        return self._leading.get(place, ())

    @cached_property
    def last_jobs(self) -> tuple[LineageJob, ...]:
        """Return the jobs that no other one continued; all jobs if each one was continued."""
        return tuple(job for job in self.jobs if self._is_last(job)) or self.jobs

    def _is_last(self, job: LineageJob) -> bool:
        """Return whether no place leads from a job to another one: beyond that none is asked."""

        def after(place: str) -> Collection[str]:
            is_of_another = self._key_of(place) in self._jobs.keys() - {job.key}
            return () if is_of_another else self._after_place(place)

        found = {self._key_of(place) for place in reached(job.places, after)}
        return found & self._jobs.keys() == {job.key}

    @cached_property
    def _by_uri(self) -> dict[str, LineageCheckpoint]:
        return {each.uri: each for each in self.checkpoints}

    @cached_property
    def _at(self) -> dict[str, list[LineageCheckpoint]]:
        return grouped(self.checkpoints, lambda each: each.place)

    @cached_property
    def _shown(self) -> dict[str, list[Continuation]]:
        return grouped(self.continuations, lambda edge: edge.checkpoint)

    @cached_property
    def _leading(self) -> dict[str, list[Continuation]]:
        """Edges by the place that they lead from."""
        return grouped(self.continuations, lambda edge: edge.older)

    @cached_property
    def _savepoints_of(self) -> dict[str, set[str]]:
        """Savepoints that may have been taken of a job, by each place that is said of it."""
        taken = self._taken.items()
        return sets_of((edge.older, place) for place, edges in taken for edge in edges)

    @cached_property
    def _heirs(self) -> dict[LineageCheckpoint, frozenset[str]]:
        """Keys of the jobs that surely continued each checkpoint."""
        return {each: self._heirs_of(each) for each in self.checkpoints}

    def _heirs_of(self, checkpoint: LineageCheckpoint) -> frozenset[str]:
        own = self._runs[checkpoint.place]
        edges = self._restores.get(own, ())
        first = {self._key_of(edge.newer) for edge in edges if self._covers(edge, checkpoint)}

        def with_its_state(keys: Collection[str]) -> list[str]:
            known = self._operators
            return [e for e in keys if e not in known or _is_whole_in(checkpoint, known[e])]

        def after(key: str) -> Collection[str]:
            return () if self._may_differ(key) else with_its_state(self._hops.get(key, ()))

        return frozenset(reached(with_its_state(first), after) - {own})

    @cached_property
    def _operators(self) -> dict[str, frozenset[str]]:
        """Operators that all known checkpoints of what made them have, by that."""
        runs = grouped(self.checkpoints, lambda each: self._runs[each.place])
        return {
            run: frozenset.intersection(*(each.operators for each in made))
            for run, made in runs.items()
        }

    @cached_property
    def _made_by(self) -> dict[str, list[tuple[LineageCheckpoint, frozenset[str]]]]:
        """Checkpoints with their heirs, by what made them."""
        return grouped(self._heirs.items(), lambda each: self._runs[each[0].place])

    @cached_property
    def _jobs(self) -> dict[str, LineageJob]:
        return {job.key: job for job in self.jobs}

    @cached_property
    def _taken(self) -> dict[str, list[Continuation]]:
        edges = [edge for edge in self.continuations if edge.is_of_savepoint]
        return grouped(edges, lambda edge: edge.newer)

    @cached_property
    def _runs(self) -> dict[str, str]:
        """What made the checkpoints of each place: a job, or the place if that is unproven."""
        places = {each.place for each in self.checkpoints}
        places |= {edge.older for edge in self.continuations}
        return {place: self._run_of(place) for place in places}

    @cached_property
    def _restores(self) -> dict[str, list[Continuation]]:
        return grouped(self.continuations, lambda edge: self._runs[edge.older])

    @cached_property
    def _hops(self) -> dict[str, set[str]]:
        return {
            run: {
                self._key_of(e.newer)
                for e in edges
                if self._restored_id(e) is not None and self._has_one_origin(e)
            }
            for run, edges in self._restores.items()
        }

    @cached_property
    def _after(self) -> dict[str, set[str]]:
        """Places that any edge leads to from each place, and the other ones of the same job."""
        beside = ((place, each) for place, job in self.job_of_place.items() for each in job.places)
        return sets_of(chain(beside, ((edge.older, edge.newer) for edge in self.continuations)))

    def _key_of(self, place: str) -> str:
        job = self.job_of_place.get(place)
        return place if job is None else job.key

    def _run_of(self, place: str) -> str:
        if place in self.job_of_place or not self.is_maker_proven(place):
            return self._key_of(place)
        return self._key_of(self._taken[place][0].older)

    def _places_of(self, key: str) -> tuple[str, ...]:
        job = self._jobs.get(key)
        return (key,) if job is None else job.places

    def _recurs(self, key: str) -> bool:
        """Return whether a job may be several runs: by its id, or by what it began with."""
        job = self._jobs.get(key)
        job_id = key.rpartition("/")[2] if job is None else job.job_id
        is_reused = job_id in self.fixed_ids or may_recur(job_id)
        return is_reused or (job is not None and job.may_recur) or self._began_twice(key)

    def _began_twice(self, key: str) -> bool:
        return len(self._origins.get(key, ())) > 1

    def _may_differ(self, key: str) -> bool:
        """Return whether two runs of a job may have begun with two states."""
        job = self._jobs.get(key)
        return self._recurs(key) and not (job is not None and job.has_one_origin)

    @cached_property
    def _origins(self) -> dict[str, set[tuple[str, int | None]]]:
        """What each job is known to begin with: runs, with ids of checkpoints; "" is another."""
        numbers = ((edge, self._restored_id(edge)) for edge in self.continuations)
        restores = (
            (self._key_of(edge.newer), (self._runs[edge.older], number))
            for edge, number in numbers
            if edge.checkpoint
        )
        others = ((job.key, ("", None)) for job in self.jobs if job.began_otherwise)
        return sets_of(chain(restores, others))

    def _has_one_origin(self, edge: Continuation) -> bool:
        """Return whether all runs of the newer job began with one state, as far as anything shows.

        One that was restored from two places, or from one and from nothing, was started twice:
        which run lives is not known.
        """
        newer = self._key_of(edge.newer)
        return not (self._may_differ(newer) or self._began_twice(newer))

    def _covers(self, edge: Continuation, checkpoint: LineageCheckpoint) -> bool:
        """Return whether a restore from the run of a checkpoint shows that it was continued (R41).

        It is the restored one, or the same run completed it before that, by id and by store time.
        """
        stored_at, number = checkpoint.stored_at, self._restored_id(edge)
        run = self._runs[edge.older]
        if number is None or stored_at is None or not self._has_one_origin(edge):
            return False
        origin = self._by_uri.get(edge.checkpoint)
        if origin is not None and not _is_whole_in(checkpoint, origin.operators):
            return False
        times = [at for at in (edge.stored_at, edge.restored_at) if at is not None]
        if checkpoint.uri == edge.checkpoint:
            is_same = checkpoint.checkpoint_id == number
            is_known = bool(times) or not self._recurs(run)
            return is_same and is_known and all(stored_at <= at for at in times)
        until = self._restored_point(edge)
        is_before = until is not None and stored_at < until
        return checkpoint.checkpoint_id < number and is_before and not self._recurs(run)

    def _restored_id(self, edge: Continuation) -> int | None:
        if edge.checkpoint_id is not None or not edge.checkpoint:
            return edge.checkpoint_id
        origin = self._by_uri.get(edge.checkpoint)
        if origin is not None:
            return origin.checkpoint_id
        return checkpoint_id_of(edge.checkpoint.rpartition("/")[2])

    def _restored_point(self, edge: Continuation) -> datetime | None:
        """Return the store time of what an edge shows as restored, or a later bound of it."""
        origin = self._by_uri.get(edge.checkpoint)
        known = [each.stored_at for each in (edge, origin) if each is not None]
        times = [at for at in known if at is not None]
        return min(times) if times else edge.restored_at

    def _is_from_before(self, edge: Continuation, checkpoint: LineageCheckpoint) -> bool:
        run, until = self._runs[edge.older], self._restored_point(edge)
        if run != self._runs[checkpoint.place] or self._recurs(run):
            return False
        if not self._has_one_origin(edge):
            return False
        number, stored_at = self._restored_id(edge), checkpoint.stored_at
        if number is None or until is None or stored_at is None:
            return False
        return number < checkpoint.checkpoint_id and until < stored_at

    def _after_place(self, place: str) -> Collection[str]:
        return self._after.get(place, ())


def _is_whole_in(checkpoint: LineageCheckpoint, operators: frozenset[str]) -> bool:
    """Return whether a job with some operators took over all state of a checkpoint.

    A job that is restored with ``allowNonRestoredState`` drops what none of its operators asks for:
    it may be half of a job that was split, or have lost an operator by a new id.

    Source: Flink 1.8-2.3, ``Checkpoints.loadAndValidateCheckpoint``; ``PendingCheckpoint``: each
    operator of the job is in its checkpoints, also one without state.
    """
    return checkpoint.stateful <= operators


def _is_before(one: LineageCheckpoint, other: LineageCheckpoint) -> bool:
    if one.stored_at is None or other.stored_at is None:
        return False
    return one.checkpoint_id < other.checkpoint_id and one.stored_at < other.stored_at


def lineages_of(
    jobs: Sequence[LineageJob],
    checkpoints: Iterable[LineageCheckpoint],
    continuations: Iterable[Continuation],
    fixed_ids: Collection[str] = (),
) -> tuple[Lineage, ...]:
    """Return the lineages: every job and checkpoint is in exactly one."""
    known = [job for job in jobs if job.places]
    own = sorted(checkpoints, key=lambda each: each.order)
    edges = [each for each in continuations if each.older != each.newer]
    joined = _Joined()
    for edge in edges:
        joined.join(edge.older, edge.newer)
    for job in known:
        for place in job.places[1:]:
            joined.join(job.places[0], place)
    jobs_of = grouped(known, lambda job: joined.top(job.places[0]))
    checkpoints_of = grouped(own, lambda each: joined.top(each.place))
    edges_of = grouped(edges, lambda edge: joined.top(edge.older))
    found = (
        replace(
            _lineage(jobs_of.get(top, []), checkpoints_of.get(top, []), edges_of.get(top, [])),
            fixed_ids=frozenset(fixed_ids),
        )
        for top in {**jobs_of, **checkpoints_of}
    )
    return tuple(sorted(found, key=_oldest_first))


def _lineage(
    jobs: list[LineageJob], checkpoints: list[LineageCheckpoint], edges: list[Continuation]
) -> Lineage:
    ordered = sorted(jobs, key=lambda job: (job.first_life_at or _LONG_AGO, job.key))
    return Lineage(
        jobs=tuple(ordered),
        checkpoints=tuple(checkpoints),
        continuations=tuple(edges),
        job_of_place={place: job for job in ordered for place in job.places},
    )


def _oldest_first(lineage: Lineage) -> tuple[datetime, str]:
    times = [job.last_life_at for job in lineage.jobs if job.last_life_at is not None]
    times += [each.stored_at for each in lineage.checkpoints if each.stored_at is not None]
    return (max(times, default=_LONG_AGO), lineage.name)


class _Joined:
    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def top(self, place: str) -> str:
        above = self._above.setdefault(place, place)
        while above != place:
            self._above[place] = self._above[above]  # half of the way the next time
            place, above = above, self._above[above]
        return place

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.top(one), self.top(other)))
        self._above[second] = first
