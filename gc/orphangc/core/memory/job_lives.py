"""What cycles learned of the lives of jobs, one record for each witness of a job (R34).

An end counts for the checkpoints that were seen before it, and stored since the run that ended
began. A job that another one has succeeded is over too: in the state FINISHED if it was stopped
with a savepoint, which the savepoint itself says from format 4 on, and else in any state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from flinkstate.places.checkpoint_names import checkpoint_id_of
from orphangc.core.cluster.job_facts import WITHOUT_GRAPH
from orphangc.core.groups import grouped, sets_of
from orphangc.core.memory.remembered import (
    RememberedDirectory,
    RememberedJob,
    WorldMemory,
    newest_restored,
)
from orphangc.core.memory.sighting import SeenJob, Sighting
from orphangc.core.model.joined_facts import joined
from orphangc.core.times.instants import shifted

FINISHED = ("FINISHED",)
"""End of a job that was stopped with a savepoint.

Source: Flink 1.15-2.3, ``StopWithSavepointTerminationManager``.
"""

ALL_ENDS = ("FINISHED", "CANCELED", "FAILED")
"""Every end of a job; a suspended one goes on.

Source: Flink 1.14-2.3, ``JobStatus.isGloballyTerminalState``.
"""

_RUNNING = "RUNNING"
_TICK = timedelta(microseconds=1)
_FIXED = frozenset({"000000", "ffffff"})
"""Starts of ids that were computed from a name, or chosen: many begin so (``may_recur``)."""
DIGITS = 6
"""Number of digits of a job id in the name of a savepoint's folder."""
_SAVEPOINT = re.compile(r"savepoint-([0-9a-f]{6})-[0-9a-f]{12}", re.ASCII)
"""Name of a savepoint's folder: it starts with the job id.

Source: Flink 1.13-2.3, ``AbstractFsCheckpointStorageAccess.initializeLocationForSavepoint``.
"""


def jobs_after(memory: WorldMemory, sighting: Sighting) -> tuple[RememberedJob, ...]:
    """Return the records of all jobs, with what this cycle learned."""
    records = {each.subject: each for each in memory.jobs}
    successors = _Successors.of(memory, sighting)
    for seen in sighting.jobs:
        known = records.get((seen.job_id, seen.by))
        if known is not None:
            known = _before_another_start(known, seen, successors, memory.written_at or sighting.at)
        records[seen.job_id, seen.by] = _with_sighting(known, seen, sighting)
    alive = {each.job_id for each in sighting.jobs if each.is_alive}
    for key, record in records.items():
        if record.job_id not in alive and not is_over(record):
            ends = min(successors.ends_of(record), key=len, default=None)
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


def _before_another_start(
    known: RememberedJob, seen: SeenJob, successors: _Successors, written_at: datetime
) -> RememberedJob:
    """Return the record, with the end of the run before this one if another run began."""
    if not seen.is_alive or not _is_another_start(known, seen) or is_over(known):
        return known
    ends = successors.ends_before(seen, known)
    if ends is None:
        return known
    return _ended(known, known.alive_at or written_at, ends)


def _with_sighting(known: RememberedJob | None, seen: SeenJob, sighting: Sighting) -> RememberedJob:
    fresh = RememberedJob(
        job_id=seen.job_id,
        by=seen.by,
        directories=seen.directories,
        started_at=seen.started_at,
        restored=() if seen.restored is None else (seen.restored,),
        is_from_nothing=seen.is_from_nothing,
        stores_in=seen.stores_in,
        needs=seen.needs,
    )
    record = fresh if known is None else _joined(known, fresh)
    record = record.model_copy(update=_beginning(known, seen, sighting))
    if seen.is_alive:  # after each end that was known, whatever clock dated that
        ended_at = record.ended_at and min(record.ended_at, shifted(sighting.at, -_TICK))
        return record.model_copy(update={"alive_at": sighting.at, "ended_at": ended_at})
    if not seen.status:
        return record
    at, slack = sighting.at, 2 * sighting.clock_skew
    at = at if seen.ended_at is None else min(at, shifted(seen.ended_at, slack))
    if known is not None and known.alive_at is not None and seen.started_at == known.started_at:
        at = max(at, known.alive_at)  # Flink may show no time of its end
    return _ended(record, at, (seen.status,))


def _beginning(known: RememberedJob | None, seen: SeenJob, sighting: Sighting) -> dict[str, object]:
    """Return when the current run began: a failover goes on with the run before it.

    A run is another one if it goes on from no checkpoint of its own, or was over meanwhile.
    """
    is_shown = seen.restored is not None or seen.status not in WITHOUT_GRAPH
    is_anew = is_shown and not _goes_on_from_its_own(seen) and seen.started_at is not None
    if known is None:
        began = _oldest_of_its_own(seen, sighting) or seen.started_at
        return {"began_at": began, "began_anew": is_anew}
    is_back = seen.is_alive and is_over(known)
    if is_back or (is_anew and _is_another_start(known, seen)):
        return {"began_at": seen.started_at, "began_anew": is_anew}
    began = known.began_at or known.started_at or seen.started_at
    return {"began_at": began, "began_anew": known.began_anew or is_anew}


