"""Records of expired checkpoints, markers beside them, and what interrupted expiries left (R44)."""

import hashlib
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from flinkstate.files.paths import spellings
from flinkstate.places.locations import canonical
from orphangc.collect.cycle import Cycle
from orphangc.collect.observe.expired_checkpoints import (
    ExpiredMetadata,
    copies_folder,
    copy_name,
    record_name,
)
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders, RunStorages
from orphangc.collect.state.lock import Lock
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import keep_records, read_memory, write_memory
from orphangc.core.groups import sets_of
from orphangc.core.lineage.expired_checkpoint import ExpiredCheckpoint, ExpiryMarker
from orphangc.core.model.joined_facts import table
from orphangc.core.model.types import ObjectKey
from orphangc.core.times.instants import shifted
from orphangc.errors import OrphanGcError, RefusedError

log = structlog.get_logger()

KEPT_FOR = timedelta(days=30)
"""Time after the end of a quarantine during which a copy stays whatever became of the files."""
_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ExpiredRecords:
    """Records of expired checkpoints: in a state location, in its memory, and as markers beside.

    Attributes:
        folders: Folders of the checkpoints.
    """

    state: RootState
    folders: CheckpointFolders

    def known(self) -> Sequence[ExpiredCheckpoint]:
        """Return every record that the memory has."""
        return read_memory(self.state).memory.expired

    def of(self, checkpoints: Collection[tuple[str, str]]) -> list[ExpiredCheckpoint]:
        """Return which of some checkpoints expired and were not put back, by folder and digest."""
        found = (each for each in self.known() if (each.uri, each.sha256) in checkpoints)
        return [each for each in found if each.restored_at is None]

    def newest_at(self, places: Collection[str]) -> list[ExpiredCheckpoint]:
        """Return what expired last in some folders, and was not put back."""
        records = (each for each in self.known() if each.uri in places)
        newest = {each.uri: each for each in sorted(records, key=lambda one: one.expired_at)}
        return [each for each in newest.values() if each.restored_at is None]

    def remember(self, records: Sequence[ExpiredCheckpoint]) -> None:
        """Write records into copies and memory; after an ``OrphanGcError`` nothing may go."""
        keep_records(self.state, records)
        read = read_memory(self.state)
        memory = read.memory.model_copy(update={"expired": table((*read.memory.expired, *records))})
        if memory.written_at is None:
            raise RefusedError("no cycle has written the memory yet; nothing expires")
        write_memory(self.state, memory, read, uuid.uuid4().hex[:16])

    def remove_marker(self, checkpoint: ExpiredCheckpoint) -> None:
        """Remove a marker before its quarantine ends, which an ``OrphanGcError`` prevents.

        It stays for another checkpoint in quarantine at the same path, as that of another state
        location does.
        """
        memory = read_memory(self.state).memory
        is_another = any(
            each.is_in_quarantine
            and each.uri == checkpoint.uri
            and each.sha256 != checkpoint.sha256
            for each in memory.expired
        )
        own = (checkpoint.state, *memory.states)
        self.folders.unmark(canonical(checkpoint.uri), () if is_another else own)

    def put_back(
        self, record: ExpiredCheckpoint, lock: Lock, now: Callable[[], datetime]
    ) -> list[ObjectKey]:
        """Put one ``_metadata`` back, and end its quarantine; return the keys that it names.

        Raises:
            LockHeldError: Another run has taken the lock over, and may just end that quarantine.
            RefusedError: Its copy is damaged, or a file that it names is gone.
        """
        name = copy_name(self.state, record)
        data = self.state.files.read(name)
        if data is None and record.released_at is not None:
            raise RefusedError(
                f"{record.uri}: its quarantine ended long ago, and files of it are gone; so is the"
                " copy"
            )
        if data is None or hashlib.sha256(data).hexdigest() != record.sha256:
            raise RefusedError(f"{self.state.files.location}/{name} is gone or damaged")
        keys, lost = self.folders.files_of(record, data)
        if lost is not None:
            raise RefusedError(f"{lost} is gone: it cannot be restored")
        lock.check()
        self.folders.put_back(record, data)
        self.remove_marker(record)
        self.remember([record.model_copy(update={"restored_at": now()})])
        return keys

    def forget_copies(self, at: datetime) -> int:
        """Remove copies whose quarantine ended long ago; return how many, or ``OrphanGcError``.

        The record stays: it explains why the checkpoint is not there. A copy of which all files are
        stored stays too, and one that was put back needs none.
        """
        state = self.state
        present = frozenset(state.files.names(copies_folder(state)))
        before = shifted(at, -KEPT_FOR)
        old = [
            each
            for each in self.known()
            if copy_name(state, each).rpartition("/")[2] in present
            and (ended := each.restored_at or each.released_at) is not None
            and ended < before
        ]
        removed = 0
        for each in sorted(old, key=lambda one: one.expired_at)[:_AT_ONCE]:
            name = copy_name(state, each)
            is_useless = each.restored_at is not None
            data = None if is_useless else state.files.read(name)
            if data is not None and hashlib.sha256(data).hexdigest() == each.sha256:
                is_useless = self.folders.files_of(each, data)[1] is not None
            if is_useless:
                state.files.remove(name)
                state.files.remove(record_name(state, each))
                removed += 1
        return removed


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What one cycle saw of interrupted expiries."""

    storages: RunStorages
    cycle: Cycle
    records: ExpiredRecords

    def end_what_is_stored(self, but: Collection[str], at: datetime) -> None:
        """End each quarantine whose ``_metadata`` is stored, but of what expires now.

        A run that ended early left it, or put it back: what hides it later is no expiry. What a run
        took away since this cycle began, which has taken the lock over, the cycle saw stored, too.
        """
        own, began = self.cycle.seen.second[: len(self.storages.all)], self.cycle.evidence.now
        stored = {(str(each.folder), each.sha256) for part in own for each in part.checkpoints}
        back = [
            each.model_copy(update={"restored_at": at})
            for each in self.records.known()
            if each.is_in_quarantine
            and each.expired_at < began
            and (each.uri, each.sha256) in stored
            and each.uri not in but
        ]
        for each in back:
            self.records.remove_marker(each)
        if back:
            self.records.remember(back)

    def remove_markers(self, quarantined: Iterable[ExpiredMetadata]) -> None:
        """Remove what interrupted runs left, and the markers of what is not in quarantine.

        Only markers that the cycle saw, none of which stopped this run: another state location may
        have left one since. What cannot be removed is left to the next run.
        """
        folders = [each.folder for each in quarantined]
        folders += [canonical(e.uri) for e in self.records.known() if e.is_in_quarantine]
        kept = frozenset().union(*map(spellings, folders))
        left = sets_of((e.folder, e.state) for e in self.cycle.expiries if self._is_ours(e))
        for folder, states in left.items():
            try:
                own = states if kept.isdisjoint(spellings(folder)) else ()
                self.records.folders.unmark(folder, own)
            except OrphanGcError as err:
                log.warning("expiry.marker_left", folder=str(folder), reason=str(err))

    def _is_ours(self, marker: ExpiryMarker) -> bool:
        if self.storages.own.location.contains(marker.folder):
            return True
        is_beside = any(each.location.contains(marker.folder) for each in self.storages.extra)
        return is_beside and marker.state in self.cycle.remembered.states
