"""What is looked at again before and after every batch of deletions (R18, R22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from orphangc.core.evidence import JobState
from orphangc.core.gate import ClusterFacts, gate_problem, is_same_incarnation
from orphangc.core.names import uuid_of
from orphangc.core.settings import StorageRootSettings
from orphangc.core.uris import Location
from orphangc.errors import RefusedError, RegistryUnavailableError
from orphangc.runs.observe import Outside
from orphangc.runs.roots import RootReader
from orphangc.runs.verdicts import JobView

__all__ = ["Recheck"]


@dataclass(slots=True)
class Recheck:
    """Looks again, and stops the sweep where the evidence of its cycle no longer holds.

    Attributes:
        outside: The same ports as the cycle's.
        settings: The same settings.
        reader: Knows every root that was read, so that only new ones are read.
        views: The jobs as they were judged.
        stable: Newest root folder of each living job, which must still be there.

    """

    outside: Outside
    settings: StorageRootSettings
    reader: RootReader
    views: dict[str, JobView]
    stable: dict[str, Location] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note what must not vanish."""
        for key, view in self.views.items():
            latest = view.evidence.latest
            if view.evidence.state is not JobState.ENDED and latest is not None:
                self.stable[key] = latest.folder

    def live_now(self) -> set[bytes]:
        """Return the UUIDs that the roots of this moment name.

        Raises:
            RefusedError: A root cannot be read, or the root that a living job's evidence rests
                on is gone: the next cycle has to decide anew.

        """
        live: set[bytes] = set()
        folders: set[Location] = set()
        for base in self.outside.bases:
            read = self.reader.collect(base)
            for broken in read.unreadable:
                if not broken.is_acknowledged:
                    raise RefusedError(f"cannot read {broken.uri}: {broken.reason}; stopped")
                live |= broken.raw
            for root in read.roots:
                folders.add(root.folder)
                live |= root.raw
                for names in root.files.values():
                    live.update(uuid for name in names if (uuid := uuid_of(name)) is not None)
        self._check_stable(folders)
        return live

    def _check_stable(self, folders: set[Location]) -> None:
        for key, folder in self.stable.items():
            if folder not in folders:
                raise RefusedError(
                    f"checkpoint {folder} of job {key} was subsumed during the sweep; stopped,"
                    " the next run goes on"
                )

    def check_gate(self) -> None:
        """Make sure that every living job still is what the cycle saw.

        Raises:
            RefusedError: It was started again, its settings changed, or Flink does not answer.

        """
        try:
            clusters = [registry.observe() for registry in self.outside.registries]
        except RegistryUnavailableError as err:
            raise RefusedError(f"{err}; stopped") from err
        for view in self.views.values():
            self._check_job(view, clusters)

    def _check_job(self, view: JobView, clusters: Sequence[ClusterFacts]) -> None:
        job_id = view.evidence.job_id
        now = [cluster.jobs[job_id] for cluster in clusters if job_id in cluster.jobs]
        if len(now) != len(view.evidence.after):
            raise RefusedError(f"job {job_id} appeared or vanished during the sweep; stopped")
        for before, after in zip(view.evidence.after, now, strict=True):
            if before.is_globally_terminal and after.is_globally_terminal:
                continue
            if not is_same_incarnation(before, after):
                raise RefusedError(f"job {job_id} was started again during the sweep; stopped")
            problem = gate_problem(after)
            if problem is not None:
                raise RefusedError(f"{problem}; stopped")
