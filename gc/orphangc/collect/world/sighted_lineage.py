"""Which job continued which, as one cycle saw it (R41)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import Alias, Location, place_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.observation import Observation
from orphangc.core.cluster.job_facts import configured_origins
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.decision.flink_traces import has_run_before
from orphangc.core.exporter.registry_snapshot import resolve
from orphangc.core.groups import grouped, sets_of
from orphangc.core.lineage.continuation import (
    Continuation,
    ContinuationSource,
    LineageMemory,
    ResourceJob,
)
from orphangc.core.memory.job_lives import DIGITS, placed, savepoint_may_be_of, savepoint_prefix
from orphangc.core.memory.remembered import RememberedJob
from orphangc.core.model.joined_facts import table
from orphangc.core.model.naming import job_directory_of


def seen_lineage(
    seen: Observation,
    marked: Mark,
    jobs: Mapping[str, JobEvidence],
    *,
    known: Iterable[RememberedJob] = (),
    aliases: Sequence[Alias],
    at: datetime,
) -> LineageMemory:
    """Return the edges that a cycle saw, and the jobs that resources ran."""
    by_folder = {each.folder: each for each in marked.checkpoints}
    loose = (each for each in marked.checkpoints if each.directory is None)
    edges = _Edges(
        marked,
        by_folder,
        aliases,
        at,
        known=grouped(known, lambda each: each.job_id),
        named_after=grouped(loose, lambda each: savepoint_prefix(str(each.folder))),
    )
    fixed = {
        job.job_id
        for job in jobs.values()
        if any(each.is_id_fixed for each in job.facts)
        or has_run_before(job, edges.known.get(job.job_id, ()))
    }
    return LineageMemory(
        continuations=table(each for job in jobs.values() for each in edges.of(job)),
        resource_jobs=table(_resource_jobs(seen, aliases, at)),
        fixed_ids=tuple(sorted(fixed)),
    )


def _resource_jobs(
    seen: Observation, aliases: Sequence[Alias], at: datetime
) -> Iterable[ResourceJob]:
    configured = sets_of(
        (job_id, path)
        for cluster in seen.answers.clusters
        for job_id in cluster.jobs
        for path in configured_origins(cluster)
    )
    return (
        ResourceJob.like(
            each,
            resource=each.name,
            deployed_from=tuple(
                str(place_of(path, aliases) or path)
                for said in each.deployed_from
                for path in (said, *configured.get(each.job_id, ()))
            ),
            first_seen_at=at,
            seen_at=at,
        )
        for each in sorted({e for facts in seen.after.ha for e in facts.names})
    )


@dataclass(frozen=True, slots=True)
class _Edges:
    """Makes the edges of one job after the other.

    Attributes:
        known: What earlier cycles saw of jobs, by id.
        named_after: Checkpoints in no job directory, by the digits in their folders' names.
    """

    marked: Mark
    checkpoints: Mapping[Location, Checkpoint]
    aliases: Sequence[Alias]
    at: datetime
    known: Mapping[str, Sequence[RememberedJob]]
    named_after: Mapping[str, Sequence[Checkpoint]]

    def of(self, job: JobEvidence) -> Iterator[Continuation]:
        """Yield the edges between a job and others, or its savepoints."""
        named = {folder for each in job.own_checkpoints for folder in each.files}
        older = {self._node_of(folder) for folder in named} - set(job.directories)
        for own in job.directories:
            for source, place, number, restored_at in self._origins(job):
                node, found = self._node_of(place), self.checkpoints.get(place)
                known = number if found is None else found.checkpoint_id
                if node not in job.directories:
                    yield Continuation(
                        older=str(node),
                        newer=str(own),
                        source=source,
                        checkpoint=str(place),
                        checkpoint_id=known if number in {None, known} else None,
                        stored_at=None if found is None else found.modified_at,
                        restored_at=restored_at,
                        seen_at=self.at,
                    )
            for each in older:
                yield self._edge(each, own, ContinuationSource.REFERENCE)
        for own in job.directories[:1]:
            for source, savepoint in self._savepoints(job):
                yield self._edge(own, savepoint, source)

    def _edge(self, older: Location, newer: Location, source: ContinuationSource) -> Continuation:
        return Continuation(older=str(older), newer=str(newer), source=source, seen_at=self.at)

    def _node_of(self, place: Location) -> Location:
        for each in place.upwards():
            if each in self.marked.owners.keys:
                return each
            if each in self.checkpoints:
                return self.checkpoints[each].directory or each
        return job_directory_of(place) or place

    def _origins(self, job: JobEvidence) -> Iterator[_Origin]:
        for shown in (facts.restored for facts in job.facts):
            place = None if shown is None else place_of(shown.external_path, self.aliases)
            if shown is not None and place is not None:
                yield ContinuationSource.REST, place, shown.id, shown.restored_at
        for snapshot in job.snapshots:
            for each in snapshot.restored:
                place = place_of(resolve(each.path, snapshot.checkpoint_dir), self.aliases)
                if place is not None:
                    yield ContinuationSource.REGISTRY, place, each.id, None

    def _savepoints(self, job: JobEvidence) -> Iterator[tuple[ContinuationSource, Location]]:
        """Yield the savepoints of a job: those that REST reports, and those named after its id."""
        for facts in job.facts:
            for each in facts.checkpoints:
                place = place_of(each.external_path, self.aliases) if each.is_savepoint else None
                if place is not None and each.is_completed:
                    yield ContinuationSource.REST, place
        for one in self.named_after.get(job.job_id[:DIGITS], ()):
            if savepoint_may_be_of(str(one.folder), job.job_id):
                yield ContinuationSource.SAVEPOINT_NAME, one.folder
                if is_made_by(one, job) and self._was_alive(job, one):
                    yield ContinuationSource.SAVEPOINT_CONTENTS, one.folder

    def _was_alive(self, job: JobEvidence, checkpoint: Checkpoint) -> bool:
        """Return whether a checkpoint was stored while a job lived, as far as that is known."""
        records = placed(self.known.get(job.job_id, ()), job.directories)
        began = [job.survey.oldest_modified_at, *(e.modified_at for e in job.own_checkpoints)]
        began += [facts.started_at for facts in job.facts]
        began += [at for each in records for at in (each.began_at, each.started_at)]
        alive = [job.changed_at, *(each.alive_at for each in records)]
        alive += [self.at for facts in job.facts if not facts.is_globally_terminal]
        first = min((at for at in began if at is not None), default=None)
        last = max((at for at in alive if at is not None), default=None)
        stored = checkpoint.modified_at
        if first is None or last is None or stored is None:
            return False
        return first <= stored <= last


_Origin = tuple[ContinuationSource, Location, int | None, datetime | None]
"""Source, place, id and time of a restore, as far as they are known."""


def is_made_by(savepoint: Checkpoint, job: JobEvidence) -> bool:
    """Return whether a savepoint has a job's operators, and its place among the checkpoints.

    Another job may have an id with the same first digits, and run the same code; then ids and
    times do not agree, but by chance.
    """
    own = [each for each in job.own_checkpoints if not each.is_savepoint]
    if not any(each.operators and each.operators == savepoint.operators for each in own):
        return False
    return all(_are_in_order(each, savepoint) for each in own)


def _are_in_order(one: Checkpoint, other: Checkpoint) -> bool:
    """Return whether the ids of two checkpoints say the same as their store times; a tie does not.

    Source: Flink 1.15-2.3, ``CheckpointCoordinator``: one counter for checkpoints and savepoints.
    """
    if one.modified_at is None or other.modified_at is None:
        return False
    if one.modified_at == other.modified_at or one.checkpoint_id == other.checkpoint_id:
        return False
    return (one.modified_at < other.modified_at) == (one.checkpoint_id < other.checkpoint_id)
