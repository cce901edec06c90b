"""What stops each job: its own evidence, and that of every living job that feeds on its files.

*Refused* (void): liveness cannot be known, so every object of the job is ``job_refused``.
*Blocked*: the plan is sound as a report, but a condition of deletion is unmet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orphangc.core.conditions import CONDITIONS, Condition
from orphangc.core.evidence import Check, CycleEvidence, JobEvidence, JobState
from orphangc.core.guards import GUARDS, Guard

__all__ = ["GLOBAL_GUARDS", "Blocked", "Judgement", "Refusal", "judge", "judge_all"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A guard voided the job's work."""

    guard: Guard
    message: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """A condition of deletion is unmet."""

    condition: Condition
    message: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What stops one job: at most one refusal (the first), and every unmet condition."""

    refused: Refusal | None = None
    blocked: tuple[Blocked, ...] = ()


GLOBAL_GUARDS = frozenset({Guard.UNREADABLE_ROOT, Guard.CLOCK_SKEW, Guard.PARSER_DISAGREEMENT})
"""Guards whose objection for one job voids all: the cause is not the job's own."""


def judge(
    job: JobEvidence,
    cycle: CycleEvidence,
    *,
    guards: Mapping[Guard, Check] = GUARDS,
    conditions: Mapping[Condition, Check] = CONDITIONS,
) -> Judgement:
    """Return what stops one job, looking at nothing but its own and the cycle's evidence.

    Args:
        job: The job directory.
        cycle: What concerns all.
        guards: For tests that show what a guard is for by taking it away.
        conditions: The same.

    """
    refusals = (
        Refusal(guard, message)
        for guard, check in guards.items()
        if (message := check(job, cycle)) is not None
    )
    blocked = tuple(
        Blocked(condition, message)
        for condition, check in conditions.items()
        if (message := check(job, cycle)) is not None
    )
    return Judgement(next(refusals, None), blocked)


def judge_all(
    jobs: Sequence[JobEvidence],
    cycle: CycleEvidence,
    *,
    guards: Mapping[Guard, Check] = GUARDS,
    conditions: Mapping[Condition, Check] = CONDITIONS,
) -> dict[str, Judgement]:
    """Return what stops each job, the jobs that depend on its files included (R12).

    A job that may run and whose state refers to another's directory must be proven itself
    before that directory can be judged; chains of restores are followed to their end.
    """
    judged = {job.key: judge(job, cycle, guards=guards, conditions=conditions) for job in jobs}
    common = next(
        (j.refused for j in judged.values() if j.refused and j.refused.guard in GLOBAL_GUARDS), None
    )
    if common is not None and common.guard in guards:
        return {key: Judgement(common, each.blocked) for key, each in judged.items()}
    by_key = {job.key: job for job in jobs}
    own = dict(judged)
    for job in jobs:
        if job.state is not JobState.ENDED:
            _pass_on(own[job.key], job, by_key, judged, cycle=cycle)
    return judged


def _pass_on(
    own: Judgement,
    job: JobEvidence,
    by_key: Mapping[str, JobEvidence],
    judged: dict[str, Judgement],
    *,
    cycle: CycleEvidence,
) -> None:
    """Let what stops a living job stop the jobs whose files it needs."""
    needed, whom = _needed_by(job, by_key), f"job {job.key}, whose state refers to files here,"
    if _may_need_any(job, cycle):
        needed = by_key.keys() - {job.key}
        whom = f"job {job.key}, which may run and need files here, and of which no root was seen,"
    for key in needed:
        judged[key] = _with_refusal_of(own, judged[key], whom) or judged[key]
        judged[key] = _with_block_of(own, judged[key], whom) or judged[key]


def _may_need_any(job: JobEvidence, cycle: CycleEvidence) -> bool:
    """Return whether nobody knows what a job refers to that has, or may have, checkpoints.

    They can come and go faster than every look at them, and nothing else tells of it: no exporter,
    and REST only what it was restored from, which says nothing if that has gone unread. A directory
    that has been still for the quiet period holds no job that nobody shows.
    """
    if job.own_roots or job.exported is not None:
        return False
    if job.facts:
        return job.is_origin_unread
    newest = job.survey.newest_modified_at
    is_quiet = newest is None or newest < cycle.now - cycle.margins.quiet_period
    return bool(job.ids_at_start | job.ids_before | job.ids_after) or not is_quiet


def _needed_by(job: JobEvidence, by_key: Mapping[str, JobEvidence]) -> set[str]:
    """Return the jobs whose files a job needs, along every chain of restores.

    Whatever is between: an ended job, or one that is refused itself, hides nobody behind it.
    """
    found: set[str] = set()
    left = [job.key]
    while left:
        new = (by_key[left.pop()].feeds & by_key.keys()) - found
        found |= new
        left += new
    return found - {job.key}


def _with_refusal_of(own: Judgement, other: Judgement, whom: str) -> Judgement | None:
    if own.refused is None or other.refused is not None:
        return None
    message = f"{whom} is refused: {own.refused.message}"
    return Judgement(Refusal(Guard.DEPENDENT_JOB, message), other.blocked)


def _with_block_of(own: Judgement, other: Judgement, whom: str) -> Judgement | None:
    if not own.blocked or any(b.condition is Condition.DEPENDENT_JOB for b in other.blocked):
        return None
    waiting = Blocked(Condition.DEPENDENT_JOB, f"{whom} is blocked: {own.blocked[0].message}")
    return Judgement(other.refused, (*other.blocked, waiting))
