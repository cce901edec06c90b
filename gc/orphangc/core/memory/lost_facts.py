"""What an earlier cycle saw and this one does not: each fact blocks until it is back.

Flink removes checkpoints in its normal course (``explanations``), which asks nothing. Everything
else stays in the memory, cycle after cycle, until it is back or a person acknowledges it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flinkstate.places.locations import is_within
from flinkstate.text.shown_text import counted
from orphangc.core.memory.acknowledgement import (
    Acknowledgement,
    acknowledging_command,
    is_acknowledged,
)
from orphangc.core.memory.explanations import Explanations, LossExplanation
from orphangc.core.memory.job_lives import is_flink_rest, is_over
from orphangc.core.memory.remembered import (
    RememberedCheckpoint,
    RememberedCluster,
    RememberedDirectory,
    RememberedJob,
    RememberedPlace,
    RememberedReport,
    WorldMemory,
)
from orphangc.core.memory.sighting import SeenPlace, Sighting
from orphangc.core.memory.unlocated_jobs import job_uri, known_directories, reach_of, unlocated_jobs
from orphangc.core.model.codes import Condition

REPORTED = "reported"
"""Kind of a place that is searched because something named a checkpoint in it."""
STORAGE = "storage"
"""Kind of a storage that is searched whole: checkpoints that concern no file here come and go."""
_FEW = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFact:
    """A fact of an earlier cycle that no longer holds.

    Attributes:
        reach: Directories that are blocked; ``None`` for all of the storage root.
    """

    condition: Condition
    what: str
    since: datetime
    message: str
    reach: frozenset[str] | None = None
    is_acknowledged: bool = False

    def concerns(self, directories: Iterable[str]) -> bool:
        """Return whether it blocks a job with these directories."""
        if self.is_acknowledged:
            return False
        return self.reach is None or any(each in self.reach for each in directories)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Lost facts of each kind, before acknowledgements.

    Attributes:
        checkpoints: Checkpoints that nothing explains, by directory.
        kept: Explained checkpoints that the memory keeps all the same, by directory.
        facts: One fact for each loss that blocks.
    """

    checkpoints: Mapping[str, tuple[RememberedCheckpoint, ...]]
    kept: Mapping[str, tuple[RememberedCheckpoint, ...]]
    facts: tuple[LostFact, ...]


def lost_of(
    memory: WorldMemory,
    sighting: Sighting,
    jobs: Sequence[RememberedJob],
    given: Iterable[Acknowledgement] = (),
    *,
    uncovered: Iterable[LostFact] = (),
) -> Lost:
    """Return what earlier cycles saw, this one does not, and nothing explains."""
    known = tuple(given)
    why = Explanations.of(memory, sighting, jobs)
    gone = {
        each.uri: _gone(each, sighting, why)
        for each in memory.directories
        if each.resolved_at is None
    }
    checkpoints = {
        uri: lost
        for uri, each in gone.items()
        if (lost := tuple(one for one, reason in each if reason is None))
    }
    facts = [
        *uncovered,
        *_places_lost(memory, sighting, checkpoints),
        *_places_replaced(memory, sighting),
        *_clusters_silent(memory, sighting, jobs),
        *_reports_missed(memory, sighting, jobs, why),
    ]
    silent = {each.what for each in facts if each.condition is Condition.CLUSTER_SILENT}
    facts += [
        _job_unlocated(record, reach, sighting)
        for record, reach in unlocated_jobs(memory, sighting, jobs, given=known, silent=silent)
    ]
    lost_places = {each.what for each in facts if each.condition is Condition.PLACE_LOST}
    facts += _directories_lost(memory, sighting, checkpoints, lost_places, users=why.users)
    return Lost(
        checkpoints=checkpoints,
        kept={uri: _kept(each, is_whole=uri in checkpoints) for uri, each in gone.items()},
        facts=tuple(with_word(each, known, memory) for each in facts),
    )


