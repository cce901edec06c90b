"""From what was seen to what is live: the live set, and the evidence of each job."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from flinkstate.places.locations import Location, canonical, place_of
from orphangc.collect.mark.job_directories import JobDirectories, job_directories
from orphangc.collect.mark.job_reports import JobReport, JobReports, job_reports, reported_ids
from orphangc.collect.observe.checkpoints import CheckpointScan
from orphangc.collect.observe.observation import Observation
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.cluster.placement import configured_directories, job_answers
from orphangc.core.columns.live_set import LiveSet
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.contradictions import contradiction
from orphangc.core.decision.evidence import Checkpoint, CycleEvidence, JobEvidence
from orphangc.core.decision.flink_traces import has_trace_of_flink
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistrySnapshot, resolve
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import place_of_folder, uuid_of
from orphangc.core.model.owners import Owners
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId, Mode, Scope
from orphangc.errors import RefusedError

_FILE_SYSTEMS = frozenset({"file", "hdfs", "viewfs"})


@dataclass(frozen=True, slots=True)
class Mark:
    """Live set of a cycle, with the jobs and their checkpoints.

    Attributes:
        live: UUIDs in use, those at or below pinned places among them.
        jobs: Evidence of each job, by key; surveys are still empty.

    """

    live: LiveSet
    checkpoints: tuple[Checkpoint, ...]
    jobs: dict[str, JobEvidence]
    owners: Owners


def mark(
    observation: Observation,
    settings: StorageRootSettings,
    bases: Sequence[Location],
    siblings: Sequence[Location] = (),
    *,
    pinned: UuidSet | None = None,
) -> Mark:
    """Return what the observation shows to be live, job by job.

    Args:
        siblings: Bases that are other storage roots: ``--ended-job all`` means no job that is
            only in these.
        pinned: UUIDs of what the listing shows at or below pinned places (R4).

    """
    named = chain(_pins(settings), (place for _, place in _entries(observation, settings)))
    live = _live_set(observation, named, UuidSet() if pinned is None else pinned)
    marker = _JobMarker.of(observation, settings, bases, siblings)
    return Mark(
        live=live,
        checkpoints=observation.checkpoints,
        jobs=marker.jobs(),
        owners=Owners(bases[0], marker.known.keys),
    )


def pinned_places(observation: Observation, settings: StorageRootSettings) -> list[Location]:
    """Return the places below which everything is in use (R4).

    Raises:
        RefusedError: The path of a registry entry is no place.

    """
    entries = _entries(observation, settings)
    return [*_pins(settings), *(place for kind, place in entries if kind is EntryKind.DIRECTORY)]


def _pins(settings: StorageRootSettings) -> list[Location]:
    return [canonical(pin, settings.aliases) for pin in settings.pin]


def _entries(
    observation: Observation, settings: StorageRootSettings
) -> Iterator[tuple[EntryKind, Location]]:
    """Yield kind and place of each registry entry, of flat artifacts only one of each folder.

    Raises:
        RefusedError: An entry's path is no place: what it protects cannot be known.

    """
    for snapshot in observation.snapshots:
        for kind, path in snapshot.entries.paths():
            try:
                yield kind, canonical(resolve(path, snapshot.checkpoint_dir), settings.aliases)
            except ValueError as err:
                where = f"registry snapshot {snapshot.sequence} of job {snapshot.job_id}"
                raise RefusedError(
                    f"{where}: {err}; nothing was planned", guard=Guard.REGISTRY
                ) from err


def _live_set(observation: Observation, named: Iterable[Location], pinned: UuidSet) -> LiveSet:
    """Return the union of both oracles over checkpoints, registry entries and pins (R5, R7)."""
    live = LiveSet()
    for checkpoint in observation.checkpoints:
        for names in checkpoint.files.values():
            live.parsed.adopt(*names.uuids)
    for snapshot in observation.snapshots:
        for _, names in snapshot.entries.folders():
            live.parsed.adopt(names.hi, names.lo)
    live.parsed.extend(*pinned.columns())
    live.parsed.update(uuid for place in named if (uuid := uuid_of(place.name)) is not None)
    for broken in observation.unreadable:
        live.parsed.extend(*broken.raw.columns())
    for checkpoint in observation.checkpoints:
        live.extend_raw(*checkpoint.raw.columns())
    return live


def _scans(observation: Observation) -> list[tuple[CheckpointScan, CheckpointScan, CheckpointScan]]:
    """Return S0, S1 and S2 of each base."""
    return [
        (start, first.scan, second.scan)
        for start, first, second in zip(
            observation.at_start, observation.first, observation.second, strict=True
        )
    ]


def _directories(
    observation: Observation,
    settings: StorageRootSettings,
    bases: Sequence[Location],
    areas: Mapping[Location, Collection[Scope]],
) -> JobDirectories:
    """Return the job of each job directory; a directory seen from two bases counts once.

    ``owner`` names the one job of the one directory whose name is no job id (R3), in the storage
    root if it has such directories: those around it are read, and their owners stay unknown.
    """
    owners: dict[Location, str] = {}
    holding = {each.directory for each in observation.checkpoints}
    holding |= {each.directory for each in observation.unreadable}
    for base, scans in zip(bases, _scans(observation), strict=True):
        for directory in sorted({each for scan in scans for each in scan.directories}):
            job_id = place_of_folder(f"{directory}/shared".lstrip("/"), base.name).job_id
            owners.setdefault(base.child(directory), job_id)
        holding |= {base.child(each) for scan in scans for each in scan.ids}
    unknown = [place for place, job_id in owners.items() if not job_id]
    unknown = [place for place in unknown if bases[0].contains(place)] or unknown
    if settings.owner is not None and len(unknown) == 1:
        owners[unknown[0]] = settings.owner
    answers = job_answers(observation.before, observation.after)
    return job_directories(
        owners,
        holding={place for place in holding if place is not None},
        configured={
            place
            for some in answers.values()
            for answer in some
            for place in configured_directories(answer, settings.aliases)
        },
        checkpoints=observation.checkpoints,
        working={directory for directory, own in areas.items() if own == {Scope.FORST}},
    )


_NO_IDS: frozenset[int] = frozenset()
_Ids = tuple[set[int], set[int], set[int]]


def _ids_by_directory(observation: Observation, bases: Sequence[Location]) -> dict[Location, _Ids]:
    """Return the ids of S0, S1 and S2 in each job directory."""
    found: dict[Location, _Ids] = {}
    for base, scans in zip(bases, _scans(observation), strict=True):
        for number, scan in enumerate(scans):
            for directory, shown in scan.ids.items():
                ids = found.setdefault(base.child(directory), (set(), set(), set()))
                ids[number].update(shown)
    return found


def _ids_in(
    ids: Mapping[Location, _Ids], directories: Sequence[Location]
) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """Return the ids of S0, S1 and S2 in a job's directories."""
    own = [ids[each] for each in directories if each in ids]
    start, first, second = (_NO_IDS.union(*(i[number] for i in own)) for number in range(3))
    return start, first, second


