"""Which job continued which, as one cycle saw it (R41)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.observation import Observation
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.exporter.registry_snapshot import resolve
from orphangc.core.lineage.continuation import (
    Continuation,
    ContinuationSource,
    LineageMemory,
    ResourceJob,
    merged_lineage,
)
from orphangc.core.memory.job_lives import savepoint_may_be_of
from orphangc.core.model.locations import Alias, Location, place_of
from orphangc.core.model.owners import job_directory_of


def seen_lineage(
    seen: Observation,
    marked: Mark,
    jobs: Mapping[str, JobEvidence],
    *,
    aliases: Sequence[Alias],
    at: datetime,
) -> LineageMemory:
    """Return the edges that a cycle saw, and the jobs that resources ran.

    Args:
        seen: Observation of the cycle.
        marked: Every checkpoint that it read, and the owners of directories.
        jobs: Evidence of every job.
        aliases: Applied to the paths that Flink reports.
        at: Time of the cycle.

    """
    places = _Places(marked)
    found = (
        Continuation(
            older=str(older),
            newer=str(newer),
            source=source,
            checkpoint="" if checkpoint is None else str(checkpoint),
            seen_at=at,
            first_seen_at=at,
        )
        for job in jobs.values()
        for older, newer, source, checkpoint in _edges(job, marked, places, aliases)
        if older not in job.directories or newer not in job.directories
    )
    names = {each for facts in seen.ha_after for each in facts.names}
    ran = (
        ResourceJob(
            resource=each.name,
            job_id=each.job_id,
            identity=each.identity,
            first_seen_at=at,
            seen_at=at,
        )
        for each in sorted(names)
    )
    return merged_lineage([LineageMemory(continuations=tuple(found), resource_jobs=tuple(ran))])


class _Places:
    """Nodes of lineages: job directories, and folders of savepoints."""

    def __init__(self, marked: Mark) -> None:
        self._owners = marked.owners.keys
        self._checkpoints = {each.folder: each for each in marked.checkpoints}

    def node_of(self, place: Location) -> Location:
        """Return the node of a folder: its job directory, else the checkpoint around it."""
        for each in place.upwards():
            if each in self._owners:
                return each
            if each in self._checkpoints:
                return self._checkpoints[each].directory or each
        return job_directory_of(place) or place


_Edge = tuple[Location, Location, ContinuationSource, Location | None]


def _edges(
    job: JobEvidence, marked: Mark, places: _Places, aliases: Sequence[Alias]
) -> Iterator[_Edge]:
    """Yield the edges from and to the directories of one job."""
    for source, origin in _origins(job, aliases):
        for own in job.directories:
            yield places.node_of(origin), own, source, origin
    named = {folder for each in job.own_checkpoints for folder in each.files}
    for older in {places.node_of(folder) for folder in named} - set(job.directories):
        for own in job.directories:
            yield older, own, ContinuationSource.REFERENCE, None
    for own in job.directories[:1]:
        for source, savepoint in _savepoints(job, marked.checkpoints, aliases):
            yield own, savepoint, source, None


def _origins(
    job: JobEvidence, aliases: Sequence[Alias]
) -> Iterator[tuple[ContinuationSource, Location]]:
    """Yield the places of the checkpoints that a job is said to be restored from."""
    shown = [(ContinuationSource.REST, e.restored.external_path) for e in job.facts if e.restored]
    stated = [
        (ContinuationSource.REGISTRY, resolve(each.path, snapshot.checkpoint_dir))
        for snapshot in job.snapshots
        for each in snapshot.restored
    ]
    for source, path in (*shown, *stated):
        place = place_of(path, aliases)
        if place is not None:
            yield source, place


def _savepoints(
    job: JobEvidence, checkpoints: Iterable[Checkpoint], aliases: Sequence[Alias]
) -> Iterator[tuple[ContinuationSource, Location]]:
    """Yield the savepoints of a job: those that REST reports, and those named after its id."""
    for facts in job.facts:
        for each in facts.checkpoints:
            place = place_of(each.external_path, aliases) if each.is_savepoint else None
            if place is not None and each.is_completed:
                yield ContinuationSource.REST, place
    for checkpoint in checkpoints:
        if checkpoint.directory is None and savepoint_may_be_of(str(checkpoint.folder), job.job_id):
            yield ContinuationSource.SAVEPOINT_NAME, checkpoint.folder
