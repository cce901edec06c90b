"""What the listing shows, job by job, and what of the live set it lacks; the evidence with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flinkstate.places.locations import Location
from orphangc.collect.mark.job_dependencies import JobDependencies, dependencies_of
from orphangc.collect.mark.mark import Mark
from orphangc.collect.mark.missing import Missing, Wanted, expected_of, missing_of, missing_outside
from orphangc.collect.mark.missing_check import (
    ReadsCheckpoint,
    confirmed,
    lacked_by_newest,
    present_of,
    sample_of,
)
from orphangc.collect.mark.since_listing import SinceListing
from orphangc.collect.mark.survey import Surveyed, SurveyPass
from orphangc.collect.observe.observation import Environment
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, JobEvidence, Survey
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId
from orphangc.ports import Storage

_FEW = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingSurvey:
    """Facts of the listing, and names that it lacks.

    Attributes:
        missing_of_latest: A few files that the latest checkpoint refers to and nothing shows, by
            job key (R8).
    """

    surveyed: Surveyed
    missing: Missing
    missing_of_latest: Mapping[str, Sequence[str]]
    needed: Mapping[str, JobDependencies]

    def of_job(self, key: str) -> Survey:
        """Return what is shown of one job."""
        lacking = list(self.missing_of_latest.get(key, ()))
        return replace(self.surveyed.jobs.get(key, Survey()), missing_of_latest=lacking)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyQuestions:
    """Questions to a survey beside its counts.

    Attributes:
        wanted: Names that may be listed although their paths lead to another place.
        needed: Returns the places of each job's state, from the live UUIDs that are listed.
        since: What is known since an older listing; ``None`` if it is wholly of this cycle.
        storages: Storages that were searched, and hold files that a latest checkpoint names.
        closed: Keys of folders that are not looked into, such as links; each refuses every job.
            What is below one is neither there nor missing: it is not asked for.
    """

    wanted: Wanted
    needed: Callable[[Mapping[str, UuidSet]], Mapping[str, JobDependencies]]
    is_resumed: bool
    since: SinceListing | None
    read: ReadsCheckpoint
    began: datetime
    unreached: Sequence[Location]
    storages: Sequence[Storage] = ()
    closed: frozenset[str] = frozenset()


def survey_listing(
    environment: Environment, marked: Mark, tombstones: Tombstones, questions: SurveyQuestions
) -> ListingSurvey:
    """Return the facts of the listing; from here on the engine has live set and tombstones.

    Raises:
        StorageUnreachableError: A name was listed twice, so the listing cannot be trusted.
    """
    base, engine, progress = environment.storage.location, environment.engine, environment.progress
    engine.mark(marked.live, tombstones)
    expected = expected_of(marked.checkpoints, base).outside(questions.closed)
    work = SurveyPass(
        owners=marked.owners,
        expected=expected.heads,
        expected_others=expected.others,
        wanted=questions.wanted.uuids,
        wanted_names=questions.wanted.names,
        is_holding=len(marked.jobs) > 1 or _is_any_beside(marked),
    )
    surveyed = engine.run(work, progress)
    missing = missing_of(expected, surveyed, engine, progress)
    missing = confirmed(missing, environment.storage, is_resumed=questions.is_resumed)
    needed = questions.needed(surveyed.held)
    lacking = _lacking(environment, surveyed, missing, questions, needed=needed)
    latest = {key: lacking(job) for key, job in marked.jobs.items() if job.latest is not None}
    if questions.since is not None:
        surveyed = questions.since.added_to(surveyed, marked.jobs)
    return ListingSurvey(
        surveyed=surveyed, missing=missing, missing_of_latest=latest, needed=needed
    )


def _is_any_beside(marked: Mark) -> bool:
    directories = {each.directory for each in marked.checkpoints} - {None}
    return not directories <= marked.owners.keys.keys()


def _gone_since(
    job: JobEvidence, latest: Checkpoint, storage: Storage, questions: SurveyQuestions
) -> list[str]:
    """Return files of the latest checkpoint that an older listing shows and that are gone (R8)."""
    keys = sample_of(latest, storage.location, questions.closed)
    gone = [key for key, each in zip(keys, present_of(keys, storage), strict=True) if each is None]
    return lacked_by_newest(gone, job, storage, questions.read, began=questions.began)


def _lacking(
    environment: Environment,
    surveyed: Surveyed,
    missing: Missing,
    questions: SurveyQuestions,
    *,
    needed: Mapping[str, JobDependencies],
) -> Callable[[JobEvidence], list[str]]:
    """Return the function that gives a few files that a job's latest checkpoint lacks."""
    storage = environment.storage

    def of_latest(job: JobEvidence) -> list[str]:
        found = [] if job.latest is None else missing.of([job.latest], storage.location)
        if found and not job.has_standing_latest:
            found = lacked_by_newest(found, job, storage, questions.read, began=questions.began)
        if questions.since is not None and job.is_collected and job.latest is not None:
            found += _gone_since(job, job.latest, storage, questions)
        is_here = job.is_collected or needed[job.key].may_be_here
        storages = (*environment.bases, *questions.storages)
        found += missing_outside(
            job, surveyed, storages, questions.unreached, is_sampled=not is_here
        )
        return found[:_FEW]

    return of_latest


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
