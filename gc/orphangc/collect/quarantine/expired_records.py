"""The records of expired checkpoints, and the markers beside what is in quarantine (R44)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from flinkstate.places.locations import Location, canonical
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import keep_records, read_memory, write_memory
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.joined_facts import table
from orphangc.errors import RefusedError


class BesideCheckpoints(Protocol):
    """What an expiry writes into the folders of checkpoints; nothing else ever does."""

    def put_back(self, record: ExpiredCheckpoint, data: bytes) -> None:
        """Store a ``_metadata`` again, unless something is stored there."""
        ...

    def mark(self, record: ExpiredCheckpoint) -> None:
        """Write the marker of the state location that has the record.

        Raises:
            RefusedError: That right is not given.
        """
        ...

    def unmark(self, folder: Location, states: Collection[str] = ()) -> None:
        """Remove what a run was writing in a folder, and the markers of some state locations.

        Raises:
            RefusedError: Something of it cannot be removed.
        """
        ...


def remember_expired(state: RootState, records: Iterable[ExpiredCheckpoint]) -> None:
    """Write records beside the copies, and into the memory that every cycle reads.

    Raises:
        OrphanGcError: The memory cannot be read or written: nothing may be deleted.
    """
    records = [*records]
    keep_records(state, records)
    read = read_memory(state)
    memory = read.memory.model_copy(update={"expired": table((*read.memory.expired, *records))})
    if memory.written_at is None:
        raise RefusedError("no cycle has written the memory yet; nothing expires")
    write_memory(state, memory, read, uuid.uuid4().hex[:16])


def remove_marker(
    state: RootState, beside: BesideCheckpoints, checkpoint: ExpiredCheckpoint
) -> None:
    """Remove the marker beside a checkpoint before its quarantine ends.

    It stays for another checkpoint in quarantine at the same path, as that of another state
    location does.

    Raises:
        OrphanGcError: It cannot be removed: then the quarantine does not end.
    """
    memory = read_memory(state).memory
    is_another = any(
        each.is_in_quarantine and each.uri == checkpoint.uri and each.sha256 != checkpoint.sha256
        for each in memory.expired
    )
    own = (checkpoint.state, *memory.states)
    beside.unmark(canonical(checkpoint.uri), () if is_another else own)


def expired_of(
    state: RootState, checkpoints: Collection[tuple[str, str]]
) -> Iterator[ExpiredCheckpoint]:
    """Yield which of some checkpoints expired and were not put back, by folder and digest."""
    for each in read_memory(state).memory.expired:
        if (each.uri, each.sha256) in checkpoints and each.restored_at is None:
            yield each


def newest_expired_at(state: RootState, places: Collection[str]) -> list[ExpiredCheckpoint]:
    """Return what expired last in some folders, and was not put back."""
    records = (each for each in read_memory(state).memory.expired if each.uri in places)
    newest = {each.uri: each for each in sorted(records, key=lambda one: one.expired_at)}
    return [each for each in newest.values() if each.restored_at is None]
