"""What becomes of every checkpoint under a retention policy, each with one reason (R40-R43)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from orphangc.core.lineage.continuation import ContinuationSource
from orphangc.core.lineage.lineage_graph import Lineage, LineageCheckpoint, LineageJob
from orphangc.core.lineage.retention_policy import RetentionPolicy, kept_by
from orphangc.core.model.codes import NEED_UNKNOWN, WORLD_CONDITIONS, Condition
from orphangc.core.model.types import JobState
from orphangc.core.times.instants import shifted


class RetentionAction(StrEnum):
    """What a plan of ``expire`` intends for one checkpoint."""

    KEEP = "keep"
    EXPIRE = "expire"


class CheckpointKind(StrEnum):
    """What a row of a plan of ``expire`` is about (column ``scope``), or a mark in a picture."""

    CHECKPOINT = "checkpoint"
    SAVEPOINT = "savepoint"


class RetentionReason(StrEnum):
    """Why; one reason a checkpoint, in the order of ``RULES``."""

    UNKNOWN_JOB = "unknown_job"
    """No job of the searched places is known to have made it: it may live."""
    STOPPED = "stopped"
    """A guard or a condition stops the work on its job."""
    HELD = "held"
    """A pin, HA metadata, a resource, a registry, or a job that may restore it names it (R43)."""
    JOB_NOT_OVER = "job_not_over"
    """Its job may run, or its end is not proven."""
    ORIGIN_UNKNOWN = "origin_unknown"
    """A job may be started from it again: no cycle saw that job, or what it began with (R43)."""
    NOT_COLLECTABLE = "not_collectable"
    """It names files in other places, or is a savepoint that no policy names or others need."""
    MAKER_UNPROVEN = "maker_unproven"
    """Only the name of its folder says which job made it, by six digits of an id."""
    STORE_TIME_UNKNOWN = "store_time_unknown"
    """The storage does not say when it was stored."""
    TOO_YOUNG = "too_young"
    """It was stored, or put back, less than the grace period ago."""
    NO_POLICY = "no_policy"
    """No retention policy is in force."""
    ENDED_RECENTLY = "ended_recently"
    """Its job showed a sign of life within ``ended_for``."""
    LINEAGE_LIVES = "lineage_lives"
    """It is declared dead, and a job that may have continued it is not over, or is not declared."""
    NO_SUCCESSOR = "no_successor"
    """No job is proven that was restored from it, or from a later point of the same run."""
    SUCCESSOR_NEEDS_FILES = "successor_needs_files"
    """The jobs that continued its job need files that are not their own, or may need them (R30)."""
    KEEP_LAST = "keep_last"
    KEEP_WITHIN = "keep_within"
    KEEP_DAILY = "keep_daily"
    KEEP_WEEKLY = "keep_weekly"
    KEEP_MONTHLY = "keep_monthly"
    IN_QUARANTINE = "in_quarantine"
    """Its ``_metadata`` is in quarantine, which is not over."""
    QUARANTINE_OVER = "quarantine_over"
    """Its quarantine is over, and nothing has needed it: its references count no more (R44)."""
    MEANT_TO_BE_DELETED = "meant_to_be_deleted"
    """Flink was to delete it when its job ended, and did not (R40)."""
    SUPERSEDED = "superseded"
    """A running job continued its job, and the policy keeps others of its lineage."""
    LINEAGE_DEAD = "lineage_dead"
    """Its owner declared the lineage dead, by name."""


def may_be_needed(reason: RetentionReason, why: str) -> bool:
    """Return whether something living needs a checkpoint of some fate, or may.

    It may where what stops the work leaves unknown which checkpoints there are, and what they name.
    """
    return reason in _NEEDED or why in NEED_UNKNOWN


_NEEDED = frozenset(
    {
        RetentionReason.UNKNOWN_JOB,
        RetentionReason.HELD,
        RetentionReason.JOB_NOT_OVER,
        RetentionReason.ORIGIN_UNKNOWN,
    }
)
_UNSEEN_JOBS = frozenset(map(str, WORLD_CONDITIONS | {Condition.GATE_NOT_SEEN}))
"""Conditions that stop a job while another one may live unseen: in a place, or of a cluster."""
_UNWANTED_ENDS = frozenset({"CANCELED", "FAILED"})
"""Ends after which a job is to go on; the state of one that is stopped is in a savepoint."""

KEPT_BY_POLICY = frozenset(
    {
        RetentionReason.KEEP_LAST,
        RetentionReason.KEEP_WITHIN,
        RetentionReason.KEEP_DAILY,
        RetentionReason.KEEP_WEEKLY,
        RetentionReason.KEEP_MONTHLY,
    }
)
"""Reasons that are rules of the owner's policy."""

