"""What checkpoints, registry snapshots, clusters and resources name outside the searched places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from flinkstate.places.locations import Location, place_of, places_of
from orphangc.collect.mark.evidence_of_jobs import owner_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.observation import Observation
from orphangc.core.cluster.job_facts import ClusterFacts, JobFacts
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.groups import sets_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world.known_world import (
    Naming,
    OutsidePath,
    Searched,
    home_of,
    outside_only,
    outside_paths,
    paths_of,
)

_Found = tuple[Location, str, frozenset[str]]


def namings_of(
    marked: Mark, observation: Observation, searched: Sequence[Searched]
) -> tuple[Naming, ...]:
    """Return whatever names files outside the searched places, with these files."""
    makers = {one.folder: key for key, job in marked.jobs.items() for one in job.own_checkpoints}
    found = [_of_checkpoint(one, marked, makers, searched) for one in marked.checkpoints]
    keys, settings = _keys_by_id(marked), observation.settings
    found += [_of_snapshot(each, keys, settings, searched) for each in observation.snapshots]
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
    for place, by, jobs in (*_reported(marked, observation), *_named(observation)):
        if place not in read and not any(base.contains(place) for base in searched):
            found.append((home_of(place), by, jobs))
    return outside_paths(each for each in found if not observation.settings.is_empty(each[0]))


def _reported(marked: Mark, observation: Observation) -> Iterator[_Found]:
    """Yield the checkpoints that clusters report of living jobs: restored and completed ones."""
    keys = _keys_by_id(marked)
    for cluster in observation.after:
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
    for facts in observation.ha_after:
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
