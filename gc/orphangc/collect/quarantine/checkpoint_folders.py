"""The storages of an expiry, and what it writes there: ``_metadata`` again, and its markers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import Location, canonical
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.core.decision.evidence import UnreadableCheckpoint
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint, ExpiryMarker
from orphangc.core.model.naming import expiry_marker
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import OrphanGcError, RefusedError, SettingsError
from orphangc.ports import StateFiles, Storage


@dataclass(frozen=True, slots=True)
class CheckpointFolders:
    """Folders of the checkpoints of a storage root and its extra roots.

    Nothing else may be written beside checkpoints. So whether a store creates a file only once is
    not tried out: it is read first, and once more afterwards.

    Attributes:
        open_files: Opens a place for writing; nothing is tried out there.
    """

    settings: StorageRootSettings
    open_files: Callable[[str | Location], StateFiles]
    open_storage: Callable[[str | Location], Storage]

    def files_of(
        self, record: ExpiredCheckpoint, data: bytes
    ) -> tuple[list[ObjectKey], str | None]:
        """Return the keys of a checkpoint's files, and one of them that is gone for certain.

        Their folders are listed, as a run may not read files of state, nor ask for facts of one.

        Raises:
            RefusedError: The bytes are no checkpoint.
            StorageUnreachableError: A folder cannot be listed.
        """
        storage = self.open_storage(canonical(record.base or self.settings.root))
        key = ObjectKey(record.key)
        listed = StoredObject(key=key, size=record.size, modified_at=record.stored_at)
        reader = CheckpointReader.of(self.settings)
        found = reader.decoded(data, storage.location, key.rpartition("/")[0], listed)
        if isinstance(found, UnreadableCheckpoint):
            raise RefusedError(found.problem)
        keys: list[ObjectKey] = []
        lost: str | None = None
        for place, names in found.files.items():
            if (folder := storage.location.key_of(place)) is not None:
                own = [ObjectKey(f"{folder}/{name}") for name in names]
                stored = {each.key for each in storage.folder(folder).objects}
                gone = next((each for each in own if each not in stored), None)
                lost = lost or (None if gone is None else f"{storage.location}/{gone}")
                keys += own
        return keys, lost

    def put_back(self, record: ExpiredCheckpoint, data: bytes) -> None:
        """Store a ``_metadata`` again, unless exactly these bytes are stored there.

        Raises:
            RefusedError: Other bytes are stored there by now.
            StorageUnreachableError: The storage root does not answer, or cannot be written.
        """
        place = record.base or self.settings.root
        files = self.open_files(place)
        known = files.read(record.key)
        if known is None:
            try:
                files.create(record.key, data)
            except SettingsError:  # the store creates nothing on a condition
                files.write(record.key, data)
            known = files.read(record.key)
        if known != data:
            raise RefusedError(f"{place}/{record.key} is another one by now; left as it is")

    def mark(self, record: ExpiredCheckpoint) -> None:
        """Write the marker of a state location that has the record, an empty object.

        One that was left there is written again: it is as old as this quarantine.
        """
        place = record.base or self.settings.root
        folder = record.key.rpartition("/")[0]
        name = f"{folder}/{expiry_marker(record.state, record.key.count('/'))}"
        try:
            self.open_files(place).write(name, b"")
        except OrphanGcError as err:
            raise RefusedError(
                f"{place}/{name} cannot be written ({err}): it shows later runs that a"
                " checkpoint is in quarantine, so nothing expires; orphangc policy has that right"
            ) from err

    def unmark(self, folder: Location, states: Collection[str] = ()) -> None:
        """Remove what a run was writing in a folder, and markers, or raise ``RefusedError``."""
        places = self.settings.own_places
        place = next((e for e in places if e.contains(folder)), str(folder))
        try:
            storage, files = self.open_storage(place), self.open_files(place)
            for each in storage.folder(storage.location.key_of(folder) or "").objects:
                left = ExpiryMarker.at(storage.location.child(each.key))
                if left is not None and left.state in {"", *states}:
                    files.remove(each.key)
        except OrphanGcError as err:
            raise RefusedError(
                f"the marker in {folder} cannot be removed ({err}): until it is, the quarantine"
                " lasts; orphangc policy has that right"
            ) from err


@dataclass(frozen=True, slots=True)
class RunStorages:
    """The storage root and its extra roots, of which a policy may name folders of savepoints."""

    own: Storage
    extra: Sequence[Storage]

    @property
    def all(self) -> tuple[Storage, ...]:
        """Return all of them, the storage root first."""
        return (self.own, *self.extra)

    def now(self, at: datetime) -> datetime:
        """Return the storage root's time, no earlier than a cycle, which may be hours old."""
        time = self.own.now()
        return max(time.now or time.local, at)

    def place_of(self, folder: Location) -> tuple[Storage, str]:
        """Return the storage of a folder, and its key there; ``RefusedError`` if none is open."""
        for storage in self.all:
            key = storage.location.key_of(folder)
            if key:
                return storage, key
        raise RefusedError(f"{folder} is in no extra root any more: name one, or it stays")

    def storage_of(self, base: str) -> Storage:
        """Return the storage of a record, by its base."""
        known = {str(each.location): each for each in self.extra}
        return known[base] if base else self.own
