"""Checks that a cycle's evidence still holds, before and after every batch (R18, R22)."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.collect.observe.exporters import parsed_at
from orphangc.collect.observe.observation import (
    Environment,
    remembered_checkpoints,
    reported_checkpoints,
    search_of,
)
from orphangc.collect.observe.reported import Answers, Naming
from orphangc.collect.observe.searching import NOTHING_READ
from orphangc.collect.revalidate.single_flight import SingleFlight
from orphangc.collect.state.lock import Lock
from orphangc.collect.state.store import RootState
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.core.cluster.job_facts import (
    ClusterFacts,
    eligibility_problem,
    hidden_origin_problem,
    is_same_incarnation,
    layout_problem,
)
from orphangc.core.cluster.pending_savepoints import pending_savepoint_problem
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.listing_columns import Recogniser
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import Checkpoint, JobEvidence, UnreadableCheckpoint
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import JobId, JobState
from orphangc.errors import (
    OrphanGcError,
    RefusedError,
    RegistryUnavailableError,
    UnreadableSnapshotError,
)
from orphangc.ports import LISTING_SCHEMA


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


_PATIENCE_SECONDS = 0.5
"""The check after a batch waits this long for the next check before a batch, and shares it."""

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class CurrentReferences:
    """Result of one check: the evidence still held, and these names were in use.

    Attributes:
        named: UUIDs that a checkpoint names, or named during the sweep.
        stopped_by: Reason why nothing more may be deleted, whatever the checkpoints name.
    """

    named: UuidSet
    root_name: str
    stopped_by: OrphanGcError | None = None

    def names(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Return bool[n]: whether a checkpoint names each object of a ``VERDICT_SCHEMA`` batch.

        Raises:
            RefusedError: One of them is no artifact; only artifacts may be deleted.
        """
        columns = Recogniser(self.root_name).columns(_as_listing(rows))
        if len(columns) != rows.num_rows or not columns.is_artifact.all():
            raise RefusedError(f"{rows['key'][0]} or one after it is no artifact; stopped")
        return self.named.contains(columns.hi, columns.lo)


def _as_listing(rows: pa.RecordBatch) -> pa.RecordBatch:
    columns = [rows.column(name) for name in LISTING_SCHEMA.names]
    return pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)


