"""Undo expiries: a ``_metadata`` goes back to where it was, and its quarantine ends (R44)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from orphangc.collect.expire.savepoint_folders import OpenStorage
from orphangc.collect.observe.expired_checkpoints import copy_name
from orphangc.collect.quarantine.expired_records import (
    BesideCheckpoints,
    remember_expired,
    remove_marker,
    stored_files,
)
from orphangc.collect.state.lock import Lock
from orphangc.collect.state.store import RootState
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey
from orphangc.errors import RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """Puts back what expired, for a person who holds the lock of the storage root."""

    settings: StorageRootSettings
    state: RootState
    lock: Lock
    beside: BesideCheckpoints
    open_storage: OpenStorage
    now: Callable[[], datetime]

    def put_back(self, record: ExpiredCheckpoint) -> list[ObjectKey]:
        """Put one ``_metadata`` back, and end its quarantine; return the keys that it names.

        Raises:
            LockHeldError: Another run has taken the lock over, and may just end that quarantine.
            RefusedError: Its copy is damaged, or a file that it names is gone.
        """
        name = copy_name(self.state, record)
        data = self.state.files.read(name)
        if data is None and record.released_at is not None:
            raise RefusedError(
                f"{record.uri}: its quarantine ended long ago, and files of it are gone;"
                " so is the copy"
            )
        if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
            raise RefusedError(f"{self.state.files.location}/{name} is gone or damaged")
        keys = stored_files(self.settings, self.open_storage, record, data)
        self.lock.check()
        self.beside.put_back(record, data)
        remove_marker(self.state, self.beside, record)
        remember_expired(self.state, [record.model_copy(update={"restored_at": self.now()})])
        return keys
