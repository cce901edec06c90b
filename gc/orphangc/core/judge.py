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
    for _ in jobs:
        changed = False
        for job in jobs:
            changed |= _pass_on(job, judged)
        if not changed:
            break
    return judged


def _pass_on(job: JobEvidence, judged: dict[str, Judgement]) -> bool:
    """Let what stops a living job stop the jobs whose files it needs; return whether it did.

    An ended job passes on only what it received itself: somebody alive stands behind it.
    """
    own, changed = judged[job.key], False
    if job.state is JobState.ENDED:
        own = _received(own)
    whom = f"job {job.key}, whose state refers to files here,"
    for key in job.feeds - {job.key}:
        other = judged.get(key)
        if other is None:
            continue
        passed = _with_refusal_of(own, other, whom) or _with_block_of(own, other, whom)
        if passed is not None:
            judged[key], changed = passed, True
    return changed


def _received(own: Judgement) -> Judgement:
    """Return what of a judgement comes from a job that feeds on this one."""
    is_passed_on = own.refused is not None and own.refused.guard is Guard.DEPENDENT_JOB
    waiting = tuple(b for b in own.blocked if b.condition is Condition.DEPENDENT_JOB)
    return Judgement(own.refused if is_passed_on else None, waiting)


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