@dataclass(slots=True, kw_only=True)
class Revalidation:
    """Checks again, and stops the sweep if the evidence of its cycle no longer holds.

    Exporters get no new nonce: any snapshot newer than the cycle's is as good (T2).

    Attributes:
        jobs: Jobs that the deletion depends on, as the cycle saw them.
        of_any_layout: Keys of those that a guard refuses but for areas whose rules hold for any
            layout and any number of checkpoints at once (R56).
        has_savepoints: Whether files of savepoints' folders are deleted: none may be pending (R33).
    """

    environment: Environment
    jobs: Sequence[JobEvidence]
    state: RootState
    lock: Lock
    of_any_layout: Container[str] = ()
    has_savepoints: bool = False
    _exporting: Container[str] = field(init=False)
    _stable: Mapping[str, Location] = field(init=False)
    _clusters: tuple[ClusterFacts, ...] = ()
    _ha: tuple[HaFacts, ...] = ()
    _registries: RegistryWatch = field(init=False)
    _named: UuidSet = field(default_factory=UuidSet)
    _present: frozenset[tuple[str, str]] = frozenset()
    _gone: frozenset[Location] | None = None
    _shared: SingleFlight[CurrentReferences] = field(init=False)

    def __post_init__(self) -> None:
        """Let threads that ask at the same time share one check.

        Of a living job its JobManager's epoch must stay, where its registry is exported (T2), or
        else the checkpoint that its evidence depends on.
        """
        living = [job for job in self.jobs if job.state is not JobState.ENDED]
        exporting = {
            job.key: (job, exported, exported.response.jm_epoch)
            for job in living
            if (exported := job.exported) is not None and exported.response is not None
        }
        self._exporting = exporting.keys()
        self._stable = {
            job.key: latest.folder
            for job in living
            if job.key not in exporting and (latest := job.latest) is not None
        }
        self._registries = RegistryWatch(
            self.environment.exporters,
            epochs={job.job_id: epoch for job, _, epoch in exporting.values()},
            seen={job.job_id: set(exported.names) for job, exported, _ in exporting.values()},
        )
        self._shared = SingleFlight(self._check_all)

    def check(self) -> CurrentReferences:
        """Return what checkpoints name now, if everything else is unchanged.

        Halt, REST and registry snapshots are checked while checkpoints are listed, the lock last: a
        process may sleep for hours during a listing.

        Raises:
            RefusedError: A job was started again, its settings changed, or Flink does not
                answer; a checkpoint cannot be read, or the one that a living job's evidence
                depends on is gone; all collection was halted. The next cycle decides again.
            LockHeldError: Another run has taken the lock over.
            StorageUnreachableError: The storage or the state could not be asked.
        """
        now = self._shared.fresh()
        if now.stopped_by is not None:
            raise now.stopped_by
        return now

    def namings(self) -> frozenset[Naming]:
        """Return the checkpoints that the last check found reported or restored, and by what."""
        return self._answers.namings

    @property
    def _answers(self) -> Answers:
        return Answers(
            settings=self.environment.settings,
            clusters=self._clusters,
            snapshots=tuple(self._registries.snapshots),
            ha=self._ha,
        )

    def hidden_origin(self) -> str | None:
        """Return which job the last check found starting, without its origin; else ``None``."""
        return hidden_origin_problem(self._clusters)

    def is_stored(self, uri: str, sha256: str) -> bool:
        """Return whether the last check read this ``_metadata`` in this folder."""
        return (uri, sha256) in self._present

    def has_ended(self, job_id: JobId) -> bool:
        """Return whether the last check found a job over wherever a cluster shows it."""
        shown = [each.jobs[job_id] for each in self._clusters if job_id in each.jobs]
        return all(facts.is_globally_terminal for facts in shown)

    def check_after(self) -> CurrentReferences:
        """Return what checkpoints name now, whatever else has changed.

        Raises:
            RefusedError: A checkpoint cannot be read.
            StorageUnreachableError: The storage could not be listed.
        """
        patience = _PATIENCE_SECONDS if self.environment.storage.at_once > 1 else 0.0
        return self._shared.fresh(patience=patience)

    def _check_all(self) -> CurrentReferences:
        checks = (self._check_eligibility, self._check_halt, self._registries.check)
        with ThreadPoolExecutor(len(checks)) as pool:
            requested = [pool.submit(_error_of, check) for check in checks]
            found = list(self._below_bases())
            problems = [each.result() for each in requested]
        found += self._at_reported_places(found)
        self._take_names(found)
        problems += [_error_of(lambda: self._check_stable(found)), _error_of(self.lock.check)]
        return CurrentReferences(
            self._named,
            self.environment.storage.location.name,
            next((each for each in problems if each is not None), None),
        )

    def _take_names(self, found: Sequence[Checkpoint | UnreadableCheckpoint]) -> None:
        """Add what new checkpoints name; earlier ones were added before.

        Names of a checkpoint that is gone stay: they can only keep more, and a sweep is short.
        """
        for names in self._registries.new_names():
            self._named.extend(*names.uuids)
        for checkpoint in found:
            if _identity(checkpoint) not in self._present:
                for hi, lo in _uuids(checkpoint):
                    self._named.extend(hi, lo)
        self._present = frozenset(map(_identity, found))

    def _check_halt(self) -> None:
        halted = self.state.halted()
        if halted is not None:
            raise RefusedError(halted, guard=Condition.HALTED)

    def _below_bases(self) -> Iterator[Checkpoint | UnreadableCheckpoint]:
        """Yield every checkpoint below the bases, all of which must be reached."""
        search = search_of(self.environment)
        found = search.ask(self.environment.reader.collect, NOTHING_READ)
        for place, reason in search.unreached.items():
            raise _unreachable(place, reason)
        for read in found:
            yield from read.checkpoints
            yield from _acknowledged(read.unreadable)

    def _at_reported_places(
        self, found: Sequence[Checkpoint | UnreadableCheckpoint]
    ) -> list[Checkpoint | UnreadableCheckpoint]:
        """Return the checkpoints at other places that Flink reports (R4)."""
        seen = {each.folder for each in found if isinstance(each, Checkpoint)}
        read = reported_checkpoints(
            self._answers,
            reader=self.environment.reader,
            open_storage=self.environment.open_storage,
            read=seen,
        )
        read += self._remembered()
        _acknowledged([each for each in read if isinstance(each, UnreadableCheckpoint)])
        return read

    def _remembered(self) -> tuple[Checkpoint | UnreadableCheckpoint, ...]:
        """Return those of remembered directories, where all can be searched as at first."""
        read = remembered_checkpoints(self.environment)
        if self._gone is None:
            self._gone = frozenset(read.unreached)
        for place, reason in read.unreached.items():
            if place not in self._gone:
                raise _unreachable(place, reason)
        return read.found

    def _check_stable(self, found: Sequence[Checkpoint | UnreadableCheckpoint]) -> None:
        folders = {each.folder for each in found if isinstance(each, Checkpoint)}
        for key, stable in self._stable.items():
            if stable not in folders:
                raise RefusedError(
                    f"checkpoint {stable} of job {key} was subsumed during the sweep;"
                    " stopped, the next run goes on",
                    guard=Guard.UNSTABLE_ROOT,
                )

    def _check_eligibility(self) -> None:
        try:
            self._clusters = tuple(each.observe() for each in self.environment.clusters)
            self._ha = tuple(each.observe() for each in self.environment.ha)
        except RegistryUnavailableError as err:
            raise RefusedError(f"{err}; stopped", guard=Condition.GATE_NOT_SEEN) from err
        for job in self.jobs:
            _check_job(
                job,
                self._clusters,
                is_exported=job.key in self._exporting,
                has_any_layout=job.key in self.of_any_layout,
            )
            _check_holds(job, self._ha)
        pending = pending_savepoint_problem(self._clusters) if self.has_savepoints else None
        if pending is not None:
            raise RefusedError(f"{pending}; stopped, the next run goes on", guard=Guard.GATE)


