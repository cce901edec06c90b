"""The lock of a storage root, held by this process during a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orphangc.app.wiring.clock import is_dead, this_process
from orphangc.collect.state.lock import Holder, Lock, acquire
from orphangc.collect.state.store import RootState


def lock_folder(state: RootState) -> str:
    """Return the path of a storage root's lock in its state location."""
    return f"{state.folder}/lock"


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
