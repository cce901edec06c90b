"""Edges that the owner states in the retention policy (R41).

A job without a checkpoint joins a lineage, and covers nothing: what Flink retains of it may be its
newest state alone. A job that is stated to have begun from nothing has an edge to itself, which
joins nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from flinkstate.places.checkpoint_names import checkpoint_id_of, is_job_id
from flinkstate.places.locations import canonical
from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, LineageJob
from orphangc.core.lineage.retention_policy import NOTHING, StatedOrigin
from orphangc.core.times.instants import shifted


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOrigins:
    """What sources show of the origins of jobs, in this cycle or an earlier one.

    Attributes:
        from_nothing: Ids of the jobs that are known to have begun so.
    """

    edges: Sequence[Continuation] = ()
    from_nothing: Collection[str] = ()
    clock_skew: timedelta = timedelta(0)

    def has(self, place: str, uri: str, number: int | None) -> bool:
        """Return whether any cycle saw a restore from a checkpoint that is not stored."""
        same = (each for each in self.edges if each.checkpoint_id is not None)
        return any(
            e.checkpoint == uri or (e.older, e.checkpoint_id) == (place, number) for e in same
        )

    def contradiction(
        self,
        newer: LineageJob,
        stated: Continuation,
        found: LineageCheckpoint | None,
        own: Iterable[LineageCheckpoint],
    ) -> str | None:
        """Return why a job was not restored from what is stated, ``None`` if nothing says so.

        Of an id that comes back another run may have been; such a statement covers nothing.

        Args:
            own: Checkpoints of the newer job.

        Source: Flink 1.15-2.3, ``CheckpointCoordinator.restoreSavepoint``: ids go on above it.
        """
        if newer.may_recur:
            return None
        if stated.older == stated.newer:
            seen = (e.checkpoint or e.older for e in self.edges if e.newer in newer.places)
            origin = next(seen, None)
            return None if origin is None else f"a cycle saw it continue {origin}"
        if newer.job_id in self.from_nothing:
            return "a cycle saw it begin from nothing"
        begun, stored = newer.started_at, None if found is None else found.stored_at
        is_later = begun and stored and stored > shifted(begun, self.clock_skew)
        if stated.checkpoint and is_later:
            return "that was stored after the job had started"
        return None if stated.checkpoint_id is None else self._other(newer, stated, own)

    def _other(
        self, newer: LineageJob, stated: Continuation, own: Iterable[LineageCheckpoint]
    ) -> str | None:
        number = stated.checkpoint_id
        for edge in self.edges:
            is_same = stated.checkpoint == edge.checkpoint
            if edge.newer not in newer.places or not edge.checkpoint or is_same:
                continue
            if edge.checkpoint_id != number:
                return f"a cycle saw it restored from {edge.checkpoint}"
        oldest = min((each.checkpoint_id for each in own), default=None)
        if number is not None and oldest is not None and oldest <= number:
            return f"it has checkpoint {oldest}, and goes on above what it is restored from"
        return None


def stated_continuations(
    stated: Mapping[str, str],
    jobs: Mapping[str, LineageJob],
    checkpoints: Sequence[LineageCheckpoint],
    *,
    at: datetime,
    shown: ShownOrigins,
) -> tuple[list[Continuation], list[str]]:
    """Return the edges that the owner states, and why others cannot be true.

    Args:
        stated: What each job continued, by its job id.
        jobs: Jobs by id, where one directory alone has it.
    """
    edges, problems = [], []
    for newer_id, text in stated.items():
        newer = jobs.get(newer_id)
        origin = None if newer is None else _origin(text, newer, jobs, checkpoints)
        if newer is None or origin is None:
            continue
        place, uri, number, found = origin
        is_bare = is_job_id(text) or (found is None and not shown.has(place, uri, number))
        edge = Continuation(
            older=place,
            newer=newer.places[0],
            source=ContinuationSource.STATEMENT,
            checkpoint="" if is_bare else uri,
            checkpoint_id=None if is_bare else number,
            stored_at=None if is_bare or found is None else found.stored_at,
            restored_at=newer.started_at if found is None else None,
            seen_at=at,
        )
        own = [each for each in checkpoints if each.place in newer.places]
        times = [each.stored_at for each in own if each.stored_at is not None]
        stored_at = None if found is None else found.stored_at
        if stored_at is not None and times and min(times) <= stored_at:
            problems.append(
                f"continued: {uri} was stored after job {newer_id} had written a"
                " checkpoint, which therefore did not continue it: the newer job stands first,"
                " NEWER=OLDER@ID"
            )
        elif (why := shown.contradiction(newer, edge, found, own)) is not None:
            problems.append(f"continued: {newer_id} did not continue {text}: {why}: remove it")
        else:
            edges.append(edge)
    return edges, problems


def _origin(
    text: str,
    newer: LineageJob,
    jobs: Mapping[str, LineageJob],
    checkpoints: Sequence[LineageCheckpoint],
) -> tuple[str, str, int | None, LineageCheckpoint | None] | None:
    """Return place, folder and id of a stated checkpoint, and itself if it is stored.

    Of a job that began from nothing that is its own place. ``None`` if its job is not known.
    """
    if text == NOTHING:
        return newer.places[0], "", None, None
    stated = StatedOrigin.of(text)
    uri, number = "", stated.checkpoint_id
    if stated.uri:
        uri = str(canonical(stated.uri))
        found = next((each for each in checkpoints if each.uri == uri), None)
        number = checkpoint_id_of(uri.rpartition("/")[2])
        place = uri if number is None else uri.rpartition("/")[0]
    else:
        older = jobs.get(stated.job_id)
        if older is None:
            return None
        own = [each for each in checkpoints if each.place in older.places]
        own = [each for each in own if number in {None, each.checkpoint_id}]
        found = min(own, key=lambda each: each.order, default=None)
        place = older.places[0]
    if found is None:
        return place, uri, number, None
    return found.place, found.uri, found.checkpoint_id, found
