"""What one cycle saw of the world, taken from its observation for the memory."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import chain
from typing import Self

from flinkstate.files.paths import spelled_in
from flinkstate.places.checkpoint_names import METADATA_NAME, is_area, is_savepoint_folder
from flinkstate.places.locations import Alias, Location, canonical, is_within, place_of, places_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.exporters import SeenExports
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.collect.observe.reported import A_PIN
from orphangc.collect.observe.storage_search import FoundInStorage
from orphangc.collect.world.sighted_lineage import seen_lineage
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import CheckpointFacts, ClusterFacts, JobFacts, shows_no_origin
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, resolve
from orphangc.core.groups import grouped
from orphangc.core.memory.remembered import (
    RememberedCheckpoint,
    RememberedDirectory,
    RememberedRegistry,
    WorldMemory,
)
from orphangc.core.memory.seen_cycles import REPORTED, STORAGE
from orphangc.core.memory.sighting import (
    SeenJob,
    SeenPlace,
    SeenReport,
    Sighting,
    StoppingSavepoint,
)
from orphangc.core.memory.unlocated_jobs import UNREAD
from orphangc.core.model.job_folders import CHECKPOINT
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobState
from orphangc.core.world.known_world import Searched, World


def sighting_of(
    seen: Observation,
    marked: Mark,
    *,
    jobs: Mapping[str, JobEvidence],
    environment: Environment,
    before: WorldMemory,
    world: World,
    savepoint_folders: Collection[str] | None = None,
) -> Sighting:
    """Return what the cycle saw.

    Args:
        before: Directories outside all of these that are searched because it names them.
        savepoint_folders: Keys of the folders of savepoints that are listed now, ``None`` if only
            an older listing is known.
    """
    settings = environment.settings
    at = seen.time.now or seen.time.local
    bases = [base.location for base in environment.bases]
    marked = _spelled_as(bases[0], marked)
    directories = _directories(marked, jobs, bases, storages=seen.storages, at=at)
    present, aliases, owners = _present(marked, seen), settings.aliases, marked.owners.keys.keys()
    return Sighting(
        at=at,
        root=str(bases[0]),
        state=settings.state,
        places=tuple(_places(world, environment, directories=directories, before=before)),
        directories=directories,
        present=present,
        jobs=tuple(_jobs(seen, marked, jobs.values())),
        reports=tuple(_reports(seen.before.clusters, seen.after.clusters, settings)),
        registries=tuple(_registries(seen.exports, aliases, root=bases[0], owners=owners, at=at)),
        registry_jobs=frozenset(map(_job_folder, seen.exports)),
        discarded=_discarded(jobs.values(), aliases),
        stops=_stops(marked.checkpoints),
        clusters=_clusters(seen, environment),
        declared_ended=frozenset(settings.ended_job) - {"all"},
        are_all_declared_ended="all" in settings.ended_job,
        clock_skew=settings.margins.clock_skew,
        lineage=seen_lineage(seen, marked, jobs, known=before.jobs, aliases=aliases, at=at),
        savepoints=frozenset(_savepoints_in(bases[0], present)),
        savepoint_folders=None
        if savepoint_folders is None
        else frozenset(str(bases[0].child(each)) for each in savepoint_folders),
        is_world_closed=settings.closed_world,
    )


def _present(marked: Mark, seen: Observation) -> frozenset[str]:
    unreadable = (each.uri.removesuffix(f"/{METADATA_NAME}") for each in seen.unreadable)
    return frozenset({*(str(one.folder) for one in marked.checkpoints), *unreadable})


def _spelled_as(base: Location, marked: Mark) -> Mark:
    """Return the mark with every folder of files below the storage root spelled as its files are.

    A checkpoint may name them through other links than the settings, or through none.
    """
    spelled = cache(partial(spelled_in, base))

    def of(checkpoint: Checkpoint) -> Checkpoint:
        return replace(
            checkpoint, files={spelled(each): names for each, names in checkpoint.files.items()}
        )

    return replace(marked, checkpoints=tuple(map(of, marked.checkpoints)))


def _stops(checkpoints: Iterable[Checkpoint]) -> dict[str, StoppingSavepoint]:
    return {
        str(each.folder): StoppingSavepoint(
            checkpoint_id=each.checkpoint_id, stored_at=each.modified_at
        )
        for each in checkpoints
        if each.is_of_a_stop
    }


def _savepoints_in(base: Location, folders: Iterable[str]) -> Iterator[str]:
    for uri in folders:
        is_savepoint = is_savepoint_folder(uri.rpartition("/")[2])
        if is_savepoint and is_within(uri, [str(base)]):
            yield uri


def _directories(
    marked: Mark,
    jobs: Mapping[str, JobEvidence],
    bases: Sequence[Location],
    *,
    storages: Sequence[FoundInStorage],
    at: datetime,
) -> tuple[RememberedDirectory, ...]:
    by_folder: dict[Location, list[Checkpoint]] = {}
    foreign = {each.folder for found in storages for each in found.checkpoints}
    areas: list[Searched] = [*bases[1:], *storages]
    for checkpoint in marked.checkpoints:
        if checkpoint.folder in foreign and not _concerns(checkpoint, bases[0], areas):
            continue
        if checkpoint.directory is not None or _depends_on(checkpoint, marked.owners.keys):
            by_folder.setdefault(checkpoint.directory or checkpoint.folder.parent, []).append(
                checkpoint
            )
    owners = marked.owners.keys
    found = []
    for folder in sorted(by_folder, key=str):
        checkpoints, job = by_folder[folder], jobs.get(owners.get(folder, ""))
        names = {each for one in checkpoints for each in _depends_on(one, owners)}
        fed = () if job is None else [jobs[key] for key in job.depends_on if key in jobs]
        depends_on = names | {each for other in fed for each in other.directories}
        around = (*bases, *(each.location for each in storages if each.contains(folder)))
        place = next((each for each in around if each.contains(folder)), folder)
        found.append(
            RememberedDirectory(
                uri=str(folder),
                job_id=checkpoints[0].job_id if job is None else job.job_id,
                place=str(place),
                depends_on=tuple(sorted({str(each) for each in depends_on} - {str(folder)})),
                names=tuple(sorted({str(each) for each in names} - {str(folder)})),
                was_over=job is not None and job.state is JobState.ENDED,
                checkpoints=_checkpoints(checkpoints, at),
            )
        )
    return tuple(found)


def _concerns(checkpoint: Checkpoint, base: Location, others: Sequence[Searched]) -> bool:
    """Return whether a checkpoint names files here, or where no cycle searches.

    A folder in no searched place may be one that is searched, spelled otherwise.
    """
    return any(
        base.contains(folder) or not any(each.contains(folder) for each in others)
        for folder in checkpoint.files
    )


def _checkpoints(
    checkpoints: Iterable[Checkpoint], at: datetime
) -> tuple[RememberedCheckpoint, ...]:
    unique = {(str(one.folder), one.sha256): one for one in checkpoints}
    return tuple(
        RememberedCheckpoint.like(one, uri=uri, seen_at=at, stored_at=one.modified_at)
        for (uri, _), one in sorted(unique.items())
    )


def _depends_on(checkpoint: Checkpoint, owners: Mapping[Location, str]) -> set[Location]:
    named = (folder for folder in checkpoint.files if not checkpoint.folder.contains(folder))
    return {
        next((each for each in folder.upwards() if each in owners), folder.parent)
        for folder in named
    }


# --- places


def _places(
    world: World,
    environment: Environment,
    *,
    directories: Sequence[RememberedDirectory],
    before: WorldMemory,
) -> Iterator[SeenPlace]:
    """Yield the searched places and storages, and the directories outside all of these.

    The latter are places of their own. What only a pin of this cycle names, and could not be
    searched, is left out: nothing was seen of it, and a mistyped pin must not outlive its run.
    """
    settings = environment.settings
    named = (settings.root, *settings.extra_roots, *settings.siblings)
    given = [canonical(uri) for uri in named if uri not in settings.named_by_flink]
    places = [each for each in world.places if each.kind != REPORTED]
    for each in places:
        yield SeenPlace(
            uri=each.uri,
            kind=each.kind,
            device=each.device,
            checkpoints=each.checkpoints,
            job_directories=each.job_directories or 0,
        )
    for storage in world.storages:
        if storage.checkpoints is None and storage.named_by == (A_PIN,):
            continue
        place = canonical(storage.uri)
        yield SeenPlace(
            uri=storage.uri,
            kind=STORAGE,
            device=environment.device_of(place),
            checkpoints=storage.checkpoints,
            keys=storage.keys,
            is_stated=any(place.contains(one) for one in given),
            left_out=storage.left_out,
        )
    searched = {*(each.uri for each in places), *(each.uri for each in world.storages)}
    found = {each.place: len(each.checkpoints) for each in directories}
    known = {each.place: 0 for each in before.directories if each.place == each.uri}
    for uri, count in sorted((known | found).items()):
        if uri not in searched:
            yield SeenPlace(uri=uri, kind=REPORTED, checkpoints=count)


# --- clusters and jobs


def _clusters(seen: Observation, environment: Environment) -> dict[str, bool]:
    """Return whether each cluster, namespace and ZooKeeper answered both times.

    A namespace or ZooKeeper without a single thing of Flink may be the wrong one, or one whose
    things this account may not see: it says nothing of the jobs that it held.
    """
    asked = [*(each.uri for each in environment.clusters), *(each.uri for each in environment.ha)]
    before = {*(each.uri for each in seen.before.clusters), *_showing(seen.before.ha)}
    after = {*(each.uri for each in seen.after.clusters), *_showing(seen.after.ha)}
    return {uri: uri in before and uri in after for uri in (*asked, *before, *after)}


def _showing(answers: Iterable[HaFacts]) -> Iterator[str]:
    return (each.uri for each in answers if each.things)


def _jobs(seen: Observation, marked: Mark, jobs: Collection[JobEvidence]) -> Iterator[SeenJob]:
    """Yield what clusters, and HA metadata, show of jobs.

    A checkpoint that HA metadata retains may name any file, until one of the job is read.
    """
    yield from _shown_jobs(seen, marked)
    unread = {job.job_id for job in jobs if job.unread_retained}
    for answer in seen.after.ha:
        for hold in answer.holds:
            needs = (UNREAD,) if hold.job_id in unread else ()
            yield SeenJob(job_id=hold.job_id, by=hold.uri, is_alive=True)
            yield SeenJob(job_id=hold.job_id, by=answer.uri, is_alive=True, needs=needs)


def _shown_jobs(seen: Observation, marked: Mark) -> Iterator[SeenJob]:
    """Yield the last answer of each cluster about its jobs.

    Of a job that it showed at first alone, and without a checkpoint, nothing else knows.
    """
    shown = _ShownJobs.of(marked, seen.settings.aliases)
    last = {(each.uri, job_id) for each in seen.after.clusters for job_id in each.jobs}
    for is_last, clusters in ((True, seen.after.clusters), (False, seen.before.clusters)):
        for cluster in clusters:
            for job_id, facts in cluster.jobs.items():
                if not is_last and (cluster.uri, job_id) in last:
                    continue
                job = shown.job(cluster, facts)
                if is_last or (job.is_alive and not job.directories):
                    yield job


@dataclass(frozen=True, slots=True)
class _ShownJobs:
    """Makes what is remembered of jobs, from answers and from the checkpoints that were read.

    Attributes:
        around: Checkpoints by their job directory, or the folder around them.
        at: Checkpoints by their own folder.
    """

    owners: Mapping[Location, str]
    aliases: Sequence[Alias]
    around: Mapping[Location, Sequence[Checkpoint]]
    at: Mapping[Location, Sequence[Checkpoint]]

    @classmethod
    def of(cls, marked: Mark, aliases: Sequence[Alias]) -> Self:
        around = grouped(marked.checkpoints, lambda one: one.directory or one.folder.parent)
        at = grouped(marked.checkpoints, lambda one: one.folder)
        return cls(marked.owners.keys, aliases, around, at)

    def job(self, cluster: ClusterFacts, facts: JobFacts) -> SeenJob:
        """Return what a cluster shows of a job."""
        paths = (each.external_path for each in facts.checkpoints if not each.is_savepoint)
        parents = {each.parent for each in places_of(paths, self.aliases)}
        bases = places_of(cluster.checkpoint_directories, self.aliases)
        restored = facts.restored
        origin = None if restored is None else place_of(restored.external_path, self.aliases)
        found = () if origin is None else self.at.get(origin, ())
        return SeenJob(
            job_id=facts.job_id,
            by=cluster.uri,
            is_alive=not facts.is_globally_terminal,
            status=facts.status,
            started_at=facts.started_at,
            ended_at=facts.ended_at or facts.started_at,
            directories=tuple(sorted(map(str, parents))),
            restored=None if restored is None else str(origin or ""),
            is_from_nothing=shows_no_origin(facts),
            is_restored_from_savepoint=restored is not None
            and (restored.is_savepoint or any(one.is_savepoint for one in found)),
            stores_in=tuple(sorted({str(each.child(facts.job_id)) for each in bases})),
            needs=self._needs(parents, found, is_restored=restored is not None),
        )

    def _needs(
        self, own: Collection[Location], origin: Sequence[Checkpoint], *, is_restored: bool
    ) -> tuple[str, ...]:
        """Return the directories whose files a job may need, by its checkpoints or by its origin.

        What it was restored from is all that it has before its first checkpoint.
        """
        checkpoints = [one for place in own for one in self.around.get(place, ())]
        if not checkpoints and not own and not is_restored:
            return ()
        checkpoints = checkpoints or [*origin]
        if not checkpoints:
            return (UNREAD,)
        needed = {each for one in checkpoints for each in _depends_on(one, self.owners)}
        needed |= {one.directory for one in checkpoints if one.directory is not None}
        return tuple(sorted(map(str, needed)))


def _reports(
    before: Iterable[ClusterFacts], after: Iterable[ClusterFacts], settings: StorageRootSettings
) -> Iterator[SeenReport]:
    """Yield every checkpoint that a cluster shows completed and not discarded after the listing.

    Savepoints are left out: people dispose of them, and REST does not learn of it.
    """
    first = {
        (cluster.uri, facts.job_id, each.external_path)
        for cluster in before
        for facts, each in _retained(cluster)
    }
    for cluster in after:
        for facts, each in _retained(cluster):
            place = place_of(each.external_path, settings.aliases)
            if place is not None:
                yield SeenReport(
                    job_id=facts.job_id,
                    by=cluster.uri,
                    path=str(place),
                    directory=str(place.parent if place.name.startswith(CHECKPOINT) else place),
                    checkpoint_id=each.id,
                    triggered_at=each.triggered_at,
                    is_living=not facts.is_globally_terminal,
                    was_shown_before=(cluster.uri, facts.job_id, each.external_path) in first,
                )


def _retained(cluster: ClusterFacts) -> Iterator[tuple[JobFacts, CheckpointFacts]]:
    for facts in cluster.jobs.values():
        for each in facts.checkpoints:
            if not each.is_savepoint and each.discarded is False:
                yield facts, each


def _discarded(jobs: Iterable[JobEvidence], aliases: Sequence[Alias]) -> dict[str, datetime]:
    """Return the checkpoints that Flink deleted, by the clusters of their own directories.

    A cluster whose answer fits no directory of the job id, or another one, proves nothing of it.
    """
    found: dict[str, datetime] = {}
    for job in jobs:
        for facts in (*job.before, *job.after):
            for each in facts.checkpoints:
                place = place_of(each.external_path, aliases)
                if each.discarded and place is not None and place.parent in job.directories:
                    found[str(place)] = max(
                        each.triggered_at, found.get(str(place), each.triggered_at)
                    )
    return found


# --- registries


def _registries(
    exports: Iterable[SeenExports],
    aliases: Sequence[Alias],
    *,
    root: Location,
    owners: Collection[Location],
    at: datetime,
) -> Iterator[RememberedRegistry]:
    """Yield each job's snapshots that concern a storage root, whatever links they name it by."""
    for each in exports:
        found = [_folders_named(snapshot, aliases) for snapshot in each.snapshots]
        places = {place for some in found for place in some}
        is_all_known = None not in places and bool(each.snapshots)
        spelled = {spelled_in(root, place) for place in places if place is not None}
        known = {place for place in spelled if root.contains(place) and place != root}
        if is_all_known and not known:
            continue
        newest = max(each.snapshots, key=lambda one: one.taken_at, default=None)
        home = None if newest is None else place_of(newest.checkpoint_dir, aliases)
        yield RememberedRegistry(
            uri=_job_folder(each),
            location=str(each.location),
            job_id=each.job_id,
            home="" if home is None else str(home),
            directories=tuple(sorted({str(_directory_around(p, owners)) for p in known})),
            is_all_known=is_all_known,
            taken_at=None if newest is None else newest.taken_at,
            seen_at=at,
        )


def _job_folder(each: SeenExports) -> str:
    return str(each.location.child(each.job_id))


def _directory_around(folder: Location, owners: Collection[Location]) -> Location:
    """Return the job directory of a folder; if none is known, the one that its name shows."""
    around = folder.parent if is_area(folder.name) else folder
    return next((each for each in folder.upwards() if each in owners), around)


def _folders_named(snapshot: RegistrySnapshot, aliases: Sequence[Alias]) -> set[Location | None]:
    base = snapshot.checkpoint_dir
    files = (resolve(path, base) for _, path in snapshot.entries.paths())
    folders = {path.rpartition("/")[0] for path in chain(snapshot.checkpoint_paths, files)}
    return {place_of(folder, aliases) for folder in (*folders, base)}