def _passed(observation: Observation, bases: Sequence[Location]) -> dict[Location, frozenset[int]]:
    """Return, by job directory, what one scan showed without ``_metadata``, and the next not.

    A later one that the next scan shows with ``_metadata`` took its place.
    """
    found: dict[Location, frozenset[int]] = {}
    for base, scans in zip(bases, _scans(observation), strict=True):
        for earlier, later in pairwise(scans):
            for directory, shown in earlier.shown.items():
                gone = (
                    shown
                    - earlier.ids.get(directory, _NO_IDS)
                    - later.shown.get(directory, _NO_IDS)
                )
                newest = max(later.ids.get(directory, _NO_IDS), default=-1)
                if passed := {each for each in gone if each > newest}:
                    place = base.child(directory)
                    found[place] = found.get(place, _NO_IDS) | passed
    return found


def _areas_by_directory(
    observation: Observation, bases: Sequence[Location]
) -> dict[Location, set[Scope]]:
    """Return the areas that any scan showed in each job directory."""
    found: dict[Location, set[Scope]] = {}
    for base, scans in zip(bases, _scans(observation), strict=True):
        for scan in scans:
            for directory, areas in scan.areas.items():
                found.setdefault(base.child(directory), set()).update(areas)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _JobMarker:
    """Takes the evidence of one job after the other from an observation.

    Attributes:
        siblings: Bases that are other storage roots.
        exported: Answers of exporters, by job key.
        needed: Keys of the jobs in whose directories a checkpoint has files.
        ids: Ids of S0, S1 and S2 in each job directory.
        areas: Areas that any scan showed in each job directory.
        passed: Ids that came and went between the scans of each job directory.
    """

    observation: Observation
    settings: StorageRootSettings
    bases: Sequence[Location]
    siblings: Sequence[Location]
    known: JobDirectories
    reports: JobReports
    exported: Mapping[str, Exported]
    needed: AbstractSet[str | None]
    ids: Mapping[Location, _Ids]
    areas: Mapping[Location, Collection[Scope]]
    passed: Mapping[Location, frozenset[int]]

    @classmethod
    def of(
        cls,
        observation: Observation,
        settings: StorageRootSettings,
        bases: Sequence[Location],
        siblings: Sequence[Location],
    ) -> _JobMarker:
        """Return what takes evidence from an observation."""
        areas = _areas_by_directory(observation, bases)
        known = _directories(observation, settings, bases, areas)
        named = {folder for each in observation.checkpoints for folder in each.files}
        return cls(
            observation=observation,
            settings=settings,
            bases=bases,
            siblings=siblings,
            known=known,
            reports=job_reports(observation, settings, known),
            exported=_exported_by_key(observation.exported, known),
            needed={owner_of(folder, known.keys) for folder in named},
            ids=_ids_by_directory(observation, bases),
            areas=areas,
            passed=_passed(observation, bases),
        )

    def jobs(self) -> dict[str, JobEvidence]:
        """Return the evidence of every job that has a directory, or that may be alive."""
        checkpoints = self.observation.checkpoints
        by_folder = {checkpoint.folder: checkpoint for checkpoint in checkpoints}
        keys = sorted({*self.reports.jobs, *self.exported})
        return {key: self._with_statements(self._seen(key, checkpoints, by_folder)) for key in keys}

    def _seen(
        self,
        key: str,
        checkpoints: Sequence[Checkpoint],
        by_folder: Mapping[Location, Checkpoint],
    ) -> JobEvidence:
        """Return what the observation shows of a job, whatever the operator states."""
        settings, known = self.settings, self.known
        job_id = known.job_ids.get(key, JobId(key.partition("@")[0]))
        report = self.reports.jobs.get(key) or JobReport(job_id=job_id)
        directories = known.directories_of(key)
        start, first, second = _ids_in(self.ids, directories)
        known_id = "" if "@" in key else job_id
        reported = _reported_by(report, settings)
        own_checkpoints = _own_checkpoints(checkpoints, directories, known_id, reported)
        return JobEvidence(
            key=key,
            job_id=job_id,
            is_collected=any(self.bases[0].contains(directory) for directory in directories),
            is_declared_ended=False,
            directories=directories,
            own_checkpoints=own_checkpoints,
            ids_at_start=start,
            ids_before=first,
            ids_after=second,
            ids_passed=_NO_IDS.union(*(self.passed.get(each, ()) for each in directories)),
            before=report.before,
            after=report.after,
            held_before=report.held_before,
            held_after=report.held_after,
            reported_ids=reported_ids((*report.before, *report.after), settings, by_folder)
            | self._retained_by_others(key, report),
            snapshots=self._snapshots_of(key, job_id),
            exported=_checked(
                self.exported.get(key), own_checkpoints, first, second, before=report.before
            ),
            ends=self._ends_of(job_id, directories),
            strangers=self._strangers(key, job_id),
            clusters=report.clusters,
            unplaced=report.unplaced,
            holders=report.holders,
            clusters_of_id=self.reports.clusters.get(job_id, frozenset()),
            holds_of_id=self.reports.holds.get(job_id, frozenset()),
        )

    def _with_statements(self, job: JobEvidence) -> JobEvidence:
        """Return a job with what the operator states of it.

        ``--ended-job all`` covers no directory without a trace of Flink, nor another storage root.
        """
        settings, directories = self.settings, job.directories
        has_trace = self._has_trace(job)
        is_elsewhere = _lies_in(self.siblings, directories, self.bases)
        return replace(
            job,
            is_declared_ended=settings.is_declared_ended(
                job.job_id, by_id=not has_trace or is_elsewhere
            )
            or settings.is_declared_ended_elsewhere(job.job_id, directories, has_trace=has_trace),
            is_declared_merged_within=settings.is_declared_merged_within(job.job_id, directories),
            is_not_in_all="all" in settings.ended_job and not has_trace,
        )

    def _has_trace(self, job: JobEvidence) -> bool:
        return has_trace_of_flink(
            {area for each in job.directories for area in self.areas.get(each, ())},
            *(job.own_checkpoints, job.before, job.after),
            *(job.held_before, job.held_after),
            *(job.snapshots, {job.key} & self.exported.keys()),
            {job.key} & self.needed,
        )

    def _retained_by_others(self, key: str, report: JobReport) -> frozenset[int]:
        """Return the ids in directories of the same job id, where a hold may be of these."""
        if not report.may_be_retained_elsewhere:
            return _NO_IDS
        others = self.known.of_id(report.job_id)
        seen = (_ids_in(self.ids, places) for each, places in others.items() if each != key)
        return _NO_IDS.union(*(first & second for _, first, second in seen))

    def _ends_of(self, job_id: JobId, directories: Sequence[Location]) -> tuple[EndRecord, ...]:
        """Return the records of the job's end; one without a directory needs an id of only one.

        A TaskManager may still store files shortly after the end that the JobManager records.
        """
        settings, is_alone = self.settings, len(self.known.of_id(job_id)) <= 1
        return tuple(
            replace(end, slack=2 * settings.clock_skew)
            for end in self.observation.ends
            if end.job_id == job_id
            and (
                is_alone
                if end.directory is None
                else place_of(end.directory, settings.aliases) in directories
            )
        )

    def _snapshots_of(self, key: str, job_id: JobId) -> tuple[RegistrySnapshot, ...]:
        """Return the snapshots of a job; one that fits no directory of its id counts for all."""
        own = self.known.of_id(job_id)
        mine = [
            snapshot
            for snapshot in self.observation.snapshots
            if snapshot.job_id == job_id
            and key in (_written_for(snapshot, own, self.settings) or {key})
        ]
        return tuple(sorted(mine, key=lambda each: (each.taken_at, each.sequence)))

    def _strangers(self, key: str, own_id: JobId) -> frozenset[str]:
        """Return the living jobs of other ids that report checkpoints in the job's directories."""
        found: set[str] = set()
        for cluster in self.observation.after:
            for job_id, facts in cluster.jobs.items():
                if job_id == own_id or facts.is_globally_terminal:
                    continue
                own = (each.external_path for each in facts.checkpoints if not each.is_savepoint)
                places = (place_of(path, self.settings.aliases) for path in own)
                owners = (owner_of(each, self.known.keys) for each in places if each is not None)
                if key in owners:
                    found.add(job_id)
        return frozenset(found)


