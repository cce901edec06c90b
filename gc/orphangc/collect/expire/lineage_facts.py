"""Lineages of one cycle: jobs, checkpoints and what needs them, from everything that it saw.

Pins, retained checkpoints and origins must not expire whatever a policy says (R43).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flinkstate.places.locations import Location, canonical, places_of
from orphangc.collect.cycle import Cycle
from orphangc.collect.dependencies.checkpoint_holds import CheckpointHolds, Hold
from orphangc.collect.dependencies.origins import (
    OriginFacts,
    hidden_origins,
    recovers,
    shown_origins,
)
from orphangc.collect.expire.savepoint_folders import NO_SAVEPOINTS, SavepointFolders
from orphangc.core.cluster.job_facts import shows_no_origin
from orphangc.core.decision.evidence import Checkpoint, JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.groups import grouped
from orphangc.core.lineage.checkpoint_fates import (
    CheckpointFate,
    HiddenOrigin,
    RetentionFacts,
    fates_of,
)
from orphangc.core.lineage.continuation import (
    Continuation,
    ContinuationSource,
    resource_continuations,
)
from orphangc.core.lineage.lineage_graph import Lineage, LineageCheckpoint, LineageJob, lineages_of
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.lineage.stated_origins import ShownOrigins, stated_continuations
from orphangc.core.memory.job_lives import SavepointMakers, is_flink_rest, placed
from orphangc.core.memory.remembered import RememberedJob, WorldMemory
from orphangc.core.model.codes import NEED_UNKNOWN
from orphangc.core.model.types import JobState
from orphangc.core.times.instants import shifted


def holds_of(
    cycle: Cycle, facts: OriginFacts, *, self_sustained: Collection[str]
) -> CheckpointHolds:
    """Return everything that holds a checkpoint.

    Args:
        self_sustained: Keys of the jobs that need no file that is not their own.
    """
    over = facts.over
    free = {
        key
        for key, job in facts.jobs.items()
        if key in over or (key in self_sustained and recovers(job))
    }
    whole = cycle.foreign_usages.holds
    named = (
        *whole.named,
        *_registered(cycle),
        *_shown_by_flink(cycle, over),
        *((at, ("restored_by", by)) for at, by in shown_origins(facts, free)),
    )
    return CheckpointHolds(named, whole.pinned)


_Held = tuple[Location, Hold]


def _registered(cycle: Cycle) -> Iterator[_Held]:
    for snapshot in cycle.seen.answers.snapshots:
        for place in places_of(snapshot.checkpoint_paths, cycle.seen.settings.aliases):
            yield place, ("registry", snapshot.job_id)


def _shown_by_flink(cycle: Cycle, over: Collection[str]) -> Iterator[_Held]:
    """Yield the checkpoints that clusters show of jobs that are not over."""
    for key, job in cycle.known.jobs.items():
        if key in over:
            continue
        paths = [each.external_path for facts in job.facts for each in facts.checkpoints]
        for place in places_of(paths, cycle.seen.settings.aliases):
            yield place, ("job", job.job_id)


_RUNNING = "RUNNING"
_End = tuple[frozenset[str], tuple[datetime, datetime] | None]
_NO_END: _End = (frozenset(), None)
_SCATTERED = "not all of its files are in the storage root"
_OF_ANOTHER = "another storage root, which overlaps with this one, has it in quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleLineages:
    """Lineages of one cycle.

    Attributes:
        lineages: All of them, the one without a sign of life for longest first.
        by_folder: Every checkpoint that was read, by its folder.
        facts: What the fates of all of them depend on.
        impossible: Statements of the policy that cannot be true, as sentences.
    """

    lineages: tuple[Lineage, ...]
    by_folder: dict[str, Checkpoint]
    facts: RetentionFacts
    impossible: tuple[str, ...] = ()

    def fates(self) -> tuple[CheckpointFate, ...]:
        """Return the fate of every checkpoint, oldest lineage first."""
        return fates_of(self.lineages, self.facts)

    def without(self, folders: Collection[str]) -> CycleLineages:
        """Return the lineages, where the checkpoints in some folders count as not restorable."""

        def judged(lineage: Lineage) -> Lineage:
            checkpoints = (
                replace(each, is_restorable=each.is_restorable and each.uri not in folders)
                for each in lineage.checkpoints
            )
            return replace(lineage, checkpoints=tuple(checkpoints))

        return replace(self, lineages=tuple(map(judged, self.lineages)))


def cycle_lineages(
    cycle: Cycle,
    *,
    policy: RetentionPolicy | None = None,
    savepoints: SavepointFolders = NO_SAVEPOINTS,
    asks_usage: bool = True,
) -> CycleLineages:
    """Return the lineages of a cycle, with the edges that earlier cycles saw.

    Args:
        asks_usage: Whether it is asked if living jobs need foreign files, which a policy must know
            and which may list single folders.
    """
    known = cycle.origin_facts
    jobs = [_job(job, cycle, asks_usage=asks_usage) for job in known.found.values()]
    free = {job.key for job in jobs if job.is_self_sustained or not asks_usage}
    holds = holds_of(cycle, known, self_sustained=free)
    checkpoints = list(_checkpoints(cycle, holds, savepoints))
    stated = {} if policy is None else policy.continued
    edges, problems = _edges(cycle, jobs, checkpoints, stated)
    hidden = hidden_origins(known, stated=_stated_origins(jobs, edges))
    return CycleLineages(
        lineages=lineages_of(jobs, checkpoints, edges, fixed_ids(cycle)),
        by_folder={str(each.folder): each for each in cycle.mark.checkpoints},
        facts=retention_facts(cycle, policy, hidden),
        impossible=tuple(problems),
    )


def _checkpoints(
    cycle: Cycle, holds: CheckpointHolds, savepoints: SavepointFolders
) -> Iterator[LineageCheckpoint]:
    read = (*cycle.seen.first, *cycle.seen.second)
    stored = {(str(each.folder), each.sha256) for part in read for each in part.checkpoints}
    expired = {
        (each.uri, each.sha256): each.expired_at
        for each in cycle.remembered.expired
        if each.is_in_quarantine and (each.uri, each.sha256) not in stored
    }
    of_others = cycle.seen.quarantined - {canonical(uri) for uri, _ in (*stored, *expired)}
    base = cycle.mark.owners.base
    for each in cycle.mark.checkpoints:
        identity, is_of_another = (str(each.folder), each.sha256), each.folder in of_others
        written_at = cycle.evidence.written_at.get(identity, each.modified_at)
        is_back = each.modified_at is not None and written_at != each.modified_at
        is_ordered = each.deleted_on is not None and not each.is_unclaimed
        is_away = is_of_another or identity in expired
        obstacle = savepoints.obstacles.get(each.folder, _SCATTERED)
        yield LineageCheckpoint(
            uri=str(each.folder),
            place=str(each.directory or each.folder),
            checkpoint_id=each.checkpoint_id,
            is_savepoint=each.directory is None or each.is_savepoint is True,
            stored_at=written_at if is_back else each.modified_at,
            sha256=each.sha256,
            is_restorable=not is_away and _is_restorable(each, cycle, savepoints),
            is_collectable=not is_of_another and _is_collectable(each, base, savepoints),
            obstacle=_OF_ANOTHER if is_of_another else obstacle,
            holds=tuple(holds.of(each.folder)),
            deleted_on=frozenset(each.deleted_on or ()) if is_ordered else None,
            operators=each.operators,
            stateful=each.stateful,
            expired_at=expired.get(identity),
            put_back_at=each.modified_at if is_back else None,
        )


def _edges(
    cycle: Cycle,
    jobs: Sequence[LineageJob],
    checkpoints: Sequence[LineageCheckpoint],
    stated: Mapping[str, str],
) -> tuple[list[Continuation], list[str]]:
    known, facts = cycle.remembered.lineage, cycle.origin_facts
    seen = tuple(_of_one_maker(known.continuations, cycle.remembered))
    from_nothing = {
        each.job_id for each in facts.jobs.values() if _began_anew(each, facts.known(each))
    }
    unique = Counter(job.job_id for job in jobs if job.job_id)
    unlike = {job.job_id: job for job in jobs if job.places and unique[job.job_id] == 1}
    directories = {job_id: job.places[0] for job_id, job in unlike.items()}
    ran = resource_continuations(known.resource_jobs, directories, from_nothing)
    shown = ShownOrigins(
        edges=seen,
        from_nothing=from_nothing - fixed_ids(cycle),
        clock_skew=cycle.seen.settings.margins.clock_skew,
    )
    more, problems = stated_continuations(
        stated, unlike, checkpoints, at=cycle.evidence.now, shown=shown
    )
    return [*seen, *ran, *more], problems


def _of_one_maker(edges: Iterable[Continuation], memory: WorldMemory) -> Iterator[Continuation]:
    """Yield the edges without those by the contents of a savepoint that two jobs may have made.

    Jobs of one code that were started together have the same ids at the same times; one that was
    stopped may have left nothing but its savepoint.
    """
    makers = SavepointMakers.of(memory.jobs, memory.directories)
    for edge in edges:
        is_by_contents = edge.source is ContinuationSource.SAVEPOINT_CONTENTS
        if not is_by_contents or makers.maker(edge.newer, ()) is not None:
            yield edge


def _stated_origins(jobs: Iterable[LineageJob], edges: Iterable[Continuation]) -> set[str]:
    stated = {
        edge.newer
        for edge in edges
        if edge.source is ContinuationSource.STATEMENT
        and (edge.checkpoint or edge.older == edge.newer)
    }
    return {job.key for job in jobs if not stated.isdisjoint(job.places)}


def retention_facts(
    cycle: Cycle, policy: RetentionPolicy | None, hidden: tuple[HiddenOrigin, ...]
) -> RetentionFacts:
    """Return what all fates of a cycle depend on."""
    bearers = grouped(cycle.remembered.lineage.resource_jobs, lambda each: each.resource)
    return RetentionFacts(
        now=cycle.evidence.now,
        min_age=cycle.seen.settings.margins.grace_period,
        quarantine=cycle.seen.settings.margins.quarantine_period,
        policy=policy,
        hidden=hidden,
        unclear=frozenset(
            name for name, own in bearers.items() if len({each.identity for each in own}) > 1
        ),
    )


def fixed_ids(cycle: Cycle) -> frozenset[str]:
    """Return the job ids that this cycle or an earlier one saw a cluster's configuration choose."""
    return frozenset(cycle.remembered.lineage.fixed_ids)


