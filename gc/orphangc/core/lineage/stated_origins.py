"""Edges that the owner states in the retention policy (R41).

A job without a checkpoint joins a lineage, and covers nothing: what Flink retains of it may be its
newest state alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, LineageJob
from orphangc.core.lineage.retention_policy import StatedOrigin
from orphangc.core.model.locations import canonical
from orphangc.core.model.naming import checkpoint_id_of
from orphangc.core.model.types import is_job_id


def stated_continuations(
    stated: Mapping[str, str],
    jobs: Mapping[str, LineageJob],
    checkpoints: Sequence[LineageCheckpoint],
    at: datetime,
) -> tuple[list[Continuation], list[str]]:
    """Return the edges that the owner states, and why others cannot be true.

    Args:
        stated: What each job continued, by its job id.
        jobs: Jobs by id, where one directory alone has it.
        checkpoints: All checkpoints.
        at: Time of the cycle.

    """
    edges, problems = [], []
    for newer_id, text in stated.items():
        newer = jobs.get(newer_id)
        origin = None if newer is None else _origin(text, jobs, checkpoints)
        if newer is None or origin is None:
            continue
        place, uri, number, found = origin
        is_bare = is_job_id(text)
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
        own = [e.stored_at for e in checkpoints if e.place in newer.places and e.stored_at]
        stored_at = None if found is None else found.stored_at
        if stored_at is not None and own and min(own) <= stored_at:
            problems.append(
                f"continued: {uri} was stored after job {newer_id} had written a"
                " checkpoint, which therefore did not continue it: the newer job stands first,"
                " NEWER=OLDER@ID"
            )
        else:
            edges.append(edge)
    return edges, problems


def _origin(
    text: str, jobs: Mapping[str, LineageJob], checkpoints: Sequence[LineageCheckpoint]
) -> tuple[str, str, int | None, LineageCheckpoint | None] | None:
    """Return place, folder and id of a stated checkpoint, and itself if it is stored.

    ``None`` if its job is not known.
    """
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