_Gone = tuple[tuple[RememberedCheckpoint, LossExplanation | None], ...]


def _gone(directory: RememberedDirectory, sighting: Sighting, why: Explanations) -> _Gone:
    if is_place_unreachable(directory.place, sighting):
        return ()
    return tuple(
        (each, why.why_gone(each, directory))
        for each in directory.checkpoints
        if why.is_gone(each, directory)
    )


def _kept(gone: _Gone, *, is_whole: bool) -> tuple[RememberedCheckpoint, ...]:
    """Return the explained checkpoints for the next cycle's memory.

    While another one of the directory is missed, the record stays as it was last seen whole: what
    explains one may not explain the others a cycle later. A statement explains within its cycle.
    """
    reasons = {LossExplanation.DECLARED}
    if is_whole:
        reasons |= {LossExplanation.CLAIMED, LossExplanation.ENDED}
    return tuple(each for each, reason in gone if reason in reasons)


def is_place_unreachable(place: str, sighting: Sighting) -> bool:
    """Return whether a place could not be searched, which another condition blocks for."""
    seen = _place_of(place, sighting)
    return seen is not None and seen.checkpoints is None and seen.kind != REPORTED


def _place_of(uri: str, sighting: Sighting) -> SeenPlace | None:
    return next((each for each in sighting.places if each.uri == uri), None)


# --- places


def _places_lost(
    memory: WorldMemory, sighting: Sighting, lost: Mapping[str, Sequence[RememberedCheckpoint]]
) -> Iterator[LostFact]:
    for place in memory.places:
        if place.resolved_at is not None or not place.checkpoints:
            continue
        if place.kind in {REPORTED, STORAGE}:
            continue
        seen = _place_of(place.uri, sighting)
        if seen is not None and (seen.checkpoints is None or seen.checkpoints):
            continue
        if seen is None and sighting.is_searched(place.uri):
            continue
        if seen is not None and not _is_place_missed(place, memory, lost):
            continue
        yield _place_lost(place, sighting, is_named=seen is not None)


def _is_place_missed(
    place: RememberedPlace, memory: WorldMemory, lost: Mapping[str, Sequence[RememberedCheckpoint]]
) -> bool:
    own = (each.uri for each in memory.directories if each.place == place.uri)
    return place.has_more_others or bool(place.others) or any(uri in lost for uri in own)


def _place_lost(place: RememberedPlace, sighting: Sighting, *, is_named: bool) -> LostFact:
    now = "holds none now" if is_named else "is not named any more"
    lift = "bring it back" if is_named else "give it again with --extra-root"
    return lost_fact(
        (Condition.PLACE_LOST, place.uri, place.seen_at),
        f"{place.uri} held {counted(place.checkpoints, 'checkpoint')} at"
        f" {instant_text(place.seen_at)} and {now}: {lift}",
        sighting,
    )


def _places_replaced(memory: WorldMemory, sighting: Sighting) -> Iterator[LostFact]:
    for place in memory.places:
        seen = _place_of(place.uri, sighting)
        if seen is None or seen.device is None or place.device in {None, seen.device}:
            continue
        if place.resolved_at is not None or not place.checkpoints or seen.checkpoints is None:
            continue
        yield lost_fact(
            (Condition.PLACE_REPLACED, place.uri, place.seen_at),
            f"{place.uri} lies on {seen.device} now, and lay on {place.device} at"
            f" {instant_text(place.seen_at)}: mount what was there",
            sighting,
        )


# --- directories and checkpoints


def _directories_lost(
    memory: WorldMemory,
    sighting: Sighting,
    lost: Mapping[str, Sequence[RememberedCheckpoint]],
    lost_places: Iterable[str],
    *,
    users: Mapping[str, Collection[str]],
) -> Iterator[LostFact]:
    covered = set(lost_places)
    present = {each.uri for each in sighting.directories}
    kinds = {each.uri: each.kind for each in sighting.places}
    for directory in memory.directories:
        missed = lost.get(directory.uri, ())
        if not missed or directory.place in covered:
            continue
        is_emptied = directory.uri not in present and kinds.get(directory.place) != REPORTED
        if is_emptied and directory.job_id:
            yield _directory_emptied(directory, missed, sighting, users.get(directory.uri, ()))
        else:
            yield from _checkpoints_lost(directory, missed, sighting)