def _job(job: JobEvidence, cycle: Cycle, *, asks_usage: bool) -> LineageJob:
    facts = cycle.origin_facts
    known, is_job_over = facts.known(job), job.key in facts.over
    is_end_known = is_job_over and not job.is_id_fixed and job.job_id not in fixed_ids(cycle)
    own = placed(known, job.directories)
    ended_as, between = _end_of(job, own, cycle) if is_end_known else _NO_END
    alive = [each.alive_at for each in known if each.alive_at is not None]
    changed = [] if job.changed_at is None else [job.changed_at]
    oldest = [each.modified_at for each in job.own_checkpoints if each.modified_at is not None]
    oldest += [] if job.survey.oldest_modified_at is None else [job.survey.oldest_modified_at]
    return LineageJob(
        key=job.key,
        job_id=job.job_id,
        places=tuple(map(str, job.directories)),
        state=job.state,
        is_of_root=job.key in cycle.known.jobs
        and any(map(cycle.mark.owners.base.contains, job.directories)),
        is_over=is_job_over,
        problem=_problem(job, cycle),
        is_blocked=bool(cycle.known.judged.get(job.key, Judgement()).blocked),
        last_life_at=max((*alive, *changed), default=None),
        first_life_at=min(oldest, default=None),
        started_at=_started_at(job, own),
        is_running_throughout=all(job.sides) and all(e.status == _RUNNING for e in job.facts),
        may_recur=job.is_id_fixed,
        has_one_origin=job.key in facts.single,
        began_otherwise=_began_otherwise(job, own, facts.restores[job.key]),
        resources=facts.resources.get(job.job_id, ()),
        is_self_sustained=_is_self_sustained(job, cycle)
        if asks_usage and not is_job_over
        else None,
        recovers_from_its_own=recovers(job),
        ended_as=ended_as,
        ended_between=between,
    )


