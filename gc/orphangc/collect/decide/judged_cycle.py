"""Every job with its evidence and with what stops it, before any object is decided on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orphangc.collect.mark.gather_evidence import gather_evidence
from orphangc.collect.mark.mark import Mark, cycle_evidence
from orphangc.collect.mark.missing import is_listed
from orphangc.collect.mark.since_listing import listed_at
from orphangc.collect.mark.survey_listing import ListingSurvey
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.collect.world.gathered import (
    empty_places,
    unreached_places,
    unsearched_storages,
    world_of,
)
from orphangc.collect.world.outside_names import named_outside, with_outside_paths
from orphangc.collect.world.recalling import Recalled
from orphangc.collect.world.sighted import sighting_of
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence
from orphangc.core.decision.flink_traces import with_other_runs, with_remembered_traces
from orphangc.core.decision.judge import Judgement, judge_all
from orphangc.core.lineage.expired_checkpoint import written_times
from orphangc.core.memory.compare_cycles import CycleComparison, compared
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.world import OutsidePath, World
from orphangc.core.world.outside_naming import Naming


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCycle:
    """What is known before any object is decided on."""

    jobs: Mapping[str, JobEvidence]
    judged: Mapping[str, Judgement]
    evidence: CycleEvidence
    world: World
    comparison: CycleComparison


def judged_cycle(
    seen: Observation,
    environment: Environment,
    settings: StorageRootSettings,
    *,
    marked: Mark,
    survey: ListingSurvey | None,
    namings: Sequence[Naming],
    halted: str | None,
    before: Recalled,
) -> JudgedCycle:
    """Return the evidence of every job, and what stops it.

    Args:
        survey: Facts of the listing; ``None`` for a cycle that lists no objects.
    """
    paths = named_outside(
        namings,
        marked,
        seen,
        settings,
        searched=seen.searched(environment),
        is_listed=lambda names: survey is None or is_listed(names, survey.surveyed),
    )
    jobs = with_outside_paths(gather_evidence(marked, settings, survey), paths)
    jobs = with_other_runs(with_remembered_traces(jobs, before.memory), before.memory)
    listing_time = listed_at(seen, environment.storage)
    shown = None if survey is None or listing_time is not None else survey.surveyed
    sighting = sighting_of(
        seen,
        marked,
        settings,
        jobs=jobs,
        environment=environment,
        before=before.memory,
        savepoint_folders=None if shown is None else shown.savepoints,
    )
    comparison = compared(before.memory, sighting, before.given)
    evidence = replace(
        _evidence_now(seen, environment, settings, paths, halted=halted),
        lost=comparison.facts,
        memory_problem=before.memory_problem,
        state_problem=before.state_problem,
        listed_at=listing_time,
        written_at=written_times(before.memory.expired),
    )
    return JudgedCycle(
        jobs=jobs,
        judged=judge_all(list(jobs.values()), evidence),
        evidence=evidence,
        world=world_of(seen, environment, settings, paths),
        comparison=comparison,
    )


def _evidence_now(
    seen: Observation,
    environment: Environment,
    settings: StorageRootSettings,
    paths: Sequence[OutsidePath],
    *,
    halted: str | None,
) -> CycleEvidence:
    """Return what this cycle shows by itself, whatever earlier ones saw."""
    is_tested = environment.storage.is_tested
    return replace(
        cycle_evidence(seen, settings, is_tested_storage=is_tested, halted=halted),
        empty_places=empty_places(seen, environment, settings),
        unreached_places=unreached_places(seen, environment, settings),
        unsearched_storages=unsearched_storages(seen, paths),
    )
