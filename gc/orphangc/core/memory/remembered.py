"""What earlier cycles saw around one storage root: the memory that no cycle may contradict.

Each record is kept until what it names is explained away (``lost_facts``) or acknowledged by a
person. Two memories are merged record by record, the later sighting wins, so that two writers
never lose each other's facts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from pydantic import Field

from orphangc.core.lineage.continuation import LineageMemory, merged_lineage
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint, merged_expired
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.times.instants import Instant

KEPT_AFTER_END = timedelta(days=7)
"""Time that a record without a question stays: another writer may still know it."""

MOST_RESTORED = 20
"""Restored checkpoints that are kept of one job: its own newest ones, and the newest others."""


class RememberedCheckpoint(FrozenPart):
    """A checkpoint that an earlier cycle found.

    Attributes:
        deleted_on: Ends of the job upon which Flink deletes it, and ``SUBSUMED``; ``None`` where
            the format does not say.
        sha256: Digest of its ``_metadata``, "" if unknown.
        is_self_contained: Whether every file that it needs is in its own folder.
    """

    uri: str = Field(min_length=1)
    checkpoint_id: int
    seen_at: Instant
    deleted_on: tuple[str, ...] | None = None
    stored_at: Instant | None = None
    sha256: str = ""
    is_self_contained: bool = False

    @property
    def stored_until(self) -> datetime:
        """Return a time at which it was stored already."""
        return self.seen_at if self.stored_at is None else self.stored_at


class RememberedDirectory(FrozenPart):
    """A folder that held checkpoints: a job directory, or a folder of copied checkpoints.

    Attributes:
        job_id: Job id of the directory, "" if unknown.
        place: Searched place that it was found in.
        checkpoints: Checkpoints of the last cycle that found any, and those lost before.
        depends_on: Directories in which these checkpoints name files, and those of jobs that its
            job may have been restored from.
        names: Directories in which these checkpoints name files.
        was_over: Whether the job was known to be over then.
        resolved_at: Time at which all of them were explained away; ``None`` while they are there.
    """

    uri: str = Field(min_length=1)
    job_id: str = ""
    place: str
    checkpoints: tuple[RememberedCheckpoint, ...] = ()
    depends_on: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    was_over: bool = False
    resolved_at: Instant | None = None

    @property
    def seen_at(self) -> datetime | None:
        """Return the time of the last cycle that found a checkpoint in it."""
        return max((each.seen_at for each in self.checkpoints), default=None)

    @property
    def newest_id(self) -> int:
        """Return the newest checkpoint id, -1 without any."""
        return max((each.checkpoint_id for each in self.checkpoints), default=-1)

    def has_subsumed(self, checkpoint_id: int, stored: datetime) -> bool:
        """Return whether it has a newer checkpoint: of a higher id, and stored later.

        A leftover of an earlier run of the same job id may have a higher id by itself.
        """
        return any(
            each.checkpoint_id > checkpoint_id
            and each.stored_at is not None
            and each.stored_at > stored
            for each in self.checkpoints
        )


class RememberedPlace(FrozenPart):
    """A place that an earlier cycle searched.

    Attributes:
        device: Identity of the file system or bucket that held it; ``None`` if unknown.
        seen_at: Time of the last cycle that found a checkpoint in it, else of the first cycle.
        others: Some checkpoints in no remembered directory, savepoints mostly.
        has_more_others: Whether there were more of those.
        resolved_at: Time at which all of them were explained away; ``None`` while they are there.
        is_stated: Whether a person's statement of a closed world covers a storage.
    """

    uri: str = Field(min_length=1)
    kind: str
    device: str | None = None
    first_seen_at: Instant
    seen_at: Instant
    job_directories: int = Field(default=0, ge=0)
    checkpoints: int = Field(default=0, ge=0)
    others: tuple[str, ...] = ()
    has_more_others: bool = False
    resolved_at: Instant | None = None
    keys: int | None = Field(default=None, ge=0)
    is_stated: bool = False


class RememberedReport(FrozenPart):
    """A completed checkpoint that Flink reported, not discarded, and that was not found.

    Attributes:
        uri: Folder of the job's checkpoints, or the checkpoint's own.
        named_by: Cluster that reported it.
        first_reported_at: Time of the first cycle that missed it.
        reported_at: Time of the last cycle in which it was reported.
        resolved_at: Time at which it was found or explained away.
    """

    uri: str = Field(min_length=1)
    job_id: str
    checkpoint_id: int
    path: str
    named_by: str
    first_reported_at: Instant
    reported_at: Instant
    triggered_at: Instant | None = None
    resolved_at: Instant | None = None


class RememberedCluster(FrozenPart):
    """A cluster that answered.

    Attributes:
        alive: Ids of the jobs that it showed alive then.
        contradicted: Jobs among them that were declared ended all the same: that statement does not
            account for them when the cluster is silent.
    """

    uri: str = Field(min_length=1)
    answered_at: Instant
    alive: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()


class RememberedJob(FrozenPart):
    """What one cluster, HA store or resource said of one job.

    Attributes:
        job_id: Identifier of the job; many clusters may run jobs of one id.
        by: The cluster, HA store or resource.
        directories: Job directories of the paths reported for it.
        alive_at: Time of the last cycle that saw it alive.
        started_at: Start of its newest JobManager, by that one's clock.
        began_at: Start of the first JobManager of its current run, as far as cycles saw it.
        began_anew: Whether a cycle saw that run go on from no checkpoint of its own.
        ended_at: Time of the last cycle that knew of an end of it.
        ended_as: Terminal states, one of which it ended in; all are possible.
        ended_from: Start of the run that ended.
        ended_as_before: Terminal states of the run before that one.
        stores_in: Job directories that its cluster's configuration gives it.
        needs: Directories in which its checkpoints name files, or else the one that it was
            restored from; "" among them if that could not be read.
    """

    job_id: str
    by: str
    directories: tuple[str, ...] = ()
    alive_at: Instant | None = None
    started_at: Instant | None = None
    began_at: Instant | None = None
    began_anew: bool = False
    ended_at: Instant | None = None
    ended_as: tuple[str, ...] = ()
    ended_from: Instant | None = None
    ended_as_before: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    stores_in: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def known_at(self) -> datetime | None:
        """Return the last time at which anything was known of it."""
        return max((at for at in (self.alive_at, self.ended_at) if at is not None), default=None)


class RememberedRegistry(FrozenPart):
    """The registry snapshots of one job in one registry folder.

    Attributes:
        home: Job directory that its newest snapshot states, "" if unknown.
        directories: Directories below the storage root of its entries, and its own.
        is_all_known: Whether each path of it names a place; else it may need files anywhere.
        taken_at: Time of its newest snapshot, by the JobManager's clock.
        seen_at: Time of the last cycle that found any.
        resolved_at: Time at which its loss was explained or acknowledged; ``None`` without a loss.
    """

    uri: str = Field(min_length=1)
    location: str
    job_id: str
    home: str = ""
    directories: tuple[str, ...] = ()
    is_all_known: bool = True
    taken_at: Instant | None = None
    seen_at: Instant
    resolved_at: Instant | None = None


class StandingFact(FrozenPart):
    """What the last cycle missed, and no person has acknowledged.

    Attributes:
        since: Last time at which a cycle saw it whole.
    """

    condition: str
    what: str
    since: Instant


class WorldMemory(FrozenPart):
    """All facts that earlier cycles saw around one storage root.

    Attributes:
        states: Identifiers of the state location, as its first writers made them.
        written_at: Time of the newest cycle in it; ``None`` if there was none.
        savepoints: Folders below the storage root, not empty, in which a cycle saw a savepoint's
            ``_metadata``.
    """

    schema_version: int = Field(default=1, ge=1, le=1)
    root: str = ""
    states: tuple[str, ...] = ()
    written_at: Instant | None = None
    places: tuple[RememberedPlace, ...] = ()
    directories: tuple[RememberedDirectory, ...] = ()
    reports: tuple[RememberedReport, ...] = ()
    clusters: tuple[RememberedCluster, ...] = ()
    jobs: tuple[RememberedJob, ...] = ()
    registries: tuple[RememberedRegistry, ...] = ()
    standing: tuple[StandingFact, ...] = ()
    lineage: LineageMemory = LineageMemory()
    expired: tuple[ExpiredCheckpoint, ...] = ()
    savepoints: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether no cycle has written anything."""
        return self.written_at is None


