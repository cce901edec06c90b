"""Registry snapshots in files that a setting names; exporters' own folders are read elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.open import open_storage
from orphangc.collect.checkpoints.spooled_objects import contents_of
from orphangc.collect.observe.exporter_folder import is_job_folder
from orphangc.core.exporter.registry_format import MAX_SNAPSHOT_BYTES, read_snapshot
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.model.codes import Guard
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import RefusedError, UnreadableSnapshotError
from orphangc.ports import Storage

Read = dict[Location, tuple[StoredObject, RegistrySnapshot]]
"""Snapshots by file, with what the listing showed of it before it was read."""


def load_snapshots(sources: Sequence[str], read: Read) -> list[RegistrySnapshot]:
    """Return the registry snapshots of all sources; a source is a file, or a folder of files.

    Files of exporters are in subfolders, which ``open_exports`` reads.

    Args:
        read: What was read earlier, and afterwards also what is read now: a file that the listing
            shows unchanged is not read again, for millions of entries take seconds and memory.

    Raises:
        RefusedError: A snapshot is damaged, partial, or absent: the liveness of its job is unknown,
            and so is that of every other job.
        StorageUnreachableError: The place cannot be listed or read.
    """
    return [snapshot for source in sources for snapshot in _load(canonical(source), read)]


def _load(place: Location, read: Read) -> Iterator[RegistrySnapshot]:
    storage = open_storage(place.parent)
    keys, folder, at = [ObjectKey(place.name)], storage.folder(""), place.parent
    if place.name in folder.folders:
        storage, at = open_storage(place), place
        folder = storage.folder("")
        keys = [each.key for each in folder.objects]
        if not keys and not any(map(is_job_folder, folder.folders)):
            raise RefusedError(
                f"no registry snapshot in {place}; nothing was planned", guard=Guard.REGISTRY
            )
    listed = {each.key: each for each in folder.objects}
    for key in keys:
        file, shown = at.child(key), listed.get(key)
        known = read.get(file)
        if known is not None and shown is not None and shown.etag and known[0].is_same_as(shown):
            yield known[1]
            continue
        snapshot = _read(storage, key, shown, file)
        if shown is not None:
            read[file] = shown, snapshot
        yield snapshot


def _read(
    storage: Storage, key: ObjectKey, listed: StoredObject | None, file: Location
) -> RegistrySnapshot:
    data = contents_of(storage, key, listed, max_bytes=MAX_SNAPSHOT_BYTES)
    if data is None:
        raise RefusedError(
            f"no registry snapshot {file}; nothing was planned", guard=Guard.REGISTRY
        )
    try:
        return read_snapshot(data)
    except UnreadableSnapshotError as err:
        raise RefusedError(f"{file}: {err}; nothing was planned", guard=Guard.REGISTRY) from err
