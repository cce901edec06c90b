"""What becomes of every checkpoint under a retention policy, each with one reason (R40-R43)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from orphangc.core.lineage.continuation import ContinuationSource
from orphangc.core.lineage.lineage_graph import Lineage, LineageCheckpoint, LineageJob
from orphangc.core.lineage.retention_policy import RetentionPolicy, kept_by
from orphangc.core.model.types import JobState
from orphangc.core.times.instants import shifted


class RetentionAction(StrEnum):
    """What a plan of ``expire`` intends for one checkpoint."""

    KEEP = "keep"
    EXPIRE = "expire"


class CheckpointKind(StrEnum):
    """What a row of a plan of ``expire`` is about, in the column ``scope``."""

    CHECKPOINT = "checkpoint"
    SAVEPOINT = "savepoint"


class RetentionReason(StrEnum):
    """Why; one reason a checkpoint, in the order in which ``fate_of`` asks."""

    UNKNOWN_JOB = "unknown_job"
    """No job of the searched places is known to have made it."""
    STOPPED = "stopped"
    """A guard or a condition stops the work on its job."""
    HELD = "held"
    """A pin, HA metadata, a resource, a registry, or a job that may restore it names it (R43)."""
    JOB_NOT_OVER = "job_not_over"
    """Its job may run, or its end is not proven."""
    NOT_COLLECTABLE = "not_collectable"
    """It names files in other places, or is a savepoint that no policy names or others need."""
    MAKER_UNPROVEN = "maker_unproven"
    """Only the name of its folder says which job made it, by six digits of an id."""
    STORE_TIME_UNKNOWN = "store_time_unknown"
    """The storage does not say when it was stored."""
    TOO_YOUNG = "too_young"
    """It was stored, or put back, less than the grace period ago."""
    LINEAGE_LIVES = "lineage_lives"
    """Its lineage is declared dead, and a job of it may run, or another branch is not declared."""
    ENDED_RECENTLY = "ended_recently"
    """Its job showed a sign of life within ``ended_for``."""
    NO_POLICY = "no_policy"
    """No retention policy is in force."""
    NO_SUCCESSOR = "no_successor"
    """No job that continued it runs with a checkpoint of its own."""
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


_UNWANTED_ENDS = frozenset({"CANCELED", "FAILED"})
"""Ends after which a job is to go on; the state of one that is stopped is in a savepoint."""

_NEEDED = frozenset({RetentionReason.HELD, RetentionReason.JOB_NOT_OVER})
"""Reasons that say that something living needs a checkpoint, or may."""


def is_needed(reason: RetentionReason) -> bool:
    """Return whether a reason says that something living needs a checkpoint, or may."""
    return reason in _NEEDED


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFate:
    """Verdict on one checkpoint.

    Attributes:
        checkpoint: The checkpoint.
        lineage: Lineage that it belongs to.
        action: Whether it expires.
        reason: Reason of the verdict.
        why: Words for people: what holds it, or which rule keeps it.

    """

    checkpoint: LineageCheckpoint
    lineage: Lineage
    action: RetentionAction
    reason: RetentionReason
    why: str = ""

    @property
    def is_needed(self) -> bool:
        """Return whether something living needs it, or may."""
        return is_needed(self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionFacts:
    """What all fates of a cycle depend on.

    Attributes:
        now: Start of the cycle, by the storage's clock.
        min_age: Age below which no checkpoint expires.
        quarantine: Time that the ``_metadata`` of an expired checkpoint stays in quarantine.
        policy: The owner's policy; ``None`` without one.
        names: Names of all lineages.
        living: Names of all jobs that are not over, in whatever lineage.

    """

    now: datetime
    min_age: timedelta
    quarantine: timedelta
    policy: RetentionPolicy | None = None
    names: frozenset[str] = frozenset()
    living: frozenset[str] = frozenset()


def fates_of(lineages: Iterable[Lineage], facts: RetentionFacts) -> tuple[CheckpointFate, ...]:
    """Return the fate of every checkpoint of every lineage, oldest lineage first."""
    known = tuple(lineages)
    living = (job.names for each in known for job in each.jobs if not job.is_over)
    facts = replace(
        facts,
        names=frozenset[str]().union(*(each.names for each in known)),
        living=frozenset[str]().union(*living),
    )
    return tuple(
        _fate(checkpoint, lineage, facts) for lineage in known for checkpoint in lineage.checkpoints
    )


_Said = tuple[RetentionReason, str]


def _fate(checkpoint: LineageCheckpoint, lineage: Lineage, facts: RetentionFacts) -> CheckpointFate:
    job = lineage.job_at(checkpoint.place)
    kept = _kept_whatever_the_policy(checkpoint, job, lineage, facts)
    if kept is None and job is not None:
        kept = _kept_by_policy(checkpoint, job, lineage, facts) or _quarantined(checkpoint, facts)
    action, (reason, why) = RetentionAction.KEEP, kept or _expires(checkpoint, job, lineage, facts)
    if kept is None:
        action = RetentionAction.EXPIRE
    return CheckpointFate(
        checkpoint=checkpoint, lineage=lineage, action=action, reason=reason, why=why
    )


def _kept_whatever_the_policy(
    checkpoint: LineageCheckpoint,
    job: LineageJob | None,
    lineage: Lineage,
    facts: RetentionFacts,
) -> _Said | None:
    """Return why no policy may let a checkpoint go, ``None`` if one may (R43)."""
    if checkpoint.holds:
        kind, by = checkpoint.holds[0]
        is_left = kind == "resource" and checkpoint.is_savepoint
        left = ": the operator that owns it disposes of it" if is_left else ""
        return RetentionReason.HELD, f"{kind} {by}{left}".strip()
    if job is None:
        return RetentionReason.UNKNOWN_JOB, "no job is known to have made it"
    if not job.is_over:
        return RetentionReason.JOB_NOT_OVER, _not_over(job)
    if job.problem is not None:
        return RetentionReason.STOPPED, job.problem
    elsewhere = _left_where_it_is(checkpoint, job, lineage)
    if elsewhere is not None:
        return elsewhere
    if checkpoint.stored_at is None:
        return RetentionReason.STORE_TIME_UNKNOWN, ""
    if (checkpoint.put_back_at or checkpoint.stored_at) > shifted(facts.now, -facts.min_age):
        return RetentionReason.TOO_YOUNG, ""
    return None


def _not_over(job: LineageJob) -> str:
    """Return why a job does not count as over; one that has ended may still be changing."""
    name = job.job_id or job.key
    if job.state is not JobState.ENDED:
        return f"job {name} is {job.state}"
    if job.problem is not None:
        return f"job {name} is said to be over, and is not proven to be ({job.problem})"
    return f"job {name} is said to be over; its directory has not been still for the quiet period"


def _left_where_it_is(
    checkpoint: LineageCheckpoint, job: LineageJob, lineage: Lineage
) -> _Said | None:
    """Return why a checkpoint is not surely this storage root's to let go, ``None`` if it is."""
    if not job.is_of_root:
        return RetentionReason.NOT_COLLECTABLE, "its job belongs to another storage root"
    if not checkpoint.is_collectable:
        return RetentionReason.NOT_COLLECTABLE, checkpoint.obstacle
    if not lineage.is_maker_proven(checkpoint.place):
        why = f"only six digits in the name of its folder say that job {job.job_id} made it"
        return RetentionReason.MAKER_UNPROVEN, why
    return None