def _reach(directory: RememberedDirectory, sighting: Sighting) -> frozenset[str] | None:
    return reach_of({directory.uri, *directory.depends_on}, sighting)


def _directory_emptied(
    directory: RememberedDirectory,
    missed: Sequence[RememberedCheckpoint],
    sighting: Sighting,
    users: Collection[str],
) -> LostFact:
    since = max(each.seen_at for each in missed)
    naming = f", or that a job of {named(sorted(users))}, whose checkpoints name its files, claimed"
    asking = "; if one did, name its cluster with --flink-rest, which shows the claim; else"
    claimed = f"{naming} them{asking}" if users else ":"
    return lost_fact(
        (Condition.JOB_DIRECTORY_EMPTIED, directory.uri, since),
        f"{directory.uri} held {counted(len(missed), 'checkpoint')} at {instant_text(since)} and"
        f" holds none now, and nothing shows that Flink removed them{claimed} bring them back",
        sighting,
        _reach(directory, sighting),
    )


def _checkpoints_lost(
    directory: RememberedDirectory, missed: Sequence[RememberedCheckpoint], sighting: Sighting
) -> Iterator[LostFact]:
    def now(checkpoint: RememberedCheckpoint) -> str:
        is_replaced = checkpoint.uri in sighting.present
        return "another one is at its path now" if is_replaced else "is not found now"

    for each in missed:
        yield lost_fact(
            (Condition.CHECKPOINT_NOT_FOUND, each.uri, each.seen_at),
            f"{each.uri} was there at {instant_text(each.seen_at)} and {now(each)}, and nothing"
            " shows that Flink removed it: bring it back",
            sighting,
            _reach(directory, sighting),
        )


def _reports_missed(
    memory: WorldMemory, sighting: Sighting, jobs: Sequence[RememberedJob], why: Explanations
) -> Iterator[LostFact]:
    """Yield what Flink reports, or reported, completed and not discarded, and is not found.

    Where other checkpoints of the directory are there, the one that is reported first in this
    cycle, after the listing alone, completed after it: the next cycle finds it, or a newer one
    (R12). REST goes on to show what an ended job kept, also after another job claimed it: of an
    ended job, only what stays missed counts. What a searched job claimed, that job has removed.
    """
    shown = {each.uri for each in sighting.directories if each.checkpoints}
    stayed = {e.path for e in sighting.reports if e.was_shown_before and e.is_living}
    for report in reports_after(memory, sighting, jobs):
        is_new = report.first_reported_at == sighting.at and report.path not in stayed
        is_fresh = is_new and report.uri in shown
        is_claimed = why.is_report_explained(report)
        if report.resolved_at is not None or is_fresh or is_claimed:
            continue
        yield lost_fact(
            (Condition.CHECKPOINT_NOT_FOUND, report.path, report.missed_since),
            f"{report.named_by} reported that job {report.job_id} completed {report.path} and did"
            " not discard it, and it is not found from this machine: add its place with"
            " --extra-root, say with --alias what its path means",
            sighting,
        )


