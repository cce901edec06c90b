"""Jobs that are over, and jobs that may have checkpoints that were not read (R4, R13)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from flinkstate.places.locations import Alias, Location, place_of, places_of
from orphangc.core.cluster.ha_facts import Hold, lacks_its_own
from orphangc.core.cluster.job_facts import ClusterFacts, JobFacts, comes_back
from orphangc.core.cluster.job_status import JobStatus
from orphangc.core.cluster.known_checkpoints import retained_by
from orphangc.core.cluster.placement import JobAnswer, home_of, job_answers
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.decision.flink_traces import other_runs, runs_without_an_end
from orphangc.core.groups import grouped
from orphangc.core.memory.remembered import RememberedJob, WorldMemory
from orphangc.core.model.types import JobId


@dataclass(frozen=True, kw_only=True)
class Lives:
    """Statements of Flink and the operator about the lives of jobs.

    Attributes:
        changed_at: Newest store time of anything that was listed of a job, by job id.
        directories: The job directories that were seen, by job id, "" if the owner is unknown.
        memory: What earlier cycles saw.
    """

    before: Sequence[ClusterFacts]
    after: Sequence[ClusterFacts]
    is_declared_ended: Callable[[str], bool]
    now: datetime
    quiet_period: timedelta
    clock_skew: timedelta = timedelta(0)
    holds: Sequence[Hold] = ()
    changed_at: Mapping[str, datetime] = field(default_factory=dict)
    directories: Mapping[str, Sequence[Location]] = field(default_factory=dict)
    aliases: Sequence[Alias] = ()
    memory: WorldMemory = field(default_factory=WorldMemory)

    @cached_property
    def living(self) -> tuple[str, ...]:
        """Return the ids of all jobs that Flink reports, or reported, alive."""
        facts = [each for cluster in (*self.before, *self.after) for each in cluster.jobs.values()]
        return tuple(sorted({each.job_id for each in facts if not each.is_globally_terminal}))

    def is_ended(self, job_id: str) -> bool:
        """Return whether a job is known to be over, by the rule that evidence uses too."""
        before, after = self._before.get(job_id, []), self._after.get(job_id, [])
        is_placed = self._are_answers_placed(job_id)
        status = JobStatus(
            before=[each for each in before if is_placed or not each.is_globally_terminal],
            after=[each for each in after if is_placed or not each.is_globally_terminal],
            is_held=bool(self.holds_of(job_id)),
            is_declared_ended=self.is_declared_ended(job_id),
            has_other_run=self._has_other_run(job_id, (*before, *after)),
            is_id_fixed=comes_back(job_id, (*before, *after)),
        )
        return status.has_ended(
            changed_at=self.changed_at.get(job_id), now=self.now, quiet_period=self.quiet_period
        )

    def _has_other_run(self, job_id: str, facts: Sequence[JobFacts]) -> bool:
        clusters = {each.uri for each in self.after if JobId(job_id) in each.jobs}
        places = self.directories.get(job_id, ())
        return any(other_runs(self._alive.get(job_id, ()), places, clusters, facts))

    @cached_property
    def _alive(self) -> dict[str, list[RememberedJob]]:
        return runs_without_an_end(self.memory.jobs)

    def _are_answers_placed(self, job_id: str) -> bool:
        """Return whether some answer surely concerns each directory of a job id (decision 20)."""
        own = {str(place): (place,) for place in self.directories.get(job_id, ())}
        answers = self._answers.get(JobId(job_id), ())
        homes = [home_of(answer, own, self.aliases) for answer in answers]
        return own.keys() <= {key for home in homes if home.is_proven for key in home.keys}

    def holds_of(self, job_id: str) -> tuple[Hold, ...]:
        """Return what holds a job, or held it."""
        return tuple(self._holds.get(job_id, ()))

    def facts_of(self, job_id: str) -> tuple[JobFacts, ...]:
        """Return all answers of Flink about a living job, the oldest first."""
        facts = (*self._before.get(job_id, ()), *self._after.get(job_id, ()))
        return tuple(each for each in facts if not each.is_globally_terminal)

    def newest_of(self, job_id: str) -> tuple[JobFacts, ...]:
        """Return only the newest answers of those."""
        after = [e for e in self._after.get(job_id, ()) if not e.is_globally_terminal]
        return tuple(after) or self.facts_of(job_id)

    @cached_property
    def _before(self) -> dict[str, list[JobFacts]]:
        return _by_job(self.before)

    @cached_property
    def _after(self) -> dict[str, list[JobFacts]]:
        return _by_job(self.after)

    @cached_property
    def _answers(self) -> Mapping[JobId, Sequence[JobAnswer]]:
        return job_answers(self.before, self.after)

    @cached_property
    def _holds(self) -> dict[str, list[Hold]]:
        return grouped(self.holds, lambda each: str(each.job_id))


def _by_job(clusters: Iterable[ClusterFacts]) -> dict[str, list[JobFacts]]:
    facts = (each for cluster in clusters for each in cluster.jobs.values())
    return grouped(facts, lambda each: str(each.job_id))


def unread_of(lives: Lives, checkpoints: Sequence[Checkpoint]) -> Iterator[tuple[str, str]]:
    """Yield each job whose state may depend on a checkpoint that was not read, and why.

    These are living jobs, and suspended ones that only HA metadata shows.
    """
    folders, aliases = grouped(checkpoints, lambda each: each.folder), lives.aliases
    by_id = grouped(checkpoints, lambda each: str(each.job_id))
    for job_id in lives.living:
        facts, own = lives.facts_of(job_id), by_id.get(job_id, [])
        latest = _first_latest(facts)
        if latest is not None and latest > _newest_read(facts, own, folders, aliases):
            reason = (
                f"Flink says that it has completed checkpoint {latest}, which is not among the"
                " checkpoints that were read: add its place with --extra-root, or say with --alias"
                " what it means"
            )
            yield f"job {job_id}", reason
        for answer in lives.newest_of(job_id):
            origin = _unread_origin(answer, folders, aliases)
            if origin is not None:
                yield f"job {job_id}", origin
    for job_id in sorted({each.job_id for each in lives.holds} - set(lives.living)):
        ids = {each.checkpoint_id for each in by_id.get(job_id, ())}
        if lacks_its_own(lives.holds_of(job_id), ids):
            reason = (
                "only HA metadata shows it, and no checkpoint that this names was read: it may"
                " begin with any snapshot; add their place with --extra-root, or ask Flink with"
                " --flink-rest"
            )
            yield f"job {job_id}", reason


def _first_latest(facts: Iterable[JobFacts]) -> int | None:
    """Return the newest checkpoint before the checkpoints were read, or a newer one.

    For a job that had none then, return the first that is known.
    """
    known = (each.latest_completed_id for each in facts)
    return next((each for each in known if each is not None), None)


def _newest_read(
    facts: Sequence[JobFacts],
    own: Iterable[Checkpoint],
    by_folder: Mapping[Location, Sequence[Checkpoint]],
    aliases: Sequence[Alias],
) -> int:
    """Return the id of the newest checkpoint of a job's run that was read, -1 if none was.

    It is in the job's directory, or where Flink reports a checkpoint of the job. What Flink does
    not know, and was stored before the run began, is left from an earlier life of the id.

    Args:
        own: Those of its id.
    """
    shown = (each for job in facts for each in job.checkpoints if not each.is_savepoint)
    places = places_of((each.external_path for each in shown), aliases)
    found = (*own, *(each for place in places for each in by_folder.get(place, ())))
    known, began = retained_by(facts), max(each.started_at for each in facts)
    ids = (
        each.checkpoint_id
        for each in found
        if not each.is_savepoint
        and (each.checkpoint_id in known or (each.modified_at or began) > began)
    )
    return max(ids, default=-1)


def _unread_origin(
    facts: JobFacts, folders: Collection[Location], aliases: Sequence[Alias]
) -> str | None:
    if facts.restored is None or not facts.has_nothing_since:
        return None
    said = f"it was restored from checkpoint {facts.restored.id}"
    place = place_of(facts.restored.external_path, aliases)
    if place is None:
        return f"{said}, Flink does not tell from where, and it has completed none since"
    if place not in folders:
        return f"{said} in {place}, which was not read, and it has completed none since"
    return None
