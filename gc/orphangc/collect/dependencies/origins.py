"""Checkpoints with which jobs that may live begin again (R43).

HA metadata names a checkpoint of the job's own, and a lost JobManager goes on from that. Without
any it begins with the job's first origin again, whatever the job has completed since. Expiry, the
users of a snapshot, and what is safe to delete all ask here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Self

from flinkstate.files.paths import by_each_name, with_any_name
from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.places.locations import Location, place_of, places_of
from orphangc.collect.mark.mark import MarkedCycle
from orphangc.core.cluster.ha_facts import lacks_its_own
from orphangc.core.cluster.job_facts import shows_no_origin
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.dependencies.restore_fallback import recovers_from_its_own
from orphangc.core.exporter.registry_snapshot import resolve
from orphangc.core.groups import grouped
from orphangc.core.lineage.checkpoint_fates import HiddenOrigin
from orphangc.core.lineage.continuation import Continuation, has_one_origin
from orphangc.core.memory.job_lives import placed
from orphangc.core.memory.remembered import RememberedJob, WorldMemory
from orphangc.core.times.instants import shifted

_NAMED = 3
"""Number of jobs without a known origin that one answer names: a fleet may have a thousand."""


@dataclass(frozen=True, kw_only=True)
class OriginFacts:
    """What the origins of a cycle's jobs are known by.

    Attributes:
        jobs: The jobs that the cycle judges, by key.
        beside: Those that only the search shows.
        over: Keys of the jobs that are proven to be over.
        now: Start of the cycle, by the storage's clock.
    """

    marked: MarkedCycle
    jobs: Mapping[str, JobEvidence]
    beside: Mapping[str, JobEvidence]
    memory: WorldMemory
    over: Collection[str]
    now: datetime

    @cached_property
    def found(self) -> dict[str, JobEvidence]:
        """Return all jobs, by key."""
        return {**self.beside, **self.jobs}

    @cached_property
    def restores(self) -> dict[str, list[Continuation]]:
        """Return the edges to each job that any cycle saw, by its key."""
        edges = grouped(self.memory.lineage.continuations, lambda each: each.newer)
        return {
            key: [edge for place in job.directories for edge in edges.get(str(place), ())]
            for key, job in self.found.items()
        }

    @cached_property
    def single(self) -> frozenset[str]:
        """Return the keys of the jobs each of whose runs began with one checkpoint, or its own."""
        ran = grouped(self.memory.lineage.resource_jobs, lambda each: each.job_id)
        return frozenset(
            key
            for key, job in self.found.items()
            if job.job_id in ran
            and not job.may_share_its_folder
            and has_one_origin(
                ran[job.job_id], self.restores[key], (each.alive_at for each in self.known(job))
            )
        )

    @cached_property
    def resources(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the resources that ran each job, by job id."""
        return self.memory.lineage.resources

    def known(self, job: JobEvidence) -> Sequence[RememberedJob]:
        """Return what earlier cycles saw of the jobs of its id."""
        return self._records.get(job.job_id, ())

    @cached_property
    def _records(self) -> dict[str, list[RememberedJob]]:
        return grouped(self.memory.jobs, lambda each: str(each.job_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The checkpoints with which the jobs of a cycle may begin again.

    Attributes:
        shown: Ids of jobs by each name of the origins that this cycle or an earlier one saw.
        hidden: Jobs whose origin no cycle saw.
    """

    shown: Mapping[Location, Collection[str]] = field(default_factory=dict)
    hidden: Sequence[HiddenOrigin] = field(default=())

    @classmethod
    def of(cls, facts: OriginFacts) -> Self:
        """Return those of every job that does not surely go on from a checkpoint of its own."""
        free = {*facts.over, *(key for key, job in facts.jobs.items() if recovers(job))}
        return cls(shown=by_each_name(shown_origins(facts, free)), hidden=hidden_origins(facts))

    def users_of(self, place: Location, stored_at: datetime | None, maker: str) -> Iterator[str]:
        """Yield the jobs that may begin with a checkpoint again, and why, for people.

        Args:
            maker: Key or id of the job that made it: its own no job begins with first.
        """
        for job_id in sorted(with_any_name(self.shown, place)):
            yield f"job {job_id} (without HA metadata, it begins with this one again)"
        found = self.hidden_from(stored_at, maker)
        for each in found[:_NAMED]:
            yield f"job {each.key} (nothing shows what it begins with again)"
        if found[_NAMED:]:
            yield f"one of {len(found) - _NAMED} more such jobs"

    def hidden_from(self, stored_at: datetime | None, maker: str) -> list[HiddenOrigin]:
        """Return the jobs that may begin with a checkpoint of that time, as no cycle saw."""
        return [
            each
            for each in self.hidden
            if (stored_at is None or stored_at <= each.until)
            and maker not in {each.key, each.job_id}
        ]


def recovers(job: JobEvidence) -> bool:
    """Return whether a lost JobManager goes on from a checkpoint of the job's own."""
    holds = (e for e in job.held_after if not job.is_id_fixed or e.cluster in job.proven_holders)
    return recovers_from_its_own(job.facts, holds, job.ids_after)


def shown_origins(facts: OriginFacts, free: Collection[str]) -> Iterator[tuple[Location, str]]:
    """Yield the origins that this cycle or an earlier one saw of jobs, each with the job's id.

    Args:
        free: Keys of the jobs that begin with no origin again.
    """
    for key, job in facts.jobs.items():
        shown = () if key in free else job.facts
        paths = [each.restored.external_path for each in shown if each.restored]
        paths += () if key in free else _stated(job)
        for place in places_of(paths, facts.marked.seen.settings.aliases):
            yield place, job.job_id
    yield from _remembered(facts, free)


def _stated(job: JobEvidence) -> list[str]:
    """Return what the registry snapshots of a job state that it was restored from."""
    return [
        resolve(each.path, snapshot.checkpoint_dir)
        for snapshot in job.snapshots
        for each in snapshot.restored
    ]


def _remembered(facts: OriginFacts, free: Collection[str]) -> Iterator[tuple[Location, str]]:
    """Yield those that earlier cycles saw of jobs that may live.

    A job that is over does not recover. After a failover Flink shows the checkpoint that the job
    went on from, and no longer the one that it was first started from.
    """
    own = grouped(facts.jobs.values(), lambda job: str(job.job_id))
    for record in facts.memory.jobs:
        jobs = own.get(record.job_id, [])
        uris = () if jobs and all(job.key in free for job in jobs) else record.restored
        for place in places_of(uris, facts.marked.seen.settings.aliases):
            yield place, record.job_id


def hidden_origins(facts: OriginFacts, *, stated: Collection[str] = ()) -> tuple[HiddenOrigin, ...]:
    """Return the jobs that may live and whose origin is not known, the youngest one first.

    Args:
        stated: Keys of those whose origin their owner states: which run of an id that comes back
            that is of, nothing says.
    """
    jobs = facts.found.values()
    many = {job.key for job in jobs if _comes_back(job, facts)} - facts.single
    here = {each.folder for each in facts.marked.mark.checkpoints}
    found = [
        _hidden(job, facts, may_recur=job.key in many)
        for job in jobs
        if job.key not in facts.over
        and (job.key not in stated or job.key in many)
        and not recovers(job)
        and not _is_known(job, () if job.key in many else facts.known(job), facts.marked, here=here)
    ]
    return tuple(sorted(found, key=lambda each: (each.until, each.job_id), reverse=True))


def _hidden(job: JobEvidence, facts: OriginFacts, *, may_recur: bool) -> HiddenOrigin:
    """Return a job with the latest time at which what it began with was stored.

    That is before its run began, by the cluster that shows it and by the oldest that it has, or
    before the newest that it has: what is older an earlier run of its id may have written. Where
    its files were not listed, or its HA metadata has none of its checkpoints, it may begin now:
    they may be of long ago.
    """
    times = (job.survey.oldest_modified_at, *(each.modified_at for each in job.own_checkpoints))
    oldest = min((at for at in times if at is not None), default=facts.now)
    began = [each.started_at for each in job.facts]
    own = {each.checkpoint_id for each in job.own_checkpoints}
    is_known = job.is_change_known and not lacks_its_own(job.holds, own)
    newest = job.changed_at if is_known else None
    latest = max(oldest, *began) if began else newest
    until = facts.now
    if latest is not None and not may_recur:
        until = min(until, shifted(latest, facts.marked.seen.settings.margins.clock_skew))
    name = job.job_id if is_job_id(job.job_id) else job.key
    return HiddenOrigin(key=job.key, job_id=name, until=until)


def _is_known(
    job: JobEvidence,
    records: Iterable[RememberedJob],
    marked: MarkedCycle,
    *,
    here: Collection[Location],
) -> bool:
    """Return whether some cycle saw a job begin from nothing, or from one checkpoint that is here.

    After a failover Flink shows a checkpoint of the job's own. Of an id that comes back only the
    present says anything of the present run.

    Args:
        records: What earlier cycles saw of its id.
        here: Folders of the checkpoints that were read.
    """
    present = [facts for facts in job.facts if not facts.is_globally_terminal]
    is_new = any(map(shows_no_origin, present))
    shown = [facts.restored.external_path for facts in present if facts.restored is not None]
    shown += _stated(job)
    for record in placed(records, job.directories):
        is_new = is_new or record.began_anew
        shown += record.restored
    places = {place_of(path, marked.seen.settings.aliases) for path in shown}
    origins = {e for e in places if e is None or not any(d.contains(e) for d in job.directories)}
    if not origins:
        return is_new
    origin = next(iter(origins))
    if len(origins) > 1 or origin is None:
        return False
    return origin in here or any(each.contains(origin) for each in marked.searched)


def _comes_back(job: JobEvidence, facts: OriginFacts) -> bool:
    return job.is_id_fixed or job.job_id in facts.memory.lineage.fixed_ids