_Record = TypeVar(
    "_Record",
    RememberedPlace,
    RememberedDirectory,
    RememberedReport,
    RememberedCluster,
    RememberedJob,
    RememberedRegistry,
)


def merged_memory(memories: Sequence[WorldMemory]) -> WorldMemory:
    """Return the union of what several writers remember; their order does not matter."""
    times = [each.written_at for each in memories if each.written_at is not None]
    return WorldMemory(
        root=max((each.root for each in memories), default=""),
        states=tuple(sorted({state for each in memories for state in each.states})),
        written_at=max(times, default=None),
        places=_united((r for m in memories for r in m.places), _uri_of, _merged_places),
        directories=_united(
            (r for m in memories for r in m.directories), _uri_of, merged_directories
        ),
        reports=_united((r for m in memories for r in m.reports), _uri_of, _merged_reports),
        clusters=_united((r for m in memories for r in m.clusters), _uri_of, _merged_clusters),
        jobs=_united((r for m in memories for r in m.jobs), job_key, merged_jobs),
        registries=_united(
            (r for m in memories for r in m.registries), _uri_of, _merged_registries
        ),
        standing=_newest_standing(memories),
        lineage=merged_lineage(each.lineage for each in memories),
        expired=merged_expired(each for memory in memories for each in memory.expired),
        savepoints=tuple(sorted({uri for each in memories for uri in each.savepoints})),
    )


