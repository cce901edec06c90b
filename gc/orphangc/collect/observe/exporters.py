"""The exporter handshake: baseline (E1), then a nonce, then a response that repeats it (E2; R14).

Collectors share the one nonce file of a job. A collector that finds another's nonce leaves it
until a snapshot repeats it, or until no snapshot has for a while; a collector that finds its own
nonce overwritten writes it again, by the same rule. It was made after the listing, so any
snapshot that repeats it proves the order. Each repetition sets one collector free: none starves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from uuid import uuid4

from flinkstate.buffers import Buffer
from flinkstate.places.locations import Alias, Location, place_of, places_of
from orphangc.collect.observe.exporter_folder import ExporterFolder
from orphangc.core.exporter.exporter_answer import (
    REGISTRY_MAX_AGE,
    Exported,
    has_followed,
    living_rival,
)
from orphangc.core.exporter.registry_format import read_snapshot
from orphangc.core.exporter.registry_snapshot import (
    RegistrySnapshot,
    epoch_in,
    identity_problem,
    order_problem,
    resolve,
    rival_among,
)
from orphangc.core.model.codes import Guard
from orphangc.core.model.types import JobId, Mode
from orphangc.errors import OrphanGcError, RefusedError, UnreadableSnapshotError
from orphangc.ports import StoreTime, Waiter

_POLL_SECONDS = 2.0
_PATIENCE_SECONDS = 30.0
"""Seconds that another collector's nonce may stay before it counts as left by a dead collector."""


@dataclass(slots=True, kw_only=True)
class _ExportedJob:
    """State of one job's exporter in the handshake.

    Attributes:
        response: Snapshot that repeats the nonce (E2), or the newest other one.
        neighbour: Epoch of a JobManager that lived beside E1's, by the markers of both.
        successor: Epoch of a JobManager that began after the last marker of E1's.
        foreign_nonce: Another collector's nonce, and how often it was found unrepeated.
    """

    folder: ExporterFolder
    job_id: JobId
    baseline: RegistrySnapshot | None = None
    response: RegistrySnapshot | None = None
    baseline_unread: str | None = None
    unread: str | None = None
    unread_name: str = ""
    unwritten: str | None = None
    seen: set[str] = field(default_factory=set)
    before: frozenset[str] = frozenset()
    neighbour: str | None = None
    successor: str | None = None
    repeated: set[str] = field(default_factory=set)
    foreign_nonce: tuple[str, int] = ("", 0)

    def read_baseline(self) -> None:
        self.seen = {*self.folder.names(self.job_id)}
        try:
            found = newest(self.folder, self.job_id)
        except UnreadableSnapshotError as err:
            self.baseline_unread = str(err)
            return
        if found is not None:
            self.seen.add(found[0])
            self.before = frozenset(self.seen)
            self.baseline = found[1]
            self.repeated.add(self.baseline.nonce or "")

    def read_new(self, nonce: str) -> bool:
        """Read new snapshots; return whether the handshake with this exporter is complete.

        All of it is read, also behind the answer: one that cannot follow E1 shows two exporters.
        """
        new = [name for name in self.folder.names(self.job_id) if name not in self.seen]
        taken = [snapshot for name in new if (snapshot := self._take(name)) is not None]
        wrong = [each for each in taken if self._cannot_follow(each)]
        heard = [each for each in taken if nonce and each.nonce == nonce]
        for chosen in (wrong[:1], heard[-1:], taken[-1:]):
            if chosen:
                self.response = chosen[0]
                break
        return bool(wrong or heard)

    def _take(self, name: str) -> RegistrySnapshot | None:
        data = self.folder.read(self.job_id, name)
        if data is None:
            return None
        try:
            snapshot = parsed_at(self.folder, self.job_id, name, data)
        except UnreadableSnapshotError as err:  # refuses the job only if nothing newer comes
            self.unread, self.unread_name = str(err), name
            return None
        self.seen.add(name)
        if name >= self.unread_name:
            self.unread = None
        self.repeated.add(snapshot.nonce or "")
        return snapshot

    def read_owners(self, now: datetime) -> None:
        """Note a JobManager that exported beside E1's."""
        if self.baseline is not None:
            markers, own = self.folder.owners(self.job_id), self.baseline.jm_epoch
            found = living_rival(markers, own, now=now)
            if found is not None and has_followed(markers, own, found):
                self.successor = found
            else:
                self.neighbour = found

    @property
    def rival(self) -> str | None:
        """Return the epoch of a JobManager that writes in turn with E1's.

        By their markers both lived at once, or by the names of all snapshots they wrote in turn,
        those that came since E1 behind the others whatever their clocks say.
        """
        if self.neighbour is not None or self.baseline is None:
            return self.neighbour
        names = (*sorted(self.before), *sorted(self.seen - self.before))
        return rival_among(names, self.baseline.jm_epoch)

    def _cannot_follow(self, snapshot: RegistrySnapshot) -> bool:
        baseline = self.baseline
        return baseline is not None and bool(
            identity_problem(baseline, snapshot) or order_problem(baseline, snapshot)
        )

    def ask(self, nonce: str, patience: int) -> bool:
        """Write the nonce if it is our turn; return whether it can be written at all."""
        try:
            found = self.folder.nonce(self.job_id)
            if found != nonce and not self._is_anothers_turn(found, patience):
                self.folder.write(self.job_id, nonce)
        except OrphanGcError as err:
            self.unwritten = str(err)
        return self.unwritten is None

    def _is_anothers_turn(self, found: str | None, patience: int) -> bool:
        if found is None or found in self.repeated:
            return False
        known, times = self.foreign_nonce
        self.foreign_nonce = (found, times + 1 if found == known else 0)
        return self.foreign_nonce[1] < patience


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenExports:
    """Snapshots of one job in one registry folder.

    Attributes:
        snapshots: Snapshots that were read, oldest first; empty if none can be read.
    """

    location: Location
    job_id: JobId
    snapshots: tuple[RegistrySnapshot, ...]


