"""What is looked at again before and after every batch of deletions (R18, R22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orphangc.core.evidence import JobEvidence, JobState, Root, UnreadableRoot
from orphangc.core.gate import ClusterFacts, gate_problem, is_same_incarnation
from orphangc.core.names import uuid_of
from orphangc.core.settings import StorageRootSettings
from orphangc.core.uris import Location
from orphangc.errors import RefusedError, RegistryUnavailableError
from orphangc.runs.observe import Outside, read_root_at, reported_places
from orphangc.runs.roots import RootReader

__all__ = ["Recheck"]


@dataclass(slots=True)
class Recheck:
    """Looks again, and stops the sweep where the evidence of its cycle no longer holds.

    Attributes:
        outside: The same ports as the cycle's.
        settings: The same settings.
        reader: Knows every root that was read, so that only new ones are read.
        jobs: Every job whose evidence the deletion rests on: collected ones, and living ones
            that feed on them, wherever they lie.
        clusters: What Flink said last, for the roots that it reports.
        stable: Newest root folder of each living job, which must still be there.

    """

    outside: Outside
    settings: StorageRootSettings
    reader: RootReader
    jobs: Sequence[JobEvidence]
    clusters: Sequence[ClusterFacts] = ()
    stable: dict[str, Location] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note what must not vanish."""
        for job in self.jobs:
            if job.state is not JobState.ENDED and job.latest is not None:
                self.stable[job.key] = job.latest.folder

    def live_now(self) -> set[bytes]:
        """Return the UUIDs that the roots of this moment name.

        Raises:
            RefusedError: A root cannot be read, or the root that a living job's evidence rests
                on is gone: the next cycle has to decide anew.

        """
        live: set[bytes] = set()
        folders: set[Location] = set()
        for each in self._read():
            if isinstance(each, UnreadableRoot):
                if not each.is_acknowledged:
                    raise RefusedError(f"cannot read {each.uri}: {each.reason}; stopped")
                live |= each.raw
                continue
            folders.add(each.folder)
            live |= each.raw
            for names in each.files.values():
                live.update(uuid for name in names if (uuid := uuid_of(name)) is not None)
        self._check_stable(folders)
        return live

    def _read(self) -> Iterator[Root | UnreadableRoot]:
        """Yield every root below the bases, and what Flink reports elsewhere (R4)."""
        seen: set[Location] = set()
        for base in self.outside.bases:
            read = self.reader.collect(base)
            seen.update(root.folder for root in read.roots)
            yield from read.roots
            yield from read.unreadable
        places, unusable = reported_places(self.clusters, (), self.settings)
        yield from unusable
        for place in places:
            if place not in seen:
                yield from read_root_at(self.outside, self.reader, place)

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
            self.clusters = [registry.observe() for registry in self.outside.registries]
        except RegistryUnavailableError as err:
            raise RefusedError(f"{err}; stopped") from err
        for job in self.jobs:
            self._check_job(job)

    def _check_job(self, job: JobEvidence) -> None:
        job_id = job.job_id
        now = [each.jobs[job_id] for each in self.clusters if job_id in each.jobs]
        if len(now) != len(job.after):
            raise RefusedError(f"job {job_id} appeared or vanished during the sweep; stopped")
        for before, after in zip(job.after, now, strict=True):
            if before.is_globally_terminal and after.is_globally_terminal:
                continue
            if not is_same_incarnation(before, after):
                raise RefusedError(f"job {job_id} was started again during the sweep; stopped")
            problem = gate_problem(after)
            if problem is not None:
                raise RefusedError(f"{problem}; stopped")
