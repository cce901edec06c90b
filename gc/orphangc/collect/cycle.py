"""One complete cycle: observe, mark, survey, judge, decide. It changes nothing anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from flinkstate.files.paths import overlap, spellings
from flinkstate.places.locations import Location
from orphangc.collect.decide.abandoned_savepoints import abandoned_savepoints
from orphangc.collect.decide.assemble_plan import Found, missing_by_job, plan_of
from orphangc.collect.decide.decide_listing import DecidedListing, decide_listing
from orphangc.collect.decide.judged_cycle import (
    JudgedCycle,
    MarkedCycle,
    judged_cycle,
    marked_cycle,
)
from orphangc.collect.decide.verdicts import JobView
from orphangc.collect.dependencies.foreign_usage import ForeignUsages, foreign_usages_of
from orphangc.collect.mark.job_dependencies import dependencies_of
from orphangc.collect.mark.mark import Mark, pinned_places
from orphangc.collect.mark.missing import Missing, wanted_of
from orphangc.collect.mark.missing_check import check_standing
from orphangc.collect.mark.pins import pinned_uuids
from orphangc.collect.mark.since_listing import SinceListing
from orphangc.collect.mark.survey import Surveyed
from orphangc.collect.mark.survey_listing import ListingSurvey, SurveyQuestions, survey_listing
from orphangc.collect.observe.observation import Environment, Observation, observe
from orphangc.collect.observe.reported import named_as_a_whole
from orphangc.collect.world.recalling import NOTHING_RECALLED, Recalled, with_expiries, with_memory
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.codes import Guard
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.times.instants import shifted
from orphangc.core.world.known_world import Searched
from orphangc.errors import RefusedError
from orphangc.ports import Storage, VerdictSink


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What one cycle found, by the settings of its storage root.

    Attributes:
        plan: Unsigned: the verdict files are not in it yet.
        views: Evidence, judgement and bounds of collected jobs, by job key.
        jobs: Evidence of every job, also of jobs in extra roots.
        beside: Jobs that only the search of storages shows.
        sinks: Closed sinks of the verdicts, one for each worker.
        savepoints: Folders of savepoints whose files may go.
        expiries: What expiries left in any place that was searched.
    """

    settings: StorageRootSettings
    seen: Observation
    missing: Missing
    plan: Plan
    views: Mapping[str, JobView]
    mark: Mark
    evidence: CycleEvidence
    jobs: Mapping[str, JobEvidence]
    beside: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]
    sinks: Sequence[VerdictSink]
    foreign_usages: ForeignUsages
    remembered: WorldMemory
    tombstones: Tombstones
    searched: Sequence[Searched]
    savepoints: frozenset[str] = frozenset()
    expiries: tuple[ExpiryMarker, ...] = ()


def run_cycle(
    environment: Environment,
    *,
    tombstones: Tombstones,
    halted: str | None,
    open_sink: Callable[[], VerdictSink],
    before: Recalled = NOTHING_RECALLED,
) -> Cycle:
    """Return the outcome of one cycle; every object's verdict goes to a sink.

    Raises:
        StorageUnreachableError: The storage root could not be listed completely.
        RefusedError: No job directory is there: an empty listing proves no empty storage.
    """
    seen = observe(environment)
    pinned = pinned_uuids(environment, pinned_places(seen))
    marked = marked_cycle(seen, environment, pinned=pinned)
    survey = _survey(marked, environment, tombstones=tombstones)
    expiries = seen.expiries(environment)
    recalled = _recalled(before, seen, environment, expiries)
    known = judged_cycle(marked, environment, survey, halted=halted, before=recalled)
    savepoints = abandoned_savepoints(seen, marked.mark, surveyed=survey.surveyed, known=known)
    decided = decide_listing(
        environment, marked.mark, known, open_sink=open_sink, savepoints=savepoints
    )
    found = _found(marked, survey, known, decided, environment=environment, expiries=expiries)
    plan = plan_of(found, environment)
    return Cycle(
        settings=environment.settings,
        seen=seen,
        missing=survey.missing,
        plan=with_memory(plan, known.comparison, recalled.expected),
        views=decided.views,
        mark=marked.mark,
        evidence=known.evidence,
        jobs=known.jobs,
        beside=known.beside,
        judged=known.judged,
        sinks=decided.sinks,
        foreign_usages=found.foreign_usages,
        remembered=_with_standing(known.comparison.memory, before, recalled),
        expiries=expiries,
        tombstones=tombstones,
        searched=marked.searched,
        savepoints=decided.savepoints,
    )


