"""Open single checkpoints and savepoints in any place, for the commands about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from orphangc.adapters.open import open_storage
from orphangc.app.config.paths import located
from orphangc.collect.checkpoints.read_contents import contents_of
from orphangc.collect.observe.checkpoints import MAX_METADATA_BYTES
from orphangc.core.model.locations import Alias, Location, canonical
from orphangc.core.model.naming import METADATA_NAME
from orphangc.core.model.types import ObjectKey
from orphangc.errors import OrphanGcError, SettingsError
from orphangc.flink.metadata.reader import read_metadata
from orphangc.flink.state.contents import CheckpointContents
from orphangc.flink.values.metadata_values import Metadata
from orphangc.ports import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedCheckpoint:
    """One opened checkpoint or savepoint.

    Attributes:
        folder: Folder of its ``_metadata``.
        metadata: Parsed ``_metadata``.
        contents: State of its operators.

    """

    folder: Location
    metadata: Metadata
    contents: CheckpointContents


def read_checkpoint(
    uri: str, *, aliases: Sequence[Alias] = (), reads_state: bool = True
) -> OpenedCheckpoint:
    """Return a checkpoint.

    Args:
        uri: Its folder, or its ``_metadata`` file under any name.
        aliases: Replacements in paths inside ``_metadata``.
        reads_state: Whether to look into state files for the names of keyed states.

    Raises:
        SettingsError: ``uri`` names no place.
        StorageUnreachableError: The place cannot be read.
        UnreadableMetadataError: The bytes are not exactly one metadata file.
        OrphanGcError: There is no checkpoint.

    """
    folder, data = _read(located(uri))
    metadata = read_metadata(data)
    contents = contents_of(
        metadata,
        directory=str(folder),
        read=CheckpointFiles(folder, aliases).part if reads_state else None,
    )
    return OpenedCheckpoint(folder=folder, metadata=metadata, contents=contents)


class CheckpointFiles:
    """Reads parts of state files by the paths that ``_metadata`` gives; each folder opens once.

    It reads only in the checkpoint's own bucket, or on this machine. A path is untrusted and must
    not make a command connect to other stores, or wait for them.
    """

    def __init__(self, home: Location, aliases: Sequence[Alias] = ()) -> None:
        self._home = home
        self._aliases = aliases
        self._lock = Lock()
        self._storages: dict[Location, Storage | OrphanGcError] = {}

    def part(self, path: str, *, start: int, size: int) -> bytes | None:
        """Return ``size`` bytes from ``start`` on, fewer at the end; ``None`` if there is no file.

        Raises:
            OrphanGcError: The path is invalid, or cannot be read.

        """
        try:
            place = canonical(path, self._aliases)
        except ValueError as err:
            raise SettingsError(str(err)) from err
        if (place.scheme, place.authority) != (self._home.scheme, self._home.authority):
            raise SettingsError("not in the checkpoint's own storage; --alias can say where")
        storage = self._storage(place.parent)
        return storage.part(ObjectKey(place.name), start=start, size=size)

    def _storage(self, folder: Location) -> Storage:
        with self._lock:
            if folder not in self._storages:
                self._storages[folder] = _opened(folder)
            found = self._storages[folder]
        if isinstance(found, OrphanGcError):
            raise found
        return found


def _opened(folder: Location) -> Storage | OrphanGcError:
    try:
        return open_storage(folder)
    except OrphanGcError as err:
        return err


def _read(place: Location) -> tuple[Location, bytes]:
    """Return the folder and the metadata of a checkpoint, given its folder or any file."""
    folder, name = place.parent, place.name
    storage = open_storage(folder)
    data = (
        storage.read(ObjectKey(name), max_bytes=MAX_METADATA_BYTES)
        if _is_file(storage, name)
        else None
    )
    if data is None:
        folder, name = place, METADATA_NAME
        data = open_storage(folder).read(ObjectKey(name), max_bytes=MAX_METADATA_BYTES)
    if data is None:
        raise OrphanGcError(f"there is no {METADATA_NAME} in {folder}")
    return folder, data


def _is_file(storage: Storage, name: str) -> bool:
    return bool(name) and storage.stat([ObjectKey(name)])[0] is not None
