"""What cycles learned of the lives of jobs, one record for each witness of a job (R34).

An end counts for the checkpoints that were seen before it. A job that another one has succeeded
is over too: stop-with-savepoint finishes it, and Flink deletes its checkpoints then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from orphangc.core.world.remembered import (
    MOST_RESTORED,
    RememberedJob,
    WorldMemory,
    job_key,
    merged_jobs,
)
from orphangc.core.world.sighting import SeenJob, Sighting

FINISHED = ("FINISHED",)
"""End of a job that was stopped with a savepoint.

Source: Flink 1.15-2.3, ``StopWithSavepointTerminationManager``.
"""

ALL_ENDS = ("FINISHED", "CANCELED", "FAILED")
"""Every end of a job; a suspended one goes on.

Source: Flink 1.14-2.3, ``JobStatus.isGloballyTerminalState``.
"""

_RUNNING = "RUNNING"
_FIXED = "000000"
"""Start of ids that an operator or a person chose: they differ in their last digits alone."""
_SAVEPOINT = re.compile(r"savepoint-([0-9a-f]{6})-[0-9a-f]{12}", re.ASCII)
"""Name of a savepoint's folder: it starts with the job id.

Source: Flink 1.13-2.3, ``AbstractFsCheckpointStorageAccess.initializeLocationForSavepoint``.
"""


def jobs_after(memory: WorldMemory, sighting: Sighting) -> tuple[RememberedJob, ...]:
    """Return the records of all jobs, with what this cycle learned."""
    records = {job_key(each): each for each in memory.jobs}
    for seen in sighting.jobs:
        known = records.get(f"{seen.job_id} {seen.by}")
        records[f"{seen.job_id} {seen.by}"] = _with_sighting(known, seen, memory, sighting.at)
    alive = {each.job_id for each in sighting.jobs if each.is_alive}
    successors = _Successors.of(memory, sighting)
    for key, record in records.items():
        if record.job_id not in alive and not is_over(record):
            ends = next(successors.ends_of(record), None)
            if ends is not None:
                records[key] = _ended(record, sighting.at, ends)
    return tuple(records[key] for key in sorted(records))


def is_over(record: RememberedJob) -> bool:
    """Return whether its witness knew an end of the job, and has not seen it alive since."""
    if record.ended_at is None:
        return False
    return record.alive_at is None or record.alive_at <= record.ended_at


def is_flink_rest(by: str) -> bool:
    """Return whether a witness is a Flink cluster; HA stores and resources have other schemes."""
    return by.startswith(("http://", "https://"))


def _with_sighting(
    known: RememberedJob | None, seen: SeenJob, memory: WorldMemory, at: datetime
) -> RememberedJob:
    fresh = RememberedJob(
        job_id=seen.job_id,
        by=seen.by,
        directories=seen.directories,
        started_at=seen.started_at,
        restored=() if seen.restored is None else (seen.restored,),
        stores_in=seen.stores_in,
        needs=seen.needs,
    )
    if known is not None and seen.is_alive and _is_another_start(known, seen):
        ends = _ends_before(seen)
        if ends is not None and not is_over(known):
            known = _ended(known, known.alive_at or memory.written_at or at, ends)
    record = fresh if known is None else _joined(known, fresh)
    if seen.is_alive:
        return record.model_copy(update={"alive_at": at})
    return _ended(record, at, (seen.status,)) if seen.status else record


def _joined(known: RememberedJob, fresh: RememberedJob) -> RememberedJob:
    """Return a record with what one more sighting adds; the newest restored checkpoint is last."""
    older = tuple(each for each in known.restored if each not in fresh.restored)
    merged = merged_jobs(known, fresh)
    update: dict[str, object] = {"restored": (*older, *fresh.restored)[-MOST_RESTORED:]}
    if fresh.needs and "" not in fresh.needs:
        update["needs"] = fresh.needs  # its present checkpoints name all that it needs
    return merged.model_copy(update=update)


def _is_another_start(known: RememberedJob, seen: SeenJob) -> bool:
    if known.started_at is None or seen.started_at is None:
        return False
    return seen.started_at > known.started_at


def _ends_before(seen: SeenJob) -> tuple[str, ...] | None:
    """Return the ends that the run before this one may have had, ``None`` if it goes on in it.

    One that starts empty says nothing of the end before it. A failover goes on from a checkpoint;
    so does a job that a claimed checkpoint started again.
    """
    if seen.restored is None:
        return ALL_ENDS
    return FINISHED if seen.is_restored_from_savepoint else None


def _ended(record: RememberedJob, at: datetime, ends: tuple[str, ...]) -> RememberedJob:
    """Return the record with an end; what is known more precisely stays."""
    if is_over(record) and record.ended_as and set(record.ended_as) <= set(ends):
        ends = record.ended_as
    return record.model_copy(update={"ended_at": at, "ended_as": ends})


@dataclass(frozen=True, slots=True)
class _Successors:
    """The running jobs that may have taken the place of another one (R34, E5).

    Attributes:
        clusters: Whether each configured cluster answered.
        ran: By cluster, the jobs that it showed alive last.
        shown: By cluster or resource, the jobs that it shows alive.
        running: By job id, what Flink's REST API shows of each running job.
        by_savepoint: By the job id's first digits, the running jobs that started from a savepoint
            of such a job.

    """

    clusters: Mapping[str, bool]
    ran: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, frozenset[str]]
    running: Mapping[str, SeenJob]
    by_savepoint: Mapping[str, tuple[SeenJob, ...]]

    @classmethod
    def of(cls, memory: WorldMemory, sighting: Sighting) -> _Successors:
        """Return the running jobs of a cycle."""
        shown: dict[str, set[str]] = {}
        running: dict[str, SeenJob] = {}
        savepoints: dict[str, tuple[SeenJob, ...]] = {}
        for seen in sighting.jobs:
            if not seen.is_alive:
                continue
            shown.setdefault(seen.by, set()).add(seen.job_id)
            if seen.status == _RUNNING:
                running[seen.job_id] = seen
                prefix = _savepoint_of(seen)
                savepoints[prefix] = (*savepoints.get(prefix, ()), seen)
        return cls(
            clusters=sighting.clusters,
            ran={each.uri: each.alive for each in memory.clusters},
            shown={by: frozenset(ids) for by, ids in shown.items()},
            running=running,
            by_savepoint=savepoints,
        )

    def ends_of(self, record: RememberedJob) -> Iterator[tuple[str, ...]]:
        """Yield the ends that each successor of a job implies, the vaguest ones last."""
        in_its_place = self._in_its_place(record)
        for seen in (*in_its_place, *self._from_its_savepoint(record)):
            ends = _ends_before(seen)
            if ends is not None:
                yield ends
        if any(_hides_its_origin(seen) for seen in in_its_place):
            yield ALL_ENDS

    def _in_its_place(self, record: RememberedJob) -> list[SeenJob]:
        """Return the running jobs that the same resource, or the same application cluster, shows.

        A cluster counts as such if it ran one job then and runs one job now.
        """
        shown = self.shown.get(record.by, frozenset())
        if record.by in self.clusters:
            is_application = self.ran.get(record.by) == (record.job_id,) and len(shown) == 1
            shown = shown if is_application else frozenset()
        return [self.running[each] for each in sorted(shown) if each in self.running]

    def _from_its_savepoint(self, record: RememberedJob) -> tuple[SeenJob, ...]:
        """Return the running jobs that started from a savepoint of one its cluster forgot."""
        is_fixed = record.job_id.startswith(_FIXED)
        if is_fixed or not self.clusters.get(record.by):
            return ()
        return self.by_savepoint.get(record.job_id[:6], ())


def _hides_its_origin(seen: SeenJob) -> bool:
    """Return whether a successor has gone on from a checkpoint of its own since it took over.

    Its REST history began anew then, and how the job before it ended is unknown: in any way.
    """
    directory, _, _ = (seen.restored or "").rpartition("/")
    return directory.rpartition("/")[2] == seen.job_id


def _savepoint_of(seen: SeenJob) -> str:
    """Return the first digits of the job whose savepoint a job started from, else ""."""
    if not seen.is_restored_from_savepoint:
        return ""
    match = _SAVEPOINT.fullmatch((seen.restored or "").rpartition("/")[2])
    return "" if match is None else match[1]


def fitting(
    jobs: Iterable[RememberedJob], job_id: str, directory: str, *, is_unique: bool
) -> list[RememberedJob]:
    """Return the records of a job id that belong to one directory.

    Args:
        jobs: Records of all jobs.
        job_id: Job id of the directory.
        directory: Its location.
        is_unique: Whether no other directory has that job id; a witness that names no directory
            is believed only then.

    """
    own = [each for each in jobs if each.job_id == job_id]
    return [
        each
        for each in own
        if directory in each.directories or (is_unique and not each.directories)
    ]