def _recalled(
    before: Recalled, seen: Observation, environment: Environment, expiries: Iterable[ExpiryMarker]
) -> Recalled:
    """Return what earlier cycles saw, and what the markers of expiries show of it to be lost.

    A checkpoint names files only of the storage root whose expiry let it go; so that of any one
    that overlaps with this one may need files here, wherever it is.
    """
    root, now = environment.storage.location, seen.time.now or seen.time.local
    near = [
        each for each in expiries if each.state and (each.root is None or overlap(each.root, root))
    ]
    return with_expiries(before, root, near, now)


def _unread(expiries: Iterable[ExpiryMarker], seen: Observation) -> tuple[ExpiryMarker, ...]:
    """Return the markers of quarantines of which the state location does not have the copies."""
    known = frozenset().union(*map(spellings, seen.quarantined))
    return tuple(e for e in expiries if e.state and known.isdisjoint(spellings(e.folder)))


def _survey(
    marked: MarkedCycle, environment: Environment, *, tombstones: Tombstones
) -> ListingSurvey:
    questions = _questions(marked, environment)
    if questions.since is None:
        before, after = (part[0].scan for part in (marked.seen.first, marked.seen.second))
        check_standing(before, after, environment.engine.metadata_objects())
    survey = survey_listing(environment, marked.mark, tombstones, questions)
    shown = survey.surveyed if questions.since is None else Surveyed()
    _check_is_storage_root(environment.storage.location, marked.mark, shown, marked.seen)
    return survey


def _found(
    marked: MarkedCycle,
    survey: ListingSurvey,
    known: JudgedCycle,
    decided: DecidedListing,
    *,
    environment: Environment,
    expiries: Iterable[ExpiryMarker],
) -> Found:
    collected = (view.evidence for view in decided.views.values())
    missing = missing_by_job(collected, survey.missing, marked.seen, environment.storage)
    usages = foreign_usages_of(
        environment,
        marked.mark,
        jobs=known.jobs,
        judged=known.judged,
        missing=missing,
        held=survey.surveyed.held,
        cycle=known.evidence,
    )
    seen = marked.seen
    named = tuple(named_as_a_whole((*seen.before, *seen.after), seen.ha, environment.settings))
    return Found(
        seen=seen,
        surveyed=survey.surveyed,
        marked=marked.mark,
        views=decided.views,
        known=known,
        counts=decided.counts,
        missing=missing,
        savepoints_kept=decided.savepoints_kept,
        foreign_usages=replace(
            usages, named=named, beside=known.living_beside, quarantines=_unread(expiries, seen)
        ),
    )


def _questions(marked: MarkedCycle, environment: Environment) -> SurveyQuestions:
    seen = marked.seen
    scans = [part[0].scan for part in (seen.first, seen.second)]
    return SurveyQuestions(
        wanted=wanted_of(each.files for each in marked.namings),
        needed=partial(dependencies_of, marked.mark, environment.settings),
        is_resumed=seen.listed.is_resumed,
        since=SinceListing.of(seen, environment.storage),
        read=partial(environment.reader.read, environment.storage),
        began=shifted(seen.time.now or seen.time.local, -environment.settings.clock_skew),
        unreached=tuple(seen.unreached),
        storages=_storages_of_latest(marked, environment),
        closed=frozenset(each for scan in scans for each in scan.closed),
    )


def _storages_of_latest(marked: MarkedCycle, environment: Environment) -> tuple[Storage, ...]:
    latest = (job.latest for job in marked.mark.jobs.values() if job.latest is not None)
    folders = {folder for checkpoint in latest for folder in checkpoint.files}
    bases = [base.location for base in environment.bases]
    outside = [each for each in folders if not any(base.contains(each) for base in bases)]
    return tuple(
        environment.open_storage(found.location)
        for found in marked.seen.storages
        if any(map(found.contains, outside))
    )


def _with_standing(memory: WorldMemory, before: Recalled, recalled: Recalled) -> WorldMemory:
    """Return a memory that also holds what the markers of expiries showed to be lost."""
    new = [each for each in recalled.standing if each not in before.standing]
    return memory.model_copy(update={"standing": (*memory.standing, *new)})


def _check_is_storage_root(
    base: Location, marked: Mark, surveyed: Surveyed, seen: Observation
) -> None:
    if not (surveyed.jobs or seen.unreadable or _is_anything_below(base, marked)):
        raise RefusedError(
            f"no job directory below {base} ({surveyed.objects} objects listed);"
            " is this the storage root? Nothing was planned",
            guard=Guard.NO_ROOTS,
        )
    broken = [each for each in seen.unreadable if not each.is_acknowledged]
    if broken and not marked.jobs:
        raise RefusedError(f"{broken[0].problem}; nothing was planned", guard=Guard.UNREADABLE_ROOT)


def _is_anything_below(base: Location, marked: Mark) -> bool:
    checkpoints = (each.folder for each in marked.checkpoints if each.folder != base)
    return any(base.contains(place) for place in (*marked.owners.keys, *checkpoints))