_EXPIRING = frozenset(
    {
        RetentionReason.QUARANTINE_OVER,
        RetentionReason.MEANT_TO_BE_DELETED,
        RetentionReason.SUPERSEDED,
        RetentionReason.LINEAGE_DEAD,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFate:
    """Verdict on one checkpoint."""

    checkpoint: LineageCheckpoint
    lineage: Lineage
    reason: RetentionReason
    why: str = ""

    @property
    def action(self) -> RetentionAction:
        """Return what the reason means for it."""
        return RetentionAction.EXPIRE if self.reason in _EXPIRING else RetentionAction.KEEP

    @property
    def is_needed(self) -> bool:
        """Return whether something living needs it, or may."""
        return may_be_needed(self.reason, self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenOrigin:
    """A job that may be started again from a checkpoint that no cycle saw.

    Attributes:
        job_id: Its id; its key where its folder bears none.
        until: Time before which that checkpoint was stored, or at which.
    """

    key: str
    job_id: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionFacts:
    """What all fates of a cycle depend on.

    Attributes:
        now: Start of the cycle, by the storage's clock.
        hidden: Jobs that may live and whose origin is not known, the youngest one first.
        unclear: Names that declare nothing dead: two resources bore them, a job that is not over
            does, in whatever lineage, or they are ids that come back.
    """

    now: datetime
    min_age: timedelta
    quarantine: timedelta
    policy: RetentionPolicy | None = None
    hidden: tuple[HiddenOrigin, ...] = ()
    names: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class _Common:
    """What all checkpoints of a lineage are judged by, found once."""

    lineage: Lineage
    policy: RetentionPolicy

    @cached_property
    def lasting(self) -> frozenset[int]:
        """Return the identities of the checkpoints that do not go with their job."""
        known = self.lineage.checkpoints
        return frozenset(id(e) for e in known if _lasts(e, self.lineage, self.policy))

    @cached_property
    def doubts(self) -> dict[str, str | None]:
        """Return why each job may not go on, ``None`` if it does, by its key."""
        return {e.key: _doubt_about(e, self.lineage, self.policy) for e in self.lineage.jobs}


@dataclass(frozen=True, kw_only=True)
class _Case:
    checkpoint: LineageCheckpoint
    job: LineageJob
    lineage: Lineage
    facts: RetentionFacts
    policy: RetentionPolicy
    common: _Common

    @cached_property
    def is_dead(self) -> bool:
        is_meant = self.lineage.is_over or not self.job.names.isdisjoint(self.policy.dead)
        return is_meant and self.policy.declares_dead(self.lineage)

    @cached_property
    def is_meant(self) -> bool:
        return is_meant_to_be_deleted(self.checkpoint, self.job)

    @cached_property
    def heirs(self) -> tuple[LineageJob, ...]:
        keys = self.lineage.continued_by(self.checkpoint)
        return tuple(job for job in self.lineage.jobs if job.key in keys)

    @cached_property
    def may_be_heirs(self) -> tuple[LineageJob, ...]:
        return self.lineage.may_be_continued_by(self.checkpoint)

    @cached_property
    def stand_ins(self) -> tuple[LineageCheckpoint, ...]:
        """Return the checkpoints that may stand for it, and do not go with their job."""
        found = self.lineage.stand_ins(self.checkpoint)
        return tuple(each for each in found if id(each) in self.common.lasting)


def fates_of(lineages: Iterable[Lineage], facts: RetentionFacts) -> tuple[CheckpointFate, ...]:
    """Return the fate of every checkpoint of every lineage, oldest lineage first."""
    known = tuple(lineages)
    living = (job.names for each in known for job in each.jobs if not job.is_over)
    facts = replace(
        facts,
        names=frozenset[str]().union(*(each.names for each in known)),
        unclear=facts.unclear.union(*living, _recurring(known)),
    )
    return tuple(fate for lineage in known for fate in _fates(lineage, facts))


def _recurring(lineages: Iterable[Lineage]) -> frozenset[str]:
    """Return the ids that come back: what is said of one may be of an earlier run."""
    return frozenset[str]().union(*(each.recurring_ids for each in lineages))


_Said = tuple[RetentionReason, str]


def _fates(lineage: Lineage, facts: RetentionFacts) -> Iterator[CheckpointFate]:
    policy = facts.policy or _NO_POLICY
    common = _Common(lineage=lineage, policy=policy)
    for checkpoint in lineage.checkpoints:
        case = _Case(
            checkpoint=checkpoint,
            job=lineage.job_at(checkpoint.place) or _NO_JOB,
            lineage=lineage,
            facts=facts,
            policy=policy,
            common=common,
        )
        reason, why = next(said for rule in RULES if (said := rule(case)) is not None)
        yield CheckpointFate(checkpoint=checkpoint, lineage=lineage, reason=reason, why=why)


_NO_JOB = LineageJob(key="", job_id="", places=(), state=JobState.UNKNOWN)
_NO_POLICY = RetentionPolicy()


def _held(case: _Case) -> _Said | None:
    """Something names it (R43)."""
    if not case.checkpoint.holds:
        return None
    kind, by = case.checkpoint.holds[0]
    is_left = kind == "resource" and case.checkpoint.is_savepoint
    left = ": the operator that owns it disposes of it" if is_left else ""
    return RetentionReason.HELD, f"{kind} {by}{left}".strip()


def _origin(case: _Case) -> _Said | None:
    """A job may be started from it again: one that was, and stands on nothing of its own yet.

    Without HA metadata a lost JobManager starts from the first origin again, whatever the job has
    completed since: of one that sources show, ``CheckpointHolds`` asks that.
    """
    for edge in case.lineage.restored_by(case.checkpoint.uri):
        job = case.lineage.job_of_place.get(edge.newer)
        if job is None:
            continue
        is_stated = edge.source is ContinuationSource.STATEMENT and not job.is_over
        if _needs_origin(job, case.lineage) or (is_stated and not job.recovers_from_its_own):
            return RetentionReason.HELD, f"restored_by {job.job_id}"
    return None


def _hidden_origin(case: _Case) -> _Said | None:
    """A job may be started from it again: no cycle saw what that one began with (R43)."""
    stored_at, hidden = case.checkpoint.stored_at, case.facts.hidden
    youngest = next((each for each in hidden if each.key != case.job.key), None)
    if youngest is None or (stored_at is not None and stored_at > youngest.until):
        return None
    count = f" (one of {len(hidden)} such jobs)" if len(hidden) > 1 else ""
    return (RetentionReason.ORIGIN_UNKNOWN, f"job {youngest.job_id}{count} may begin with it again")


def _needs_origin(job: LineageJob, lineage: Lineage) -> bool:
    """Return whether a job may live, and has no checkpoint that stands without its origin."""
    if job.is_over:
        return False
    has_own = any(each.is_restorable for each in lineage.of_job(job))
    return not (has_own and job.is_self_sustained)


def _of_unknown_job(case: _Case) -> _Said | None:
    if case.job is _NO_JOB:
        return RetentionReason.UNKNOWN_JOB, "no job is known to have made it"
    return None


def _job_not_over(case: _Case) -> _Said | None:
    """Its job may run; one that has ended may still be changing."""
    job = case.job
    name = job.job_id or job.key
    if job.is_over:
        return None
    if job.state is not JobState.ENDED:
        why = f"job {name} is {job.state}"
    elif job.problem is not None:
        why = f"job {name} is said to be over, and is not proven to be ({job.problem})"
    else:
        why = (
            f"job {name} is said to be over; its directory has not been still for the quiet period"
        )
    return RetentionReason.JOB_NOT_OVER, why


def _stopped(case: _Case) -> _Said | None:
    problem = case.job.problem
    if problem in _UNSEEN_JOBS:
        return (
            RetentionReason.ORIGIN_UNKNOWN,
            f"{problem}: a job that is not seen may begin with it",
        )
    return None if problem is None else (RetentionReason.STOPPED, problem)


def _not_collectable(case: _Case) -> _Said | None:
    if not case.job.is_of_root:
        return RetentionReason.NOT_COLLECTABLE, "its job belongs to another storage root"
    if not case.checkpoint.is_collectable:
        return RetentionReason.NOT_COLLECTABLE, case.checkpoint.obstacle
    if not case.lineage.is_maker_proven(case.checkpoint.place):
        why = f"only six digits in the name of its folder say that job {case.job.job_id} made it"
        return RetentionReason.MAKER_UNPROVEN, why
    return None


def _too_young(case: _Case) -> _Said | None:
    """It was stored, or put back, less than the grace period ago, or at an unknown time."""
    checkpoint = case.checkpoint
    if checkpoint.stored_at is None:
        return RetentionReason.STORE_TIME_UNKNOWN, ""
    bound = shifted(case.facts.now, -case.facts.min_age)
    if (checkpoint.put_back_at or checkpoint.stored_at) > bound:
        return RetentionReason.TOO_YOUNG, ""
    return None


def _without_policy(case: _Case) -> _Said | None:
    """Its owner wrote no policy: not even what Flink was to delete goes."""
    return (RetentionReason.NO_POLICY, "") if case.facts.policy is None else None


def _ended_recently(case: _Case) -> _Said | None:
    life = case.job.last_life_at
    if case.is_meant:
        return None
    if life is None or life > shifted(case.facts.now, -case.policy.ended_for):
        shown = "" if life is None else f"last sign of life at {life:%Y-%m-%dT%H:%M:%SZ}"
        return RetentionReason.ENDED_RECENTLY, shown
    return None


def _not_dead(case: _Case) -> _Said | None:
    """Something contradicts that it is dead as its owner declared.

    A resource that was deleted and made again runs a job of another lineage under the name that
    was once given up, and that job may be over one day, too.
    """
    lineage, dead = case.lineage, set(case.policy.dead)
    if case.is_meant or not case.is_dead:
        return None
    living = [job for job in lineage.jobs if not job.is_over]
    for job in case.may_be_heirs:
        if not job.is_over:
            return RetentionReason.LINEAGE_LIVES, f"job {job.job_id or job.key} is {job.state}"
    for name in sorted(case.facts.unclear & lineage.names & dead):
        why = (
            f"{name} is of a job that is not over, of two resources, or an id that comes back:"
            " declare it dead by ids or by a resource that nothing else bears"
        )
        return RetentionReason.LINEAGE_LIVES, why
    undeclared = None if living else _undeclared(lineage, dead)
    return None if undeclared is None else (RetentionReason.LINEAGE_LIVES, undeclared)


def _undeclared(lineage: Lineage, dead: Collection[str]) -> str | None:
    last = lineage.last_jobs
    for job in last:
        if len(last) > 1 and job.names.isdisjoint(dead):
            return f"job {job.job_id or job.key} is another branch of it: declare it dead, too"
    named = [job for job in lineage.jobs if not job.names.isdisjoint(dead)]
    given_up = {name for job in named for name in job.resources}
    if len({job.resources for job in lineage.jobs if job.resources}) > 1:
        for job in lineage.jobs:
            if job.resources and given_up.isdisjoint(job.resources):
                return f"{job.resources[0]} ran a job of it: declare it dead, too"
    return None


def _without_successor(case: _Case) -> _Said | None:
    """No proven job was restored from it, or from a later point of its run (R41)."""
    if case.is_meant or case.is_dead:
        return None
    doubts = case.common.doubts
    proven = [job for job in case.heirs if doubts[job.key] is None]
    if not proven:
        return RetentionReason.NO_SUCCESSOR, _why_unproven(case, doubts)
    if not _goes_on_under_its_name(case.job, case.heirs, proven, case.lineage):
        why = f"no running job with a checkpoint continued it as {', '.join(case.job.resources)}"
        return RetentionReason.NO_SUCCESSOR, why
    return None


def _why_unproven(case: _Case, doubts: Mapping[str, str | None]) -> str:
    """Return why no job that may have continued a checkpoint is proven to be its successor."""
    running = next((e for e in case.heirs if e.state is JobState.RUNNING), None)
    if running is not None:
        return f"job {running.job_id} continued it, but {doubts[running.key]}"
    recurring = next(
        (e for e in case.may_be_heirs if e.may_recur and not (e.has_one_origin or e.is_over)), None
    )
    if recurring is not None:
        return (
            f"job {recurring.job_id} may have continued it, and another run may have its id or its"
            " folder: whether the run that lives did is not known"
        )
    if case.job.may_recur and case.may_be_heirs:
        return (
            f"another run may have the id or the folder of job {case.job.job_id}: whether the one"
            " that wrote it was continued is not known"
        )
    return "no running job with a checkpoint continued it"


def _doubt_about(job: LineageJob, lineage: Lineage, policy: RetentionPolicy) -> str | None:
    """Return why a job may not go on; ``None`` if it runs, and stored enough.

    It was RUNNING in both looks, and its newest checkpoint is later than its start by
    ``ended_for``: one that fails again and again takes the place of none. Nor does one for which a
    condition of deletion is unmet: what is not believed for its own files is not for others (R27).
    """
    is_running = job.state is JobState.RUNNING and job.is_running_throughout and not job.is_over
    if not is_running:
        return "it was not RUNNING both before and after the listing"
    if job.is_blocked:
        return f"its own work is stopped ({job.problem})"
    newest = max(lineage.of_job(job), key=lambda each: each.order, default=None)
    if newest is None or newest.stored_at is None or job.started_at is None:
        return "what it has stored since its start is not known"
    if not newest.is_restorable:
        is_looked_for = newest.is_restorable is False
        lack = "lacks a file" if is_looked_for else "has files elsewhere, which were not looked for"
        return f"{newest.uri}, its newest checkpoint, {lack}"
    if newest.stored_at < shifted(job.started_at, policy.ended_for):
        return "it has not run for ended_for since"
    return None


def _goes_on_under_its_name(
    job: LineageJob, heirs: Sequence[LineageJob], running: Sequence[LineageJob], lineage: Lineage
) -> bool:
    """Return whether the resource that ran a job runs one of those that continued it.

    Another resource may have begun from its last savepoint only to try something out. The owner can
    state that it is the successor.
    """
    if not job.resources:
        return True
    stated = {
        edge.newer
        for place in job.places
        for edge in lineage.led_from(place)
        if edge.source is ContinuationSource.STATEMENT
    }
    successors = [each for each in heirs if stated & set(each.places)]
    names = {name for each in (job, *successors) for name in each.resources}
    return any(each in successors or names & set(each.resources) for each in running)


def _successor_needs_files(case: _Case) -> _Said | None:
    """A job that may have continued it needs files that are not its own, or may need them (R30)."""
    for job in () if case.is_meant or case.is_dead else (*case.heirs, *case.may_be_heirs):
        is_free = job.state is JobState.RUNNING and job.is_self_sustained is True
        if not job.is_over and not is_free:
            return RetentionReason.SUCCESSOR_NEEDS_FILES, f"job {job.job_id or job.key}"
    return None


def _kept_by_rules(case: _Case) -> _Said | None:
    if case.is_meant or case.is_dead:
        return None
    policy, names = case.policy, case.facts.names
    for rules in (*policy.rules_of(case.lineage, case.job), *policy.rules_of_unknown(names)):
        name = kept_by(rules, case.stand_ins, case.facts.now).get(case.checkpoint.uri)
        if name is not None:
            return RetentionReason(name), ""
    return None


def _lasts(checkpoint: LineageCheckpoint, lineage: Lineage, policy: RetentionPolicy) -> bool:
    """Return whether a checkpoint can be restored, and neither Flink nor its owner gives it up.

    By default Flink deletes the checkpoints of a job that fails or is cancelled; then an older one
    of the lineage is the last that is left. Formats before 4 do not say.

    Source: Flink 1.15-2.3, ``CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION``.
    """
    job = lineage.job_at(checkpoint.place)
    if not checkpoint.is_restorable or (job and is_meant_to_be_deleted(checkpoint, job)):
        return False
    if job and not job.names.isdisjoint(policy.dead):
        return False
    if checkpoint.is_savepoint or job is None or job.is_over:
        return True
    return checkpoint.deleted_on is not None and checkpoint.deleted_on.isdisjoint(_UNWANTED_ENDS)


def _quarantined(case: _Case) -> _Said | None:
    """Its ``_metadata`` is in quarantine, which is over or not; a tie is not over."""
    since = case.checkpoint.expired_at
    if since is None:
        return None
    if since < shifted(case.facts.now, -case.facts.quarantine):
        return RetentionReason.QUARANTINE_OVER, ""
    until = shifted(since, case.facts.quarantine)
    return RetentionReason.IN_QUARANTINE, f"until {until:%Y-%m-%dT%H:%M:%SZ}"


def is_meant_to_be_deleted(checkpoint: LineageCheckpoint, job: LineageJob) -> bool:
    """Return whether Flink's own policy ordered the deletion of a checkpoint (R40).

    All terminal states that may have been reported must order it. What was stored before the run
    that ended so, after the report, or at an unknown time, may be of another run.
    """
    if checkpoint.is_savepoint or checkpoint.deleted_on is None or not job.ended_as:
        return False
    if checkpoint.stored_at is None or job.ended_between is None:
        return False
    begun, ended = job.ended_between
    return begun < checkpoint.stored_at < ended and job.ended_as <= checkpoint.deleted_on


def _meant_to_be_deleted(case: _Case) -> _Said | None:
    """Flink was to delete it when its job ended, and did not (R40)."""
    if not case.is_meant:
        return None
    return RetentionReason.MEANT_TO_BE_DELETED, ", ".join(sorted(case.job.ended_as))


def _dead(case: _Case) -> _Said | None:
    return (RetentionReason.LINEAGE_DEAD, case.lineage.name) if case.is_dead else None


def _superseded(case: _Case) -> _Said | None:
    """A proven job continued it, and enough other checkpoints stand for it."""
    newest = max(case.stand_ins, key=lambda each: each.order, default=None)
    return RetentionReason.SUPERSEDED, "" if newest is None else newest.uri


RULES: tuple[Callable[[_Case], _Said | None], ...] = (
    _held,
    _origin,
    _of_unknown_job,
    _job_not_over,
    _hidden_origin,
    _stopped,
    _not_collectable,
    _too_young,
    _without_policy,
    _ended_recently,
    _not_dead,
    _without_successor,
    _successor_needs_files,
    _kept_by_rules,
    _quarantined,
    _meant_to_be_deleted,
    _dead,
    _superseded,
)
"""All rules: the first one that speaks decides, the last one always does."""