@dataclass(slots=True)
class ExporterHandshake:
    """The handshake with the exporters of one cycle."""

    aliases: Sequence[Alias]
    wait: Waiter
    clock: Callable[[], StoreTime]
    jobs: list[_ExportedJob] = field(default_factory=list)

    @property
    def snapshots(self) -> list[RegistrySnapshot]:
        """Return the first snapshots."""
        return [each.baseline for each in self.jobs if each.baseline is not None]

    @property
    def seen(self) -> tuple[SeenExports, ...]:
        """Return each job that has any snapshot in a registry folder."""
        return tuple(
            SeenExports(
                location=each.folder.location,
                job_id=each.job_id,
                snapshots=tuple(s for s in (each.baseline, each.response) if s is not None),
            )
            for each in self.jobs
            if each.seen or each.unread_name
        )

    def complete(
        self,
        *,
        ended: Callable[[JobId], bool],
        bases: Sequence[Location],
        now: datetime,
        patience: timedelta,
    ) -> dict[JobId, Exported]:
        """Return what each exporter answered, after the nonce was written.

        Args:
            ended: Returns whether a job is known to be over, so that it cannot answer.
            bases: Places where jobs and their files count, the collected storage root first.
        """
        nonce = uuid4().hex
        asked_at = _instant(self.clock())
        asked = [
            each
            for each in self.jobs
            if not ended(each.job_id)
            and each.baseline is not None
            and (now - each.baseline.taken_at <= REGISTRY_MAX_AGE)
            and self._concerns(each.baseline, bases)
        ]
        waited = self._listen(asked, nonce, patience.total_seconds())
        for each in self.jobs:
            if each not in asked or each.unwritten is not None:
                each.read_new("")
        heard_at = _instant(self.clock())
        for each in asked:
            each.read_owners(heard_at)
        found = [
            Exported(
                job_id=each.job_id,
                baseline=each.baseline,
                response=each.response,
                unread=each.baseline_unread or each.unread,
                rival=each.rival,
                successor=each.successor,
                nonce=nonce if each in asked else "",
                unwritten=each.unwritten,
                waited=timedelta(seconds=waited),
                asked_at=asked_at,
                heard_at=heard_at,
                directories=frozenset(self._directories(each)),
                names=frozenset(each.seen),
            )
            for each in self.jobs
        ]
        return _by_job(found)

    def _listen(self, asked: Sequence[_ExportedJob], nonce: str, seconds: float) -> float:
        """Write the nonce by turns and wait for its repetition; return the seconds waited."""
        polls = max(1, round(min(_PATIENCE_SECONDS, seconds / 3) / _POLL_SECONDS))
        waited = 0.0
        left = [each for each in asked if each.ask(nonce, polls)]
        while True:
            left = [each for each in left if not each.read_new(nonce)]
            if not left or waited >= seconds:
                return waited
            pause = min(_POLL_SECONDS, seconds - waited)
            self.wait(pause)
            waited += pause
            left = [each for each in left if each.ask(nonce, polls)]

    def _concerns(self, snapshot: RegistrySnapshot, bases: Sequence[Location]) -> bool:
        directory = place_of(snapshot.checkpoint_dir, self.aliases)
        if directory is None or any(base.contains(directory) for base in bases):
            return True
        files = (resolve(path, snapshot.checkpoint_dir) for _, path in snapshot.entries.paths())
        paths = chain(snapshot.checkpoint_paths, files)
        places = (place_of(path, self.aliases) for path in paths)
        return any(place is None or bases[0].contains(place) for place in places)

    def _directories(self, job: _ExportedJob) -> list[Location]:
        dirs = {each.checkpoint_dir for each in (job.baseline, job.response) if each is not None}
        return [*places_of(dirs, self.aliases)]