def _started_at(job: JobEvidence, known: Iterable[RememberedJob]) -> datetime | None:
    began = (each.began_at for each in known if each.ended_at is None)
    times = (*(each.started_at for each in job.facts), *began)
    return min((at for at in times if at is not None), default=None)


def _began_otherwise(
    job: JobEvidence, known: Iterable[RememberedJob], restores: Iterable[Continuation]
) -> bool:
    """Return whether a run of a job surely began with another state than cycles saw it restored.

    A cycle saw it restored from nothing, or it has a checkpoint that is no later than what it was
    restored from.

    Source: Flink 1.15-2.3, ``CheckpointCoordinator.restoreSavepoint``: ids go on above that one;
    operator 1.14-1.16, ``SessionJobReconciler.deploy``: a job that is lost keeps its id.
    """
    if any(map(shows_no_origin, job.facts)) or any(each.is_from_nothing for each in known):
        return True
    oldest = min((each.checkpoint_id for each in job.own_checkpoints), default=None)
    ids = (e.checkpoint_id for e in restores if e.source is ContinuationSource.REST)
    return oldest is not None and any(oldest <= each for each in ids if each is not None)


def _began_anew(job: JobEvidence, known: Sequence[RememberedJob]) -> bool:
    """Return whether a cycle saw a job begin from nothing, and none saw it restored."""
    is_restored = any(e.restored for e in job.facts) or any(e.restored for e in known)
    is_stated = any(snapshot.restored for snapshot in job.snapshots)
    was_seen = any(each.began_anew for each in placed(known, job.directories))
    return (was_seen or any(map(shows_no_origin, job.facts))) and not (is_restored or is_stated)


