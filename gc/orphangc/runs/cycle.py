"""One complete cycle: observe, mark, survey, judge, decide. It changes nothing anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from orphangc.core.bounds import NEVER, Bound, BoundName, JobBounds, job_bounds
from orphangc.core.conditions import Condition
from orphangc.core.evidence import CycleEvidence, JobEvidence, JobState, mode_of
from orphangc.core.judge import GLOBAL_GUARDS, Blocked, Judgement, judge_all
from orphangc.core.model import Mode, ObjectKey, Tombstone
from orphangc.core.plan import Plan
from orphangc.core.settings import StorageRootSettings
from orphangc.core.snapshot import oldest_retained
from orphangc.errors import RefusedError
from orphangc.ports import VerdictSink
from orphangc.runs.mark import Mark, cycle_evidence, mark, with_feeds, with_surveys
from orphangc.runs.observe import Outside, observe
from orphangc.runs.planning import Found, plan_of
from orphangc.runs.roots import RootReader
from orphangc.runs.survey import survey
from orphangc.runs.verdicts import Counts, Deciding, JobView, decide_all

__all__ = ["Cycle", "run_cycle"]


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

    """

    plan: Plan
    views: Mapping[str, JobView]
    mark: Mark
    evidence: CycleEvidence
    jobs: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]


def run_cycle(
    outside: Outside,
    settings: StorageRootSettings,
    *,
    reader: RootReader,
    tombstones: Mapping[ObjectKey, Tombstone],
    halted: str | None,
    sink: VerdictSink,
) -> Cycle:
    """Return the outcome of one cycle; every object's verdict goes to the sink.

    Raises:
        StorageUnreachableError: The storage root could not be listed completely.
        RefusedError: No job directory is there at all: an empty listing is never taken for an
            empty storage.

    """
    seen = observe(outside, settings, reader)
    bases = [base.location for base in outside.bases]
    marked = mark(seen, settings, bases)
    surveyed = survey(outside.spool, bases[0], marked, outside.extra)
    if not (surveyed.jobs or marked.owners or marked.roots or seen.unreadable):
        raise RefusedError(
            f"no job directory below {bases[0]} ({surveyed.objects} objects listed);"
            " is this the storage root? Nothing was planned"
        )
    broken = [each for each in seen.unreadable if not each.is_acknowledged]
    if broken and not marked.jobs:
        raise RefusedError(f"cannot read {broken[0].uri}: {broken[0].reason}; nothing was planned")
    evidence = cycle_evidence(
        seen, settings, is_tested_storage=outside.storage.is_tested, halted=halted
    )
    jobs = with_surveys(with_feeds(marked, settings, surveyed.held), surveyed.jobs)
    judged = judge_all(list(jobs.values()), evidence)
    views = {
        key: JobView(job, judged[key], _bounds_of(job, judged[key], evidence))
        for key, job in jobs.items()
        if job.is_collected
    }
    deciding = Deciding(
        base=bases[0],
        views=views,
        marked=marked,
        tombstones=tombstones,
        outside_jobs=_outside_jobs(judged.values(), evidence),
        scopes=settings.scopes,
    )
    counts = decide_all(deciding, outside.spool, sink=sink, progress=outside.progress)
    views = {key: _with_limits(view, counts, settings) for key, view in views.items()}
    found = Found(seen, surveyed, marked, views, evidence, counts)
    plan = plan_of(found, settings, outside.storage)
    return Cycle(plan, views, marked, evidence, jobs, judged)


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


def _bounds_of(job: JobEvidence, judgement: Judgement, cycle: CycleEvidence) -> JobBounds:
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
            own_root_times=[root.modified_at for root in job.own_roots],
            registry_times=_registry_times(job),
        ),
        oldest_retained_checkpoint_id=_oldest_retained(job),
        checkpoint_id_margin=cycle.margins.checkpoint_id_margin,
        quarantine_start=cycle.now - cycle.margins.quarantine_period,
        newest_completed_at=None if is_ended else max(newest, default=NEVER),
    )


def _oldest_retained(job: JobEvidence) -> int | None:
    """Return the least id that any root or snapshot of the job retains."""
    ids = [*job.retained_ids[:1]]
    ids += [o for each in job.snapshots if (o := oldest_retained(each)) is not None]
    return min(ids, default=None)


def _registry_times(job: JobEvidence) -> list[Bound]:
    """Return R16's bounds: the first snapshot, and ids that were issued and not yet retained."""
    if mode_of(job) is Mode.DERIVED:
        return []
    exported = [each for each in job.snapshots if each.source is Mode.REGISTRY]
    bounds = [Bound(BoundName.FIRST_SNAPSHOT, exported[0].taken_at)]
    oldest = oldest_retained(exported[0])
    issued = [i.at for each in exported for i in each.issued if oldest is None or i.id > oldest]
    if issued:
        bounds.append(Bound(BoundName.OLDEST_ISSUED, min(issued)))
    return bounds


def _with_limits(view: JobView, counts: Counts, settings: StorageRootSettings) -> JobView:
    """Return the view with the conditions that only the verdicts can show (R17, R20)."""
    unmet = []
    listed, removals = view.evidence.survey.objects, counts.removals[view.evidence.key]
    if listed and removals > settings.max_delete_share * listed:
        share = f"{settings.max_delete_share:.0%}"
        message = f"{removals} of {listed} objects would go, more than {share}"
        unmet.append(Blocked(Condition.MAX_DELETE_SHARE, message))
    if settings.max_deletes is not None and counts.deletions > settings.max_deletes:
        message = f"{counts.deletions} deletions are due, more than {settings.max_deletes}"
        unmet.append(Blocked(Condition.MAX_DELETES, message))
    if counts.revived:
        message = f"{counts.revived[0]} had a tombstone and is referred to again: a proof failed"
        unmet.append(Blocked(Condition.REVIVED, message))
    judgement = replace(view.judgement, blocked=(*view.judgement.blocked, *unmet))
    return replace(view, judgement=judgement)
