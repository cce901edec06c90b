"""Which files the copy of an expired ``_metadata`` names, and whether they are stored."""

from __future__ import annotations

from collections.abc import Sequence

from flinkstate.places.locations import canonical
from orphangc.collect.expire.savepoint_folders import OpenStorage
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.core.decision.evidence import UnreadableCheckpoint
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import RefusedError
from orphangc.ports import Storage


def stored_files(
    settings: StorageRootSettings, open_storage: OpenStorage, record: ExpiredCheckpoint, data: bytes
) -> list[ObjectKey]:
    """Return the keys of the files of a checkpoint, all of which are stored.

    Raises:
        RefusedError: One is gone: what is put back could not be restored.
    """
    storage, keys = _named_keys(settings, open_storage, record, data)
    lost = _lost_key(storage, keys)
    if lost is not None:
        raise RefusedError(f"{storage.location}/{lost} is gone: it cannot be restored")
    return keys


def has_lost_files(
    settings: StorageRootSettings, open_storage: OpenStorage, record: ExpiredCheckpoint, data: bytes
) -> bool:
    """Return whether some file of a checkpoint is gone for certain."""
    storage, keys = _named_keys(settings, open_storage, record, data)
    return _lost_key(storage, keys) is not None


def _lost_key(storage: Storage, keys: Sequence[ObjectKey]) -> ObjectKey | None:
    """Return a key that is not stored, ``None`` if all are.

    Their folders are listed, as a run may not read files of state, nor ask for the facts of one.
    """
    folders: dict[str, list[ObjectKey]] = {}
    for key in keys:
        folders.setdefault(key.rpartition("/")[0], []).append(key)
    for folder, own in folders.items():
        stored = {each.key for each in storage.folder(folder).objects}
        for key in own:
            if key not in stored:
                return key
    return None


def _named_keys(
    settings: StorageRootSettings, open_storage: OpenStorage, record: ExpiredCheckpoint, data: bytes
) -> tuple[Storage, list[ObjectKey]]:
    """Return the storage of a checkpoint, and the keys there that it names.

    Raises:
        RefusedError: Its ``_metadata`` cannot be read.
    """
    storage = open_storage(canonical(record.base or settings.root))
    stored = StoredObject(key=ObjectKey(record.key), size=record.size, modified_at=record.stored_at)
    folder = record.key.rpartition("/")[0]
    reader = CheckpointReader.of(settings)
    checkpoint = reader.decoded(data, storage.location, folder, stored)
    if isinstance(checkpoint, UnreadableCheckpoint):
        raise RefusedError(checkpoint.problem)
    keys = [
        ObjectKey(f"{below}/{name}")
        for place, names in checkpoint.files.items()
        if (below := storage.location.key_of(place)) is not None
        for name in names
    ]
    return storage, keys