def _exported_by_key(
    exported: Mapping[JobId, Exported], known: JobDirectories
) -> dict[str, Exported]:
    """Return each exporter's answer, by the jobs whose directories it says it writes to.

    One that fits no directory of its job id counts for all of them.
    """
    found: dict[str, Exported] = {}
    for job_id, answer in exported.items():
        own = known.of_id(job_id)
        fitting = [key for key, places in own.items() if answer.directories & set(places)]
        for key in fitting or own or [job_id]:
            found[key] = answer
    return found


def _checked(
    exported: Exported | None,
    own_checkpoints: Sequence[Checkpoint],
    ids_before: frozenset[int],
    ids_after: frozenset[int],
    *,
    before: Sequence[JobFacts],
) -> Exported | None:
    """Return what an exporter answered, with what contradicts it."""
    if exported is None:
        return None
    completed = [each.latest_completed_id for each in before]
    why = contradiction(
        exported,
        own_checkpoints,
        ids_before=ids_before,
        ids_after=ids_after,
        completed_id=next((each for each in completed if each is not None), None),
    )
    return replace(exported, contradiction=why)


def _lies_in(
    siblings: Sequence[Location], directories: Sequence[Location], bases: Sequence[Location]
) -> bool:
    """Return whether a job has directories, and all of them in other storage roots."""
    own = [base for base in bases if base not in siblings]
    return bool(directories) and not any(
        base.contains(directory) for base in own for directory in directories
    )