def reports_after(
    memory: WorldMemory, sighting: Sighting, jobs: Sequence[RememberedJob]
) -> tuple[RememberedReport, ...]:
    """Return the reported checkpoints that were not found, with what this cycle learned.

    One record stands for a directory: of a checkpoint that was there all the while, if there is
    such a report.
    """
    shown = _ReportsShown.of(sighting)
    records = {each.uri: each for each in memory.reports}
    for seen in sorted(sighting.reports, key=lambda each: each.was_shown_before):
        known = records.get(seen.directory)
        is_known = known is not None and known.resolved_at is None and not shown.explains(known)
        report = RememberedReport(
            uri=seen.directory,
            job_id=seen.job_id,
            checkpoint_id=seen.checkpoint_id,
            path=seen.path,
            named_by=seen.by,
            first_reported_at=known.first_reported_at if known and is_known else sighting.at,
            reported_at=sighting.at,
            triggered_at=seen.triggered_at,
        )
        if not shown.explains(report):
            records[seen.directory] = report
    return tuple(_settled(records[uri], shown, sighting.at, jobs) for uri in sorted(records))


@dataclass(frozen=True, slots=True)
class _ReportsShown:
    """What a cycle shows of reported checkpoints."""

    sighting: Sighting
    directories: Mapping[str, RememberedDirectory]
    kept: frozenset[str]

    @classmethod
    def of(cls, sighting: Sighting) -> _ReportsShown:
        return cls(
            sighting,
            directories={each.uri: each for each in sighting.directories},
            kept=frozenset(each.path for each in sighting.reports if each.is_living),
        )

    def explains(self, report: RememberedReport) -> bool:
        """Return whether a reported checkpoint is there, or a newer one that was stored later.

        None has subsumed it while its cluster shows it kept.
        """
        directory = self.directories.get(report.uri)
        if report.path in self.sighting.present or report.path in self.kept or directory is None:
            return report.path in self.sighting.present
        completed = report.first_reported_at
        if report.triggered_at is not None:
            completed = min(completed, report.triggered_at + self.sighting.clock_skew)
        return directory.has_subsumed(report.checkpoint_id, completed)


def _settled(
    report: RememberedReport, shown: _ReportsShown, at: datetime, jobs: Sequence[RememberedJob]
) -> RememberedReport:
    """Return the report, resolved if it is there or subsumed, or Flink deleted it at the end."""
    if report.resolved_at is not None:
        return report
    witness = [e for e in jobs if e.job_id == report.job_id and e.by == report.named_by]
    has_finished = any(is_over(each) and each.ended_as == ("FINISHED",) for each in witness)
    if not has_finished and not shown.explains(report):
        return report
    return report.model_copy(update={"resolved_at": at})


# --- clusters


def _clusters_silent(
    memory: WorldMemory, sighting: Sighting, jobs: Sequence[RememberedJob]
) -> Iterator[LostFact]:
    witnesses = _Witnesses(memory, sighting, jobs)
    for cluster in memory.clusters:
        if sighting.clusters.get(cluster.uri):
            continue
        missed = [each for each in cluster.alive if not witnesses.account_for(each, cluster)]
        if missed:
            yield _cluster_silent(cluster, missed, sighting, jobs)


@dataclass(frozen=True, slots=True)
class _Witnesses:
    """What shows a job of a cluster that is silent now."""

    memory: WorldMemory
    sighting: Sighting
    jobs: Sequence[RememberedJob]

    def account_for(self, job_id: str, cluster: RememberedCluster) -> bool:
        """Return whether the job is known of in another way.

        Another witness shows it that did not before; or does at all, where one directory alone
        has its id and no other cluster showed a job of that id; or it is over. An end that another
        witness shows counts for the same run only: it may be of an earlier one. A statement that
        the cluster contradicted proves no end.
        """
        silent = cluster.uri
        is_stated = job_id in self.sighting.declared_ended
        if is_stated and job_id not in cluster.contradicted:
            return True
        records = [each for each in self.jobs if each.job_id == job_id]
        if any(is_over(each) and each.by == silent for each in records):
            return True
        asked = self.sighting.clusters
        before = {each.uri for each in self.memory.clusters if job_id in each.alive}
        runs = {each.started_at for each in records if each.by == silent} - {None}
        seen = (e for e in self.sighting.jobs if e.job_id == job_id and e.by in asked)
        shown = {each.by for each in seen if each.is_alive or each.started_at in runs}
        directories = {each.uri for each in self.memory.directories if each.job_id == job_id}
        is_one_job = len(directories) <= 1 and not any(map(is_flink_rest, before - {silent}))
        return bool(shown - before) or (bool(shown) and is_one_job)


