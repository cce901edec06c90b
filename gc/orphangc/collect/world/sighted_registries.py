"""The registry snapshots that one cycle read, as the memory keeps them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime

from flinkstate.places.checkpoint_names import checkpoint_id_of
from flinkstate.places.locations import Alias, Location, place_of
from orphangc.collect.observe.exporters import SeenExports
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, resolve
from orphangc.core.memory.remembered import RememberedRegistry
from orphangc.core.model.types import Scope

_PARTS = frozenset({Scope.SHARED.value, Scope.TASKOWNED.value})
"""Folders of a job directory for files of its checkpoints."""


def registries_in(
    exports: Iterable[SeenExports],
    aliases: Sequence[Alias],
    *,
    root: Location,
    owners: Collection[Location],
    at: datetime,
) -> Iterator[RememberedRegistry]:
    """Yield each job's snapshots that concern a storage root."""
    for each in exports:
        found = [_places(snapshot, aliases) for snapshot in each.snapshots]
        places = {place for some in found for place in some}
        is_all_known = None not in places and bool(each.snapshots)
        known = {p for p in places if p is not None and root.contains(p) and p != root}
        if is_all_known and not known:
            continue
        newest = max(each.snapshots, key=lambda one: one.taken_at, default=None)
        home = None if newest is None else place_of(newest.checkpoint_dir, aliases)
        yield RememberedRegistry(
            uri=job_folder(each),
            location=str(each.location),
            job_id=each.job_id,
            home="" if home is None else str(home),
            directories=tuple(sorted({str(_directory_around(p, owners)) for p in known})),
            is_all_known=is_all_known,
            taken_at=None if newest is None else newest.taken_at,
            seen_at=at,
        )


def job_folder(each: SeenExports) -> str:
    """Return the folder of a job's snapshots."""
    return str(each.location.child(each.job_id))


def _directory_around(folder: Location, owners: Collection[Location]) -> Location:
    """Return the job directory of a folder; if none is known, the one that its name shows."""
    is_part = folder.name in _PARTS or checkpoint_id_of(folder.name) is not None
    around = folder.parent if is_part else folder
    return next((each for each in folder.upwards() if each in owners), around)


def _places(snapshot: RegistrySnapshot, aliases: Sequence[Alias]) -> set[Location | None]:
    """Return the folders that a snapshot names, and its job directory; ``None`` for no place."""
    base = snapshot.checkpoint_dir
    named = [path for _, path in snapshot.entries.paths()]
    named += [each.path for each in snapshot.retained]
    named += [each.path for each in snapshot.restored]
    folders = {resolve(path, base).rpartition("/")[0] for path in named}
    return {place_of(folder, aliases) for folder in (*folders, base)}
