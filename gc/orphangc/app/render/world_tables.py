"""The world of a storage root as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.places.locations import is_within
from flinkstate.text.shown_text import counted, visible
from orphangc.app.console.text import minute
from orphangc.app.render.shown_names import PLACE_NAMES, JobNames
from orphangc.core.decision.conditions import CLOSED_WORLD
from orphangc.core.world.known_world import (
    KnownCluster,
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
    names = names or JobNames()
    yield _places(world)
    for table in (
        _storages(world),
        _outside(world, names),
        _clusters(world, names),
        _changed(world),
        _unasked(unasked),
    ):
        if table.row_count:
            yield table
    yield Text(statement(world))


def _outside(world: World, names: JobNames) -> Table:
    table = Table("outside all places", "named by", "blocks")
    for path in world.outside:
        named = ", ".join(path.named_by[:2]) + (" …" if path.named_by[2:] else "")
        table.add_row(*_cells(path.uri, named, ", ".join(map(names, path.jobs))))
    return table


def _clusters(world: World, names: JobNames) -> Table:
    table = Table("cluster", "answers", "jobs")
    for cluster in world.clusters:
        answers = "yes" if cluster.answers else f"no: {cluster.problem or 'not twice'}"
        table.add_row(*_cells(cluster.uri, answers), Text(_jobs(cluster, names)))
    return table


def _jobs(cluster: KnownCluster, names: JobNames) -> str:
    shown = [visible(names(each)) for each in cluster.jobs[:_JOBS]]
    more = len(cluster.jobs) - len(shown)
    return "\n".join((str(len(cluster.jobs)), *shown, *([f"and {more} more"] if more else ())))


def _changed(world: World) -> Table:
    table = Table("changed", "what", "since", "acknowledged")
    for change in world.changed:
        said = "yes" if change.acknowledged else "no: it blocks"
        table.add_row(*_cells(change.condition, change.what, minute(change.since), said))
    return table


def _unasked(changes: Sequence[WorldChange]) -> Table:
    table = Table("not given in this call", "known at", "a plan without it")
    for change in changes:
        said = "goes on: acknowledged" if change.acknowledged else f"blocks: {change.condition}"
        table.add_row(*_cells(change.what, minute(change.since), said))
    return table


def statement(world: World) -> str:
    """Return what a closed world states, in one line: what was searched, with its contents."""
    whole = [each.uri for each in world.storages]
    parts = [_whole(each) for each in world.storages]
    parts += [
        _counted(each, is_covered=each.uri in world.closed_world.covers)
        for each in _asked(world)
        if not (is_within(each.uri, whole) and each.checkpoints)
    ]
    covered = "; ".join(parts)
    if world.closed_world.stated:
        return f"closed world: {covered}; {CLOSED_WORLD}"
    return (
        f"closed world not stated (closed_world, --closed-world). It would cover: {covered}; and"
        f" state that {CLOSED_WORLD}"
    )


def _asked(world: World) -> list[SearchedPlace]:
    return [each for each in world.places if each.kind is not PlaceKind.REPORTED]


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


def _storages(world: World) -> Table:
    table = Table("storage", "keys", "checkpoints", "newest", "problem", "left out", "named by")
    for each in world.storages:
        newest = minute(each.newest_checkpoint_at)
        counts = ("?", "?") if each.keys is None else (f"{each.keys:,}", f"{each.checkpoints:,}")
        table.add_row(
            *_cells(
                each.uri,
                *counts,
                newest,
                each.problem or "",
                ", ".join(each.left_out),
                ", ".join(each.named_by),
            )
        )
    return table


def _places(world: World) -> Table:
    table = Table("place", "kind", "device", "jobs", "checkpoints", "newest", "known since")
    for each in world.places:
        table.add_row(
            *_cells(
                each.uri,
                PLACE_NAMES[each.kind],
                each.device or "",
                "?" if each.job_directories is None else str(each.job_directories),
                "?" if each.checkpoints is None else str(each.checkpoints),
                minute(each.newest_checkpoint_at),
                "" if each.since is None else f"{each.since:%Y-%m-%d}",
            )
        )
    return table


def _cells(*texts: str) -> Iterator[Text]:
    return (Text(visible(text)) for text in texts)
