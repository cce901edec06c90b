"""Checks of ``doctor`` for jobs: which can never be collected with this configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orphangc.app.render.advice import condition_advice, guard_advice
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import JobState

PASSING: frozenset[str] = frozenset(
    {
        Guard.FUTURE_TIME,
        Guard.UNSTABLE_ROOT,
        Condition.NOT_QUIET,
        Condition.GATE_NOT_SEEN,
    }
)
"""Guards and conditions that may be satisfied in the next cycle without a change of settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One reason why jobs can never be collected.

    Attributes:
        code: Name of the guard or condition.
        message: Its message.
        remedy: The action that would lift it.

    """

    code: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacles:
    """Reasons why the jobs of one storage root can never be collected.

    Attributes:
        jobs: Number of jobs below the storage root.
        common: Obstacles that all of several jobs share.
        own: First obstacle of each job that is not common, by job key.

    """

    jobs: int
    common: tuple[Obstacle, ...]
    own: Mapping[str, Obstacle]


def obstacles_of(jobs: Mapping[str, JobEvidence], judged: Mapping[str, Judgement]) -> Obstacles:
    """Return the lasting obstacles of the jobs below the storage root."""
    found = {
        key: tuple(_lasting(job, judged[key])) for key, job in jobs.items() if job.is_collected
    }
    shared = [each for each in next(iter(found.values()), ()) if len(found) > 1]
    common = tuple(each for each in shared if all(each in some for some in found.values()))
    first = {
        key: next((each for each in found[key] if each not in common), None)
        for key in sorted(found)
    }
    own = {key: each for key, each in first.items() if each is not None}
    return Obstacles(jobs=len(found), common=common, own=own)


def _lasting(job: JobEvidence, judgement: Judgement) -> Iterator[Obstacle]:
    """Yield the obstacles that no waiting lifts, a refusal first."""
    refused = judgement.refused
    if refused is not None and not _is_passing(refused.guard, job):
        remedy = guard_advice(refused.guard)
        yield Obstacle(code=refused.guard, message=refused.message, remedy=remedy)
    for each in judgement.blocked:
        if not _is_passing(each.condition, job):
            remedy = condition_advice(each.condition)
            yield Obstacle(code=each.condition, message=each.message, remedy=remedy)


def _is_passing(code: str, job: JobEvidence) -> bool:
    """Return whether waiting may lift it: a running job completes its first checkpoint one day."""
    return code in PASSING or (code == Guard.NO_ROOTS and job.state is JobState.RUNNING)
