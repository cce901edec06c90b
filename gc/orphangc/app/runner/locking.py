"""The lock of a storage root, held by this process during a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from orphangc.app.wiring.clock import is_dead, this_process
from orphangc.collect.state.lock import Holder, Lock, acquire
from orphangc.collect.state.store import RootState
from orphangc.core.model.settings import StorageRootSettings


def lock_folder(state: RootState) -> str:
    """Return the path of a storage root's lock in its state location."""
    return f"{state.folder}/lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Run that holds the lock of its storage root."""

    settings: StorageRootSettings
    state: RootState
    lock: Lock
    run_id: str


@contextmanager
def held_lock(state: RootState, *, holder: Holder | None = None) -> Iterator[Lock]:
    """Yield the lock of a storage root, and release it.

    Raises:
        LockHeldError: A living run holds the lock.
    """
    wanting = holder or this_process()
    lock = acquire(state.files, lock_folder(state), wanting, is_dead=is_dead)
    try:
        yield lock
    finally:
        lock.release()