def _reach_of_cluster(
    cluster: RememberedCluster,
    missed: Iterable[str],
    sighting: Sighting,
    jobs: Iterable[RememberedJob],
) -> frozenset[str] | None:
    """Return the directories that the missed jobs need, ``None`` where one of them is unknown."""
    records = {each.job_id: each for each in jobs if each.by == cluster.uri}
    needed: set[str] = set()
    for job_id in missed:
        record = records.get(job_id)
        own = frozenset() if record is None else known_directories(record).union(record.needs)
        if not own:
            return None
        needed |= own
    return reach_of(needed, sighting)


def _cluster_silent(
    cluster: RememberedCluster,
    missed: Sequence[str],
    sighting: Sighting,
    jobs: Iterable[RememberedJob],
) -> LostFact:
    now = (
        "does not answer, or shows nothing"
        if cluster.uri in sighting.clusters
        else "is not asked any more"
    )
    is_new = not set(missed) <= set(cluster.contradicted)
    stated = ", declare the job ended by its id" if is_new else ""
    return lost_fact(
        (Condition.CLUSTER_SILENT, cluster.uri, cluster.answered_at),
        f"{cluster.uri} showed job {named(missed)} alive at"
        f" {instant_text(cluster.answered_at)} and {now}: ask it again{stated}",
        sighting,
        _reach_of_cluster(cluster, missed, sighting, jobs),
    )


# --- jobs


def _job_unlocated(
    record: RememberedJob, reach: frozenset[str] | None, sighting: Sighting
) -> LostFact:
    since = record.alive_at or sighting.at
    origin = f", restored from {record.restored[-1]}" if record.restored else ""
    return lost_fact(
        (Condition.CHECKPOINT_NOT_FOUND, job_uri(record), since),
        f"{record.by} showed job {record.job_id} alive at {instant_text(since)}{origin}, and does"
        " not show it now, and no checkpoint of it is found: add the place of its checkpoints with"
        " --extra-root",
        sighting,
        reach,
    )


# --- words


def lost_fact(
    fact: tuple[Condition, str, datetime],
    sentence: str,
    sighting: Sighting,
    reach: frozenset[str] | None = None,
) -> LostFact:
    """Return a loss; its message is the sentence, and how to acknowledge this one fact.

    Args:
        sentence: What was there, what is there now, and after the colon how to bring it back.
    """
    condition, what, since = fact
    command = acknowledging_command(sighting.root, condition, what, state=sighting.state)
    message = f"{sentence}, or run: {command}"
    return LostFact(condition=condition, what=what, since=since, message=message, reach=reach)


def instant_text(at: datetime) -> str:
    """Return a time as messages show it, to the second."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def named(job_ids: Sequence[str]) -> str:
    """Return a few of some names as messages show them, and how many there are beside these."""
    more = f" and {len(job_ids) - _FEW} more" if len(job_ids) > _FEW else ""
    return ", ".join(job_ids[:_FEW]) + more


def with_word(fact: LostFact, given: Sequence[Acknowledgement], memory: WorldMemory) -> LostFact:
    """Return the fact, acknowledged if a person did so; a place covers everything below it."""
    is_known = is_acknowledged(given, fact.condition, fact.what, fact.since)
    if (
        not is_known
        and given
        and fact.condition in {Condition.JOB_DIRECTORY_EMPTIED, Condition.CHECKPOINT_NOT_FOUND}
    ):
        places = [each.place for each in memory.directories if is_within(fact.what, (each.uri,))]
        is_known = any(
            is_acknowledged(given, Condition.PLACE_LOST, place, fact.since) for place in places
        )
    return replace(fact, is_acknowledged=True) if is_known else fact
