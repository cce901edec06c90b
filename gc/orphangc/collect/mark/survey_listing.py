"""What the listing shows, job by job, and what of the live set it lacks; the evidence with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from orphangc.collect.mark.job_dependencies import JobDependencies, dependencies_of
from orphangc.collect.mark.mark import Mark, MarkedCycle
from orphangc.collect.mark.missing import (
    Missing,
    confirmed,
    expected_of,
    lacked_by_newest,
    missing_of,
    missing_outside,
    present_of,
    sample_of,
    wanted_of,
)
from orphangc.collect.mark.since_listing import SinceListing
from orphangc.collect.mark.survey import Surveyed, SurveyPass
from orphangc.collect.observe.observation import Environment
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.decision.evidence import Checkpoint, JobEvidence, Survey
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId
from orphangc.core.times.instants import shifted
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


def survey_listing(
    environment: Environment, cycle: MarkedCycle, tombstones: Tombstones
) -> ListingSurvey:
    """Return the facts of the listing; from here on the engine has live set and tombstones.

    What is below a folder that is not looked into, such as a link, is neither there nor missing:
    it is not asked for, and each such folder refuses every job.

    Raises:
        StorageUnreachableError: A name was listed twice, so the listing cannot be trusted.
    """
    seen, marked = cycle.seen, cycle.mark
    base, engine, progress = environment.storage.location, environment.engine, environment.progress
    engine.mark(marked.live, tombstones)
    expected = expected_of(marked.checkpoints, base).outside(seen.closed)
    directories = {each.directory for each in marked.checkpoints} - {None}
    wanted = wanted_of(each.files for each in cycle.namings)
    work = SurveyPass(
        owners=marked.owners,
        expected=expected.heads,
        expected_others=expected.others,
        wanted=wanted.uuids,
        wanted_names=wanted.names,
        is_holding=len(marked.jobs) > 1 or not directories <= marked.owners.keys.keys(),
    )
    surveyed = engine.run(work, progress)
    missing = missing_of(expected, surveyed, engine, progress)
    missing = confirmed(missing, environment.storage, is_resumed=seen.listed.is_resumed)
    needed = dependencies_of(marked, environment.settings, surveyed.held)
    since = SinceListing.of(seen, environment.storage)
    lacking = _Lacking(
        environment=environment,
        cycle=cycle,
        surveyed=surveyed,
        missing=missing,
        storages=_storages_of_latest(cycle, environment),
        is_listed_now=since is None,
    )
    latest = {
        key: lacking.of_latest(job, job.latest, is_here=job.is_collected or needed[key].may_be_here)
        for key, job in marked.jobs.items()
        if job.latest is not None
    }
    return ListingSurvey(
        surveyed=surveyed if since is None else since.added_to(surveyed, marked.jobs),
        missing=missing,
        missing_of_latest=latest,
        needed=needed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lacking:
    """What the latest checkpoints of jobs lack, by a listing and by the storages beside it."""

    environment: Environment
    cycle: MarkedCycle
    surveyed: Surveyed
    missing: Missing
    storages: Sequence[Storage]
    is_listed_now: bool

    def of_latest(self, job: JobEvidence, latest: Checkpoint, *, is_here: bool) -> list[str]:
        """Return a few files that a job's latest checkpoint lacks."""
        storage = self.environment.storage
        found = self.missing.of([latest], storage.location)
        if found and not job.has_standing_latest:
            found = self._confirmed(found, job)
        if not self.is_listed_now and job.is_collected:  # what an older listing shows may be gone
            keys = sample_of(latest, storage.location, self.cycle.seen.closed)
            there = zip(keys, present_of(keys, storage), strict=True)
            found += self._confirmed([key for key, each in there if each is None], job)
        storages = (*self.environment.bases, *self.storages)
        unreached = tuple(self.cycle.seen.unreached)
        found += missing_outside(job, self.surveyed, storages, unreached, is_sampled=not is_here)
        return found[:_FEW]

    def _confirmed(self, lacking: Sequence[str], job: JobEvidence) -> list[str]:
        storage, time = self.environment.storage, self.cycle.seen.time
        read = partial(self.environment.reader.read, storage)
        began = shifted(time.now or time.local, -self.environment.settings.clock_skew)
        return lacked_by_newest(lacking, job, storage, read, began=began)


def _storages_of_latest(cycle: MarkedCycle, environment: Environment) -> tuple[Storage, ...]:
    """Return the storages that were searched, and hold files that a latest checkpoint names."""
    latest = (job.latest for job in cycle.mark.jobs.values() if job.latest is not None)
    folders = {folder for checkpoint in latest for folder in checkpoint.files}
    bases = [base.location for base in environment.bases]
    outside = [each for each in folders if not any(base.contains(each) for base in bases)]
    return tuple(
        environment.open_storage(found.location)
        for found in cycle.seen.storages
        if any(map(found.contains, outside))
    )


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
