"""Every job with its evidence and with what stops it, before any object is decided on.

The search of whole storages may find jobs that no cluster shows, in directories that the cycle does
not judge. Nothing of them is collected. Only their checkpoints say which files of other jobs they
need. A later checkpoint needs no further ones (T8); a job with ForSt is the exception (R38).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from flinkstate.places.locations import Location
from orphangc.collect.mark.job_dependencies import dependencies_of
from orphangc.collect.mark.mark import Mark, MarkedCycle, cycle_evidence, mark
from orphangc.collect.mark.missing import is_listed
from orphangc.collect.mark.since_listing import listed_at, with_changes_elsewhere
from orphangc.collect.mark.survey_listing import ListingSurvey, gather_evidence
from orphangc.collect.observe.changes_beside import ChangesBeside
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.collect.world.gathered import (
    empty_places,
    named_outside,
    namings_of,
    unreached_places,
    unsearched_storages,
    with_outside_paths,
    world_of,
)
from orphangc.collect.world.recalling import Recalled
from orphangc.collect.world.sighted import sighting_of
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, CycleEvidence, JobEvidence, has_ended
from orphangc.core.decision.flink_traces import with_other_runs, with_remembered_traces
from orphangc.core.decision.judge import Judgement, judge_all
from orphangc.core.dependencies.own_changelog import change_logs_of
from orphangc.core.lineage.expired_checkpoint import written_times
from orphangc.core.memory.compare_cycles import CycleComparison, compared
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import DirectoryLayout, JobId
from orphangc.core.world.known_world import World


def marked_cycle(
    seen: Observation, environment: Environment, *, pinned: UuidSet | None = None
) -> MarkedCycle:
    """Return what an observation shows to be live; see ``mark``."""
    bases = [base.location for base in environment.bases]
    siblings = [base.location for base in environment.siblings]
    marked = mark(seen, bases, siblings, pinned=pinned)
    searched = seen.searched(environment)
    namings = namings_of(marked, seen, searched)
    return MarkedCycle(seen=seen, mark=marked, searched=searched, namings=namings)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCycle:
    """What is known before any object is decided on.

    Attributes:
        judged: What stops each job, also of those that work in place and only the search shows.
        beside: Jobs that only the search shows.
    """

    jobs: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]
    beside: Mapping[str, JobEvidence]
    evidence: CycleEvidence
    world: World
    comparison: CycleComparison

    @property
    def resources(self) -> Mapping[str, tuple[str, ...]]:
        """Return the Kubernetes resources that run each job, or ran it, by job id."""
        return self.comparison.memory.lineage.resources

    @property
    def living_beside(self) -> tuple[JobEvidence, ...]:
        """Return the jobs that only the search shows, and that are not over."""
        return tuple(e for e in self.beside.values() if not has_ended(e, self.evidence))


def judged_cycle(
    cycle: MarkedCycle,
    environment: Environment,
    survey: ListingSurvey | None,
    *,
    halted: str | None,
    before: Recalled,
) -> JudgedCycle:
    """Return the evidence of every job, and what stops it.

    A cycle that lists no objects has no ``survey``, the facts of the listing.
    """
    seen, marked = cycle.seen, cycle.mark
    paths = named_outside(
        cycle.namings,
        marked,
        seen,
        searched=cycle.searched,
        is_listed=lambda names: survey is None or is_listed(names, survey.surveyed),
    )
    jobs = with_outside_paths(gather_evidence(marked, environment.settings, survey), paths)
    jobs = with_other_runs(with_remembered_traces(jobs, before.memory), before.memory)
    changes = ChangesBeside.of(seen.storages)
    jobs = _changed_elsewhere(jobs, environment, changes)
    listing_time = listed_at(seen, environment.storage)
    world = world_of(seen, environment, paths)
    sighting = sighting_of(
        seen,
        marked,
        jobs=jobs,
        environment=environment,
        before=before.memory,
        world=world,
        savepoint_folders=survey.surveyed.savepoints if survey and listing_time is None else None,
    )
    comparison = compared(before.memory, sighting, before.given)
    now = _evidence_now(seen, environment, world, before=before, halted=halted)
    evidence = replace(now, listed_at=listing_time, lost=comparison.facts)
    fixed_ids = comparison.memory.lineage.fixed_ids
    beside = jobs_beside(seen, marked, jobs, changes, fixed_ids=fixed_ids)
    beside = _changed_elsewhere(beside, environment, changes)
    working = with_needs(working_in_place(beside), marked, environment.settings, survey)
    return JudgedCycle(
        jobs=jobs,
        judged=judge_all([*jobs.values(), *working], evidence),
        beside=beside,
        evidence=evidence,
        world=world,
        comparison=comparison,
    )


def _changed_elsewhere(
    jobs: Mapping[str, JobEvidence], environment: Environment, changes: ChangesBeside
) -> dict[str, JobEvidence]:
    return {
        key: with_changes_elsewhere(job, environment, changes.by_place) for key, job in jobs.items()
    }


def _evidence_now(
    seen: Observation,
    environment: Environment,
    world: World,
    *,
    before: Recalled,
    halted: str | None,
) -> CycleEvidence:
    """Return what concerns all jobs, but for what only a comparison with earlier cycles shows."""
    is_tested = environment.storage.is_tested
    return replace(
        cycle_evidence(seen, is_tested_storage=is_tested, halted=halted or before.halted),
        empty_places=empty_places(world, environment),
        unreached_places=unreached_places(seen, environment),
        unsearched_storages=unsearched_storages(seen, world.outside),
        memory_problem=before.memory_problem,
        state_problem=before.state_problem,
        written_at=written_times(before.memory.expired),
    )


def jobs_beside(
    seen: Observation,
    marked: Mark,
    jobs: Mapping[str, JobEvidence],
    changes: ChangesBeside,
    *,
    fixed_ids: Collection[str],
) -> dict[str, JobEvidence]:
    """Return the jobs that the search shows in no directory that the cycle judges, by directory.

    A copy of a judged job's directory is no other job, unless another run may have its id. A
    change log is of the job whose checkpoint names it, wherever its base path is.
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
        str(place): _beside(place, checkpoints, seen.settings, changes)
        for place, checkpoints in own.items()
        if place not in judged and place.name not in ids and (checkpoints or place not in logs)
    }


def _beside(
    place: Location,
    checkpoints: Sequence[Checkpoint],
    settings: StorageRootSettings,
    changes: ChangesBeside,
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
        changed_elsewhere_at=changes.of_job(job_id, places, checkpoints),
        is_listed_beside=changes.lists(places),
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
