"""The world of one cycle, as its scans and answers show it, and what is named outside of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from flinkstate.places.locations import Location, canonical, place_of, places_of
from orphangc.collect.mark.evidence_of_jobs import owner_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.checkpoints import CheckpointScan
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.core.cluster.job_facts import ClusterFacts, JobFacts
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.groups import sets_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.known_world import (
    KnownCluster,
    Naming,
    OutsidePath,
    PlaceKind,
    Searched,
    SearchedPlace,
    SearchedStorage,
    World,
    closed_world_of,
    home_of,
    lacks_checkpoints,
    outside_only,
    outside_paths,
    paths_of,
)


def world_of(
    seen: Observation, environment: Environment, paths: Sequence[OutsidePath] = ()
) -> World:
    """Return everything that was searched, named and asked in one cycle."""
    places, storages = searched_places(seen, environment), tuple(searched_storages(seen))
    return World(
        places=places,
        storages=storages,
        outside=tuple(paths),
        clusters=_clusters(seen, environment),
        closed_world=closed_world_of(
            places,
            storages,
            is_stated=environment.settings.closed_world,
            is_empty=lambda uri: environment.settings.is_confirmed_empty(canonical(uri)),
        ),
    )


def empty_places(world: World, environment: Environment) -> tuple[str, ...]:
    """Return the searched places without a checkpoint that no one stated to be empty.

    The parent folders of the storage root exist for certain, so they are none of them.
    """
    return tuple(
        each.uri
        for each in world.places
        if lacks_checkpoints(
            each, is_stated_empty=environment.settings.is_confirmed_empty(canonical(each.uri))
        )
        and not canonical(each.uri).contains(environment.storage.location)
    )


def unreached_places(seen: Observation, environment: Environment) -> Mapping[str, str]:
    """Return the reason for each place that could not be searched, unless it is stated empty.

    That statement is contradicted if the place showed a checkpoint before it could not be searched.
    """
    scans = zip(environment.bases, seen.at_start, seen.first, strict=True)
    filled = {base.location for base, scan, read in scans if scan.metadata or read.scan.metadata}
    return {
        str(place): reason
        for place, reason in seen.unreached.items()
        if place in filled or not environment.settings.is_empty(place)
    }


def unsearched_storages(seen: Observation, paths: Sequence[OutsidePath]) -> Mapping[str, str]:
    """Return the reason for each named storage that could not be searched to its end.

    Paths in checkpoints may spell a place that was searched: what they alone name counts if one of
    these paths is in no searched place.
    """
    outside = [canonical(each.uri) for each in paths]
    return {
        str(each.location): each.problem
        for each in seen.storages
        if each.problem is not None
        and (not each.is_named_by_files_alone or any(map(each.location.contains, outside)))
    }


def searched_storages(seen: Observation) -> Iterable[SearchedStorage]:
    """Yield every storage that was searched, or had to be."""
    for each in seen.storages:
        within = [one for one in seen.checkpoints if each.contains(one.folder)]
        places = places_of(broken.uri for broken in seen.unreadable)
        broken = [place for place in places if each.contains(place)]
        is_searched = each.problem is None
        yield SearchedStorage.like(
            each,
            uri=str(each.location),
            checkpoints=len({one.folder for one in within}) + len(broken) if is_searched else None,
            newest_checkpoint_at=_newest(one.modified_at for one in within),
            left_out=tuple(map(str, each.left_out)),
        )


def searched_places(seen: Observation, environment: Environment) -> tuple[SearchedPlace, ...]:
    """Return every place that was searched, the storage root first, reported checkpoints last."""
    kinds = {base.location: PlaceKind.SIBLING for base in environment.siblings}
    kinds |= {base.location: PlaceKind.EXTRA_ROOT for base in environment.extra}
    kinds[environment.storage.location] = PlaceKind.STORAGE_ROOT
    found: dict[Location, SearchedPlace] = {}
    for base, *read in zip(environment.bases, seen.first, seen.second, strict=True):
        place = base.location
        scans = () if place in seen.unreached else tuple(each.scan for each in read)
        found.setdefault(place, _place(place, kinds[place], environment, scans))
    return (*found.values(), *_reported(seen, environment, tuple(found)))


def _place(
    location: Location, kind: PlaceKind, environment: Environment, scans: Sequence[CheckpointScan]
) -> SearchedPlace:
    """Return a place with what two scans show; a place without any could not be searched."""
    directories = {each for scan in scans for each in scan.directories}
    counts = [len(scan.metadata) for scan in scans]
    times = (each.modified_at for scan in scans for each in scan.metadata.values())
    return SearchedPlace(
        uri=str(location),
        kind=kind,
        device=environment.device_of(location),
        job_directories=len(directories) if scans else None,
        checkpoints=(counts[-1] or max(counts)) if counts else None,
        newest_checkpoint_at=_newest(times),
    )


def _newest(times: Iterable[datetime | None]) -> datetime | None:
    return max((at for at in times if at is not None), default=None)


def _reported(
    seen: Observation, environment: Environment, bases: Sequence[Location]
) -> Iterable[SearchedPlace]:
    for checkpoint in {each.folder: each for each in seen.elsewhere}.values():
        areas: list[Searched] = [*bases, *seen.storages]
        if not any(each.contains(checkpoint.folder) for each in areas):
            yield SearchedPlace(
                uri=str(checkpoint.folder),
                kind=PlaceKind.REPORTED,
                device=environment.device_of(checkpoint.folder),
                job_directories=0,
                checkpoints=1,
                newest_checkpoint_at=checkpoint.modified_at,
            )


def _clusters(seen: Observation, environment: Environment) -> tuple[KnownCluster, ...]:
    before, after = (
        {facts.uri: set(facts.jobs) for facts in said.clusters}
        | {facts.uri: {hold.job_id for hold in facts.holds} for facts in said.ha}
        for said in (seen.before, seen.after)
    )
    asked = [*(each.uri for each in environment.clusters), *(each.uri for each in environment.ha)]
    return tuple(
        KnownCluster(
            uri=uri,
            jobs=tuple(sorted(before.get(uri, set()) | after.get(uri, set()))),
            answers=uri in before and uri in after,
            problem=seen.answers.errors.get(uri),
        )
        for uri in dict.fromkeys((*asked, *before, *after))
    )


# --- what checkpoints, registry snapshots, clusters and resources name outside the searched places


_Found = tuple[Location, str, frozenset[str]]


def namings_of(
    marked: Mark, observation: Observation, searched: Sequence[Searched]
) -> tuple[Naming, ...]:
    """Return whatever names files outside the searched places, with these files."""
    makers = {one.folder: key for key, job in marked.jobs.items() for one in job.own_checkpoints}
    found = [_of_checkpoint(one, marked, makers, searched) for one in marked.checkpoints]
    keys, settings = _keys_by_id(marked), observation.settings
    snapshots = observation.answers.snapshots
    found += [_of_snapshot(each, keys, settings, searched) for each in snapshots]
    return tuple(each for each in found if each.files)


def _of_checkpoint(
    checkpoint: Checkpoint,
    marked: Mark,
    makers: Mapping[Location, str],
    searched: Sequence[Searched],
) -> Naming:
    outside = outside_only(checkpoint.files, (*searched, checkpoint.folder))
    if not outside:
        return Naming(by=str(checkpoint.folder), jobs=frozenset(), files=outside)
    owners = (owner_of(folder, marked.owners.keys) for folder in checkpoint.files)
    jobs = frozenset((makers.get(checkpoint.folder), *owners)) - {None}
    return Naming(by=str(checkpoint.folder), jobs=frozenset(filter(None, jobs)), files=outside)


def _of_snapshot(
    snapshot: RegistrySnapshot,
    keys: Mapping[str, Iterable[str]],
    settings: StorageRootSettings,
    searched: Sequence[Searched],
) -> Naming:
    """Return the outside files in a registry; relative paths are in the job's own directory."""
    own = place_of(snapshot.checkpoint_dir, settings.aliases)
    return Naming(
        by=f"registry snapshot {snapshot.sequence} of job {snapshot.job_id}",
        jobs=frozenset(keys.get(snapshot.job_id, ())),
        files=outside_only(
            snapshot.entries.absolute(settings.aliases), [*searched, *([own] if own else [])]
        ),
    )


