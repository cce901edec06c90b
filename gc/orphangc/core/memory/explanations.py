"""Why a remembered checkpoint is gone: what Flink removes normally needs no acknowledgement."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from flinkstate.places.checkpoint_names import checkpoint_id_of
from orphangc.core.groups import grouped, reached, sets_of
from orphangc.core.lineage.continuation import ContinuationSource
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.memory.job_lives import (
    ALL_ENDS,
    DIGITS,
    SavepointMakers,
    fitting,
    is_flink_rest,
    is_over,
    proves_end,
    savepoint_may_be_of,
    savepoint_prefix,
)
from orphangc.core.memory.remembered import (
    RememberedCheckpoint,
    RememberedDirectory,
    RememberedJob,
    RememberedReport,
)
from orphangc.core.memory.seen_cycles import SeenCycles
from orphangc.core.memory.sighting import SeenReport, Sighting

SUBSUMED = "SUBSUMED"
"""Marker among the ends upon which Flink deletes a checkpoint: a newer one has completed."""


class LossExplanation(StrEnum):
    """Why a checkpoint may be gone."""

    SUBSUMED = "subsumed"
    """A newer one of its directory is there, stored later."""
    DISCARDED = "discarded"
    """The cluster of its directory shows that Flink deleted exactly this one."""
    ENDED = "ended"
    """Its run ended, and Flink deletes it upon that end."""
    CLAIMED = "claimed"
    """A job whose checkpoints are searched was restored from it, and names files beside it.

    REST does not say whether a restore claims. A job that claims nothing begins with a full
    checkpoint, so one that names files of the directory shows that it owns them.
    Source: Flink 1.15-2.3, ``RestoreMode.NO_CLAIM``.

    One that is self-contained needs no such file, so that the job has gone on suffices."""
    EXPIRED = "expired"
    """A sweep of ``expire`` put its ``_metadata`` away, and its quarantine is over (R44)."""
    DECLARED = "declared"
    """The operator declares its job ended, and Flink deletes it upon every end.

    It counts for the cycle in which it is declared; the memory keeps the checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanations:
    """Possible explanations of a missing checkpoint.

    Attributes:
        jobs: All records of a job, with the facts of this cycle, by job id.
        claimers: Directories of the jobs that were restored from a checkpoint, by checkpoint, each
            with the start of its job's run.
        claimed_in: The same checkpoints by their directory.
        named_after: And those that are savepoints, by the digits of a job id in their names.
        heirs: The same directories by that of the checkpoint.
        starters: Witnesses of the jobs that were restored from a checkpoint, by checkpoint.
        shown: Directories that contain checkpoints now.
        expired: Checkpoints that a sweep released from quarantine, by folder and digest.
        unfound: Checkpoints that a cluster shows completed and not discarded after the listing,
            and that are not there.
        searched: Directories of which some checkpoint is there now, or was explained away; and of
            the jobs before them, which are over and whose directory is in a searched place.
        users: Other directories whose checkpoints name, or named, files in one, by directory.
    """

    sighting: Sighting
    jobs: Mapping[str, tuple[RememberedJob, ...]]
    claimers: Mapping[str, Mapping[str, datetime]]
    claimed_in: Mapping[str, Sequence[str]]
    named_after: Mapping[str, Sequence[str]]
    heirs: Mapping[str, set[str]]
    starters: Mapping[str, set[str]]
    makers: SavepointMakers
    shown: Mapping[str, RememberedDirectory]
    expired: Mapping[tuple[str, str], ExpiredCheckpoint]
    unfound: Mapping[str, SeenReport]
    searched: frozenset[str]
    users: Mapping[str, set[str]]
    directories: Mapping[str, int]

    @classmethod
    def of(cls, cycles: SeenCycles) -> Self:
        """Return the explanations from memory and cycle together."""
        memory, sighting = cycles.memory, cycles.sighting
        by_job = grouped(cycles.jobs, lambda each: each.job_id)
        all_seen = (*memory.directories, *sighting.directories)
        known = {each.uri: each.job_id for each in all_seen}
        claimers = _claimers(by_job, known)
        heirs = ((uri.rpartition("/")[0], each) for uri, by in claimers.items() for each in by)
        users = [(used, each.uri) for each in all_seen for used in {*each.names} - {each.uri}]
        edges = (*memory.lineage.continuations, *sighting.lineage.continuations)
        references = (each for each in edges if each.source is ContinuationSource.REFERENCE)
        users += [(each.older, each.newer) for each in references]
        resolved = (each for each in memory.directories if each.resolved_at is not None)
        found = frozenset(each.uri for each in (*sighting.directories, *resolved))
        return cls(
            sighting=sighting,
            claimers=claimers,
            claimed_in=grouped(claimers, lambda uri: uri.rpartition("/")[0]),
            named_after=grouped(claimers, savepoint_prefix),
            heirs=sets_of(heirs),
            starters=sets_of((uri, each.by) for each in cycles.jobs for uri in each.restored),
            makers=SavepointMakers.of(cycles.jobs, all_seen),
            jobs={job_id: tuple(records) for job_id, records in by_job.items()},
            shown={each.uri: each for each in sighting.directories},
            expired={(each.uri, each.sha256): each for each in memory.expired if each.is_released},
            unfound=_unfound(sighting),
            searched=_with_predecessors(found, claimers, sighting, by_job),
            users=sets_of(users),
            directories=Counter(known.values()),
        )

    def is_gone(self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory) -> bool:
        """Return whether a checkpoint is not there any more, or another one is at its path."""
        if checkpoint.uri not in self.sighting.present:
            return True
        shown = self.shown.get(directory.uri)
        own = () if shown is None else shown.checkpoints
        digests = {each.sha256 for each in own if each.uri == checkpoint.uri} - {""}
        return bool(checkpoint.sha256 and digests) and checkpoint.sha256 not in digests

    def why_gone(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> LossExplanation | None:
        """Return why a checkpoint may be gone, ``None`` if nothing explains it.

        While its own cluster shows it kept, no newer one has subsumed it; and nothing else has
        removed it while its job lives. REST may show one as kept that went after its job's end.
        """
        kept = self._kept(checkpoint)
        if kept is not None and kept.is_living:
            return None
        if kept is None and self._is_subsumed(checkpoint, directory):
            return LossExplanation.SUBSUMED
        if self._is_discarded(checkpoint):
            return LossExplanation.DISCARDED
        if self._is_expired(checkpoint):
            return LossExplanation.EXPIRED
        if self._has_ended(checkpoint, directory):
            return LossExplanation.ENDED
        if self._is_claimed(checkpoint, directory):
            return LossExplanation.CLAIMED
        return LossExplanation.DECLARED if self._is_declared(checkpoint, directory) else None

    def _is_subsumed(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> bool:
        """Return whether a newer checkpoint is there; of a job that was over, one since.

        A later run of the same job id subsumes none of an earlier one, which may be a leftover.
        Copied checkpoints in a folder that is no job directory may be of different jobs.
        """
        shown = self.shown.get(directory.uri)
        if shown is None or not directory.job_id or not _is_deleted_on(checkpoint, SUBSUMED):
            return False
        if any(_is_of_earlier_run(checkpoint, each) for each in self._records(directory)):
            return False
        oldest = directory.newest_id if directory.was_over else checkpoint.checkpoint_id
        return shown.has_subsumed(oldest, checkpoint.stored_until)

    def _kept(self, checkpoint: RememberedCheckpoint) -> SeenReport | None:
        report, stored = self.unfound.get(checkpoint.uri), checkpoint.stored_at
        if report is None or report.triggered_at is None or stored is None:
            return report
        return report if stored + self.sighting.clock_skew >= report.triggered_at else None

    def _is_discarded(self, checkpoint: RememberedCheckpoint) -> bool:
        """Return whether Flink shows it discarded, and none that was there before at its path."""
        triggered = self.sighting.discarded.get(checkpoint.uri)
        stored = checkpoint.stored_at
        return triggered is not None and stored is not None and stored >= triggered

    def _is_expired(self, checkpoint: RememberedCheckpoint) -> bool:
        """Return whether a sweep released it from quarantine, and no cycle has seen it since."""
        record = self.expired.get((checkpoint.uri, checkpoint.sha256))
        at = None if record is None else record.released_at
        return at is not None and checkpoint.seen_at <= at + self.sighting.clock_skew

    def _records(self, directory: RememberedDirectory) -> list[RememberedJob]:
        """Return the records that may be of its job: each of them may show that it goes on."""
        is_unique = self.directories.get(directory.job_id, 0) <= 1
        own = self.jobs.get(directory.job_id, ())
        return fitting(own, directory.job_id, directory.uri, is_unique=is_unique)

    def _has_ended(self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory) -> bool:
        """Return whether its run is over, and Flink deleted it then.

        A witness that knows no start of the run, an HA store say, leaves that to the others. Flink
        deletes at once, and does not try again: what outlived an end that was known went by no
        work of that one's, and may be of another run of the id.
        """
        if directory.was_over:
            return False
        records = self._records(directory)
        is_alive = self._is_alive(records)
        begun = max((each.began_at for each in records if each.began_at), default=None)
        return any(
            _is_covered(checkpoint, record, begun, self.sighting.clock_skew)
            for record in records
            if proves_end(record, directory.uri)
            and ((is_over(record) and not is_alive) or _was_before_the_end(checkpoint, record))
        )

    def _is_alive(self, records: Iterable[RememberedJob]) -> bool:
        return any(record.alive_at == self.sighting.at for record in records)

    def _is_declared(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> bool:
        seen = self.sighting
        if not seen.are_all_declared_ended and directory.job_id not in seen.declared_ended:
            return False
        is_alive = self._is_alive(self.jobs.get(directory.job_id, ()))
        return not is_alive and all(_is_deleted_on(checkpoint, end) for end in ALL_ENDS)

    def _is_claimed(self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory) -> bool:
        """Return whether a searched job was restored from it, or from one that subsumed it.

        A newer one than a cycle saw is sure to have subsumed a single checkpoint; of several, all
        but the oldest may have stayed beside it.
        """
        since = checkpoint.stored_until
        if self.is_taken(checkpoint.uri, directory.uri, since):
            return True
        if checkpoint.is_self_contained and self._is_succeeded(checkpoint, directory):
            return True
        if len(directory.checkpoints) > 1 or not _is_deleted_on(checkpoint, SUBSUMED):
            return False
        newer = (
            uri
            for uri in self.claimed_in.get(directory.uri, ())
            if (checkpoint_id_of(uri.rpartition("/")[2]) or -1) > directory.newest_id
        )
        return any(self.is_taken(uri, directory.uri, since) for uri in newer)

    def _is_succeeded(
        self, checkpoint: RememberedCheckpoint, directory: RememberedDirectory
    ) -> bool:
        """Return whether a job that started from it, or a savepoint of its job, has gone on."""
        since = checkpoint.stored_until
        origins = {checkpoint.uri, *self._savepoints_of(directory.job_id)}
        return any(
            self.shown[each].has_subsumed(-1, since)
            for each in self._heirs(origins, since) - {directory.uri}
            if each in self.shown
        )

    def _savepoints_of(self, job_id: str) -> set[str]:
        named = self.named_after.get(job_id[:DIGITS], ())
        found = (uri for uri in named if savepoint_may_be_of(uri, job_id))
        return {uri for uri in found if self.makers.maker(uri, self.starters[uri]) == job_id}

    def _heirs(self, origins: Collection[str], since: datetime) -> set[str]:
        """Return the searched directories of the jobs restored from some, and from these jobs'.

        What was stored after such a job had begun is not what it was restored from: a later run
        of an id writes the same paths again.
        """
        begun = (each for uri in origins for each in self.claimers.get(uri, {}).items())
        found = {uri for uri, at in begun if at + self.sighting.clock_skew >= since} & self.searched
        return reached(found, lambda each: self.heirs.get(each, set()) & self.searched)

    def is_report_found(self, report: RememberedReport) -> bool:
        """Return whether a reported checkpoint is there, has expired, or a later one subsumed it.

        None has while its cluster shows it kept. At its path a later run may store another one.
        """
        if report.path in self.sighting.present or self._is_kept(report):
            return report.path in self.sighting.present
        directory, completed = self.shown.get(report.uri), report.first_reported_at
        if report.triggered_at is not None:
            completed = min(completed, report.triggered_at + self.sighting.clock_skew)
            written = (each.stored_at for each in self.expired.values() if each.uri == report.path)
            since = report.triggered_at - self.sighting.clock_skew
            if any(at is not None and at >= since for at in written):
                return True
        return directory is not None and directory.has_subsumed(report.checkpoint_id, completed)

    def is_report_explained(self, report: RememberedReport) -> bool:
        """Return whether a searched job claimed a reported checkpoint, after its job's end."""
        since = report.triggered_at or report.first_reported_at
        return not self._is_kept(report) and self.is_taken(report.path, report.uri, since)

    def _is_kept(self, report: RememberedReport) -> bool:
        """Return whether its cluster shows it kept while its job lives, and it is not there."""
        shown = self.unfound.get(report.path)
        return shown is not None and shown.is_living

    def is_taken(self, uri: str, directory: str, since: datetime) -> bool:
        """Return whether a job that is searched, of another directory, has claimed a checkpoint.

        It names files beside it, or a job that claimed from that one in turn does.
        """
        users = self.users.get(directory, set())
        return not users.isdisjoint(self._heirs({uri}, since) - {directory})


def _unfound(sighting: Sighting) -> dict[str, SeenReport]:
    reports = (each for each in sighting.reports if each.path not in sighting.present)
    return {each.path: each for each in sorted(reports, key=lambda one: one.is_living)}


def _claimers(
    jobs: Mapping[str, Sequence[RememberedJob]], known: Mapping[str, str]
) -> dict[str, dict[str, datetime]]:
    """Return the directories of the jobs that were restored from each checkpoint, and their starts.

    A job id alone names no job: two clusters may run jobs of one id. Where the answer places no
    checkpoint of the job, its directory is the only one of that id, and no other answer is known.
    """
    restored = {uri for records in jobs.values() for each in records for uri in each.restored}
    parts = (uri.rpartition("/") for uri in restored)
    named = {place for place, _, name in parts if checkpoint_id_of(name) is not None}
    job_ids = {each: each.rpartition("/")[2] for each in named} | {**known}
    by_id = grouped(job_ids, lambda uri: job_ids[uri])
    claimers: dict[str, dict[str, datetime]] = {}
    for job_id, records in jobs.items():
        answers = sum(bool(each.directories or is_flink_rest(each.by)) for each in records)
        only = by_id.get(job_id, []) if answers <= 1 else []
        for record in records:
            own, began = record.directories or (only if len(only) == 1 else ()), record.began_at
            if began is None:
                continue
            for uri in record.restored:
                if uri.rpartition("/")[0].rpartition("/")[2] != job_id:
                    begun = claimers.setdefault(uri, {})
                    begun.update({each: max(began, begun.get(each, began)) for each in own})
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
    places = [each for each in sighting.places if each.checkpoints]
    alive = {each.job_id for each in sighting.jobs if each.is_alive}
    silent = {uri for uri, answers in sighting.clusters.items() if not answers}
    before: list[tuple[str, str]] = []
    for uri, claimed_by in claimers.items():
        directory, _, name = uri.rpartition("/")
        job_id = directory.rpartition("/")[2]
        is_heard = silent.isdisjoint(each.by for each in jobs.get(job_id, ()))
        is_searched = any(each.contains(directory) for each in places)
        is_found = checkpoint_id_of(name) is not None and is_searched
        if is_found and is_heard and job_id not in alive:
            before += [(each, directory) for each in claimed_by]
    earlier = sets_of(before)
    return frozenset(reached(searched, lambda each: earlier.get(each, ())))


def _was_before_the_end(checkpoint: RememberedCheckpoint, record: RememberedJob) -> bool:
    """Return whether it was last seen before an end after which the job was started again."""
    return (
        record.ended_at is not None
        and checkpoint.seen_at <= record.ended_at
        and not is_over(record)
    )


def _is_of_earlier_run(checkpoint: RememberedCheckpoint, record: RememberedJob) -> bool:
    if record.began_at is None or not record.began_anew:
        return False
    return checkpoint.stored_until < record.began_at


def _is_covered(
    checkpoint: RememberedCheckpoint,
    record: RememberedJob,
    begun: datetime | None,
    clock_skew: timedelta,
) -> bool:
    """Return whether it is of the run that ended, and Flink deletes it upon that end.

    Clocks differ: what was stored about the start of the run may be of the run before it. Then it
    has to be deleted upon the end of either.
    """
    since, stored, ends = record.ended_from or begun, checkpoint.stored_at, {*record.ended_as}
    if since is None or stored is None or record.ended_at is None or not ends:
        return False
    if min(stored, checkpoint.seen_at) > record.ended_at:
        return False
    if record.ended_as_before and abs(stored - since) <= clock_skew:
        ends |= {*record.ended_as_before}
    elif stored < since:
        return False
    return all(_is_deleted_on(checkpoint, each) for each in ends)


def _is_deleted_on(checkpoint: RememberedCheckpoint, end: str) -> bool:
    """Return whether Flink deletes the checkpoint upon an end of its job.

    Before format 4 the file does not say; every policy deletes on FINISHED, and a checkpoint that
    a newer one subsumes. A savepoint says that nothing deletes it.

    Source: Flink 1.15-2.3, ``CheckpointProperties``.
    """
    if checkpoint.deleted_on is None:
        return end in {"FINISHED", SUBSUMED}
    return end in checkpoint.deleted_on