def _newest_standing(memories: Sequence[WorldMemory]) -> tuple[StandingFact, ...]:
    """Return what the newest cycle missed: what an older one missed may be back since."""
    newest = max(memories, key=lambda each: _when(each.written_at), default=None)
    return () if newest is None else newest.standing


def job_key(record: RememberedJob) -> str:
    """Return the key of a job as one witness knows it."""
    return f"{record.job_id} {record.by}"


def _uri_of(
    record: RememberedPlace
    | RememberedDirectory
    | RememberedReport
    | RememberedCluster
    | RememberedRegistry,
) -> str:
    return record.uri


def _united(
    records: Iterable[_Record],
    key: Callable[[_Record], str],
    merge: Callable[[_Record, _Record], _Record],
) -> tuple[_Record, ...]:
    found: dict[str, _Record] = {}
    for record in records:
        name = key(record)
        found[name] = merge(found[name], record) if name in found else record
    return tuple(found[name] for name in sorted(found))


def _merged_places(left: RememberedPlace, right: RememberedPlace) -> RememberedPlace:
    later = max(left, right, key=lambda each: (each.seen_at, each.model_dump_json()))
    update = {
        "first_seen_at": min(left.first_seen_at, right.first_seen_at),
        "resolved_at": _resolved(left, right, later.seen_at),
        "is_stated": left.is_stated or right.is_stated,
    }
    return later.model_copy(update=update)


