"""Jobs that the search of whole storages alone shows, in no directory that the cycle judges.

Nothing is collected of them, and no cluster shows them: what their checkpoints name is all that is
known of what they need. Of others' files they never name more (T8), but for ForSt (R38).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from flinkstate.places.locations import Location
from orphangc.collect.mark.job_dependencies import dependencies_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.mark.survey_listing import ListingSurvey
from orphangc.collect.observe.observation import Observation
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.dependencies.own_changelog import change_logs_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import DirectoryLayout, JobId


def jobs_beside(
    seen: Observation,
    marked: Mark,
    jobs: Mapping[str, JobEvidence],
    settings: StorageRootSettings,
    *,
    fixed_ids: Collection[str],
) -> dict[str, JobEvidence]:
    """Return the jobs that the search shows in no directory that the cycle judges, by directory.

    A copy of a judged job's directory is no other job, unless another run may have its id. A
    change log is of the job whose checkpoint names it, wherever its base path is.

    Args:
        jobs: Jobs that the cycle judges.
        fixed_ids: Job ids that a cluster's configuration was seen to choose.
    """
    judged = {each for job in jobs.values() for each in job.directories}
    logs = change_logs_of(marked.checkpoints)
    ids = {e.job_id for e in jobs.values() if not (e.is_id_fixed or e.job_id in fixed_ids)}
    own: dict[Location, list[Checkpoint]] = {
        place: [] for each in seen.storages for place in each.directories
    }
    for each in marked.checkpoints:
        if each.directory is not None:
            own.setdefault(each.directory, []).append(each)
    return {
        str(place): _beside(place, checkpoints, settings, seen)
        for place, checkpoints in own.items()
        if place not in judged and place.name not in ids and (checkpoints or place not in logs)
    }


def _beside(
    place: Location,
    checkpoints: Sequence[Checkpoint],
    settings: StorageRootSettings,
    seen: Observation,
) -> JobEvidence:
    """Return what is known of one: the search looked at its directory once."""
    job_id, places = JobId(place.name), (place,)
    ids = frozenset(each.checkpoint_id for each in checkpoints)
    return JobEvidence(
        key=str(place),
        job_id=job_id,
        is_collected=False,
        is_declared_ended=settings.is_declared_ended(job_id, by_id=True)
        or settings.is_declared_ended_elsewhere(job_id, places, has_trace=True),
        directories=places,
        own_checkpoints=tuple(checkpoints),
        ids_at_start=ids,
        ids_before=ids,
        ids_after=ids,
        changed_beside_at=seen.changed_beside(places, checkpoints),
    )


def working_in_place(beside: Mapping[str, JobEvidence]) -> dict[str, JobEvidence]:
    """Return the jobs whose database may read files that no checkpoint names (R38).

    Source: Flink 2.0-2.3, ``DataTransferStrategyBuilder.buildForRestore``.
    """
    return {
        key: job
        for key, job in beside.items()
        if any(DirectoryLayout.FORST in each.layouts for each in job.own_checkpoints)
    }


def with_needs(
    beside: Mapping[str, JobEvidence],
    marked: Mark,
    settings: StorageRootSettings,
    survey: ListingSurvey | None,
) -> list[JobEvidence]:
    """Return these jobs with the keys of the jobs whose files their checkpoints name (R12)."""
    held = survey.surveyed.held if survey else {}
    needed = dependencies_of(replace(marked, jobs=dict(beside)), settings, held)
    return [replace(job, depends_on=needed[key].jobs) for key, job in beside.items()]