def _kept_by_policy(
    checkpoint: LineageCheckpoint, job: LineageJob, lineage: Lineage, facts: RetentionFacts
) -> _Said | None:
    """Return why the owner's policy keeps a checkpoint, ``None`` if it lets it go."""
    if is_meant_to_be_deleted(checkpoint, job):
        return None
    policy = facts.policy
    if policy is None:
        return RetentionReason.NO_POLICY, ""
    life = job.last_life_at
    if life is None or life > shifted(facts.now, -policy.ended_for):
        shown = "" if life is None else f"last sign of life at {life:%Y-%m-%dT%H:%M:%SZ}"
        return RetentionReason.ENDED_RECENTLY, shown
    if policy.declares_dead(lineage):
        return _not_dead(lineage, policy, facts)
    return _without_successor(checkpoint, job, lineage) or _by_rules(
        checkpoint, lineage, policy, facts
    )


def _quarantined(checkpoint: LineageCheckpoint, facts: RetentionFacts) -> _Said | None:
    """Return that a checkpoint is in quarantine; a tie is not over."""
    since = checkpoint.expired_at
    if since is None or since < shifted(facts.now, -facts.quarantine):
        return None
    return RetentionReason.IN_QUARANTINE, f"since {since:%Y-%m-%dT%H:%M:%SZ}"


def is_meant_to_be_deleted(checkpoint: LineageCheckpoint, job: LineageJob) -> bool:
    """Return whether Flink's own policy ordered the deletion of a checkpoint (R40).

    All terminal states that may have been reported must order it.
    """
    if checkpoint.is_savepoint or checkpoint.deleted_on is None or not job.ended_as:
        return False
    return job.ended_as <= checkpoint.deleted_on


def _not_dead(lineage: Lineage, policy: RetentionPolicy, facts: RetentionFacts) -> _Said | None:
    """Return what contradicts that a lineage is dead, ``None`` if nothing does.

    A resource that was deleted and made again may run a job of another lineage under the name that
    was once given up.
    """
    for job in lineage.jobs:
        if not job.is_over:
            return RetentionReason.LINEAGE_LIVES, f"job {job.job_id or job.key} is {job.state}"
    for name in sorted(facts.living & lineage.names & set(policy.dead)):
        why = f"{name} has a job that is not over: declare it dead by the ids of its own jobs"
        return RetentionReason.LINEAGE_LIVES, why
    last = lineage.last_jobs
    for job in last:
        if len(last) > 1 and job.names.isdisjoint(policy.dead):
            why = f"job {job.job_id or job.key} is another branch of it: declare it dead, too"
            return RetentionReason.LINEAGE_LIVES, why
    return _another_name(lineage, policy)


