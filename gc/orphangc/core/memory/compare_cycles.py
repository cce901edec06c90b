"""The memory after a cycle: what it saw, and what earlier ones saw and nothing explains.

A statement of a closed world covers what was searched that day (R3a): a storage that appears later
shows that there was more, which the statement left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from flinkstate.places.locations import is_within
from flinkstate.text.shown_text import some
from orphangc.core.groups import sets_of
from orphangc.core.lineage.continuation import remembered_lineage
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.job_lives import is_over, jobs_after, proves_end
from orphangc.core.memory.lost_facts import Lost, instant_text, lost_of
from orphangc.core.memory.remembered import (
    KEPT_AFTER_END,
    RememberedCluster,
    RememberedDirectory,
    RememberedPlace,
    RememberedRegistry,
    RememberedReport,
    StandingFact,
    WorldMemory,
)
from orphangc.core.memory.seen_cycles import STORAGE, LostFact, SeenCycles
from orphangc.core.memory.sighting import SeenPlace, Sighting
from orphangc.core.memory.unlocated_jobs import job_uri
from orphangc.core.model.codes import Condition
from orphangc.core.times.instants import EARLIEST, shifted

_TICK = timedelta(microseconds=1)
"""A memory is later than the one before, whatever a clock says: it was not set back."""
MOST_OTHERS = 20
"""Maximum number of remembered checkpoints of a place in no job directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleComparison:
    """Comparison of one cycle with the memory."""

    facts: tuple[LostFact, ...]
    memory: WorldMemory


def compared(
    memory: WorldMemory, sighting: Sighting, given: Iterable[Acknowledgement] = ()
) -> CycleComparison:
    """Return what is lost since earlier cycles, and the memory after this one; no I/O."""
    jobs = jobs_after(memory, sighting)
    cycles = SeenCycles(memory=memory, sighting=sighting, jobs=jobs, given=tuple(given))
    lost, missed = lost_of(cycles), _registries_missed(cycles)
    facts = (*uncovered(cycles), *lost.facts, *_registries_lost(missed, cycles))
    after = _After.of(cycles, lost, facts)
    directories = tuple(after.directories())
    reports = tuple(after.reports())
    clusters = tuple(after.clusters())
    registries = tuple(after.registries(missed))
    needed = {each.job_id for each in directories if each.resolved_at is None}
    needed |= {
        e.job_id for e in jobs if (Condition.CHECKPOINT_NOT_FOUND, job_uri(e)) in after.standing
    }
    needed |= {each.job_id for each in reports} | {id_ for each in clusters for id_ in each.alive}
    needed |= {each.job_id for each in registries}
    return CycleComparison(
        facts=facts,
        memory=WorldMemory(
            root=sighting.root,
            states=memory.states,
            written_at=max(sighting.at, shifted(memory.written_at or EARLIEST, _TICK)),
            places=tuple(after.places()),
            directories=directories,
            reports=reports,
            clusters=clusters,
            jobs=tuple(e for e in jobs if e.job_id in needed or after.is_young(e.known_at)),
            registries=registries,
            standing=tuple(StandingFact.like(e) for e in facts if not e.is_acknowledged),
            lineage=remembered_lineage(memory.lineage, sighting.lineage, sighting.at),
            expired=memory.expired,
            savepoints=_savepoints(memory, sighting),
        ),
    )


def _savepoints(memory: WorldMemory, sighting: Sighting) -> tuple[str, ...]:
    """Return the folders in which a cycle saw a savepoint's ``_metadata``, until they are gone."""
    known, listed = frozenset(memory.savepoints), sighting.savepoint_folders
    return tuple(sorted(sighting.savepoints | (known if listed is None else known & listed)))