def _keys_by_id(marked: Mark) -> Mapping[str, Iterable[str]]:
    return sets_of((job.job_id, key) for key, job in marked.jobs.items())


def named_outside(
    namings: Iterable[Naming],
    marked: Mark,
    observation: Observation,
    *,
    searched: Sequence[Searched],
    is_listed: Callable[[FileNames], bool],
) -> tuple[OutsidePath, ...]:
    """Return every outside path, and the jobs that it concerns.

    A folder whose files are all listed is no outside path: it is only spelled otherwise.
    """
    found: list[_Found] = [
        (home_of(folder), naming.by, naming.jobs)
        for naming in namings
        for folder, names in naming.files.items()
        if not is_listed(names)
    ]
    read = {one.folder for one in marked.checkpoints}
    for place, by, jobs in (*_reported_beyond(marked, observation), *_named(observation)):
        if place not in read and not any(base.contains(place) for base in searched):
            found.append((home_of(place), by, jobs))
    return outside_paths(each for each in found if not observation.settings.is_empty(each[0]))


def _reported_beyond(marked: Mark, observation: Observation) -> Iterator[_Found]:
    """Yield the checkpoints that clusters report of living jobs: restored and completed ones."""
    keys = _keys_by_id(marked)
    for cluster in observation.after.clusters:
        for job_id, facts in cluster.jobs.items():
            if not facts.is_globally_terminal:
                jobs = frozenset(keys.get(job_id, ()))
                for place in places_of(_paths_of(facts), observation.settings.aliases):
                    yield place, cluster.uri, jobs
                for place in _configured(cluster, facts, observation.settings):
                    yield place, f"the configuration of {cluster.uri}", jobs


