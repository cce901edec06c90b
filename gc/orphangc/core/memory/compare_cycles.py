"""The memory after a cycle: what it saw, and what earlier ones saw and nothing explains.

A statement of a closed world covers what was searched that day (R3a): a storage that appears later
shows that there was more, which the statement left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import is_within
from orphangc.core.lineage.continuation import remembered_lineage
from orphangc.core.memory.acknowledgement import Acknowledgement, acknowledging_command
from orphangc.core.memory.job_lives import is_over, jobs_after, proves_end
from orphangc.core.memory.lost_facts import (
    STORAGE,
    Lost,
    LostFact,
    instant_text,
    is_place_unreachable,
    lost_fact,
    lost_of,
    named,
    reports_after,
    with_word,
)
from orphangc.core.memory.remembered import (
    KEPT_AFTER_END,
    RememberedCluster,
    RememberedDirectory,
    RememberedJob,
    RememberedPlace,
    RememberedRegistry,
    RememberedReport,
    StandingFact,
    WorldMemory,
)
from orphangc.core.memory.sighting import SeenPlace, Sighting
from orphangc.core.memory.unlocated_jobs import job_uri
from orphangc.core.model.codes import Condition

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
    known = tuple(given)
    jobs = jobs_after(memory, sighting)
    lost = lost_of(memory, sighting, jobs, known, uncovered=uncovered(memory, sighting))
    registries = _registries_lost(memory, sighting, jobs, known)
    facts = (*lost.facts, *registries)
    standing = {(e.condition, e.what) for e in lost.facts if not e.is_acknowledged}
    acknowledged = {(e.condition, e.what) for e in lost.facts if e.is_acknowledged} - standing
    after = _After(memory, sighting, lost, standing, acknowledged)
    directories = tuple(after.directories())
    reports = tuple(after.reports(jobs))
    clusters = tuple(after.clusters())
    needed = {each.job_id for each in directories if each.resolved_at is None}
    needed |= {e.job_id for e in jobs if (Condition.CHECKPOINT_NOT_FOUND, job_uri(e)) in standing}
    needed |= {each.job_id for each in reports} | {id_ for each in clusters for id_ in each.alive}
    known_registries = tuple(_registries_after(memory, sighting, jobs, registries))
    needed |= {each.job_id for each in known_registries}
    return CycleComparison(
        facts=facts,
        memory=WorldMemory(
            root=sighting.root,
            states=memory.states,
            written_at=sighting.at,
            places=tuple(after.places()),
            directories=directories,
            reports=reports,
            clusters=clusters,
            jobs=tuple(e for e in jobs if e.job_id in needed or after.is_young(e.known_at)),
            registries=known_registries,
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
    """Makes the records of the next memory; standing and acknowledged are (condition, what)."""

    memory: WorldMemory
    sighting: Sighting
    lost: Lost
    standing: set[tuple[Condition, str]]
    acknowledged: set[tuple[Condition, str]]

    def is_young(self, at: datetime | None) -> bool:
        """Return whether another writer may still know the opposite."""
        return at is not None and self.sighting.at - at <= KEPT_AFTER_END

    def directories(self) -> Iterator[RememberedDirectory]:
        seen = {each.uri: each for each in self.sighting.directories}
        for known in self.memory.directories:
            now = seen.pop(known.uri, None)
            if known.resolved_at is not None:
                yield from known.unseen(self.sighting.at, is_missed=False) if now is None else [now]
            elif is_place_unreachable(known.place, self.sighting):
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
        others = sorted(now.others)
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
                is_covered(now, self.memory, self.sighting)
                or (Condition.CLOSED_WORLD, now.uri) in self.acknowledged
            ),
        )

    def reports(self, jobs: tuple[RememberedJob, ...]) -> Iterator[RememberedReport]:
        for each in reports_after(self.memory, self.sighting, jobs):
            is_known = (Condition.CHECKPOINT_NOT_FOUND, each.uri) in self.acknowledged
            over = each.resolved_at or (each.reported_at if is_known else None)
            if over is None or self.is_young(over):
                yield each

    def clusters(self) -> Iterator[RememberedCluster]:
        """Yield the clusters that answer, and the silent ones that are missed or declared away."""
        for uri, answers in sorted(self.sighting.clusters.items()):
            if answers:
                own = {e.job_id for e in self.sighting.jobs if e.by == uri and e.is_alive}
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


def is_covered(place: SeenPlace, memory: WorldMemory, sighting: Sighting) -> bool:
    """Return whether a person's statement covers a storage; the first one covers all there are."""
    known = _storages(memory)
    stated = {uri for uri, each in known.items() if each.is_stated}
    if is_within(place.uri, stated):
        return True
    return sighting.is_world_closed and (place.is_stated or not stated)


