"""Checkpoints whose ``_metadata`` is in quarantine, read from its copy in the state location (R44).

What such a checkpoint names stays in use until it is released: it can still be put back.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from flinkstate.places.locations import Location, canonical
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.state.store import RootState
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, UnreadableCheckpoint
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint
from orphangc.core.model.types import ObjectKey, StoredObject
from orphangc.errors import StorageUnreachableError


@dataclass(frozen=True, slots=True)
class ExpiredMetadata:
    """A ``_metadata`` that expired.

    Attributes:
        root: Storage root whose sweep put it there.
        read: Returns the bytes of its copy, ``None`` if there is none.
    """

    record: ExpiredCheckpoint
    root: Location
    read: Callable[[], bytes | None]

    @property
    def folder(self) -> Location:
        """Return the folder of the checkpoint."""
        return canonical(self.record.uri)


def copies_folder(state: RootState) -> str:
    """Return the folder of all copies of ``_metadata`` in the state location."""
    return f"{state.folder}/expired"


def copy_name(state: RootState, record: ExpiredCheckpoint) -> str:
    """Return the name of the copy of a ``_metadata`` in the state location."""
    return f"{copies_folder(state)}/{record.name}.metadata"


def record_name(state: RootState, record: ExpiredCheckpoint) -> str:
    """Return the name of the record beside a copy."""
    return f"{copies_folder(state)}/{record.name}.json"


def quarantined_checkpoints(
    quarantined: Iterable[ExpiredMetadata], reader: CheckpointReader
) -> Iterator[Checkpoint | UnreadableCheckpoint]:
    """Yield the checkpoints in quarantine; a copy that is not what was written is unreadable."""
    for each in quarantined:
        record = each.record
        try:
            data = each.read()
        except StorageUnreachableError as err:
            yield _unreadable(record, str(err))
            continue
        if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
            yield _unreadable(record, "its copy in the state location is gone or damaged")
            continue
        stored = StoredObject(
            key=ObjectKey(record.key), size=record.size, modified_at=record.stored_at
        )
        place = canonical(record.base) if record.base else each.root
        yield reader.decoded(data, place, record.key.rpartition("/")[0], stored)


def released_names(released: Iterable[ExpiredMetadata], reader: CheckpointReader) -> UuidSet:
    """Return the UUIDs of the files that checkpoints named whose quarantine is over.

    A copy that is gone, damaged or not to be read names none.
    """
    names = UuidSet()
    for found in quarantined_checkpoints(released, reader):
        for files in found.files.values() if isinstance(found, Checkpoint) else ():
            names.extend(*files.uuids)
    return names


def _unreadable(record: ExpiredCheckpoint, reason: str) -> UnreadableCheckpoint:
    return UnreadableCheckpoint(
        uri=f"{record.uri}/_metadata", reason=f"{reason}; it is in quarantine", sha256=""
    )