def _paths_of(facts: JobFacts) -> Iterator[str | None]:
    """Yield what a job restored and what it completed; what is discarded shows where it stores.

    A newer one that is not discarded shows that too, and is read.
    """
    if facts.restored is not None:
        yield facts.restored.external_path
    completed = [each for each in facts.checkpoints if each.is_completed and not each.is_savepoint]
    kept = [each for each in completed if not each.discarded]
    for each in kept or completed:
        yield each.external_path
    for each in facts.checkpoints:
        if each.is_completed and each.is_savepoint and not each.discarded:
            yield each.external_path


def _configured(
    cluster: ClusterFacts, facts: JobFacts, settings: StorageRootSettings
) -> Iterator[Location]:
    """Yield the place of a job's first checkpoint, unless its own code configures another.

    Once it has completed one, or goes on from its own, Flink shows where it stores.
    """
    origin = None if facts.restored is None else place_of(facts.restored.external_path)
    has_own = facts.latest_completed_id is not None
    if has_own or (origin is not None and origin.parent.name == facts.job_id):
        return
    for base in places_of(cluster.checkpoint_directories, settings.aliases):
        yield base.child(facts.job_id)


def _named(observation: Observation) -> Iterator[_Found]:
    for facts in observation.after.ha:
        named = [(each.path, each.by) for each in facts.places]
        named += [(each.path, f"{each.option} of {each.by}") for each in facts.folders]
        for path, by in named:
            if (place := place_of(path, observation.settings.aliases)) is not None:
                yield place, by, frozenset()


def with_outside_paths(
    jobs: Mapping[str, JobEvidence], paths: Iterable[OutsidePath]
) -> dict[str, JobEvidence]:
    """Return the jobs, each with the outside paths that concern it."""
    named = tuple(paths)
    return {key: replace(job, outside_paths=paths_of(key, named)) for key, job in jobs.items()}
