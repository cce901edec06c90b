"""Why a remembered checkpoint is gone: what Flink removes in its normal course asks nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orphangc.core.names import checkpoint_id_of
from orphangc.core.world.job_lives import ALL_ENDS, fitting, is_over
from orphangc.core.world.remembered import (
    RememberedCheckpoint,
    RememberedDirectory,
    RememberedJob,
    WorldMemory,
    is_within,
)
from orphangc.core.world.sighting import Sighting

SUBSUMED = "SUBSUMED"
"""Stands among the ends upon which Flink deletes a checkpoint: a newer one has completed."""


class Explanation(StrEnum):
    """Why a checkpoint may be gone."""

    SUBSUMED = "subsumed"
    """A newer one of its directory is there."""
    ENDED = "ended"
    """Its job ended, and Flink deletes it upon that end."""
    CLAIMED = "claimed"
    """A job whose checkpoints are searched was restored from it, and owned it since."""
    DECLARED = "declared"
    """The operator declares its job ended, and Flink deletes it upon every end.

    It counts for the cycle in which it is declared; the memory keeps the checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """What may explain that a checkpoint is gone.

    Attributes:
        at: Time of this cycle.
        jobs: By job id, every record of it, with what this cycle learned.
        claimers: By checkpoint, the ids of the jobs that were restored from it.
        claimed: By directory, the ids of the checkpoints in it that a searched job other than its
            own was restored from.
        newest: Newest checkpoint id by directory, of those that are there now.
        searched: Ids of jobs of which some checkpoint is there now, or was explained away; and of
            those before them, which are over and whose job directory lies in a searched place.
        users: By directory, the job directories of others whose checkpoints name files in it.
        directories: How many directories each job id has.
        declared_ended: Job ids that the operator declared ended.
        are_all_declared_ended: Whether the operator declared all jobs ended.

    """

    at: datetime
    jobs: Mapping[str, tuple[RememberedJob, ...]]
    claimers: Mapping[str, frozenset[str]]
    claimed: Mapping[str, frozenset[int]]
    newest: Mapping[str, int]
    searched: frozenset[str]
    users: Mapping[str, tuple[RememberedDirectory, ...]]
    directories: Mapping[str, int]
    declared_ended: frozenset[str]
    are_all_declared_ended: bool

    @classmethod
    def of(
        cls, memory: WorldMemory, sighting: Sighting, jobs: Iterable[RememberedJob]
    ) -> Explanations:
        """Return what memory and cycle know together."""
        by_job: dict[str, list[RememberedJob]] = {}
        claimers: dict[str, set[str]] = {}
        for record in jobs:
            by_job.setdefault(record.job_id, []).append(record)
            for restored in record.restored:
                claimers.setdefault(restored, set()).add(record.job_id)
        resolved = [each for each in memory.directories if each.resolved_at is not None]
        known = {each.uri: each.job_id for each in (*memory.directories, *sighting.directories)}
        users: dict[str, list[RememberedDirectory]] = {}
        for each in (*sighting.directories, *resolved):
            for used in {*each.depends_on} - {each.uri}:
                users.setdefault(used, []).append(each)
        found = frozenset(e.job_id for e in (*sighting.directories, *resolved) if e.job_id)
        searched = _with_predecessors(found, claimers, sighting, by_job)
        return cls(
            at=sighting.at,
            claimed=_claimed(claimers, searched, known),
            claimers={uri: frozenset(ids) for uri, ids in claimers.items()},
            jobs={job_id: tuple(records) for job_id, records in by_job.items()},
            newest={each.uri: each.newest_id for each in sighting.directories},
            searched=searched,
            users={uri: tuple(each) for uri, each in users.items()},
            directories=Counter(known.values()),
            declared_ended=sighting.declared_ended,
            are_all_declared_ended=sighting.are_all_declared_ended,
        )

    def why_gone(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> Explanation | None:
        """Return why a checkpoint may be gone, ``None`` if nothing explains it."""
        if self._is_subsumed(checkpoint, directory):
            return Explanation.SUBSUMED
        if self._has_ended(checkpoint, directory):
            return Explanation.ENDED
        if self._is_claimed(checkpoint, directory):
            return Explanation.CLAIMED
        return Explanation.DECLARED if self._is_declared(checkpoint, directory) else None

    def _is_subsumed(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> bool:
        """Return whether a newer checkpoint is there; of a job that was over, one since."""
        newest = self.newest.get(directory.uri, -1)
        if newest <= checkpoint.checkpoint_id or not _is_deleted_on(checkpoint, SUBSUMED):
            return False
        return not directory.was_over or newest > directory.newest_id

    def _has_ended(self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory) -> bool:
        """Return whether its job is over, or was before this start, and Flink deleted it then."""
        is_unique = self.directories.get(directory.job_id, 0) <= 1
        own = self.jobs.get(directory.job_id, ())
        records = fitting(own, directory.job_id, directory.uri, is_unique=is_unique)
        is_alive = self._is_alive(records)
        ends = [
            record.ended_as
            for record in records
            if (is_over(record) and not is_alive) or _was_before_the_end(checkpoint, record)
        ]
        return any(
            ended_as and all(_is_deleted_on(checkpoint, end) for end in ended_as)
            for ended_as in ends
        )

    def _is_alive(self, records: Iterable[RememberedJob]) -> bool:
        return any(record.alive_at == self.at for record in records)

    def _is_declared(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> bool:
        """Return whether its job is declared ended; in which state is unknown."""
        if not self.are_all_declared_ended and directory.job_id not in self.declared_ended:
            return False
        is_alive = self._is_alive(self.jobs.get(directory.job_id, ()))
        return not is_alive and all(_is_deleted_on(checkpoint, end) for end in ALL_ENDS)

    def is_claimed_by_another(self, uri: str, job_id: str = "") -> bool:
        """Return whether a job that is searched, and is not ``job_id``, was restored from it."""
        return bool(self.claimers.get(uri, frozenset()) & self.searched - {job_id})

    def _is_claimed(self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory) -> bool:
        """Return whether a job that is searched was restored from it, or must have been.

        A claim takes one checkpoint: the one that is known, else the newest. One that is newer
        than what a cycle saw had subsumed that before it was claimed.
        """
        if self.is_claimed_by_another(checkpoint.uri, directory.job_id):
            return True
        if self._is_older_than_a_claim(checkpoint, directory):
            return True
        if checkpoint.checkpoint_id != directory.newest_id:
            return False
        users = self.users.get(directory.uri, ())
        return any(self._may_have_claimed(each, checkpoint, directory) for each in users)

    def _may_have_claimed(
        self,
        user: RememberedDirectory,
        checkpoint: RememberedCheckpoint,
        directory: RememberedDirectory,
    ) -> bool:
        """Return whether a job that names files of a directory may have claimed a checkpoint there.

        Its ids go on after the id that it was restored from, whatever job that was; a copy of a
        checkpoint claims nothing, nor does a job that is known to come from another one.

        Source: Flink 1.15-2.3, ``CheckpointCoordinator.restoreSavepoint``.
        """
        if user.job_id in {"", directory.job_id} or user.newest_id <= checkpoint.checkpoint_id:
            return False
        known = (each for record in self.jobs.get(user.job_id, ()) for each in record.restored)
        return not any(not is_within(each, (user.uri,)) for each in known)

    def _is_older_than_a_claim(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> bool:
        """Return whether a searched job was restored from a newer one, completed since then.

        That one is sure to have subsumed a single checkpoint; of several, all but the oldest may
        have stayed beside it.
        """
        if len(directory.checkpoints) > 1:
            return False
        newest = max(self.claimed.get(directory.uri, ()), default=-1)
        return newest > directory.newest_id and _is_deleted_on(checkpoint, SUBSUMED)


def _with_predecessors(
    searched: frozenset[str],
    claimers: Mapping[str, Iterable[str]],
    sighting: Sighting,
    jobs: Mapping[str, Iterable[RememberedJob]],
) -> frozenset[str]:
    """Return the searched jobs, and those whose checkpoints they were restored from in turn.

    No cycle has seen a checkpoint of such a job: it was deployed just before one, and replaced
    before the next one. Whatever it retained would be found where its last checkpoint was.
    """
    places = [each.uri for each in sighting.places if each.checkpoints]
    alive = {each.job_id for each in sighting.jobs if each.is_alive}
    silent = {uri for uri, answers in sighting.clusters.items() if not answers}
    before: dict[str, set[str]] = {}
    for uri, job_ids in claimers.items():
        directory, _, name = uri.rpartition("/")
        job_id = directory.rpartition("/")[2]
        is_heard = silent.isdisjoint(each.by for each in jobs.get(job_id, ()))
        is_found = checkpoint_id_of(name) is not None and is_within(directory, places)
        if is_found and is_heard and job_id not in alive:
            for each in job_ids:
                before.setdefault(each, set()).add(job_id)
    known, more = set(searched), set(searched)
    while more:
        more = {job_id for each in more for job_id in before.get(each, ())} - known
        known |= more
    return frozenset(known)


def _claimed(
    claimers: Mapping[str, Iterable[str]], searched: frozenset[str], known: Mapping[str, str]
) -> dict[str, frozenset[int]]:
    """Return what searched jobs were restored from, by the directory of another job."""
    found: dict[str, set[int]] = {}
    for uri, job_ids in claimers.items():
        directory, _, name = uri.rpartition("/")
        claimed = checkpoint_id_of(name)
        if claimed is not None and searched.intersection(job_ids) - {known.get(directory)}:
            found.setdefault(directory, set()).add(claimed)
    return {directory: frozenset(ids) for directory, ids in found.items()}


def _was_before_the_end(checkpoint: RememberedCheckpoint, record: RememberedJob) -> bool:
    """Return whether it was last seen before an end after which the job was started again."""
    return (
        record.ended_at is not None
        and checkpoint.seen_at <= record.ended_at
        and not is_over(record)
    )


def _is_deleted_on(checkpoint: RememberedCheckpoint, end: str) -> bool:
    """Return whether Flink deletes the checkpoint upon an end of its job.

    Before format 4 the file does not say; every policy deletes on FINISHED, and a checkpoint that
    a newer one subsumes. A savepoint says that nothing deletes it.

    Source: Flink 1.15-2.3, ``CheckpointProperties``.
    """
    if checkpoint.deleted_on is None:
        return end in {"FINISHED", SUBSUMED}
    return end in checkpoint.deleted_on
