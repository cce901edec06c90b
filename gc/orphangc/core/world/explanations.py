"""Why a remembered checkpoint is gone: what Flink removes in its normal course asks nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orphangc.core.names import checkpoint_id_of
from orphangc.core.world.job_lives import ALL_ENDS, fitting, is_flink_rest, is_over
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
    """A job whose checkpoints are searched was restored from it, and names files beside it.

    REST does not say whether a restore claims. A job that claims nothing begins with a full
    checkpoint, so one that names files of the directory shows that it owns them.
    Source: Flink 1.15-2.3, ``RestoreMode.NO_CLAIM``."""
    DECLARED = "declared"
    """The operator declares its job ended, and Flink deletes it upon every end.

    It counts for the cycle in which it is declared; the memory keeps the checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """What may explain that a checkpoint is gone.

    Attributes:
        at: Time of this cycle.
        jobs: By job id, every record of it, with what this cycle learned.
        claimers: By checkpoint, the directories of the jobs that were restored from it.
        newest: Newest checkpoint id by directory, of those that are there now.
        searched: Directories of which some checkpoint is there now, or was explained away; and of
            the jobs before them, which are over and whose directory lies in a searched place.
        users: By directory, the others whose checkpoints name, or named, files in it.
        directories: How many directories each job id has.
        declared_ended: Job ids that the operator declared ended.
        are_all_declared_ended: Whether the operator declared all jobs ended.

    """

    at: datetime
    jobs: Mapping[str, tuple[RememberedJob, ...]]
    claimers: Mapping[str, frozenset[str]]
    newest: Mapping[str, int]
    searched: frozenset[str]
    users: Mapping[str, frozenset[str]]
    directories: Mapping[str, int]
    declared_ended: frozenset[str]
    are_all_declared_ended: bool

    @classmethod
    def of(
        cls, memory: WorldMemory, sighting: Sighting, jobs: Iterable[RememberedJob]
    ) -> Explanations:
        """Return what memory and cycle know together."""
        by_job: dict[str, list[RememberedJob]] = {}
        for record in jobs:
            by_job.setdefault(record.job_id, []).append(record)
        all_seen = (*memory.directories, *sighting.directories)
        known = {each.uri: each.job_id for each in all_seen}
        claimers = _claimers(by_job, known)
        users: dict[str, set[str]] = {}
        for each in all_seen:
            for used in {*each.names} - {each.uri}:
                users.setdefault(used, set()).add(each.uri)
        resolved = (each for each in memory.directories if each.resolved_at is not None)
        found = frozenset(each.uri for each in (*sighting.directories, *resolved))
        return cls(
            at=sighting.at,
            claimers={uri: frozenset(each) for uri, each in claimers.items()},
            jobs={job_id: tuple(records) for job_id, records in by_job.items()},
            newest={each.uri: each.newest_id for each in sighting.directories},
            searched=_with_predecessors(found, claimers, sighting, by_job),
            users={uri: frozenset(each) for uri, each in users.items()},
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

    def _is_claimed(self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory) -> bool:
        """Return whether a searched job was restored from it, or from one that subsumed it.

        A newer one than a cycle saw is sure to have subsumed a single checkpoint; of several, all
        but the oldest may have stayed beside it.
        """
        if self.is_taken(checkpoint.uri, directory.uri):
            return True
        if len(directory.checkpoints) > 1 or not _is_deleted_on(checkpoint, SUBSUMED):
            return False
        newer = (
            uri
            for uri in self.claimers
            if uri.rpartition("/")[0] == directory.uri
            and (checkpoint_id_of(uri.rpartition("/")[2]) or -1) > directory.newest_id
        )
        return any(self.is_taken(uri, directory.uri) for uri in newer)

    def is_taken(self, uri: str, directory: str) -> bool:
        """Return whether a job that is searched, of another directory, has claimed a checkpoint.

        It names files beside it, or a job that claimed from that one in turn does.
        """
        todo = (self.claimers.get(uri, frozenset()) & self.searched) - {directory}
        known = set(todo)
        users = self.users.get(directory, frozenset())
        while todo and users.isdisjoint(known):
            heirs = {e for origin, each in self.claimers.items() for e in each if _in(origin, todo)}
            todo = frozenset(heirs & self.searched) - known - {directory}
            known |= todo
        return not users.isdisjoint(known)


def _is_checkpoint(uri: str) -> bool:
    return checkpoint_id_of(uri.rpartition("/")[2]) is not None


def _in(uri: str, directories: Collection[str]) -> bool:
    return uri.rpartition("/")[0] in directories


def _claimers(
    jobs: Mapping[str, Sequence[RememberedJob]], known: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return the directories of the jobs that were restored from each checkpoint.

    A job id alone names no job: two clusters may run jobs of one id. Where the answer places no
    checkpoint of the job, its directory is the only one of that id, and no other answer is known.
    """
    restored = {uri for records in jobs.values() for each in records for uri in each.restored}
    named = {uri.rpartition("/")[0] for uri in restored if _is_checkpoint(uri)}
    by_id: dict[str, list[str]] = {}
    for uri, job_id in ({each: each.rpartition("/")[2] for each in named} | {**known}).items():
        by_id.setdefault(job_id, []).append(uri)
    claimers: dict[str, set[str]] = {}
    for job_id, records in jobs.items():
        answers = sum(bool(each.directories or is_flink_rest(each.by)) for each in records)
        only = by_id.get(job_id, []) if answers <= 1 else []
        for record in records:
            own = record.directories or (only if len(only) == 1 else ())
            for uri in record.restored:
                if uri.rpartition("/")[0].rpartition("/")[2] != job_id:
                    claimers.setdefault(uri, set()).update(own)
    return claimers


def _with_predecessors(
    searched: frozenset[str],
    claimers: Mapping[str, Iterable[str]],
    sighting: Sighting,
    jobs: Mapping[str, Iterable[RememberedJob]],
) -> frozenset[str]:
    """Return the searched directories, and those that their jobs were restored from in turn.

    No cycle has seen a checkpoint of such a job: it was deployed just before one, and replaced
    before the next one. Whatever it retained would be found where its last checkpoint was.
    """
    places = [each.uri for each in sighting.places if each.checkpoints]
    alive = {each.job_id for each in sighting.jobs if each.is_alive}
    silent = {uri for uri, answers in sighting.clusters.items() if not answers}
    before: dict[str, set[str]] = {}
    for uri, claimed_by in claimers.items():
        directory, _, name = uri.rpartition("/")
        job_id = directory.rpartition("/")[2]
        is_heard = silent.isdisjoint(each.by for each in jobs.get(job_id, ()))
        is_found = checkpoint_id_of(name) is not None and is_within(directory, places)
        if is_found and is_heard and job_id not in alive:
            for each in claimed_by:
                before.setdefault(each, set()).add(directory)
    known, more = set(searched), set(searched)
    while more:
        more = {uri for each in more for uri in before.get(each, ())} - known
        known |= more
    return frozenset(known)


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