def _problem(job: JobEvidence, cycle: Cycle) -> str | None:
    """Return the guard or condition that stops the work on a job, or on all that may expire.

    One that leaves unknown what needs its files comes before any other.
    """
    if cycle.evidence.missed is not None:
        return cycle.evidence.missed.condition
    judgement = cycle.known.judged.get(job.key, Judgement())
    refused = () if judgement.refused is None else (str(judgement.refused.guard),)
    found = (*refused, *(str(each.condition) for each in judgement.blocked))
    return next((each for each in found if each in NEED_UNKNOWN), next(iter(found), None))


def _is_self_sustained(job: JobEvidence, cycle: Cycle) -> bool | None:
    """Return whether a living job needs no file that is not its own; ``None`` if unknown (R30)."""
    if job.state is not JobState.RUNNING or not job.own_checkpoints:
        return None
    everything, *_ = cycle.foreign_usages.check(job.key)
    return everything.value


def _end_of(job: JobEvidence, known: Iterable[RememberedJob], cycle: Cycle) -> _End:
    """Return the terminal states that Flink itself reported, and of which time's run (R40).

    From the start of the last JobManager to the report, which is of now or earlier; clocks differ.
    An end that only a job in its place shows may be none: its JobManager was lost.
    """
    shown = [each for each in known if is_flink_rest(each.by) and each.ended_at is not None]
    if job.is_proven_ended:
        states = frozenset(each.status for each in job.facts)
        begun, ended = {each.started_at for each in job.facts}, cycle.evidence.now
    elif shown and all(map(_is_reported, shown)):
        states = frozenset(state for each in shown for state in each.ended_as)
        begun = {each.started_at for each in shown if each.started_at is not None}
        ended = min(each.ended_at for each in shown if each.ended_at is not None)
    else:
        return _NO_END
    skew = cycle.seen.settings.margins.clock_skew
    return states, (shifted(max(begun), skew), shifted(ended, -skew)) if begun else None


def _is_reported(record: RememberedJob) -> bool:
    """Return whether one state alone is possible: that of a report, or of a stop's savepoint."""
    return len(record.ended_as) == 1


def _is_restorable(
    checkpoint: Checkpoint, cycle: Cycle, savepoints: SavepointFolders
) -> bool | None:
    """Return whether every file that it names was found, ``None`` if not all were looked for.

    A folder elsewhere is looked at where the policy names it.
    """
    base = cycle.mark.owners.base
    if cycle.survey.missing.of([checkpoint], base):
        return False
    if all(map(base.contains, checkpoint.files)):
        return True
    return checkpoint.folder in savepoints.whole if checkpoint.folder in savepoints.sizes else None


def _is_collectable(checkpoint: Checkpoint, base: Location, savepoints: SavepointFolders) -> bool:
    """Return whether its files are collected once nothing names them.

    No rule collects the folders of savepoints, which belong to no job directory: its owner's
    policy alone does.
    """
    if checkpoint.directory is None:
        return checkpoint.folder in savepoints.collectable
    if not base.contains(checkpoint.folder):
        return False
    return all(base.contains(folder) for folder in checkpoint.files)
