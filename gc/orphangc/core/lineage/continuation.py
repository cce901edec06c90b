"""Evidence that one job continued another, and what the state location remembers of it (R41).

Nodes are places: a job directory, or the folder of a savepoint in none. An edge that is
forgotten only splits a lineage, and a smaller lineage never lets more go.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from orphangc.core.groups import grouped, sets_of
from orphangc.core.model.joined_facts import (
    BOTH,
    EARLIEST,
    EITHER,
    LATEST,
    TABLE,
    UNION,
    Fact,
    joined,
)
from orphangc.core.times.instants import Instant, shifted

REMEMBERED_FOR = timedelta(days=400)
"""Time for which an edge is remembered after the last cycle that saw its evidence."""


class ContinuationSource(StrEnum):
    """Evidence of one edge."""

    REST = "rest"
    """Flink's REST API shows the checkpoint that the newer job was restored from."""
    REGISTRY = "registry"
    """A registry snapshot of the newer job states it."""
    REFERENCE = "reference"
    """A checkpoint of the newer job names files in the older one's directory."""
    RESOURCE = "resource"
    """One Kubernetes resource ran first the older job, then the newer one."""
    SAVEPOINT_NAME = "savepoint_name"
    """Flink names a savepoint's folder after six digits of the id of the job that it was taken of.
    Another job may have them too: this joins a lineage, and proves nothing."""
    SAVEPOINT_CONTENTS = "savepoint_contents"
    """Of the job that its folder is named after, a savepoint also has the operators, and by id and
    by time its place among the checkpoints."""
    STATEMENT = "statement"
    """The owner states it, in the retention policy."""


class Continuation(Fact, subject=("older", "newer", "source", "checkpoint"), seen="seen_at"):
    """One edge of a lineage; of two values that cycles saw, the one that covers less counts.

    Attributes:
        older: Job directory of the older job, or folder of a savepoint.
        newer: Job directory of the job that continued it, or folder of its savepoint.
        checkpoint: Checkpoint that the newer job was restored from, "" if unknown.
        checkpoint_id: Its id; ``None`` if unknown: then the edge covers no checkpoint.
        stored_at: Its store time, as the first cycle saw that found it; ``None`` if none did.
        restored_at: Time of the restore by Flink's clock; ``None`` if no source states it.
        first_seen_at: Time of the first one, in memories of earlier releases.
    """

    older: str = Field(min_length=1)
    newer: str = Field(min_length=1)
    source: ContinuationSource
    checkpoint: str = ""
    checkpoint_id: Annotated[int | None, EARLIEST] = None
    stored_at: Annotated[Instant | None, EARLIEST] = None
    restored_at: Annotated[Instant | None, EARLIEST] = None
    seen_at: Instant
    first_seen_at: Instant | None = None

    @property
    def is_of_savepoint(self) -> bool:
        """Return whether it leads from a job to a savepoint of it, and not to another job."""
        by_folder = {ContinuationSource.SAVEPOINT_NAME, ContinuationSource.SAVEPOINT_CONTENTS}
        is_reported = self.source is ContinuationSource.REST and not self.checkpoint
        return self.source in by_folder or is_reported


class ResourceJob(Fact, subject=("resource", "job_id"), seen="seen_at"):
    """A job that a Kubernetes resource ran.

    Attributes:
        identity: Kind and uid of the resource, "" if unknown.
        is_stateless: Whether every cycle saw the resource say that a new job takes over no state.
        is_id_chosen: Whether any cycle saw its configuration choose the id.
        deployed_from: Everything that its operator said the job was deployed from, a place or the
            word for HA metadata, and then its cluster's configuration; "" if that named no place.
    """

    resource: str = Field(min_length=1)
    job_id: str
    identity: Annotated[str, LATEST] = ""
    is_stateless: Annotated[bool, BOTH] = False
    is_id_chosen: Annotated[bool, EITHER] = False
    deployed_from: Annotated[tuple[str, ...], UNION] = ()
    first_seen_at: Annotated[Instant, EARLIEST]
    seen_at: Instant


