"""Refusals and blocks of each job: its own, and those of living jobs that need its files.

*Refused*: liveness cannot be known, so every object of the job is ``job_refused``.
*Blocked*: the plan is sound as a report, but a condition of deletion is unmet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orphangc.core.areas.table import AREAS
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.evidence import Check, CycleEvidence, JobEvidence, has_ended, is_quiet
from orphangc.core.decision.guards import GUARDS, is_present_run_read
from orphangc.core.exporter.exporter_answer import exported_problem
from orphangc.core.groups import reached
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.job_folders import CHECKPOINT
from orphangc.core.model.types import AreaName, JobState


@dataclass(frozen=True, slots=True)
class Refusal:
    """Refusal of the job's work by a guard.

    Attributes:
        may_pass: Whether waiting may lift it, without a change of settings.
    """

    guard: Guard
    message: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """A condition of deletion is unmet.

    Attributes:
        may_pass: Whether waiting may lift it, without a change of settings.
    """

    condition: Condition
    message: str
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What stops one job: at most one refusal (the first), and every unmet condition.

    Attributes:
        spared: Areas of a refused job whose rules need nothing that its guards ask for (R56).
        is_contradicted: Whether any guard found that a job which is said to be over is not.
    """

    refused: Refusal | None = None
    blocked: tuple[Blocked, ...] = ()
    spared: frozenset[AreaName] = frozenset()
    is_contradicted: bool = False

    @property
    def is_wholly_refused(self) -> bool:
        """Return whether no file of the job is judged."""
        return self.refused is not None and not self.spared

    def stops(self, area: AreaName) -> bool:
        """Return whether the refusal is about an area's files too."""
        return self.refused is not None and area not in self.spared


_PASSING = frozenset({Condition.NOT_QUIET, Condition.GATE_NOT_SEEN})
"""Conditions that the next cycle may find lifted without a change of settings."""


def judge(
    job: JobEvidence,
    cycle: CycleEvidence,
    *,
    guards: Mapping[Guard, Check] = GUARDS,
    conditions: Mapping[Condition, Check] = CONDITIONS,
) -> Judgement:
    """Return what refuses or blocks one job, by its own and the cycle's evidence alone."""
    refusals = tuple(
        Refusal(guard, message, job.state in guard.facts.passes_while)
        for guard, check in guards.items()
        if (message := check(job, cycle)) is not None
    )
    blocked = tuple(
        Blocked(condition, message, _may_pass(condition, cycle))
        for condition, check in conditions.items()
        if (message := check(job, cycle)) is not None
    )
    spared = _spared(refusals) if job.state is JobState.RUNNING else frozenset()
    return Judgement(
        refused=next(iter(refusals), None),
        blocked=blocked,
        spared=spared,
        is_contradicted=any(each.guard.facts.contradicts_end for each in refusals),
    )


def _may_pass(condition: Condition, cycle: CycleEvidence) -> bool:
    """Return whether the next cycle may find it lifted: one of its causes is known to pass.

    A cluster that is down may show the job when it answers.
    """
    if condition is Condition.JOB_STATE_UNKNOWN:
        return bool(cycle.source_errors)
    return condition in _PASSING


def _spared(refusals: Sequence[Refusal]) -> frozenset[AreaName]:
    """Return the areas that withstand every refusal of a running job (R56).

    Of a job that is over, a refusal for its layout is of a layout that is none of Flink's own.
    """
    guards = {each.guard for each in refusals}
    return frozenset(name for name, area in AREAS.items() if guards and guards <= area.withstands)


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
        (j.refused for j in judged.values() if j.refused and j.refused.guard.facts.is_global), None
    )
    if common is not None and common.guard in guards:
        return {key: Judgement(common, each.blocked) for key, each in judged.items()}
    by_key = {job.key: job for job in jobs}
    own = dict(judged)
    for job in jobs:
        if not is_over(job, own[job.key], cycle):
            _pass_on(own[job.key], job, by_key, judged, cycle=cycle)
    return judged


def is_over(job: JobEvidence, judgement: Judgement, cycle: CycleEvidence) -> bool:
    """Return whether a job has ended for whatever it needs of others, and no guard contradicts."""
    return has_ended(job, cycle) and not judgement.is_contradicted