def uncovered(memory: WorldMemory, sighting: Sighting) -> Iterator[LostFact]:
    """Yield a fact for each storage that no statement covers, while a closed world is stated."""
    if not sighting.is_world_closed:
        return
    known = _storages(memory)
    for place in sighting.places:
        is_asked = place.kind == STORAGE and not place.is_left_out
        if not is_asked or is_covered(place, memory, sighting):
            continue
        since = known[place.uri].first_seen_at if place.uri in known else sighting.at
        command = acknowledging_command(
            sighting.root, Condition.CLOSED_WORLD, place.uri, state=sighting.state
        )
        yield LostFact(
            condition=Condition.CLOSED_WORLD,
            what=place.uri,
            since=since,
            message=(
                f"{place.uri} is searched since {since:%Y-%m-%dT%H:%M:%SZ}, after closed_world was"
                " stated, which does not cover it: look at what names it (orphangc world), name"
                f" what else there is, and state it again. Run: {command}"
            ),
        )


def _storages(memory: WorldMemory) -> dict[str, RememberedPlace]:
    return {each.uri: each for each in memory.places if each.kind == STORAGE}


# --- registries: a folder that a person removed, or that is not configured any more, hides what its
# jobs still need; a job that is over needs nothing of it, one that exports elsewhere has moved


def _registries_lost(
    memory: WorldMemory,
    sighting: Sighting,
    jobs: Sequence[RememberedJob],
    given: Iterable[Acknowledgement] = (),
) -> tuple[LostFact, ...]:
    """Return one fact for each registry folder that is gone, else for each job's folder in one."""
    missed = _registries_missed(memory, sighting, jobs)
    present = {each.rpartition("/")[0] for each in sighting.registry_jobs}
    facts = []
    for location, records in sorted(missed.items()):
        if location in present:
            facts += [_registry_fact(each.uri, [each], sighting) for each in records]
        else:
            facts.append(_registry_fact(location, records, sighting))
    known = tuple(given)
    return tuple(with_word(each, known, memory) for each in facts)


def _registries_after(
    memory: WorldMemory,
    sighting: Sighting,
    jobs: Sequence[RememberedJob],
    facts: Iterable[LostFact],
) -> Iterator[RememberedRegistry]:
    yield from sighting.registries
    standing = {each.what for each in facts if not each.is_acknowledged}
    missed = {
        each.uri for found in _registries_missed(memory, sighting, jobs).values() for each in found
    }
    for known in memory.registries:
        if known.uri in sighting.registry_jobs:
            continue  # it is recorded again, or no longer concerns the storage root
        is_standing = known.uri in missed and not standing.isdisjoint({known.uri, known.location})
        is_declared = known.job_id in sighting.declared_ended  # a statement counts for its cycle
        is_missed = is_standing or (is_declared and known.resolved_at is None)
        yield from known.unseen(sighting.at, is_missed=is_missed)


def _registries_missed(
    memory: WorldMemory, sighting: Sighting, jobs: Sequence[RememberedJob]
) -> Mapping[str, list[RememberedRegistry]]:
    missed: dict[str, list[RememberedRegistry]] = {}
    homes = {(each.job_id, each.home) for each in sighting.registries}
    for known in memory.registries:
        if known.resolved_at is not None or known.uri in sighting.registry_jobs:
            continue
        # the same job, by its directory, may export to another place now
        has_moved = known.home and (known.job_id, known.home) in homes
        if not (has_moved or _is_registry_over(known, sighting, jobs)):
            missed.setdefault(known.location, []).append(known)
    return missed


def _is_registry_over(
    known: RememberedRegistry, sighting: Sighting, jobs: Sequence[RememberedJob]
) -> bool:
    if known.job_id in sighting.declared_ended:
        return True
    if any(each.is_alive for each in sighting.jobs if each.job_id == known.job_id):
        return False
    return any(
        is_over(each)
        and proves_end(each, known.home)
        and each.ended_at is not None
        and known.taken_at is not None
        and each.ended_at >= known.taken_at
        for each in jobs
        if each.job_id == known.job_id
    )


def _registry_fact(
    what: str, records: Sequence[RememberedRegistry], sighting: Sighting
) -> LostFact:
    since = max(each.seen_at for each in records)
    is_all_known = all(each.is_all_known for each in records)
    ids = sorted({each.job_id for each in records})
    return lost_fact(
        (Condition.PLACE_LOST, what, since),
        f"{what} held registry snapshots of job {named(ids)} at"
        f" {instant_text(since)} and holds none now, so what that job needs is unknown: bring them"
        " back or give the folder again with --registry, declare the job ended by its id",
        sighting,
        frozenset(d for each in records for d in each.directories) if is_all_known else None,
    )
