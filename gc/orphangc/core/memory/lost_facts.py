"""What an earlier cycle saw and this one does not: each fact blocks until it is back.

Flink removes checkpoints in its normal course (``explanations``), which asks nothing. Everything
else stays in the memory, cycle after cycle, until it is back or a person acknowledges it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flinkstate.text.shown_text import counted, some
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
from orphangc.core.memory.seen_cycles import REPORTED, STORAGE, LostFact, SeenCycles
from orphangc.core.memory.unlocated_jobs import job_uri, known_directories, unlocated_jobs
from orphangc.core.model.codes import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """Lost facts of each kind, before acknowledgements.

    Attributes:
        checkpoints: Checkpoints that nothing explains, by directory.
        kept: Explained checkpoints that the memory keeps all the same, by directory.
        reports: Reported checkpoints that were not found, with what this cycle learned.
        facts: One fact for each loss that blocks.
    """

    checkpoints: Mapping[str, tuple[RememberedCheckpoint, ...]]
    kept: Mapping[str, tuple[RememberedCheckpoint, ...]]
    reports: tuple[RememberedReport, ...]
    facts: tuple[LostFact, ...]


def lost_of(cycles: SeenCycles) -> Lost:
    """Return what earlier cycles saw, this one does not, and nothing explains."""
    why = Explanations.of(cycles)
    reports = _reports_after(cycles, why)
    gone = {
        each.uri: _gone(each, cycles, why)
        for each in cycles.memory.directories
        if each.resolved_at is None
    }
    checkpoints = {
        uri: lost
        for uri, each in gone.items()
        if (lost := tuple(one for one, reason in each if reason is None))
    }
    facts = [
        *_places_lost(cycles, checkpoints),
        *_places_replaced(cycles),
        *_clusters_silent(cycles),
        *_reports_missed(reports, cycles, why),
    ]
    silent = {each.what for each in facts if each.condition is Condition.CLUSTER_SILENT}
    facts += [
        _job_unlocated(record, reach, cycles) for record, reach in unlocated_jobs(cycles, silent)
    ]
    lost_places = {each.what for each in facts if each.condition is Condition.PLACE_LOST}
    facts += _directories_lost(cycles, checkpoints, lost_places, users=why.users)
    return Lost(
        checkpoints=checkpoints,
        kept={uri: _kept(each, is_whole=uri in checkpoints) for uri, each in gone.items()},
        reports=reports,
        facts=tuple(facts),
    )


_Gone = tuple[tuple[RememberedCheckpoint, LossExplanation | None], ...]


def _gone(directory: RememberedDirectory, cycles: SeenCycles, why: Explanations) -> _Gone:
    if cycles.is_place_unreachable(directory.place):
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


# --- places


def _places_lost(
    cycles: SeenCycles, lost: Mapping[str, Sequence[RememberedCheckpoint]]
) -> Iterator[LostFact]:
    for place in cycles.memory.places:
        if place.resolved_at is not None or not place.checkpoints:
            continue
        if place.kind in {REPORTED, STORAGE}:
            continue
        seen = cycles.place_now(place.uri)
        if seen is not None and (seen.checkpoints is None or seen.checkpoints):
            continue
        if seen is None and cycles.sighting.is_searched(place.uri):
            continue
        if seen is not None and not _is_place_missed(place, cycles.memory, lost):
            continue
        yield _place_lost(place, cycles, is_named=seen is not None)


def _is_place_missed(
    place: RememberedPlace, memory: WorldMemory, lost: Mapping[str, Sequence[RememberedCheckpoint]]
) -> bool:
    own = (each.uri for each in memory.directories if each.place == place.uri)
    return bool(place.others) or any(uri in lost for uri in own)


def _place_lost(place: RememberedPlace, cycles: SeenCycles, *, is_named: bool) -> LostFact:
    now = "holds none now" if is_named else "is not named any more"
    lift = "bring it back" if is_named else "give it again with --extra-root"
    return cycles.lost(
        (Condition.PLACE_LOST, place.uri, place.seen_at),
        f"{place.uri} held {counted(place.checkpoints, 'checkpoint')} at"
        f" {instant_text(place.seen_at)} and {now}: {lift}",
    )


def _places_replaced(cycles: SeenCycles) -> Iterator[LostFact]:
    for place in cycles.memory.places:
        seen = cycles.place_now(place.uri)
        if seen is None or seen.device is None or place.device in {None, seen.device}:
            continue
        if place.resolved_at is not None or not place.checkpoints or seen.checkpoints is None:
            continue
        yield cycles.lost(
            (Condition.PLACE_REPLACED, place.uri, place.seen_at),
            f"{place.uri} lies on {seen.device} now, and lay on {place.device} at"
            f" {instant_text(place.seen_at)}: mount what was there",
        )


# --- directories and checkpoints


def _directories_lost(
    cycles: SeenCycles,
    lost: Mapping[str, Sequence[RememberedCheckpoint]],
    lost_places: Iterable[str],
    *,
    users: Mapping[str, Collection[str]],
) -> Iterator[LostFact]:
    covered = set(lost_places)
    present = {each.uri for each in cycles.sighting.directories}
    kinds = {each.uri: each.kind for each in cycles.sighting.places}
    for directory in cycles.memory.directories:
        missed = lost.get(directory.uri, ())
        if not missed or directory.place in covered:
            continue
        is_emptied = directory.uri not in present and kinds.get(directory.place) != REPORTED
        if is_emptied and directory.job_id:
            yield _directory_emptied(directory, missed, cycles, users.get(directory.uri, ()))
        else:
            yield from _checkpoints_lost(directory, missed, cycles)


def _directory_emptied(
    directory: RememberedDirectory,
    missed: Sequence[RememberedCheckpoint],
    cycles: SeenCycles,
    users: Collection[str],
) -> LostFact:
    since = max(each.seen_at for each in missed)
    naming = f", or that a job of {some(sorted(users))}, whose checkpoints name its files, claimed"
    asking = "; if one did, name its cluster with --flink-rest, which shows the claim; else"
    claimed = f"{naming} them{asking}" if users else ":"
    return cycles.lost(
        (Condition.JOB_DIRECTORY_EMPTIED, directory.uri, since),
        f"{directory.uri} held {counted(len(missed), 'checkpoint')} at"
        f" {instant_text(since)} and holds none now, and nothing shows that Flink removed"
        f" them{claimed} bring them back",
        cycles.reach_of({directory.uri, *directory.depends_on}),
    )


def _checkpoints_lost(
    directory: RememberedDirectory, missed: Sequence[RememberedCheckpoint], cycles: SeenCycles
) -> Iterator[LostFact]:
    for each in missed:
        is_replaced = each.uri in cycles.sighting.present
        now = "another one is at its path now" if is_replaced else "is not found now"
        yield cycles.lost(
            (Condition.CHECKPOINT_NOT_FOUND, each.uri, each.seen_at),
            f"{each.uri} was there at {instant_text(each.seen_at)} and {now}, and nothing"
            " shows that Flink removed it: bring it back",
            cycles.reach_of({directory.uri, *directory.depends_on}),
        )


def _reports_missed(
    reports: Iterable[RememberedReport], cycles: SeenCycles, why: Explanations
) -> Iterator[LostFact]:
    """Yield what Flink reports, or reported, completed and not discarded, and is not found.

    Where other checkpoints of the directory are there, the one that is reported first in this
    cycle, after the listing alone, completed after it: the next cycle finds it, or a newer one
    (R12). REST goes on to show what an ended job kept, also after another job claimed it: of an
    ended job, only what stays missed counts. What a searched job claimed, that job has removed.
    """
    sighting = cycles.sighting
    shown = {each.uri for each in sighting.directories if each.checkpoints}
    stayed = {e.path for e in sighting.reports if e.was_shown_before and e.is_living}
    for report in reports:
        is_new = report.first_reported_at == sighting.at and report.path not in stayed
        is_fresh = is_new and report.uri in shown
        is_claimed = why.is_report_explained(report)
        if report.resolved_at is not None or is_fresh or is_claimed:
            continue
        yield cycles.lost(
            (Condition.CHECKPOINT_NOT_FOUND, report.path, report.missed_since),
            f"{report.named_by} reported that job {report.job_id} completed {report.path}"
            " and did not discard it, and it is not found from this machine: add its place with"
            " --extra-root, say with --alias what its path means",
        )


def _reports_after(cycles: SeenCycles, why: Explanations) -> tuple[RememberedReport, ...]:
    """Return the reported checkpoints that were not found, with what this cycle learned.

    One record stands for a directory: of a checkpoint that was there all the while, if there is
    such a report.
    """
    sighting = cycles.sighting
    records = {each.uri: each for each in cycles.memory.reports}
    for seen in sorted(sighting.reports, key=lambda each: each.was_shown_before):
        known = records.get(seen.directory)
        is_known = (
            known is not None and known.resolved_at is None and not why.is_report_found(known)
        )
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
        if not why.is_report_found(report):
            records[seen.directory] = report
    witnesses = {each.subject: each for each in cycles.jobs}
    found = ((e, witnesses.get((e.job_id, e.named_by))) for _, e in sorted(records.items()))
    return tuple(_settled(each, witness, cycles, why) for each, witness in found)


def _settled(
    report: RememberedReport, witness: RememberedJob | None, cycles: SeenCycles, why: Explanations
) -> RememberedReport:
    """Return the report, resolved if it is there or subsumed, or Flink deleted it at the end."""
    if report.resolved_at is not None:
        return report
    has_finished = witness and is_over(witness) and witness.ended_as == ("FINISHED",)
    if not has_finished and not why.is_report_found(report):
        return report
    return report.model_copy(update={"resolved_at": cycles.sighting.at})


# --- clusters


def _clusters_silent(cycles: SeenCycles) -> Iterator[LostFact]:
    for cluster in cycles.memory.clusters:
        if cycles.sighting.clusters.get(cluster.uri):
            continue
        missed = [each for each in cluster.alive if not _is_accounted_for(each, cluster, cycles)]
        if missed:
            yield _cluster_silent(cluster, missed, cycles)


def _is_accounted_for(job_id: str, cluster: RememberedCluster, cycles: SeenCycles) -> bool:
    """Return whether a job of a cluster that is silent now is known of in another way.

    Another witness shows it that did not before; or does at all, where one directory alone
    has its id and no other cluster showed a job of that id; or it is over. An end that another
    witness shows counts for the same run only: it may be of an earlier one. A statement that
    the cluster contradicted proves no end.
    """
    memory, sighting, silent = cycles.memory, cycles.sighting, cluster.uri
    is_stated = job_id in sighting.declared_ended
    if is_stated and job_id not in cluster.contradicted:
        return True
    records = [each for each in cycles.jobs if each.job_id == job_id]
    if any(is_over(each) and each.by == silent for each in records):
        return True
    asked = sighting.clusters
    before = {each.uri for each in memory.clusters if job_id in each.alive}
    runs = {each.started_at for each in records if each.by == silent} - {None}
    seen = (e for e in sighting.jobs if e.job_id == job_id and e.by in asked)
    shown = {each.by for each in seen if each.is_alive or each.started_at in runs}
    directories = {each.uri for each in memory.directories if each.job_id == job_id}
    is_one_job = len(directories) <= 1 and not any(map(is_flink_rest, before - {silent}))
    return bool(shown - before) or (bool(shown) and is_one_job)


def _reach_of_cluster(
    cluster: RememberedCluster, missed: Iterable[str], cycles: SeenCycles
) -> frozenset[str] | None:
    """Return the directories that the missed jobs need, ``None`` where one of them is unknown."""
    records = {each.job_id: each for each in cycles.jobs if each.by == cluster.uri}
    needed: set[str] = set()
    for job_id in missed:
        record = records.get(job_id)
        own = frozenset() if record is None else known_directories(record).union(record.needs)
        if not own:
            return None
        needed |= own
    return cycles.reach_of(needed)


def _cluster_silent(
    cluster: RememberedCluster, missed: Sequence[str], cycles: SeenCycles
) -> LostFact:
    is_asked = cluster.uri in cycles.sighting.clusters
    now = "does not answer, or shows nothing" if is_asked else "is not asked any more"
    is_new = not set(missed) <= set(cluster.contradicted)
    stated = ", declare the job ended by its id" if is_new else ""
    return cycles.lost(
        (Condition.CLUSTER_SILENT, cluster.uri, cluster.answered_at),
        f"{cluster.uri} showed job {some(missed)} alive at"
        f" {instant_text(cluster.answered_at)} and {now}: ask it again{stated}",
        _reach_of_cluster(cluster, missed, cycles),
    )


# --- jobs


def _job_unlocated(
    record: RememberedJob, reach: frozenset[str] | None, cycles: SeenCycles
) -> LostFact:
    since = record.alive_at or cycles.sighting.at
    origin = f", restored from {record.restored[-1]}" if record.restored else ""
    return cycles.lost(
        (Condition.CHECKPOINT_NOT_FOUND, job_uri(record), since),
        f"{record.by} showed job {record.job_id} alive at {instant_text(since)}{origin},"
        " and does not show it now, and no checkpoint of it is found: add the place of its"
        " checkpoints with --extra-root",
        reach,
    )


# --- words


def instant_text(at: datetime) -> str:
    """Return a time as messages show it, to the second."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
