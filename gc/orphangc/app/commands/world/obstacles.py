"""Checks of ``doctor`` for jobs: what stops each of them, now, and whether that passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orphangc.app.render.advice import condition_advice, guard_advice
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.model.codes import Condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One reason why jobs are not collected.

    Attributes:
        may_pass: Whether waiting may lift it, without a change of settings.
    """

    code: str
    message: str
    remedy: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacles:
    """Reasons why the jobs of one storage root are not collected.

    Attributes:
        own: First obstacle of each job that is not common, by job key.
    """

    jobs: int
    common: tuple[Obstacle, ...]
    own: Mapping[str, Obstacle]


def obstacles_of(jobs: Mapping[str, JobEvidence], judged: Mapping[str, Judgement]) -> Obstacles:
    """Return the obstacles of the jobs below the storage root, a halt and lasting ones first."""
    found = {
        key: tuple(sorted(_obstacles(judged[key]), key=_rank))
        for key, job in jobs.items()
        if job.is_collected
    }
    shared = [each for each in next(iter(found.values()), ()) if len(found) > 1]
    common = tuple(each for each in shared if all(each in some for some in found.values()))
    first = {
        key: next((each for each in found[key] if each not in common), None)
        for key in sorted(found)
    }
    own = {key: each for key, each in first.items() if each is not None}
    return Obstacles(jobs=len(found), common=common, own=own)


def _rank(obstacle: Obstacle) -> tuple[bool, bool]:
    return obstacle.code != Condition.HALTED, obstacle.may_pass


def _obstacles(judgement: Judgement) -> Iterator[Obstacle]:
    """Yield everything that stops a job, a refusal first."""
    refused = judgement.refused
    if refused is not None:
        yield Obstacle(
            code=refused.guard,
            message=refused.message,
            remedy=guard_advice(refused.guard),
            may_pass=refused.may_pass,
        )
    for each in judgement.blocked:
        yield Obstacle(
            code=each.condition,
            message=each.message,
            remedy=condition_advice(each.condition),
            may_pass=each.may_pass,
        )
