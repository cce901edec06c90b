"""Checks before every batch what exporters have written since the sweep's cycle (R18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.collect.observe.exporters import parsed_at
from orphangc.core.columns.file_names import FileNames
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.model.codes import Guard
from orphangc.core.model.types import JobId
from orphangc.errors import RefusedError, UnreadableSnapshotError


@dataclass(slots=True)
class RegistryWatch:
    """Reads each new snapshot of the jobs that a deletion depends on.

    Attributes:
        epochs: JobManager that exported the registry to the cycle, by job.
        seen: Names of the snapshots that were read, by job. All others are read, whatever their
            names: they begin with the JobManager's time, and another one's clock may be behind.
        snapshots: The newest of each job.
    """

    open_exports: Callable[[], Sequence[ExporterFolder]]
    epochs: Mapping[JobId, str]
    seen: dict[JobId, set[str]]
    snapshots: list[RegistrySnapshot] = field(default_factory=list)
    _folders: list[tuple[ExporterFolder, JobId]] | None = None
    _newest: dict[JobId, tuple[str, RegistrySnapshot]] = field(default_factory=dict)
    _unreported: list[RegistrySnapshot] = field(default_factory=list)

    def check(self) -> None:
        """Read what is new.

        Raises:
            RefusedError: Another JobManager exports now, or a snapshot cannot be read.
            StorageUnreachableError: A folder cannot be listed or read.
        """
        if not self.epochs:
            return
        for exports, job_id in self._places():
            self._check_job_folder(exports, job_id)
        self.snapshots = [snapshot for _, snapshot in self._newest.values()]

    def new_names(self) -> list[FileNames]:
        """Return the base names of all entries that were read since the last call."""
        unreported, self._unreported = self._unreported, []
        return [names for snapshot in unreported for _, names in snapshot.entries.folders()]

    def _places(self) -> list[tuple[ExporterFolder, JobId]]:
        if self._folders is None:
            folders = list(self.open_exports())
            self._folders = [
                (each, job_id)
                for each in folders
                for job_id in each.jobs()
                if job_id in self.epochs
            ]
            gone = self.epochs.keys() - {job_id for _, job_id in self._folders}
            if gone:
                raise _stopped(f"the registry snapshots of job {min(gone)} have gone")
        return self._folders

    def _check_job_folder(self, exports: ExporterFolder, job_id: JobId) -> None:
        names = exports.names(job_id)
        if not names:
            raise _stopped(f"the registry snapshots of job {job_id} have gone")
        seen = self.seen[job_id]
        known = self._newest.get(job_id)
        unread = [name for name in names if name not in seen]
        if known is None and names[-1] in seen:
            unread.append(names[-1])
        for name in unread:
            snapshot = self._read(exports, job_id, name)
            if snapshot is None:
                continue
            if snapshot.jm_epoch != self.epochs[job_id]:
                raise _stopped(f"the JobManager of job {job_id} was started again during the sweep")
            seen.add(name)
            self._unreported.append(snapshot)
            if known is None or name > known[0]:
                known = self._newest[job_id] = (name, snapshot)
        if known is None:
            raise _stopped(f"the registry snapshots of job {job_id} vanish before they are read")

    @staticmethod
    def _read(exports: ExporterFolder, job_id: JobId, name: str) -> RegistrySnapshot | None:
        data = exports.read(job_id, name)
        try:
            return None if data is None else parsed_at(exports, job_id, name, data)
        except UnreadableSnapshotError as err:
            raise _stopped(str(err)) from err


def _stopped(why: str) -> RefusedError:
    return RefusedError(f"{why}; stopped, the next run goes on", guard=Guard.REGISTRY)