def start_handshake(
    folders: Sequence[ExporterFolder],
    *,
    bases: Sequence[Location],
    aliases: Sequence[Alias],
    wait: Waiter,
    clock: Callable[[], StoreTime],
) -> ExporterHandshake:
    """Return the exporters, with E1 of each.

    Raises:
        RefusedError: A folder is inside a storage root, where orphangc writes nothing.
        StorageUnreachableError: A folder cannot be listed or read.
    """
    handshake = ExporterHandshake(aliases, wait, clock)
    for folder in folders:
        for base in bases:
            if base.contains(folder.location):
                raise RefusedError(
                    f"the registry folder {folder.location} lies inside {base}, where orphangc"
                    " writes nothing: let exporters write elsewhere; nothing was planned",
                    guard=Guard.REGISTRY,
                )
        for job_id in folder.jobs():
            job = _ExportedJob(folder=folder, job_id=job_id)
            job.read_baseline()
            handshake.jobs.append(job)
    return handshake


def _instant(time: StoreTime) -> datetime:
    return time.now or time.local


def _by_job(found: Sequence[Exported]) -> dict[JobId, Exported]:
    """Return what was found, by job; a job in two folders has two exporters, or a copied one."""
    by_job: dict[JobId, Exported] = {}
    for each in found:
        other = by_job.get(each.job_id)
        by_job[each.job_id] = (
            each
            if other is None
            else Exported(job_id=each.job_id, unread="two folders hold snapshots of this job")
        )
    return by_job


_TRIES = 3
"""An exporter removes its oldest snapshots; the newest is gone only if it is very fast."""


def newest(exports: ExporterFolder, job_id: JobId) -> tuple[str, RegistrySnapshot] | None:
    """Return name and content of a job's newest snapshot, ``None`` if there is none.

    One that is not whole, or another job's, is an ``UnreadableSnapshotError``.
    """
    for _ in range(_TRIES):
        names = exports.names(job_id)
        if not names:
            return None
        data = exports.read(job_id, names[-1])
        if data is not None:
            return names[-1], parsed_at(exports, job_id, names[-1], data)
    raise UnreadableSnapshotError(f"{_place(exports, job_id)}: each newest one vanishes")


def parsed_at(exports: ExporterFolder, job_id: JobId, name: str, data: Buffer) -> RegistrySnapshot:
    """Return the snapshot of a name; ``UnreadableSnapshotError`` says where it is no whole one."""
    try:
        return _parsed(job_id, name, data)
    except UnreadableSnapshotError as err:
        raise UnreadableSnapshotError(f"{_place(exports, job_id)}/{name}: {err}") from err


def _parsed(job_id: JobId, name: str, data: Buffer) -> RegistrySnapshot:
    """Return the snapshot if its name spells its epoch: rivals are recognised by names alone."""
    snapshot = read_snapshot(data)
    if snapshot.job_id != job_id:
        raise UnreadableSnapshotError(f"it is of job {snapshot.job_id}, and lies in {job_id}")
    if snapshot.source is not Mode.REGISTRY:
        raise UnreadableSnapshotError(f"it is a {snapshot.source} one, not an exporter's")
    if epoch_in(name) != snapshot.jm_epoch:
        raise UnreadableSnapshotError(
            f"it is of epoch {snapshot.jm_epoch}, and its name spells"
            f" {epoch_in(name) or 'none'}: snapshot-<13 digits>-<epoch>-<sequence>.jsonl"
        )
    return snapshot


def _place(exports: ExporterFolder, job_id: JobId) -> str:
    return f"{exports.location}/{job_id}/snapshots"
