"""Who else tells of jobs: exporters inside JobManagers, and HA metadata; ports in memory."""

from dataclasses import dataclass, field
from datetime import datetime

from flinkstate.places.locations import Location
from orphangc.core.cluster.ha_facts import HaFacts, Hold
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    IssuedCheckpoint,
    RegistryEntry,
    RegistrySnapshot,
    RetainedCheckpoint,
)
from orphangc.core.model.types import EvidenceSource, JobId, Mode
from orphangc.errors import RegistryUnavailableError
from safety.simulation.faults import Fault, Process
from safety.simulation.flinks import Flinks, Job

_KEPT = 4
"""Snapshots that an exporter leaves behind."""


@dataclass
class Written:
    """What lies in the folder of one job."""

    # bytes by name; names are in the order of time
    snapshots: dict[str, bytes] = field(default_factory=dict)
    nonce: str | None = None  # what stands there to be repeated
    told: object = None  # what the newest snapshot says, and the nonce that it repeats
    count: int = 0  # of all snapshots


@dataclass
class Exports:
    """A folder that exporters write into.

    An exporter writes when something has changed, or a nonce is to be repeated: just before anybody
    looks, for E1 only excludes, and an older one excludes more.
    """

    process: Process  # whose port it is
    flinks: Flinks  # all jobs
    written: dict[JobId, Written]  # by job id; all processes share it
    location: Location = field(default_factory=lambda: Location("s3", "exports", "/x"))

    def jobs(self) -> list[JobId]:
        def told() -> list[JobId]:
            self._write()
            return sorted(self.written)

        return self.process.call("export.jobs", told)

    def names(self, job_id: JobId) -> list[str]:
        def told(*, old: bool = False) -> list[str]:
            known = sorted(self.written[job_id].snapshots)
            if not old:
                self._write()
            return known if old else sorted(self.written[job_id].snapshots)

        return self.process.call("export.names", told, {Fault.STALE: lambda: told(old=True)})

    def read(self, job_id: JobId, name: str) -> bytes | None:
        def data() -> bytes | None:
            return self.written[job_id].snapshots.get(name)

        def half() -> bytes | None:
            whole = data()
            return None if whole is None else whole[: len(whole) // 2]

        return self.process.call("export.read", data, {Fault.PARTLY: half})

    def owners(self, _: JobId) -> dict[str, datetime | None]:
        """Show no marker: exporters of earlier releases write none."""
        return self.process.call("export.owners", dict)

    def nonce(self, job_id: JobId) -> str | None:
        return self.process.call("export.nonce", lambda: self.written[job_id].nonce)

    def write(self, job_id: JobId, nonce: str) -> None:
        def put() -> None:
            self.written[job_id].nonce = nonce

        self.process.call("export.write", put)

    def check_writable(self, job_id: JobId) -> None:
        """Nobody asks."""

    def _write(self) -> None:
        """Let every JobManager write what it holds."""
        for job in self.flinks.jobs:
            if job.is_running:
                known = self.written.setdefault(job.id, Written())
                told = (job.epoch, _facts(job), known.nonce)
                if told != known.told:
                    self._add(job, known)
                    known.told = told

    def _add(self, job: Job, known: Written) -> None:
        known.count += 1
        entries, retained, issued = _facts(job)
        snapshot = RegistrySnapshot(
            source=Mode.REGISTRY,
            flink_version="1.20.5",
            job_id=job.id,
            jm_epoch=f"e{job.epoch}",
            sequence=known.count,
            nonce=known.nonce,
            taken_at=self.flinks.told_by_a_job_manager(),
            checkpoint_dir=f"s3://b/{job.directory}",
            max_concurrent=job.concurrent,
            retained=retained,
            issued=issued,
            restored=(),
            entries=entries,
        )
        name = f"snapshot-{known.count:013}-e{job.epoch}-{known.count}.jsonl"
        known.snapshots[name] = write_snapshot(snapshot, snapshot.entries or ())
        for old in sorted(known.snapshots)[:-_KEPT]:
            del known.snapshots[old]


def _facts(
    job: Job,
) -> tuple[tuple[RegistryEntry, ...], tuple[RetainedCheckpoint, ...], tuple[IssuedCheckpoint, ...]]:
    """Return what a JobManager holds: registry, completed store, and ids on their way."""
    return (
        tuple(
            RegistryEntry(f"{job.spelled}{file}", EntryKind.FILE, None, None, used)
            for file, (used, _) in sorted(job.registry.items())
        ),
        tuple(
            RetainedCheckpoint(id=root.id, is_savepoint=not is_ours, path=f"s3://b/{root.folder}")
            for root, is_ours in job.retained
        ),
        tuple(IssuedCheckpoint(id=number, at=one.issued) for number, one in job.pending.items()),
    )


@dataclass
class Metadata:
    """HA metadata, as Kubernetes and ZooKeeper show it: of every job that is not over."""

    process: Process
    flinks: Flinks
    uri: str = "zookeeper:zk/flink"

    def observe(self) -> HaFacts:
        def told() -> HaFacts:
            alive = [job for job in self.flinks.jobs if job.is_running or not job.status]
            return HaFacts(
                uri=self.uri, holds=tuple(self._hold(job) for job in alive), things=len(alive)
            )

        return self.process.call("ha", told, error=RegistryUnavailableError)

    def _hold(self, job: Job) -> Hold:
        return Hold(
            job_id=job.id,
            source=EvidenceSource.ZOOKEEPER,
            uri=f"{self.uri}/{job.id}",
            cluster="c",
            retained_ids=frozenset(root.id for root, _ in job.retained),
        )