@dataclass(frozen=True, slots=True)
class _After:
    """Makes the records of the next memory; standing and acknowledged are (condition, what).

    Attributes:
        others: Checkpoints that no directory of the memory holds, in order.
    """

    cycles: SeenCycles
    memory: WorldMemory
    sighting: Sighting
    lost: Lost
    standing: set[tuple[Condition, str]]
    acknowledged: set[tuple[Condition, str]]
    others: Sequence[str]

    @classmethod
    def of(cls, cycles: SeenCycles, lost: Lost, facts: Sequence[LostFact]) -> Self:
        standing = {(e.condition, e.what) for e in facts if not e.is_acknowledged}
        acknowledged = {(e.condition, e.what) for e in facts} - standing
        sighting = cycles.sighting
        recorded = {one.uri for each in sighting.directories for one in each.checkpoints}
        others = sorted(sighting.present - recorded)
        return cls(cycles, cycles.memory, sighting, lost, standing, acknowledged, others)

    def is_young(self, at: datetime | None) -> bool:
        """Return whether another writer may still know the opposite."""
        return at is not None and self.sighting.at - at <= KEPT_AFTER_END

    def directories(self) -> Iterator[RememberedDirectory]:
        seen = {each.uri: each for each in self.sighting.directories}
        for known in self.memory.directories:
            now = seen.pop(known.uri, None)
            if known.resolved_at is not None:
                yield from known.unseen(self.sighting.at, is_missed=False) if now is None else [now]
            elif self.cycles.is_place_unreachable(known.place):
                yield known
            else:
                yield from self._directory(known, now)
        yield from seen.values()

    def _directory(
        self, known: RememberedDirectory, now: RememberedDirectory | None
    ) -> Iterator[RememberedDirectory]:
        missed = self._missed(known)
        if missed or known.uri not in self.lost.checkpoints:  # else all of it is acknowledged
            missed = (*missed, *self.lost.kept.get(known.uri, ()))
        if now is None:
            left = known.model_copy(update={"checkpoints": missed})
            yield from left.unseen(self.sighting.at, is_missed=bool(missed))
            return
        depends_on = {*now.depends_on, *(known.depends_on if missed else ())}
        update = {
            "checkpoints": (*now.checkpoints, *missed),
            "depends_on": tuple(sorted(depends_on)),
            "was_over": now.was_over or (bool(missed) and known.was_over),
        }
        yield now.model_copy(update=update)

    def _missed(self, known: RememberedDirectory) -> tuple[object, ...]:
        if (Condition.JOB_DIRECTORY_EMPTIED, known.uri) in self.acknowledged:
            return ()
        if (Condition.PLACE_LOST, known.place) in self.acknowledged:
            return ()
        return tuple(
            each
            for each in self.lost.checkpoints.get(known.uri, ())
            if (Condition.CHECKPOINT_NOT_FOUND, each.uri) not in self.acknowledged
        )

    def places(self) -> Iterator[RememberedPlace]:
        """Yield the places, those that are lost or replaced as they were."""
        seen = {each.uri: each for each in self.sighting.places}
        for known in self.memory.places:
            now = seen.pop(known.uri, None)
            is_kept = any(
                (condition, known.uri) in self.standing
                for condition in (Condition.PLACE_LOST, Condition.PLACE_REPLACED)
            )
            is_kept |= now is not None and now.checkpoints is None
            if not is_kept and now is not None and (now.checkpoints or now.kind == STORAGE):
                yield self._place(now, known)
            else:
                is_named = now is not None and known.resolved_at is not None
                yield from known.unseen(self.sighting.at, is_missed=is_kept or is_named)
        for each in seen.values():
            if each.checkpoints is not None or each.kind == STORAGE:
                yield self._place(each, None)

    def _place(self, now: SeenPlace, known: RememberedPlace | None) -> RememberedPlace:
        left = () if now.kind == STORAGE else self.others
        others = [each for each in left if is_within(each, [now.uri])]
        return RememberedPlace.like(
            now,
            device=now.device or (None if known is None else known.device),
            first_seen_at=self.sighting.at if known is None else known.first_seen_at,
            seen_at=self.sighting.at,
            resolved_at=None,
            checkpoints=now.checkpoints or 0,
            others=tuple(others[:MOST_OTHERS]),
            has_more_others=len(others) > MOST_OTHERS,
            is_stated=now.kind == STORAGE
            and (
                is_covered(now, self.cycles)
                or (Condition.CLOSED_WORLD, now.uri) in self.acknowledged
            ),
        )

    def reports(self) -> Iterator[RememberedReport]:
        for each in self.lost.reports:
            is_known = (Condition.CHECKPOINT_NOT_FOUND, each.uri) in self.acknowledged
            over = each.resolved_at or (each.reported_at if is_known else None)
            if over is None or self.is_young(over):
                yield each

    def clusters(self) -> Iterator[RememberedCluster]:
        """Yield the clusters that answer, and the silent ones that are missed or declared away."""
        alive = sets_of((each.by, each.job_id) for each in self.sighting.jobs if each.is_alive)
        for uri, answers in sorted(self.sighting.clusters.items()):
            if answers:
                own = alive.get(uri, set())
                yield RememberedCluster(
                    uri=uri,
                    answered_at=self.sighting.at,
                    alive=tuple(sorted(own)),
                    contradicted=tuple(sorted(own & self.sighting.declared_ended)),
                )
        for known in self.memory.clusters:
            is_declared = not self.sighting.declared_ended.isdisjoint(known.alive)
            is_silent = not self.sighting.clusters.get(known.uri)
            if (Condition.CLUSTER_SILENT, known.uri) in self.standing or (
                is_declared and is_silent  # a statement counts for its cycle
            ):
                yield known

    def registries(
        self, missed: Mapping[str, Sequence[RememberedRegistry]]
    ) -> Iterator[RememberedRegistry]:
        yield from self.sighting.registries
        standing = {what for condition, what in self.standing if condition is Condition.PLACE_LOST}
        missed_now = {each.uri for records in missed.values() for each in records}
        for known in self.memory.registries:
            if known.uri in self.sighting.registry_jobs:
                continue  # it is recorded again, or no longer concerns the storage root
            is_standing = not standing.isdisjoint({known.uri, known.location})
            is_missed = is_standing and known.uri in missed_now
            if known.job_id in self.sighting.declared_ended:  # a statement counts for its cycle
                is_missed |= known.resolved_at is None
            yield from known.unseen(self.sighting.at, is_missed=is_missed)