def _pass_on(
    own: Judgement,
    job: JobEvidence,
    by_key: Mapping[str, JobEvidence],
    judged: dict[str, Judgement],
    *,
    cycle: CycleEvidence,
) -> None:
    shown = f"job {job.key}"
    if not job.is_collected and job.directories:
        shown += f" of {job.directories[0].parent}"
    needed, whom = _needed_by(job, by_key), f"{shown}, whose state refers to files here,"
    others = by_key.keys() - {job.key}
    if _is_unread(job, cycle):
        needed, whom = (others, f"{shown}, whose checkpoints nobody read, may need files here, and")
    for key in needed:
        judged[key] = _with_refusal_of(own, judged[key], whom) or judged[key]
        if own.blocked:
            message = f"{whom} is blocked: {own.blocked[0].message}"
            passes = any(each.may_pass for each in own.blocked)
            judged[key] = _with_block(judged[key], message, may_pass=passes)
    if not _is_unread(job, cycle) and (doubt := _doubt_about(job, cycle)) is not None:
        for key in others:
            judged[key] = _with_block(judged[key], doubt, may_pass=True)


def _is_unread(job: JobEvidence, cycle: CycleEvidence) -> bool:
    """Return whether a job may have checkpoints, or was restored from one, and none was read.

    They may come and go between any two scans, or be in a place that was not searched. REST names
    only the origin of a running job, which proves nothing if it was not read, and none before the
    job has its execution graph, when all that is here may be of an earlier run; an exporter that
    answers reports everything. A leftover of an earlier run proves nothing of the present one.
    """
    if _is_answered(job, cycle):
        return False
    if any(
        each.incarnation is None and not each.is_globally_terminal
        for each in job.after or job.before
    ):
        return True
    if job.own_checkpoints:
        return job.is_origin_unread and not is_present_run_read(job)
    if _is_seen_running(job):
        return job.is_origin_unread
    seen = job.ids_at_start | job.ids_before | job.ids_after
    if seen or any(hold.retained_ids for hold in job.holds):
        return True
    if _is_shown(job):
        return job.is_origin_unread
    return any(hold.is_of_unfinished for hold in job.holds)


def _doubt_about(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """Return why a job that no cluster shows may still need any file.

    Checkpoints of it came and went between the scans, or its directory still gets new objects
    though no scan shows a checkpoint.
    """
    if _is_answered(job, cycle) or _is_shown(job) or has_ended(job, cycle):
        return None
    advice = "" if job.is_declared_ended else ", declare it ended with --ended-job"
    if job.ids_passed:
        what = f"{CHECKPOINT}{max(job.ids_passed)} of it came and went before it was read"
        until = "run again"
    else:
        newest = job.survey.newest_modified_at
        is_still = is_quiet(newest, cycle.now, cycle.margins.quiet_period)
        if job.own_checkpoints or is_still or newest is None:
            return None
        what = f"no checkpoint of it was seen, and its directory changed at {newest.isoformat()}"
        until = "wait until it has been still for the quiet period"
    return (
        f"job {job.key} may run, and need files here: {what}; show it with"
        f" --flink-rest{advice}, or {until}"
    )


def _is_seen_running(job: JobEvidence) -> bool:
    return all(
        any(not facts.is_globally_terminal for facts in side) for side in (job.before, job.after)
    )


def _is_shown(job: JobEvidence) -> bool:
    """Return whether REST showed the job before and after: what it was restored from is known.

    A job without any checkpoint needs files of nothing else, suspended or not.
    """
    return bool(job.before and job.after) and not job.unplaced


def _is_answered(job: JobEvidence, cycle: CycleEvidence) -> bool:
    if job.exported is None:
        return False
    problem = exported_problem(job.exported, now=cycle.now, clock_skew=cycle.margins.clock_skew)
    return problem is None


def _needed_by(job: JobEvidence, by_key: Mapping[str, JobEvidence]) -> set[str]:
    """Return the jobs whose files a job needs, along every chain of restores.

    An ended or refused job in such a chain hides no other job behind it.
    """
    return reached([job.key], lambda key: by_key[key].depends_on & by_key.keys()) - {job.key}


def _with_refusal_of(own: Judgement, other: Judgement, whom: str) -> Judgement | None:
    """Return the judgement, refused in every area; its own refusal stays, as the nearest cause."""
    if own.refused is None:
        return None
    if other.refused is not None:
        return replace(other, spared=frozenset())
    message = f"{whom} is refused: {own.refused.message}"
    refusal = Refusal(Guard.DEPENDENT_JOB, message, own.refused.may_pass)
    return Judgement(refusal, other.blocked)


def _with_block(judgement: Judgement, message: str, *, may_pass: bool) -> Judgement:
    """Return the judgement, blocked by a job that may need files here; one such block is enough."""
    if any(each.condition is Condition.DEPENDENT_JOB for each in judgement.blocked):
        return judgement
    waiting = Blocked(Condition.DEPENDENT_JOB, message, may_pass)
    return replace(judgement, blocked=(*judgement.blocked, waiting))