def _unreachable(place: Location, reason: str) -> RefusedError:
    return RefusedError(
        f"{place} cannot be searched: {reason}; stopped", guard=Condition.PLACE_UNREACHABLE
    )


def _error_of(check: Callable[[], None]) -> OrphanGcError | None:
    try:
        check()
    except OrphanGcError as err:
        return err
    return None


def _check_job(
    job: JobEvidence, clusters: Sequence[ClusterFacts], *, is_exported: bool, has_any_layout: bool
) -> None:
    job_id = job.job_id
    shown = {each.uri: each.jobs[job_id] for each in clusters if job_id in each.jobs}
    known = {*job.clusters, *job.clusters_of_id}
    new = {
        uri for uri, facts in shown.items() if uri not in known and not facts.is_globally_terminal
    }
    now = [shown[uri] for uri in job.clusters if uri in shown]
    if new or len(now) != len(job.after):
        raise RefusedError(
            f"job {job_id} appeared or vanished during the sweep; stopped", guard=Guard.GATE
        )
    for before, after in zip(job.after, now, strict=True):
        if before.is_globally_terminal and after.is_globally_terminal:
            continue
        if not is_same_incarnation(before, after):
            raise RefusedError(
                f"job {job_id} was started again during the sweep; stopped", guard=Guard.GATE
            )
        if has_any_layout:
            continue
        problem = layout_problem(after) if is_exported else eligibility_problem(after)
        if problem is not None:
            raise RefusedError(f"{problem}; stopped", guard=Guard.GATE)


def _check_holds(job: JobEvidence, answers: Sequence[HaFacts]) -> None:
    known = job.holds_of_id | {hold.uri for hold in job.holds}
    for facts in answers:
        for hold in facts.holds:
            if hold.job_id == job.job_id and hold.uri not in known:
                raise RefusedError(
                    f"{hold.uri} holds job {job.job_id} by now; stopped", guard=Guard.GATE
                )


def _acknowledged(unreadable: Sequence[UnreadableCheckpoint]) -> Sequence[UnreadableCheckpoint]:
    for each in unreadable:
        if not each.is_acknowledged:
            raise RefusedError(f"{each.problem}; stopped", guard=Guard.UNREADABLE_ROOT)
    return unreadable


def _identity(checkpoint: Checkpoint | UnreadableCheckpoint) -> tuple[str, str]:
    return (
        checkpoint.uri if isinstance(checkpoint, UnreadableCheckpoint) else str(checkpoint.folder),
        checkpoint.sha256,
    )


def _uuids(checkpoint: Checkpoint | UnreadableCheckpoint) -> Iterator[tuple[_Words, _Words]]:
    """Yield every UUID that a checkpoint names, by either oracle (R5, R7), as two numbers each."""
    yield checkpoint.raw.columns()
    if isinstance(checkpoint, Checkpoint):
        for names in checkpoint.files.values():
            yield names.uuids