def is_covered(place: SeenPlace, cycles: SeenCycles) -> bool:
    """Return whether a person's statement covers a storage; the first one covers all there are."""
    known = _storages(cycles.memory)
    stated = {uri for uri, each in known.items() if each.is_stated}
    if is_within(place.uri, stated):
        return True
    return cycles.sighting.is_world_closed and (place.is_stated or not stated)


def uncovered(cycles: SeenCycles) -> Iterator[LostFact]:
    """Yield a fact for each storage that no statement covers, while a closed world is stated."""
    sighting, known = cycles.sighting, _storages(cycles.memory)
    for place in sighting.places if sighting.is_world_closed else ():
        is_asked = place.kind == STORAGE and not place.is_left_out
        if not is_asked or is_covered(place, cycles):
            continue
        since = known[place.uri].first_seen_at if place.uri in known else sighting.at
        yield cycles.lost(
            (Condition.CLOSED_WORLD, place.uri, since),
            f"{place.uri} is searched since {instant_text(since)}, after closed_world was stated,"
            " which does not cover it: look at what names it (orphangc world), name what else"
            " there is, and state it again",
            run=". Run: ",
        )


def _storages(memory: WorldMemory) -> dict[str, RememberedPlace]:
    return {each.uri: each for each in memory.places if each.kind == STORAGE}


# --- registries: a folder that a person removed, or that is not configured any more, hides what its
# jobs still need; a job that is over needs nothing of it, one that exports elsewhere has moved


def _registries_lost(
    missed: Mapping[str, Sequence[RememberedRegistry]], cycles: SeenCycles
) -> Iterator[LostFact]:
    """Yield one fact for each registry folder that is gone, else for each job's folder in one."""
    present = {each.rpartition("/")[0] for each in cycles.sighting.registry_jobs}
    for location, records in sorted(missed.items()):
        if location in present:
            yield from (_registry_fact(each.uri, [each], cycles) for each in records)
        else:
            yield _registry_fact(location, records, cycles)


def _registries_missed(cycles: SeenCycles) -> Mapping[str, list[RememberedRegistry]]:
    missed: dict[str, list[RememberedRegistry]] = {}
    homes = {(each.job_id, each.home) for each in cycles.sighting.registries}
    for known in cycles.memory.registries:
        if known.resolved_at is not None or known.uri in cycles.sighting.registry_jobs:
            continue
        # the same job, by its directory, may export to another place now
        has_moved = known.home and (known.job_id, known.home) in homes
        if not (has_moved or _is_registry_over(known, cycles)):
            missed.setdefault(known.location, []).append(known)
    return missed


def _is_registry_over(known: RememberedRegistry, cycles: SeenCycles) -> bool:
    if known.job_id in cycles.sighting.declared_ended:
        return True
    if any(each.is_alive for each in cycles.sighting.jobs if each.job_id == known.job_id):
        return False
    return any(
        is_over(each)
        and proves_end(each, known.home)
        and each.ended_at is not None
        and known.taken_at is not None
        and each.ended_at >= known.taken_at
        for each in cycles.jobs
        if each.job_id == known.job_id
    )


def _registry_fact(
    what: str, records: Sequence[RememberedRegistry], cycles: SeenCycles
) -> LostFact:
    since = max(each.seen_at for each in records)
    is_all_known = all(each.is_all_known for each in records)
    ids = sorted({each.job_id for each in records})
    return cycles.lost(
        (Condition.PLACE_LOST, what, since),
        f"{what} held registry snapshots of job {some(ids)} at"
        f" {instant_text(since)} and holds none now, so what that job needs is unknown: bring them"
        " back or give the folder again with --registry, declare the job ended by its id",
        frozenset(d for each in records for d in each.directories) if is_all_known else None,
    )
