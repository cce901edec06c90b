"""What earlier cycles saw around one storage root: the memory that no cycle may contradict.

Each fact is kept until what it names is explained away (``lost_facts``) or acknowledged by a
person. Two memories are joined fact by fact, so that two writers never lose each other's.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Annotated, Self

from pydantic import Field

from orphangc.core.lineage.continuation import LineageMemory
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.joined_facts import (
    EARLIEST,
    EITHER,
    EXPLAINED,
    IN_ORDER,
    LATEST,
    PART,
    TABLE,
    UNION,
    Fact,
    With,
)
from orphangc.core.times.instants import Instant

KEPT_AFTER_END = timedelta(days=7)
"""Time that a record without a question stays: another writer may still know it."""

MOST_RESTORED = 20
"""Restored checkpoints that are kept of one job: its own newest ones, and the newest others."""


class LastingFact(Fact):
    """A fact that cycles go on missing until its loss is explained or acknowledged.

    Attributes:
        resolved_at: Time of that; ``None`` while it is there, or missed.
    """

    resolved_at: Annotated[Instant | None, EXPLAINED] = None

    def unseen(self, at: datetime, *, is_missed: bool) -> Iterator[Self]:
        """Yield what a cycle remembers that did not see it: nothing once it is long over."""
        if is_missed:
            yield self
        elif self.resolved_at is None:
            yield self.model_copy(update={"resolved_at": at})
        elif at - self.resolved_at <= KEPT_AFTER_END:
            yield self


class RememberedCheckpoint(Fact, subject=("uri", "sha256"), seen="seen_at"):
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


class RememberedDirectory(LastingFact, subject=("uri",), seen="seen_at"):
    """A folder that held checkpoints: a job directory, or a folder of copied checkpoints.

    Attributes:
        job_id: Job id of the directory, "" if unknown.
        place: Searched place that it was found in.
        checkpoints: Checkpoints of the last cycle that found any, and those lost before.
        depends_on: Directories in which these checkpoints name files, and those of jobs that its
            job may have been restored from.
        names: Directories in which these checkpoints name files.
        was_over: Whether the job was known to be over then.
    """

    uri: str = Field(min_length=1)
    job_id: str = ""
    place: str
    checkpoints: Annotated[tuple[RememberedCheckpoint, ...], TABLE] = ()
    depends_on: Annotated[tuple[str, ...], UNION] = ()
    names: Annotated[tuple[str, ...], UNION] = ()
    was_over: bool = False

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


class RememberedPlace(LastingFact, subject=("uri",), seen="seen_at"):
    """A place that an earlier cycle searched.

    Attributes:
        device: Identity of the file system or bucket that held it; ``None`` if unknown.
        seen_at: Time of the last cycle that found a checkpoint in it, else of the first cycle.
        others: Some checkpoints in no remembered directory, savepoints mostly.
        is_stated: Whether a person's statement of a closed world covers a storage.
    """

    uri: str = Field(min_length=1)
    kind: str
    device: str | None = None
    first_seen_at: Annotated[Instant, EARLIEST]
    seen_at: Instant
    job_directories: int = Field(default=0, ge=0)
    checkpoints: int = Field(default=0, ge=0)
    others: tuple[str, ...] = ()
    has_more_others: bool = False
    keys: int | None = Field(default=None, ge=0)
    is_stated: Annotated[bool, EITHER] = False


class RememberedReport(LastingFact, subject=("uri",), seen="reported_at"):
    """A completed checkpoint that Flink reported, not discarded, and that was not found.

    Attributes:
        uri: Folder of the job's checkpoints, or the checkpoint's own.
    """

    uri: str = Field(min_length=1)
    job_id: str
    checkpoint_id: int
    path: str
    named_by: str
    first_reported_at: Annotated[Instant, EARLIEST]
    reported_at: Instant
    triggered_at: Instant | None = None

    @property
    def missed_since(self) -> datetime:
        """Return since when it is missed: another run may use the path of one again."""
        return max(self.first_reported_at, self.triggered_at or self.first_reported_at)


class RememberedCluster(Fact, subject=("uri",), seen="answered_at"):
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


class RememberedJob(Fact, subject=("job_id", "by"), seen="known_at"):
    """What one cluster, HA store or resource said of one job.

    Attributes:
        job_id: Identifier of the job; many clusters may run jobs of one id.
        started_at: Start of its newest JobManager, by that one's clock.
        began_at: Start of the first JobManager of its current run, as far as cycles saw it.
        began_anew: Whether a cycle saw that run go on from no checkpoint of its own.
        is_from_nothing: Whether any cycle saw it restored from no checkpoint at all.
        ended_as: Terminal states, one of which it ended in; all are possible.
        ended_as_before: Terminal states of the run before that one.
        stores_in: Job directories that its cluster's configuration gives it.
        needs: Directories in which its checkpoints name files, or else the one that it was
            restored from; "" among them if that could not be read.
    """

    job_id: str
    by: str
    directories: Annotated[tuple[str, ...], UNION] = ()
    alive_at: Annotated[Instant | None, LATEST] = None
    started_at: Annotated[Instant | None, LATEST] = None
    began_at: Annotated[Instant | None, With("began_at")] = None
    began_anew: Annotated[bool, With("began_at")] = False
    is_from_nothing: Annotated[bool, EITHER] = False
    ended_at: Annotated[Instant | None, With("ended_at")] = None
    ended_as: Annotated[tuple[str, ...], With("ended_at")] = ()
    ended_from: Annotated[Instant | None, With("ended_at")] = None
    ended_as_before: Annotated[tuple[str, ...], With("ended_at")] = ()
    restored: Annotated[tuple[str, ...], IN_ORDER] = ()
    stores_in: Annotated[tuple[str, ...], UNION] = ()
    needs: Annotated[tuple[str, ...], UNION] = ()

    @property
    def known_at(self) -> datetime | None:
        """Return the last time at which anything was known of it."""
        return max((at for at in (self.alive_at, self.ended_at) if at is not None), default=None)


class RememberedRegistry(LastingFact, subject=("uri",), seen="seen_at"):
    """The registry snapshots of one job in one registry folder.

    Attributes:
        home: Job directory that its newest snapshot states, "" if unknown.
        directories: Directories below the storage root of its entries, and its own.
        is_all_known: Whether each path of it names a place; else it may need files anywhere.
        taken_at: Time of its newest snapshot, by the JobManager's clock.
    """

    uri: str = Field(min_length=1)
    location: str
    job_id: str
    home: str = ""
    directories: tuple[str, ...] = ()
    is_all_known: bool = True
    taken_at: Instant | None = None
    seen_at: Instant


class StandingFact(FrozenPart):
    """What the last cycle missed, and no person has acknowledged."""

    condition: str
    what: str
    since: Instant


class WorldMemory(Fact, seen="written_at"):
    """All facts that earlier cycles saw around one storage root.

    Attributes:
        states: Identifiers of the state location, as its first writers made them.
        written_at: Time of the newest cycle in it, later than that of any before by whatever clock;
            ``None`` if there was none.
        savepoints: Folders below the storage root, not empty, in which a cycle saw a savepoint's
            ``_metadata``.
    """

    schema_version: int = Field(default=1, ge=1, le=1)
    root: Annotated[str, LATEST] = ""
    states: Annotated[tuple[str, ...], UNION] = ()
    written_at: Instant | None = None
    places: Annotated[tuple[RememberedPlace, ...], TABLE] = ()
    directories: Annotated[tuple[RememberedDirectory, ...], TABLE] = ()
    reports: Annotated[tuple[RememberedReport, ...], TABLE] = ()
    clusters: Annotated[tuple[RememberedCluster, ...], TABLE] = ()
    jobs: Annotated[tuple[RememberedJob, ...], TABLE] = ()
    registries: Annotated[tuple[RememberedRegistry, ...], TABLE] = ()
    standing: tuple[StandingFact, ...] = ()
    lineage: Annotated[LineageMemory, PART] = LineageMemory()
    expired: Annotated[tuple[ExpiredCheckpoint, ...], TABLE] = ()
    savepoints: Annotated[tuple[str, ...], UNION] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether no cycle has written anything."""
        return self.written_at is None


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