def _another_name(lineage: Lineage, policy: RetentionPolicy) -> _Said | None:
    """Return a resource of a lineage that its owner did not give up, ``None`` if there is none."""
    named = [job for job in lineage.jobs if not job.names.isdisjoint(policy.dead)]
    given_up = {name for job in named for name in job.resources}
    if len({job.resources for job in lineage.jobs if job.resources}) > 1:
        for job in lineage.jobs:
            if job.resources and given_up.isdisjoint(job.resources):
                why = f"{job.resources[0]} ran a job of it: declare it dead, too"
                return RetentionReason.LINEAGE_LIVES, why
    return None


def _without_successor(
    checkpoint: LineageCheckpoint, job: LineageJob, lineage: Lineage
) -> _Said | None:
    """Return why no job has continued a checkpoint, ``None`` if one has."""
    after = lineage.places_after(job.places, checkpoint.stored_at) - set(job.places)
    heirs = [each for each in lineage.jobs if each.key != job.key and after & set(each.places)]
    own = {each.place for each in lineage.checkpoints if each.is_restorable}
    living = [each for each in heirs if not each.is_over]
    running = [e for e in living if e.state is JobState.RUNNING and own & set(e.places)]
    if not running:
        return RetentionReason.NO_SUCCESSOR, "no running job with a checkpoint continued it"
    if not _goes_on_under_its_name(job, heirs, running, lineage):
        why = f"no running job with a checkpoint continued it as {', '.join(job.resources)}"
        return RetentionReason.NO_SUCCESSOR, why
    for each in living:
        if each not in running or each.is_self_sustained is not True:
            return RetentionReason.SUCCESSOR_NEEDS_FILES, f"job {each.job_id or each.key}"
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
        for edge in lineage.continuations
        if edge.source is ContinuationSource.STATEMENT and edge.older in job.places
    }
    successors = [each for each in heirs if stated & set(each.places)]
    names = {name for each in (job, *successors) for name in each.resources}
    return any(each in successors or names & set(each.resources) for each in running)


def _by_rules(
    checkpoint: LineageCheckpoint,
    lineage: Lineage,
    policy: RetentionPolicy,
    facts: RetentionFacts,
) -> _Said | None:
    """Return the rule that keeps a checkpoint, ``None`` if none does.

    What may stand for it: restorable ones of its own job, and of the jobs that continued it, that
    do not go with their job.
    """
    job = lineage.job_at(checkpoint.place)
    own = {checkpoint.place} if job is None else set(job.places)
    after = lineage.places_after(own, checkpoint.stored_at)
    family = [each for each in lineage.checkpoints if each.place in after and _lasts(each, lineage)]
    for rules in (*policy.rules_of(lineage, job), *policy.rules_of_unknown(facts.names)):
        name = kept_by(rules, family, facts.now).get(checkpoint.uri)
        if name is not None:
            return RetentionReason(name), ""
    return None


def _lasts(checkpoint: LineageCheckpoint, lineage: Lineage) -> bool:
    """Return whether a checkpoint can be restored, and neither Flink nor R40 takes it away.

    By default Flink deletes the checkpoints of a job that fails or is cancelled; then an older one
    of the lineage is the last that is left. Formats before 4 do not say.

    Source: Flink 1.15-2.3, ``CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION``.
    """
    job = lineage.job_at(checkpoint.place)
    if not checkpoint.is_restorable or (job and is_meant_to_be_deleted(checkpoint, job)):
        return False
    if checkpoint.is_savepoint or job is None or job.is_over:
        return True
    return checkpoint.deleted_on is not None and checkpoint.deleted_on.isdisjoint(_UNWANTED_ENDS)


def _expires(
    checkpoint: LineageCheckpoint, job: LineageJob | None, lineage: Lineage, facts: RetentionFacts
) -> _Said:
    if checkpoint.expired_at is not None:
        return RetentionReason.QUARANTINE_OVER, ""
    if job is not None and is_meant_to_be_deleted(checkpoint, job):
        return RetentionReason.MEANT_TO_BE_DELETED, ", ".join(sorted(job.ended_as))
    if facts.policy is not None and facts.policy.declares_dead(lineage):
        return RetentionReason.LINEAGE_DEAD, lineage.name
    return RetentionReason.SUPERSEDED, _superseding(checkpoint, lineage)


def _superseding(checkpoint: LineageCheckpoint, lineage: Lineage) -> str:
    """Return the newest checkpoint that stands for one."""
    after = lineage.places_after([checkpoint.place], checkpoint.stored_at)
    own = (e.uri for e in reversed(lineage.checkpoints) if e.place in after and _lasts(e, lineage))
    return next(own, "")