def _own_checkpoints(
    checkpoints: Iterable[Checkpoint],
    directories: Sequence[Location],
    job_id: str,
    reported: Collection[Location],
) -> tuple[Checkpoint, ...]:
    """Return the job's checkpoints, oldest first; only without a directory also reported ones.

    These are what its clusters report, and what has its id if no other job has it.
    """
    own = [
        checkpoint
        for checkpoint in checkpoints
        if checkpoint.directory in directories
        or (
            not directories
            and (checkpoint.folder in reported or (job_id and checkpoint.job_id == job_id))
        )
    ]
    unique = {(str(checkpoint.folder), checkpoint.sha256): checkpoint for checkpoint in own}
    return tuple(
        sorted(
            unique.values(),
            key=lambda checkpoint: (checkpoint.checkpoint_id, str(checkpoint.folder)),
        )
    )


def _reported_by(report: JobReport, settings: StorageRootSettings) -> frozenset[Location]:
    """Return the places of the checkpoints that a job is said to have completed."""
    paths = (
        shown.external_path
        for facts in (*report.before, *report.after)
        for shown in facts.checkpoints
        if not shown.is_savepoint
    )
    return frozenset(
        place for path in paths if (place := place_of(path, settings.aliases)) is not None
    )


def _written_for(
    snapshot: RegistrySnapshot,
    own: Mapping[str, Sequence[Location]],
    settings: StorageRootSettings,
) -> set[str]:
    place = place_of(snapshot.checkpoint_dir, settings.aliases)
    return {key for key, places in own.items() if place in places}