def _joined(known: RememberedJob, fresh: RememberedJob) -> RememberedJob:
    """Return a record with what one more sighting adds; the newest restored checkpoint is last."""
    older = tuple(each for each in known.restored if each not in fresh.restored)
    merged = joined(known, fresh)
    restored = newest_restored((*older, *fresh.restored), merged.directories)
    update: dict[str, object] = {"restored": restored}
    if fresh.needs and "" not in fresh.needs:
        update["needs"] = fresh.needs  # its present checkpoints name all that it needs
    return merged.model_copy(update=update)


def _is_another_start(known: RememberedJob, seen: SeenJob) -> bool:
    if known.started_at is None or seen.started_at is None:
        return False
    return seen.started_at > known.started_at


def _oldest_of_its_own(seen: SeenJob, sighting: Sighting) -> datetime | None:
    """Return when the oldest checkpoint was stored that a job had when another JobManager took it.

    It retained those of the ids just below the restored one: a run that came to that id by itself
    has written all of these paths anew.
    """
    folder, _, name = (seen.restored or "").rpartition("/")
    directory = next((each for each in sighting.directories if each.uri == folder), None)
    if directory is None or not _goes_on_from_its_own(seen):
        return None
    stored = {each.checkpoint_id: each.stored_at for each in directory.checkpoints}
    number, oldest = checkpoint_id_of(name), None
    while number is not None and (at := stored.get(number)) and (oldest is None or at < oldest):
        number, oldest = number - 1, at
    return oldest


def _goes_on_from_its_own(seen: SeenJob) -> bool:
    directory, _, _ = (seen.restored or "").rpartition("/")
    return directory.rpartition("/")[2] == seen.job_id


def _ended(record: RememberedJob, at: datetime, ends: tuple[str, ...]) -> RememberedJob:
    """Return the record with an end; what is known more precisely stays."""
    update: dict[str, object] = {"ended_at": at, "ended_as": ends}
    if not is_over(record):
        update |= {"ended_from": record.began_at, "ended_as_before": record.ended_as}
    elif record.ended_as and set(record.ended_as) <= set(ends):
        update["ended_as"] = record.ended_as
    return record.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class _Successors:
    """The running jobs that may have taken the place of another one (R34, E5).

    Attributes:
        by_savepoint: Running jobs, by the job id's first digits, that started from a savepoint
            of such a job.
        newest_now: Newest checkpoint id, also of this cycle, by job id.
    """

    sighting: Sighting
    ran: Mapping[str, tuple[str, ...]]
    shown: Mapping[str, set[str]]
    running: Mapping[str, SeenJob]
    by_savepoint: Mapping[str, list[SeenJob]]
    makers: SavepointMakers
    newest: Mapping[str, int]
    newest_now: Mapping[str, int]

    @classmethod
    def of(cls, memory: WorldMemory, sighting: Sighting) -> _Successors:
        alive = [seen for seen in sighting.jobs if seen.is_alive]
        running = [seen for seen in alive if seen.status == _RUNNING]
        directories = (*memory.directories, *sighting.directories)
        return cls(
            sighting,
            ran={each.uri: each.alive for each in memory.clusters},
            shown=sets_of((seen.by, seen.job_id) for seen in alive),
            running={seen.job_id: seen for seen in running},
            by_savepoint=grouped(running, lambda seen: savepoint_prefix(seen.restored or "")),
            makers=SavepointMakers.of((*memory.jobs, *sighting.jobs), directories),
            newest=_newest_ids(memory.directories),
            newest_now=_newest_ids(directories),
        )

    def ends_before(self, seen: SeenJob, record: RememberedJob) -> tuple[str, ...] | None:
        """Return the ends that a run may have had, ``None`` if the job after it goes on in it.

        One that starts empty says nothing of the end before it, nor does one that starts from a
        savepoint: people take one, cancel the job, and start another. A failover goes on from a
        checkpoint; so does a job that a claimed checkpoint started again.
        """
        if seen.restored is not None and not seen.is_restored_from_savepoint:
            return None
        return FINISHED if self.has_stopped(record, seen) else ALL_ENDS

    def has_stopped(self, record: RememberedJob, seen: SeenJob) -> bool:
        """Return whether the savepoint that a job started from shows that another run stopped.

        It has to be of that job alone, of its current run, and newer than all of its checkpoints:
        a job that fails to stop goes on, and completes more of them.
        """
        found = self.sighting.stops.get(seen.restored or "")
        prefix = savepoint_prefix(seen.restored or "")
        if found is None or prefix != record.job_id[:DIGITS]:
            return False
        if seen.job_id != record.job_id:
            is_one = self.makers.maker(seen.restored or "", {seen.by}) == record.job_id
            return is_one and self.newest_now.get(record.job_id, -1) < found.checkpoint_id
        if record.began_at is None or found.stored_at is None:
            return False
        is_newest = self.newest.get(record.job_id, -1) < found.checkpoint_id
        return is_newest and found.stored_at > record.began_at + self.sighting.clock_skew

    def ends_of(self, record: RememberedJob) -> Iterator[tuple[str, ...]]:
        """Yield the ends that each successor of a job implies.

        One that has gone on from a checkpoint of its own since hides its origin: REST's history
        started again then, and how the job before it ended is unknown.
        """
        for seen in self._in_its_place(record):
            ends = self.ends_before(seen, record)
            if ends is not None or _goes_on_from_its_own(seen):
                yield ends or ALL_ENDS
        if any(self.has_stopped(record, e) for e in self._from_its_savepoint(record)):
            yield FINISHED

    def _in_its_place(self, record: RememberedJob) -> list[SeenJob]:
        """Return the running jobs that the same resource, or the same application cluster, shows.

        A cluster counts as such if it ran one job then and runs one job now.
        """
        shown = self.shown.get(record.by, set())
        if record.by in self.sighting.clusters:
            is_application = self.ran.get(record.by) == (record.job_id,) and len(shown) == 1
            shown = shown if is_application else set()
        return [self.running[each] for each in sorted(shown) if each in self.running]

    def _from_its_savepoint(self, record: RememberedJob) -> Sequence[SeenJob]:
        if not self.sighting.clusters.get(record.by):
            return ()
        return self.by_savepoint.get(record.job_id[:DIGITS], ())


