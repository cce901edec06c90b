"""The evidence of every job: what was marked, what it depends on, what the listing shows of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orphangc.collect.mark.job_dependencies import dependencies_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.mark.survey_listing import ListingSurvey
from orphangc.core.decision.evidence import JobEvidence, Survey
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId


def gather_evidence(
    marked: Mark, settings: StorageRootSettings, survey: ListingSurvey | None
) -> dict[str, JobEvidence]:
    """Return the evidence of every job by job key, each made once.

    A job directory that only the listing shows has no checkpoints and no state.

    Args:
        survey: Facts of the listing; ``None`` for a cycle that lists no objects.
    """
    needed = dependencies_of(marked, settings, {}) if survey is None else survey.needed
    known = {
        key: replace(
            job,
            depends_on=needed[key].jobs,
            is_origin_unread=needed[key].is_origin_unread,
            survey=Survey() if survey is None else survey.of_job(key),
        )
        for key, job in marked.jobs.items()
    }
    return known | {each.key: each for each in _only_listed(marked, survey)}


def _only_listed(marked: Mark, survey: ListingSurvey | None) -> Iterator[JobEvidence]:
    """Yield the job directories that nothing but the listing shows."""
    if survey is None:
        return
    for key in survey.surveyed.jobs:
        if key not in marked.jobs:
            yield JobEvidence(
                key=key,
                job_id=JobId(key if "/" not in key else ""),
                is_collected=True,
                is_declared_ended=False,
                survey=survey.of_job(key),
            )
