"""Delete the files of savepoints whose quarantine is over: no other rule does (R42)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import structlog

from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.expire.savepoint_folders import own_files
from orphangc.collect.quarantine.checkpoint_folders import RunStorages
from orphangc.collect.revalidate.revalidation import CurrentReferences, Revalidation
from orphangc.collect.runs.held_run import HeldRun
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.documents.lineage_report import LineageCheckpointPart
from orphangc.core.model.codes import Condition
from orphangc.core.model.types import StoredObject
from orphangc.errors import OrphanGcError, RefusedError
from orphangc.ports import DeletionStatus

log = structlog.get_logger()

_GONE = frozenset({DeletionStatus.DELETED, DeletionStatus.GONE})


@dataclass(slots=True, kw_only=True)
class SavepointClearing:
    """Deletes the files of savepoints in one run."""

    storages: RunStorages
    run: HeldRun
    revalidation: Revalidation
    checkpoints: Iterable[Checkpoint]
    at: datetime
    _cleared: int = 0
    _savepoints: dict[tuple[str, str], Checkpoint] = field(init=False)
    _limiter: RateLimiter = field(init=False)

    def __post_init__(self) -> None:
        """Find the savepoints, and begin at the rate of deletions."""
        self._savepoints = {
            (str(each.folder), each.sha256): each
            for each in self.checkpoints
            if each.directory is None
        }
        self._limiter = RateLimiter.of(self.run, self.storages.own.batch_size)

    def clear(self, part: LineageCheckpointPart) -> None:
        """Delete the files of a savepoint; ``OrphanGcError`` if one is in use, or stays.

        Where it ends early, the next run goes on: until all are gone, the savepoint stays in
        quarantine.
        """
        savepoint = self._savepoints.get((part.uri, part.sha256))
        if savepoint is None:
            return
        storage, prefix = self.storages.place_of(savepoint.folder)
        files = own_files(savepoint, storage, prefix)
        self._cleared += len(files)
        most = self.run.settings.max_deletes
        if most is not None and self._cleared > most:
            raise RefusedError(
                f"{part.uri}: its files are more than max_deletes allows ({most});"
                " they stay: raise max_deletes",
                guard=Condition.MAX_DELETES,
            )
        for start in range(0, len(files), storage.batch_size):
            batch = files[start : start + storage.batch_size]
            self._limiter.wait_for_turn(len(batch))
            self._check_unnamed(savepoint, self.revalidation.check())
            name = f"expiry-{part.sha256[:16]}-{start:06d}"
            self.run.write_journal(name, [_file_row(part, e) for e in batch])
            try:
                for result in storage.delete(batch):
                    if result.status not in _GONE:
                        raise OrphanGcError(f"{part.uri}: {result.error or result.status}")
            finally:
                self._check_unnamed(savepoint, self.revalidation.check_after())
        log.info("expiry.savepoint_cleared", uri=part.uri, files=len(files))

    def _check_unnamed(self, savepoint: Checkpoint, current: CurrentReferences) -> None:
        """Halt everything if a checkpoint names a file of a savepoint: one may be gone."""
        for names in savepoint.files.values():
            if current.named.contains(*names.uuids).any():
                reason = f"a checkpoint names files of {savepoint.folder}, which expires"
                self.run.state.halt(reason, self.at)
                raise RefusedError(reason)


def _file_row(savepoint: LineageCheckpointPart, file: StoredObject) -> dict[str, Any]:
    """Return the record of one file in the journal, written before the file is deleted (R23)."""
    return {
        "savepoint": savepoint.uri,
        "key": file.key,
        "size": file.size,
        "modified_at": file.modified_at,
        "etag": file.etag,
    }