def owner_of(folder: Location, owners: Mapping[Location, str]) -> str | None:
    """Return the job key of the innermost directory that contains a folder."""
    return next((owners[place] for place in folder.upwards() if place in owners), None)


def proving_command(settings: StorageRootSettings) -> str:
    """Return the command that proves the storage of a storage root (R27)."""
    words = ("orphangc", "doctor", "--prove", settings.root, "--state", settings.state or "STATE")
    return shlex.join(map(str, words))


def cycle_evidence(
    observation: Observation,
    settings: StorageRootSettings,
    *,
    is_tested_storage: bool,
    halted: str | None,
) -> CycleEvidence:
    """Return what concerns all jobs."""
    time, after = observation.time, observation.time_after
    return CycleEvidence(
        now=time.now or time.local,
        is_store_time=time.now is not None,
        skew_seconds=0.0 if time.skew is None else time.skew.total_seconds(),
        margins=settings.margins,
        is_closed_world=settings.closed_world,
        is_tested_storage=is_tested_storage,
        prove_with=proving_command(settings),
        unreadable=observation.unreadable,
        source_errors=tuple(observation.source_errors.values()),
        halted=halted,
        accepted_versions=frozenset(settings.accept_flink_version),
        is_registry_mode=bool(observation.exported)
        or any(each.source is Mode.REGISTRY for each in observation.snapshots),
        is_file_system=canonical(settings.root).scheme in _FILE_SYSTEMS,
        has_write_ahead_sink=bool(observation.unreadable)
        or any(each.has_write_ahead_sink for each in observation.checkpoints),
        observed_until=after.local if time.now is None else after.now,
        unclear=settings.unclear,
    )