def _newest_ids(directories: Iterable[RememberedDirectory]) -> dict[str, int]:
    newest: dict[str, int] = {}
    for each in directories:
        newest[each.job_id] = max(each.newest_id, newest.get(each.job_id, -1))
    return newest


def savepoint_prefix(uri: str) -> str:
    """Return the first digits of the job that a savepoint's folder is named after, else ""."""
    match = _SAVEPOINT.fullmatch(uri.rpartition("/")[2])
    return "" if match is None else match[1]


def savepoint_may_be_of(uri: str, job_id: str) -> bool:
    """Return whether a savepoint's folder is named after a job with a generated id."""
    prefix = savepoint_prefix(uri)
    return prefix == job_id[:DIGITS] and prefix not in _FIXED


@dataclass(frozen=True, slots=True)
class SavepointMakers:
    """The job that each savepoint's folder is named after.

    Attributes:
        known: Witnesses of each known job id, by its first digits: those of one application may
            begin alike, and of many jobs two do by chance.
    """

    known: Mapping[str, Mapping[str, Collection[str]]]

    @classmethod
    def of(
        cls, jobs: Iterable[SeenJob | RememberedJob], directories: Iterable[RememberedDirectory]
    ) -> SavepointMakers:
        """Return the makers among some jobs, and those of some directories."""
        witnesses: dict[str, set[str]] = {each.job_id: set() for each in directories}
        for each in jobs:
            witnesses.setdefault(each.job_id, set()).add(each.by)
        begun = grouped(witnesses, lambda job_id: job_id[:DIGITS])
        return cls({digits: {e: witnesses[e] for e in ids} for digits, ids in begun.items()})

    def maker(self, uri: str, by: Collection[str]) -> str | None:
        """Return the only job that a savepoint may be of, ``None`` if there are several or none.

        Of several it is the one that the cluster shows which has started a job from it, if other
        clusters alone show each of the others.

        Args:
            by: Clusters that show a job which started from it.
        """
        prefix = savepoint_prefix(uri)
        found = {} if prefix in _FIXED else self.known.get(prefix, {})
        here = [job_id for job_id, own in found.items() if not {*own}.isdisjoint(by)]
        elsewhere = [job_id for job_id, own in found.items() if any(map(is_flink_rest, own))]
        is_shown = len(found) > 1 and {*here, *elsewhere} == found.keys()
        left = here if is_shown else [*found]
        return left[0] if len(left) == 1 else None


def fitting(
    jobs: Iterable[RememberedJob], job_id: str, directory: str, *, is_unique: bool
) -> list[RememberedJob]:
    """Return the records of a job id that may be of the job of one directory.

    Args:
        is_unique: Whether no other directory has that job id; a witness that reports no directory
            may be of its job only then.
    """
    own = [each for each in jobs if each.job_id == job_id]
    return [
        each for each in own if _stores_in(each, directory) or (is_unique and not each.directories)
    ]


def proves_end(record: RememberedJob, directory: str) -> bool:
    """Return whether an end in a record is one of the job of a directory.

    Another cluster may run a job of the same id (issue 13, point 4).
    """
    return _stores_in(record, directory) or not is_flink_rest(record.by)


def placed(
    records: Iterable[RememberedJob], directories: Iterable[object]
) -> tuple[RememberedJob, ...]:
    """Return the records that are surely of the job of some directories; see ``proves_end``."""
    own = [str(each) for each in directories]
    return tuple(e for e in records if any(proves_end(e, directory) for directory in own))


def _stores_in(record: RememberedJob, directory: str) -> bool:
    """Return whether a job reported checkpoints in a directory, or is configured to store there.

    A job's code may override the configuration, so what it reported counts first.
    """
    return directory in (record.directories or record.stores_in)
