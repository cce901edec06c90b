"""Phase 4 as one call: bounds of every job, verdict for every object, limits of a sweep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from orphangc.collect.decide.abandoned_savepoints import SAVEPOINTS, AbandonedSavepoints
from orphangc.collect.decide.judged_cycle import JudgedCycle
from orphangc.collect.decide.verdicts import Counts, DecidePass, JobView, decided_job
from orphangc.collect.mark.mark import Mark
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.observe.expired_checkpoints import released_names
from orphangc.collect.observe.observation import Environment
from orphangc.core.decision.bounds_of_job import area_facts_of, bounds_of_job, bounds_outside_jobs
from orphangc.core.decision.conditions import share_problem
from orphangc.core.decision.evidence import CycleEvidence
from orphangc.core.decision.judge import Blocked
from orphangc.core.decision.leftover_checkpoints import (
    LeftBehind,
    named_by_it_alone,
    oldest_left_behind,
)
from orphangc.core.model.codes import Condition
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Scope
from orphangc.ports import VerdictSink


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedListing:
    """Every listed object decided on.

    Attributes:
        views: Collected jobs by job key, each with the conditions that only verdicts can show.
        savepoints: Folders of savepoints whose files may go.
        savepoints_kept: Warning about abandoned folders of savepoints that are kept.
    """

    views: Mapping[str, JobView]
    counts: Counts
    sinks: Sequence[VerdictSink]
    savepoints: frozenset[str]
    savepoints_kept: str | None


def decide_listing(
    environment: Environment,
    marked: Mark,
    known: JudgedCycle,
    *,
    open_sink: Callable[[], VerdictSink],
    savepoints: AbandonedSavepoints | None = None,
) -> DecidedListing:
    """Return the counts of all verdicts; every object's verdict goes to a sink."""
    settings = environment.settings
    earlier = environment.storage.earlier
    listed_at = None if earlier is None else earlier.begun_at
    views = {
        key: JobView(
            job,
            known.judged[key],
            bounds_of_job(job, known.judged[key], known.evidence, listed_at),
            area_facts_of(job, known.evidence),
        )
        for key, job in known.jobs.items()
        if job.is_collected
    }
    deciding = DecidePass(
        owners=marked.owners,
        jobs={key: decided_job(view) for key, view in views.items()},
        outside_jobs=bounds_outside_jobs(known.judged.values(), known.evidence),
        areas=frozenset(settings.scope),
        open_sink=open_sink,
        savepoints=savepoints,
        released=released_names(environment.released, CheckpointReader.of(settings)),
        left_behind={
            key: left
            for key, view in views.items()
            if (left := _left_behind(view, marked, known.evidence, listed_at)) is not None
        },
    )
    decided = environment.engine.run(deciding, environment.progress)
    problem = _savepoints_problem(decided.counts, settings)
    return DecidedListing(
        views={key: _with_limits(view, decided.counts, settings) for key, view in views.items()},
        counts=decided.counts,
        sinks=decided.sinks,
        savepoints=frozenset() if savepoints is None or problem is not None else savepoints.folders,
        savepoints_kept=None if savepoints is None else savepoints.warning(problem),
    )


def _left_behind(
    view: JobView, marked: Mark, cycle: CycleEvidence, listed_at: datetime | None
) -> LeftBehind | None:
    job, judgement = view.evidence, view.judgement
    old = oldest_left_behind(job, before=cycle.now - cycle.margins.grace_period)
    if old is None or judgement.refused is not None:
        return None
    rest = replace(
        job, own_checkpoints=tuple(r for r in job.own_checkpoints if r.folder != old.folder)
    )
    return LeftBehind(
        checkpoint_id=old.checkpoint_id,
        cutoff=bounds_of_job(rest, judgement, cycle, listed_at).cutoff,
        names=named_by_it_alone(old, job, marked.checkpoints),
    )


def _with_limits(view: JobView, counts: Counts, settings: StorageRootSettings) -> JobView:
    """Return the view with the conditions that only the verdicts can show (R17, R20)."""
    unmet = []
    message = _share_problem(view, counts, settings)
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


def _savepoints_problem(counts: Counts, settings: StorageRootSettings) -> str | None:
    """Return why too much would go of all savepoints together (R20)."""
    listed = sum(
        number for (scope, *_), number in counts.objects.items() if scope is Scope.SAVEPOINT
    )
    return share_problem(
        "JOB",
        removals=counts.removals[SAVEPOINTS, False],
        artifacts=listed,
        share=settings.delete_share_of(""),
        what="files of savepoints",
    )


def _share_problem(view: JobView, counts: Counts, settings: StorageRootSettings) -> str | None:
    """Return why too much would go of ``shared/`` alone, or of all areas together (R20)."""
    key = view.evidence.key
    parts = {"files in shared/": ((key, True),), "files in all areas": ((key, True), (key, False))}
    messages = (
        share_problem(
            view.evidence.job_id,
            removals=sum(counts.removals[each] for each in part),
            artifacts=sum(counts.candidates[each] for each in part),
            share=settings.delete_share_of(view.evidence.job_id),
            what=what,
        )
        for what, part in parts.items()
    )
    return next((message for message in messages if message is not None), None)
