"""Jobs that may need files here, and whose own checkpoints no cycle has found.

Before its first checkpoint a job shows only what it was restored from. While its cluster shows it,
that checkpoint is read, and names every file that the job may need. Once the cluster forgets it,
its later checkpoints may be where no cycle searches, and name the same files (R4, R12). HA metadata
shows no origin, but that there is a checkpoint, which may name any file until it is read.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from flinkstate.places.locations import is_within
from orphangc.core.groups import sets_of
from orphangc.core.memory.acknowledgement import Acknowledgement
from orphangc.core.memory.job_lives import FINISHED, is_flink_rest, is_over
from orphangc.core.memory.remembered import RememberedJob
from orphangc.core.memory.seen_cycles import SeenCycles
from orphangc.core.memory.sighting import Sighting

UNREAD = ""
"""Marker among the directories that a job needs: its origin, or checkpoint, could not be read."""


def job_uri(record: RememberedJob) -> str:
    """Return what names a job that a cluster showed: its address in that cluster's REST API."""
    return f"{record.by.rstrip('/')}/jobs/{record.job_id}"


def origin_of(uri: str) -> tuple[str, str]:
    """Return directory and job id around a checkpoint."""
    directory = uri.rpartition("/")[0]
    return directory, directory.rpartition("/")[2]


def known_directories(record: RememberedJob) -> frozenset[str]:
    """Return where a job is known to store checkpoints, or else where it is configured to."""
    own = {
        directory
        for directory, job_id in map(origin_of, record.restored)
        if job_id == record.job_id
    }
    return frozenset({*record.directories, *own} or record.stores_in)


def unlocated_jobs(
    cycles: SeenCycles, silent: Collection[str]
) -> Iterator[tuple[RememberedJob, frozenset[str] | None]]:
    """Yield the jobs that no cluster shows any more and whose checkpoints are not found.

    Each with the directories that it may need files of, ``None`` for all of the storage root.

    Args:
        silent: Clusters that are lost themselves.
    """
    located = _Located.of(cycles)
    for record in cycles.jobs:
        is_forgotten = _is_forgotten(record, cycles.sighting)
        if not is_forgotten or record.by in silent or _left_none(record):
            continue
        if _is_acknowledged_with_cluster(record, cycles.given) or located.has(record):
            continue
        reach = cycles.reach_of(record.needs)
        if reach is None or any(is_within(each, [cycles.sighting.root]) for each in reach):
            yield record, reach


def _is_forgotten(record: RememberedJob, sighting: Sighting) -> bool:
    """Return whether a cluster showed a job with state of other jobs, and does not show it now.

    HA metadata shows no origin: of its jobs only a checkpoint that was not read counts.
    """
    is_shown = record.alive_at is None or record.alive_at == sighting.at
    may_need = bool(record.needs) if is_flink_rest(record.by) else UNREAD in record.needs
    return may_need and not is_shown


def _left_none(record: RememberedJob) -> bool:
    """Return whether it ended in a state upon which Flink deletes all its checkpoints.

    Source: Flink 1.14-2.3, ``CheckpointProperties``: every policy deletes them on FINISHED.
    """
    return is_over(record) and record.ended_as == FINISHED


def _is_acknowledged_with_cluster(record: RememberedJob, given: Iterable[Acknowledgement]) -> bool:
    return any(
        each.condition == "cluster_silent"
        and each.what == record.by
        and each.since == record.alive_at
        for each in given
    )


@dataclass(frozen=True, slots=True)
class _Located:
    """Where checkpoints are known.

    Attributes:
        directories: Directories that hold, or held, checkpoints, and those of missed reports:
            what disappears from them has a fact of its own.
        by_id: These directories, and those in which other jobs were restored, by job id.
    """

    sighting: Sighting
    directories: frozenset[str]
    by_id: dict[str, set[str]]
    shown: frozenset[str]
    clusters: dict[str, set[str]]

    @classmethod
    def of(cls, cycles: SeenCycles) -> Self:
        memory, sighting = cycles.memory, cycles.sighting
        found = [(each.uri, each.job_id) for each in (*memory.directories, *sighting.directories)]
        origins = [origin_of(uri) for record in cycles.jobs for uri in record.restored]
        rest = [record for record in cycles.jobs if is_flink_rest(record.by)]
        reported = (*(e.uri for e in memory.reports), *(e.directory for e in sighting.reports))
        return cls(
            sighting=sighting,
            directories=frozenset((*(uri for uri, _ in found), *reported)),
            # jobs that were restored somewhere stored there
            by_id=sets_of((job_id, uri) for uri, job_id in (*found, *origins)),
            shown=frozenset(e.job_id for e in rest if e.alive_at == sighting.at),
            clusters=sets_of((each.job_id, each.by) for each in rest),
        )

    def has(self, record: RememberedJob) -> bool:
        """Return whether the checkpoints of a job are where cycles search, or it is shown again.

        The job id alone identifies it if one directory and one cluster have it.
        """
        own = known_directories(record)
        if any(each in self.directories or self.sighting.is_searched(each) for each in own):
            return True
        named = self.by_id.get(record.job_id, set())
        if len(named) > 1:
            return False
        if record.job_id in self.shown:
            return True
        is_searched = any(map(self.sighting.is_searched, named))
        return is_searched and self.clusters.get(record.job_id, set()) <= {record.by}
