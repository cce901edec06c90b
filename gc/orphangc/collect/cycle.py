"""One complete cycle: observe, mark, survey, judge, decide. It changes nothing anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from orphangc.collect.decide.assemble_plan import Found, Looked, missing_by_job, plan_of
from orphangc.collect.decide.verdicts import Counts, DecidePass, JobView
from orphangc.collect.dependencies.foreign_usage import Sustaining, sustaining_in
from orphangc.collect.mark.job_dependencies import with_feeds
from orphangc.collect.mark.mark import Mark, cycle_evidence, mark, with_surveys
from orphangc.collect.mark.missing import (
    Wanted,
    expected_of,
    missing_of,
    missing_outside,
    not_listed,
    wanted_of,
)
from orphangc.collect.mark.missing_check import (
    ReadsCheckpoint,
    confirmed,
    inventory_of,
    lacked_by_newest,
)
from orphangc.collect.mark.survey import PinnedPass, Surveyed, SurveyPass
from orphangc.collect.observe.checkpoints import RootReader
from orphangc.collect.observe.observation import Observation, Outside, observe
from orphangc.collect.world.gathered import empty_places, unreached_places, world_of
from orphangc.collect.world.outside_names import named_outside, namings_of, with_outside_paths
from orphangc.collect.world.recalling import NOTHING_RECALLED, Recalled
from orphangc.collect.world.recounting import with_memory
from orphangc.collect.world.sighted import sighting_of
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.decision.blast_radius import share_problem
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence, mode_of
from orphangc.core.decision.flink_traces import with_remembered_traces
from orphangc.core.decision.judge import GLOBAL_GUARDS, Blocked, Judgement, judge_all
from orphangc.core.decision.leftover_checkpoints import (
    LeftBehind,
    named_by_it_alone,
    oldest_left_behind,
)
from orphangc.core.documents.plan import Plan
from orphangc.core.exporter.registry_snapshot import oldest_retained
from orphangc.core.memory.compare_cycles import CycleComparison, compared
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.bounds import NEVER, Bound, BoundName, JobBounds, job_bounds
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.locations import Location
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobState, Mode
from orphangc.core.times.instants import shifted
from orphangc.core.world import World
from orphangc.core.world.outside_naming import Naming
from orphangc.errors import RefusedError
from orphangc.ports import VerdictSink

_FEW = 20


@dataclass(slots=True)
class Cycle:
    """What one cycle found.

    Attributes:
        plan: Unsigned: the verdict files are not in it yet.
        views: By job key, collected jobs only.
        jobs: Every job's evidence, those of the extra roots too.
        judged: What stops each of them.
        mark: What is live.
        evidence: What concerns all jobs.
        sinks: Those that took the verdicts, closed: one each worker.
        sustaining: Looks at what each job's state rests on.
        remembered: What the next cycle has to know of this one.

    """

    plan: Plan
    views: Mapping[str, JobView]
    mark: Mark
    evidence: CycleEvidence
    jobs: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]
    sinks: Sequence[VerdictSink]
    sustaining: Sustaining
    remembered: WorldMemory


def run_cycle(
    outside: Outside,
    settings: StorageRootSettings,
    *,
    reader: RootReader,
    tombstones: Tombstones,
    halted: str | None,
    open_sink: Callable[[], VerdictSink],
    before: Recalled = NOTHING_RECALLED,
) -> Cycle:
    """Return the outcome of one cycle; every object's verdict goes to a sink.

    Raises:
        StorageUnreachableError: The storage root could not be listed completely.
        RefusedError: No job directory is there at all: an empty listing is never taken for an
            empty storage.

    """
    seen = observe(outside, settings, reader)
    bases = [base.location for base in outside.bases]
    siblings = [base.location for base in outside.siblings]
    marked = mark(seen, settings, bases, siblings)
    namings = namings_of(marked, seen, settings, bases)
    look = _look(
        outside,
        marked,
        tombstones,
        wanted=wanted_of(each.files for each in namings),
        is_resumed=seen.listed.is_resumed,
        read=partial(reader.read, outside.storage),
        began=shifted(seen.time.now or seen.time.local, -settings.clock_skew),
        unreached=tuple(seen.unreached),
    )
    surveyed = look.surveyed
    _check_is_storage_root(bases[0], marked, look, seen)
    known = judged_cycle(
        seen,
        outside,
        settings,
        marked=marked,
        surveyed=surveyed,
        namings=namings,
        halted=halted,
        before=before,
    )
    jobs, judged, evidence = known.jobs, known.judged, known.evidence
    inventory = inventory_of(outside.storage)
    listed_at = None if inventory is None else inventory.created_at
    views = {
        key: JobView(job, judged[key], _bounds_of(job, judged[key], evidence, listed_at))
        for key, job in jobs.items()
        if job.is_collected
    }
    deciding = DecidePass(
        owners=marked.owners,
        jobs={key: (view.evidence.job_id, view.bounds) for key, view in views.items()},
        outside_jobs=_outside_jobs(judged.values(), evidence),
        scopes=settings.scopes,
        open_sink=open_sink,
        left_behind={
            key: left
            for key, view in views.items()
            if (left := _left_behind(view, marked, evidence, listed_at)) is not None
        },
    )
    decided = outside.engine.run(deciding, outside.progress)
    views = {key: _with_limits(view, decided.counts, settings) for key, view in views.items()}
    missing = missing_by_job((v.evidence for v in views.values()), look, seen, outside.storage)
    sustaining = sustaining_in(
        outside,
        marked,
        settings,
        jobs=jobs,
        judged=judged,
        missing=missing,
        held=surveyed.held,
        cycle=evidence,
    )
    found = Found(
        seen, look, marked, views, evidence, decided.counts, missing, sustaining, world=known.world
    )
    plan = with_memory(plan_of(found, settings, outside), known.comparison, before.expected)
    return Cycle(
        plan,
        views,
        marked,
        evidence,
        jobs,
        judged,
        decided.sinks,
        sustaining,
        known.comparison.memory,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCycle:
    """What is known before any object is decided on.

    Attributes:
        jobs: Every job's evidence, by job key.
        judged: What stops each of them.
        evidence: What concerns all jobs.
        world: Everything that is searched, named, asked.
        comparison: The cycle held against the memory of earlier ones.

    """

    jobs: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]
    evidence: CycleEvidence
    world: World
    comparison: CycleComparison


def judged_cycle(
    seen: Observation,
    outside: Outside,
    settings: StorageRootSettings,
    *,
    marked: Mark,
    surveyed: Surveyed | None,
    namings: Sequence[Naming],
    halted: str | None,
    before: Recalled,
) -> JudgedCycle:
    """Return the evidence of every job, and what stops it.

    Args:
        seen: What the cycle saw.
        outside: What it asked.
        settings: Settings of the storage root.
        marked: What is live.
        surveyed: What the listing shows; ``None`` for a cycle that lists no objects.
        namings: What names files, and where.
        halted: Reason for which an earlier run stopped all collection, or ``None``.
        before: What earlier cycles left to this one.

    """
    paths = named_outside(
        namings,
        marked,
        seen,
        settings,
        searched=[base.location for base in outside.bases],
        is_listed=lambda names: surveyed is None or next(not_listed(names, surveyed), None) is None,
    )
    held, surveys = ({}, {}) if surveyed is None else (surveyed.held, surveyed.jobs)
    jobs = with_surveys(with_feeds(marked, settings, held), surveys)
    jobs = with_remembered_traces(with_outside_paths(jobs, paths), before.memory)
    sighting = sighting_of(seen, marked, settings, jobs=jobs, outside=outside, before=before.memory)
    comparison = compared(before.memory, sighting, before.given)
    evidence = replace(
        cycle_evidence(seen, settings, is_tested_storage=outside.storage.is_tested, halted=halted),
        empty_places=empty_places(seen, outside, settings),
        unreached_places=unreached_places(seen, settings),
        lost=comparison.facts,
        memory_problem=before.memory_problem,
        state_problem=before.state_problem,
    )
    return JudgedCycle(
        jobs=jobs,
        judged=judge_all(list(jobs.values()), evidence),
        evidence=evidence,
        world=world_of(seen, outside, settings, paths),
        comparison=comparison,
    )


def _check_is_storage_root(base: Location, marked: Mark, look: Looked, seen: Observation) -> None:
    """Make sure that something of Flink's lies below the storage root.

    Raises:
        RefusedError: Nothing does, or nothing of it can be read.

    """
    surveyed = look.surveyed
    if not (surveyed.jobs or seen.unreadable or _is_anything_below(base, marked)):
        raise RefusedError(
            f"no job directory below {base} ({surveyed.objects} objects listed);"
            " is this the storage root? Nothing was planned",
            guard=Guard.NO_ROOTS,
        )
    broken = [each for each in seen.unreadable if not each.is_acknowledged]
    if broken and not marked.jobs:
        raise RefusedError(
            f"cannot read {broken[0].uri}: {broken[0].reason}; nothing was planned",
            guard=Guard.UNREADABLE_ROOT,
        )


def _is_anything_below(base: Location, marked: Mark) -> bool:
    """Return whether a job directory or a checkpoint lies below the storage root itself."""
    places = (*marked.owners.keys, *(root.folder for root in marked.roots))
    return any(base.contains(place) for place in places)


def _look(
    outside: Outside,
    marked: Mark,
    tombstones: Tombstones,
    *,
    wanted: Wanted,
    is_resumed: bool,
    read: ReadsCheckpoint,
    began: datetime,
    unreached: Sequence[Location],
) -> Looked:
    """Return what the listing shows; what lies at or below a pin joins the live set.

    Args:
        outside: What the cycle asks.
        marked: What is live.
        tombstones: Of earlier runs.
        wanted: Names that may be listed though their paths lead elsewhere.
        is_resumed: Whether a part of the listing is older than this cycle.
        read: Reads a checkpoint of the storage root as it is now.
        began: What was stored before, the listing must show.
        unreached: Places that could not be searched.

    """
    base, engine, progress = outside.storage.location, outside.engine, outside.progress
    pins = tuple(key for pin in marked.pinned if (key := _pinned_key(pin, base)) is not None)
    if pins:
        marked.live.parsed.extend(*engine.run(PinnedPass(pins), progress).columns())
    engine.mark(marked.live, tombstones)
    expected = expected_of(marked.roots, base)
    work = SurveyPass(
        owners=marked.owners,
        expected=expected.heads,
        expected_others=expected.others,
        wanted=wanted.uuids,
        wanted_names=wanted.names,
        is_holding=len(marked.jobs) > 1,
    )
    surveyed = engine.run(work, progress)
    missing = missing_of(expected, surveyed, engine, progress)
    missing = confirmed(missing, outside.storage, is_resumed=is_resumed)
    for job in marked.jobs.values():
        if job.latest is not None:
            lacking = missing.of([job.latest], base)
            if lacking and not job.has_standing_latest:
                lacking = lacked_by_newest(lacking, job, outside.storage, read, began=began)
            lacking += missing_outside(job, surveyed, outside.bases, unreached)
            surveyed.job(job.key).missing_of_latest = lacking[:_FEW]
    return Looked(surveyed, missing)


def _pinned_key(pin: Location, base: Location) -> str | None:
    """Return the key that a pin protects: "" is the whole storage root, ``None`` nothing of it."""
    return "" if pin.contains(base) else base.key_of(pin)


def _outside_jobs(judged: Iterable[Judgement], cycle: CycleEvidence) -> JobBounds:
    """Return the bounds of what lies in no job directory: void if all work is."""
    refusals = [each.refused for each in judged]
    is_void = bool(refusals) and all(r is not None and r.guard in GLOBAL_GUARDS for r in refusals)
    return JobBounds(
        is_void=is_void,
        is_ended=False,
        bounds=(),
        oldest_retained_checkpoint_id=None,
        checkpoint_id_margin=0,
        quarantine_start=cycle.now,
        newest_completed_at=NEVER,
    )


def _bounds_of(
    job: JobEvidence, judgement: Judgement, cycle: CycleEvidence, listed_at: datetime | None
) -> JobBounds:
    """Return what the objects of one job are compared with."""
    is_ended = job.state is JobState.ENDED
    newest = [root.modified_at or NEVER for root in job.own_roots]
    return JobBounds(
        is_void=judgement.refused is not None,
        is_ended=is_ended,
        bounds=job_bounds(
            cycle.now,
            cycle.margins,
            is_ended=is_ended,
            own_root_times=[root.modified_at for root in job.bounding_roots],
            registry_times=_registry_times(job),
            listed_at=listed_at,
        ),
        oldest_retained_checkpoint_id=_oldest_retained(job),
        checkpoint_id_margin=cycle.margins.checkpoint_id_margin,
        quarantine_start=shifted(cycle.now, -cycle.margins.quarantine_period),
        newest_completed_at=None if is_ended else max(newest, default=NEVER),
    )


def _left_behind(
    view: JobView, marked: Mark, cycle: CycleEvidence, listed_at: datetime | None
) -> LeftBehind | None:
    """Return the checkpoint of a job that was left behind, and what holds without it."""
    job, judgement = view.evidence, view.judgement
    old = oldest_left_behind(job, before=cycle.now - cycle.margins.grace_period)
    if old is None or judgement.refused is not None:
        return None
    rest = replace(job, own_roots=tuple(r for r in job.own_roots if r.folder != old.folder))
    return LeftBehind(
        checkpoint_id=old.checkpoint_id,
        cutoff=_bounds_of(rest, judgement, cycle, listed_at).cutoff,
        names=named_by_it_alone(old, job, marked.roots),
    )


def _oldest_retained(job: JobEvidence) -> int | None:
    """Return the least id that any root or snapshot of the job, or HA metadata, retains.

    Without roots and snapshots it is unknown, whatever HA metadata says: unknown keeps more.
    """
    ids = [*job.retained_ids[:1]]
    ids += [o for each in job.snapshots if (o := oldest_retained(each)) is not None]
    held = [each for hold in job.holds for each in hold.retained_ids]
    return min([*ids, *held]) if ids else None


def _registry_times(job: JobEvidence) -> list[Bound]:
    """Return R16's bounds: the first snapshot, and ids that were issued and not yet retained."""
    if mode_of(job) is Mode.DERIVED:
        return []
    exported = [each for each in job.snapshots if each.source is Mode.REGISTRY]
    if not exported:
        return [Bound(BoundName.FIRST_SNAPSHOT, None)]
    bounds = [Bound(BoundName.FIRST_SNAPSHOT, exported[0].taken_at)]
    oldest = oldest_retained(exported[0])
    issued = [i.at for each in exported for i in each.issued if oldest is None or i.id > oldest]
    if issued:
        bounds.append(Bound(BoundName.OLDEST_ISSUED, min(issued)))
    return bounds


def _with_limits(view: JobView, counts: Counts, settings: StorageRootSettings) -> JobView:
    """Return the view with the conditions that only the verdicts can show (R17, R20)."""
    unmet = []
    removals = counts.removals[view.evidence.key]
    message = share_problem(
        view.evidence.job_id,
        removals=removals,
        artifacts=view.evidence.survey.flat_artifacts,
        share=settings.delete_share_of(view.evidence.job_id),
    )
    if message is not None:
        unmet.append(Blocked(Condition.MAX_DELETE_SHARE, message))
    if settings.max_deletes is not None and counts.deletions > settings.max_deletes:
        message = f"{counts.deletions} deletions are due, more than {settings.max_deletes}"
        unmet.append(Blocked(Condition.MAX_DELETES, message))
    if counts.revived:
        message = f"{counts.revived[0]} had a tombstone and is referred to again: a proof failed"
        unmet.append(Blocked(Condition.REVIVED, message))
    judgement = replace(view.judgement, blocked=(*view.judgement.blocked, *unmet))
    return replace(view, judgement=judgement)