class LineageMemory(Fact):
    """What cycles saw of lineages.

    Attributes:
        fixed_ids: Job ids that a cluster's configuration chose, or that two runs had, so that they
            come back: of such an id, that is never forgotten.
    """

    continuations: Annotated[tuple[Continuation, ...], TABLE] = ()
    resource_jobs: Annotated[tuple[ResourceJob, ...], TABLE] = ()
    fixed_ids: Annotated[tuple[str, ...], UNION] = ()

    @property
    def resources(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the resources that ran each job, by job id."""
        return resources_by_job((each.job_id, each.resource) for each in self.resource_jobs)


def has_one_origin(
    ran: Iterable[ResourceJob],
    restores: Iterable[Continuation],
    alive_at: Iterable[datetime | None],
) -> bool:
    """Return whether each run of a job surely began with one checkpoint, or with one of its own.

    An operator from 1.10 makes a new id for whatever it does not deploy from HA metadata, and only
    such a one says what it deployed from. Where Flink showed the job restored from just that, and
    every cycle saw that deployment of the id, it was made for that one: a JobManager of it that is
    lost begins with the same again. One from HA metadata may be the last of several that no cycle
    saw: metadata without a checkpoint begins from nothing, and an operator before 1.10 from
    anything, all under the same id. A job that was alive when no resource ran it any more, a
    person may have started from anything.

    Source: operator 1.10-1.16, ``ApplicationReconciler.setJobIdIfNecessary``, ``deploy``
    (FLINK-35831, FLINK-35292), ``AbstractFlinkService.atLeastOneCheckpoint``,
    ``JobStatus.upgradeSavepointPath``; before 1.10 an id outlived an upgrade by a savepoint.

    Args:
        ran: What resources were seen to run the job.
        restores: The edges that lead to it.
        alive_at: When cycles saw it alive last.
    """
    by = list(ran)
    if len({each.identity for each in by}) != 1 or any(each.is_id_chosen for each in by):
        return False
    seen_at = max(each.seen_at for each in by)
    is_watched = all(at is None or at <= seen_at for at in alive_at)
    shown = {edge.checkpoint for edge in restores if edge.source is ContinuationSource.REST}
    said = {place for each in by for place in each.deployed_from}
    return is_watched and len(said) == 1 and said == shown


def remembered_lineage(known: LineageMemory, seen: LineageMemory, at: datetime) -> LineageMemory:
    """Return the memory after a cycle: what it saw, and what earlier ones saw not too long ago."""
    after = shifted(at, -REMEMBERED_FOR)
    united = joined(known, seen)
    return LineageMemory(
        continuations=tuple(e for e in united.continuations if e.seen_at >= after),
        resource_jobs=tuple(e for e in united.resource_jobs if e.seen_at >= after),
        fixed_ids=united.fixed_ids,
    )


def resources_by_job(ran: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the names of the resources that ran each job, by job id."""
    return {job_id: tuple(sorted(names)) for job_id, names in sets_of(ran).items()}


_EVERY_ID = 2**63 - 1
"""Above every id: what such an edge covers is bounded by time alone."""


def resource_continuations(
    jobs: Iterable[ResourceJob], directories: Mapping[str, str], from_nothing: Collection[str] = ()
) -> Iterator[Continuation]:
    """Yield the edges between the jobs that one resource ran, one after the other.

    Such an edge covers nothing, unless the resource is stateless and the newer job began from
    nothing: then its owner has given up all that the older job had stored by then.

    One that was created again is another resource: its job may have begun from nothing,
    and then the last checkpoint of the older job alone has that job's state. Jobs that the same
    cycle saw first have no order, and get no edge.

    Args:
        directories: Job directory of each job id that one directory alone has.
        from_nothing: Ids of the jobs that are known to have begun so.
    """
    known = (each for each in jobs if each.job_id in directories and each.identity)
    for own in grouped(known, lambda each: each.identity).values():
        for newer in own:
            older = [each for each in own if each.first_seen_at < newer.first_seen_at]
            latest = max((each.first_seen_at for each in older), default=None)
            for each in older:
                if each.first_seen_at == latest:
                    is_given_up = newer.job_id in from_nothing and _is_given_up(each, newer)
                    yield Continuation(
                        older=directories[each.job_id],
                        newer=directories[newer.job_id],
                        source=ContinuationSource.RESOURCE,
                        checkpoint_id=_EVERY_ID if is_given_up else None,
                        restored_at=newer.first_seen_at if is_given_up else None,
                        seen_at=newer.seen_at,
                    )


def _is_given_up(older: ResourceJob, newer: ResourceJob) -> bool:
    """Return whether the resource was stateless as long as it ran either job.

    A job of any other mode is to keep its state: one stateless start puts the new job beside it.
    """
    return older.is_stateless and newer.is_stateless
