"""The world of a storage root as tables for a terminal."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from flinkstate.places.locations import is_within
from flinkstate.text.shown_text import counted, visible
from orphangc.app.console.text import minute
from orphangc.app.render.shown_names import PLACE_NAMES, JobNames
from orphangc.app.render.text_table import text_table
from orphangc.core.decision.conditions import CLOSED_WORLD
from orphangc.core.world.known_world import (
    KnownCluster,
    OutsidePath,
    PlaceKind,
    SearchedPlace,
    SearchedStorage,
    World,
    WorldChange,
)

_JOBS = 5
"""Maximum number of jobs of one cluster; ``--output json`` has all."""


def world_tables(
    world: World, unasked: Sequence[WorldChange] = (), names: JobNames | None = None
) -> Iterator[RenderableType]:
    """Yield one table for each part of the world that is not empty, then the statement.

    Args:
        unasked: Facts of earlier cycles about what the call did not name.
    """
    shown = names or JobNames()
    yield text_table(
        ("place", "kind", "device", "jobs", "checkpoints", "newest", "known since"),
        map(_place, world.places),
    )
    for columns, rows in (
        (
            ("storage", "keys", "checkpoints", "newest", "problem", "left out", "named by"),
            map(_storage, world.storages),
        ),
        (("outside all places", "named by", "blocks"), (_outside(e, shown) for e in world.outside)),
        (("cluster", "answers", "jobs"), (_cluster(each, shown) for each in world.clusters)),
        (("changed", "what", "since", "acknowledged"), map(_change, world.changed)),
        (("not given in this call", "known at", "a plan without it"), map(_unasked, unasked)),
    ):
        table = text_table(columns, rows)
        if table.row_count:
            yield table
    yield Text(statement(world))


def _outside(path: OutsidePath, names: JobNames) -> tuple[str, ...]:
    named = ", ".join(path.named_by[:2]) + (" …" if path.named_by[2:] else "")
    return path.uri, named, ", ".join(map(names, path.jobs))


def _cluster(cluster: KnownCluster, names: JobNames) -> tuple[str, str, Text]:
    answers = "yes" if cluster.answers else f"no: {cluster.problem or 'not twice'}"
    jobs = [str(len(cluster.jobs)), *(visible(names(each)) for each in cluster.jobs[:_JOBS])]
    if len(cluster.jobs) > _JOBS:
        jobs.append(f"and {len(cluster.jobs) - _JOBS} more")
    return cluster.uri, answers, Text("\n".join(jobs))


def _change(change: WorldChange) -> tuple[str, ...]:
    said = "yes" if change.acknowledged else "no: it blocks"
    return change.condition, change.what, minute(change.since), said


def _unasked(change: WorldChange) -> tuple[str, ...]:
    said = "goes on: acknowledged" if change.acknowledged else f"blocks: {change.condition}"
    return change.what, minute(change.since), said


def _storage(each: SearchedStorage) -> tuple[str, ...]:
    counts = ("?", "?") if each.keys is None else (f"{each.keys:,}", f"{each.checkpoints:,}")
    newest, left_out = minute(each.newest_checkpoint_at), ", ".join(each.left_out)
    return each.uri, *counts, newest, each.problem or "", left_out, ", ".join(each.named_by)


def _place(each: SearchedPlace) -> tuple[object, ...]:
    jobs, checkpoints = each.job_directories, each.checkpoints
    return (
        *(each.uri, PLACE_NAMES[each.kind], each.device or ""),
        *("?" if count is None else count for count in (jobs, checkpoints)),
        minute(each.newest_checkpoint_at),
        "" if each.since is None else f"{each.since:%Y-%m-%d}",
    )


def statement(world: World) -> str:
    """Return what a closed world states, in one line: what was searched, with its contents."""
    whole = [each.uri for each in world.storages]
    parts = [_whole(each) for each in world.storages]
    parts += [
        _counted(each, is_covered=each.uri in world.closed_world.covers)
        for each in world.places
        if each.kind is not PlaceKind.REPORTED
        and not (is_within(each.uri, whole) and each.checkpoints)
    ]
    covered = "; ".join(parts)
    if world.closed_world.stated:
        return f"closed world: {covered}; {CLOSED_WORLD}"
    return (
        f"closed world not stated (closed_world, --closed-world). It would cover: {covered}; and"
        f" state that {CLOSED_WORLD}"
    )


def _whole(storage: SearchedStorage) -> str:
    if storage.problem is not None:
        return f"{visible(storage.uri)} (NOT SEARCHED TO ITS END)"
    checkpoints = counted(storage.checkpoints or 0, "checkpoint")
    left_out = "".join(f", without {visible(each)}" for each in storage.left_out)
    return f"all of {visible(storage.uri)} ({checkpoints}{left_out})"


def _counted(place: SearchedPlace, *, is_covered: bool) -> str:
    if place.checkpoints is None:
        return f"{visible(place.uri)} (OUT OF REACH)"
    jobs = counted(place.job_directories or 0, "job")
    what = f"{jobs}, {counted(place.checkpoints, 'checkpoint')}"
    if is_covered:
        return f"{visible(place.uri)} ({what})"
    return f"{visible(place.uri)} (0 CHECKPOINTS: is it mounted and spelled right?)"