def merged_directories(
    left: RememberedDirectory, right: RememberedDirectory
) -> RememberedDirectory:
    """Return the union of two records of one directory.

    A fact that only one of them names is searched again by the next cycle, and explained there.
    """
    newest: dict[tuple[str, str], RememberedCheckpoint] = {}
    for each in (*left.checkpoints, *right.checkpoints):
        key = (each.uri, each.sha256)
        known = newest.setdefault(key, each)
        newest[key] = max(known, each, key=lambda one: (one.seen_at, one.model_dump_json()))
    checkpoints = tuple(newest[key] for key in sorted(newest))
    seen_at = max((each.seen_at for each in checkpoints), default=None)
    later = max(left, right, key=lambda each: (_when(each.seen_at), each.model_dump_json()))
    update = {
        "checkpoints": checkpoints,
        "depends_on": tuple(sorted({*left.depends_on, *right.depends_on})),
        "names": tuple(sorted({*left.names, *right.names})),
        "resolved_at": _resolved(left, right, seen_at),
    }
    return later.model_copy(update=update)


def _merged_reports(left: RememberedReport, right: RememberedReport) -> RememberedReport:
    later = max(left, right, key=lambda each: (each.reported_at, each.model_dump_json()))
    update = {
        "first_reported_at": min(left.first_reported_at, right.first_reported_at),
        "resolved_at": _resolved(left, right, later.reported_at),
    }
    return later.model_copy(update=update)


def _merged_clusters(left: RememberedCluster, right: RememberedCluster) -> RememberedCluster:
    return max(left, right, key=lambda each: (each.answered_at, each.model_dump_json()))


def _merged_registries(left: RememberedRegistry, right: RememberedRegistry) -> RememberedRegistry:
    later = max(left, right, key=lambda each: (each.seen_at, each.model_dump_json()))
    return later.model_copy(update={"resolved_at": _resolved(left, right, later.seen_at)})


def merged_jobs(left: RememberedJob, right: RememberedJob) -> RememberedJob:
    """Return the union of both sightings of one job; the later end counts."""
    ended = max(left, right, key=lambda each: (_when(each.ended_at), each.model_dump_json()))
    begun = max(left, right, key=lambda each: (_when(each.began_at), each.began_anew))
    directories = tuple(sorted({*left.directories, *right.directories}))
    return RememberedJob(
        job_id=left.job_id,
        by=left.by,
        directories=directories,
        alive_at=_later(left.alive_at, right.alive_at),
        started_at=_later(left.started_at, right.started_at),
        began_at=begun.began_at,
        began_anew=begun.began_anew,
        ended_at=ended.ended_at,
        ended_as=ended.ended_as,
        ended_from=ended.ended_from,
        ended_as_before=ended.ended_as_before,
        restored=newest_restored((*left.restored, *right.restored), directories),
        stores_in=tuple(sorted({*left.stores_in, *right.stores_in})),
        needs=tuple(sorted({*left.needs, *right.needs})),
    )


def newest_restored(places: Iterable[str], own: Collection[str]) -> tuple[str, ...]:
    """Return the restored checkpoints that are kept, each once and in their order.

    However often a job fails over, what it was first started from is not pushed out.

    Args:
        places: Places of restored checkpoints, the newest last.
    """
    known = tuple(dict.fromkeys(places))
    mine = [each for each in known if each.rpartition("/")[0] in own]
    others = [each for each in known if each not in set(mine)]
    kept = {*mine[-MOST_RESTORED:], *others[-MOST_RESTORED:]}
    return tuple(each for each in known if each in kept)


def _resolved(
    left: RememberedPlace | RememberedDirectory | RememberedReport | RememberedRegistry,
    right: RememberedPlace | RememberedDirectory | RememberedReport | RememberedRegistry,
    seen_at: datetime | None,
) -> datetime | None:
    """Return when either was explained away, unless it was seen again since."""
    times = [each.resolved_at for each in (left, right) if each.resolved_at is not None]
    return max((at for at in times if seen_at is None or at >= seen_at), default=None)


def _later(left: datetime | None, right: datetime | None) -> datetime | None:
    return max((at for at in (left, right) if at is not None), default=None)


def _when(at: datetime | None) -> datetime:
    return at or datetime.min.replace(tzinfo=UTC)
