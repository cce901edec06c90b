"""What exporters have written since a sweep's cycle, looked at before every batch (R18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from orphangc.core.guards import Guard
from orphangc.core.model import JobId
from orphangc.core.snapshot import RegistrySnapshot
from orphangc.errors import RefusedError, UnreadableSnapshotError
from orphangc.ports import ExportFolder, Exports
from orphangc.runs.newest import newest_but

__all__ = ["RegistryWatch"]


@dataclass(slots=True)
class RegistryWatch:
    """Reads each new snapshot of the jobs that a deletion rests on.

    Attributes:
        open_exports: Opens the folders that exporters write into.
        epochs: By job: the JobManager that exported its registry to the cycle.
        snapshots: The newest of each job.

    """

    open_exports: Callable[[], Sequence[ExportFolder]]
    epochs: Mapping[JobId, str]
    snapshots: list[RegistrySnapshot] = field(default_factory=list)
    _folders: list[tuple[Exports, JobId]] | None = None
    _newest: dict[JobId, tuple[str, RegistrySnapshot]] = field(default_factory=dict)
    _untold: list[RegistrySnapshot] = field(default_factory=list)

    def look(self) -> None:
        """Read what is new.

        Raises:
            RefusedError: Another JobManager exports by now, or a snapshot cannot be read.
            StorageUnreachableError: A folder cannot be listed or read.

        """
        if not self.epochs:
            return
        for exports, job_id in self._places():
            self._look_at(exports, job_id)
        self.snapshots = [snapshot for _, snapshot in self._newest.values()]

    def new_paths(self) -> list[str]:
        """Return the paths of all entries that were read since they were asked for last."""
        untold, self._untold = self._untold, []
        return [entry.path for snapshot in untold for entry in snapshot.entries]

    def _places(self) -> list[tuple[Exports, JobId]]:
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

    def _look_at(self, exports: Exports, job_id: JobId) -> None:
        known = self._newest.get(job_id)
        try:
            found = newest_but("" if known is None else known[0], exports, job_id)
        except UnreadableSnapshotError as err:
            raise _stopped(str(err)) from err
        if found is None:
            if known is None:
                raise _stopped(f"the registry snapshots of job {job_id} have gone")
            return
        if found[1].jm_epoch != self.epochs[job_id]:
            raise _stopped(f"the JobManager of job {job_id} was started again during the sweep")
        self._newest[job_id] = found
        self._untold.append(found[1])


def _stopped(why: str) -> RefusedError:
    return RefusedError(f"{why}; stopped, the next run goes on", guard=Guard.REGISTRY)
