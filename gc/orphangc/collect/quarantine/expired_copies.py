"""Copies of expired ``_metadata`` that can restore nothing any more (R44).

A copy serves ``undelete`` as long as all files that it names are stored. Without an end
the state location would grow with every redeploy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

from orphangc.collect.observe.expired_checkpoints import copies_folder, copy_name, record_name
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import read_memory
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.times.instants import shifted

KEPT_FOR = timedelta(days=30)
"""Time after the end of a quarantine during which a copy stays whatever became of the files."""
_AT_ONCE = 100

HasLostFiles = Callable[[ExpiredCheckpoint, bytes], bool]
"""Returns whether a file that a copy names is gone for certain."""


def forget_copies(state: RootState, at: datetime, has_lost_files: HasLostFiles) -> int:
    """Remove copies whose quarantine ended long ago; return how many.

    The record stays: it explains why the checkpoint is not there. A copy of which all files are
    stored stays too, and one that was put back needs none.

    Args:
        state: State of the storage root, whose lock the caller holds.

    Raises:
        OrphanGcError: The state location or the storage does not answer.
    """
    present = frozenset(state.files.names(copies_folder(state)))
    before = shifted(at, -KEPT_FOR)
    old = [
        each
        for each in read_memory(state).memory.expired
        if copy_name(state, each).rpartition("/")[2] in present and _ended_before(each, before)
    ]
    removed = 0
    for each in sorted(old, key=lambda one: one.expired_at)[:_AT_ONCE]:
        name = copy_name(state, each)
        if each.restored_at is not None or _has_lost_files(state, each, has_lost_files):
            state.files.remove(name)
            state.files.remove(record_name(state, each))
            removed += 1
    return removed


def _ended_before(record: ExpiredCheckpoint, at: datetime) -> bool:
    """Return whether its quarantine ended, one way or the other, before a time."""
    ended = record.restored_at or record.released_at
    return ended is not None and ended < at


def _has_lost_files(
    state: RootState, record: ExpiredCheckpoint, has_lost_files: HasLostFiles
) -> bool:
    data = state.files.read(copy_name(state, record))
    if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
        return False
    return has_lost_files(record, data)
