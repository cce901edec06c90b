"""The evidence of each job, from what was seen."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace

from flinkstate.places.locations import Location, place_of, places_of
from orphangc.collect.mark.job_directories import (
    JobDirectories,
    ScannedDirectory,
    job_directories,
    scanned_directories,
    together,
)
from orphangc.collect.mark.job_reports import job_reports, reported_ids
from orphangc.collect.observe.changes_beside import ChangesBeside
from orphangc.collect.observe.observation import Observation
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.cluster.placement import JobAnswer, configured_directories, home_of, job_answers
from orphangc.core.decision.contradictions import contradiction
from orphangc.core.decision.evidence import Checkpoint, JobEvidence, JobReport
from orphangc.core.decision.flink_traces import has_trace_of_flink
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.groups import grouped, sets_of
from orphangc.core.model.naming import Owners
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import JobId, Scope


def evidence_of_jobs(
    observation: Observation, bases: Sequence[Location], siblings: Sequence[Location]
) -> tuple[dict[str, JobEvidence], Owners]:
    """Return the evidence of every job that has a directory, or that may be alive, by its key.

    The second value is the job of each directory.
    """
    marker = _JobMarker(observation, bases, siblings)
    keys = sorted({*marker.reports.jobs, *marker.exported})
    jobs = {key: marker.with_statements(marker.seen(key)) for key in keys}
    return jobs, Owners(bases[0], marker.known.keys)


def _directories(
    observation: Observation, root: Location, scanned: Mapping[Location, ScannedDirectory]
) -> JobDirectories:
    """Return the job of each job directory.

    ``owner`` names the one job of the one directory whose name is no job id (R3), in the storage
    root if it has such directories: those around it are read, and their owners stay unknown.
    """
    settings = observation.settings
    owners = {place: each.job_id for place, each in scanned.items() if each.job_id is not None}
    holding = {each.directory for each in observation.checkpoints}
    holding |= {each.directory for each in observation.unreadable}
    holding |= {place for place, each in scanned.items() if each.has_checkpoints}
    unknown = [place for place, job_id in owners.items() if not job_id]
    unknown = [place for place in unknown if root.contains(place)] or unknown
    if settings.owner is not None and len(unknown) == 1:
        owners[unknown[0]] = settings.owner
    answers = job_answers(observation.before.clusters, observation.after.clusters)
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
        working={place for place, each in scanned.items() if each.areas == {Scope.FORST}},
        elsewhere=_elsewhere(answers, owners, settings),
    )


def _elsewhere(
    answers: Mapping[JobId, Sequence[JobAnswer]],
    owners: Mapping[Location, str],
    settings: StorageRootSettings,
) -> set[JobId]:
    own: dict[str, dict[str, tuple[Location]]] = {}
    for place, job_id in owners.items():
        own.setdefault(job_id, {})[str(place)] = (place,)
    return {
        job_id
        for job_id, some in answers.items()
        for places in [own.get(job_id, {})]
        if any(each.is_living and not home_of(each, places, settings.aliases).keys for each in some)
    }


class _JobMarker:
    """Takes the evidence of one job after the other from an observation."""

    def __init__(
        self, observation: Observation, bases: Sequence[Location], siblings: Sequence[Location]
    ) -> None:
        self.observation, self.settings = observation, observation.settings
        self.bases, self.siblings = bases, siblings
        self.beside = ChangesBeside.of(observation.storages)
        self.scanned = scanned_directories(observation, bases)
        self.known = _directories(observation, bases[0], self.scanned)
        self.reports = job_reports(observation, self.known)
        self.exported = _exported_by_key(observation.exported, self.known)
        self.checkpoints = observation.checkpoints
        self.by_folder = {each.folder: each for each in self.checkpoints}
        self.by_directory = grouped(self.checkpoints, lambda each: each.directory)
        self.snapshots = grouped(observation.answers.snapshots, lambda each: each.job_id)
        named = {folder for each in self.checkpoints for folder in each.files}
        self.needed = {owner_of(folder, self.known.keys) for folder in named}
        self.writers = sets_of(self._writers())

    def seen(self, key: str) -> JobEvidence:
        """Return what the observation shows of a job, whatever the operator states."""
        settings, known = self.settings, self.known
        job_id = known.job_ids.get(key, JobId(key.partition("@")[0]))
        report = self.reports.jobs.get(key) or JobReport(job_id=job_id)
        directories = known.directories_of(key)
        scanned = self._scanned(directories)
        known_id = "" if "@" in key else job_id
        reported = _own_places(report.facts, settings)
        own_checkpoints = self._own_checkpoints(directories, known_id, reported)
        return JobEvidence(
            key=key,
            is_collected=any(self.bases[0].contains(directory) for directory in directories),
            is_declared_ended=False,
            directories=directories,
            own_checkpoints=own_checkpoints,
            ids_at_start=scanned.at_start,
            ids_before=scanned.before,
            ids_after=scanned.after,
            ids_passed=scanned.passed,
            reported_ids=reported_ids(report.facts, settings, self.by_folder)
            | self._retained_by_others(key, report),
            snapshots=self._snapshots_of(key, job_id),
            exported=_checked(self.exported.get(key), own_checkpoints, scanned, report.before),
            ends=self._ends_of(job_id, directories),
            slack=2 * settings.clock_skew,
            strangers=frozenset(self.writers.get(key, set()) - {job_id}),
            clusters_of_id=self.reports.clusters.get(job_id, frozenset()),
            holds_of_id=self.reports.holds.get(job_id, frozenset()),
            changed_elsewhere_at=self.beside.of_job(job_id, directories, own_checkpoints),
            is_listed_beside=self.beside.lists(directories),
            **{each.name: getattr(report, each.name) for each in fields(JobReport)},
        )

    def with_statements(self, job: JobEvidence) -> JobEvidence:
        """Return a job with what the operator states of it.

        ``--ended-job all`` covers no directory without a trace of Flink, nor another storage root.
        """
        settings, directories = self.settings, job.directories
        has_trace = self._has_trace(job)
        here = [base for base in self.bases if base not in self.siblings]
        is_here = any(base.contains(directory) for base in here for directory in directories)
        is_elsewhere = bool(directories) and not is_here
        return replace(
            job,
            is_declared_ended=settings.is_declared_ended(
                job.job_id, by_id=not has_trace or is_elsewhere
            )
            or settings.is_declared_ended_elsewhere(job.job_id, directories, has_trace=has_trace),
            is_declared_merged_within=settings.is_declared_merged_within(job.job_id, directories),
            is_not_in_all="all" in settings.ended_job and not has_trace,
        )

    def _scanned(self, directories: Iterable[Location]) -> ScannedDirectory:
        return together(self.scanned[each] for each in directories if each in self.scanned)

    def _has_trace(self, job: JobEvidence) -> bool:
        return has_trace_of_flink(
            self._scanned(job.directories).areas,
            *(job.own_checkpoints, job.before, job.after),
            *(job.held_before, job.held_after),
            *(job.snapshots, {job.key} & self.exported.keys()),
            {job.key} & self.needed,
        )

    def _retained_by_others(self, key: str, report: JobReport) -> frozenset[int]:
        """Return the ids in directories of the same job id, where a hold may be of these."""
        if key not in self.reports.elsewhere:
            return frozenset()
        others = self.known.of_id(report.job_id)
        seen = [self._scanned(places) for each, places in others.items() if each != key]
        return frozenset(each for one in seen for each in one.before & one.after)

    def _ends_of(self, job_id: JobId, directories: Sequence[Location]) -> tuple[EndRecord, ...]:
        """Return the records of the job's end; one without a directory needs an id of only one."""
        settings, is_alone = self.settings, len(self.known.of_id(job_id)) <= 1
        return tuple(
            end
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
        mine = []
        for snapshot in self.snapshots.get(job_id, ()):
            place = place_of(snapshot.checkpoint_dir, self.settings.aliases)
            fitting = {each for each, own in self.known.of_id(job_id).items() if place in own}
            if key in (fitting or {key}):
                mine.append(snapshot)
        return tuple(sorted(mine, key=lambda each: (each.taken_at, each.sequence)))

    def _writers(self) -> Iterator[tuple[str, str]]:
        """Yield the key of each directory that a living job reports checkpoints in, and its id."""
        for cluster in self.observation.after.clusters:
            for job_id, facts in cluster.jobs.items():
                for place in _own_places(
                    [] if facts.is_globally_terminal else [facts], self.settings
                ):
                    if (key := owner_of(place, self.known.keys)) is not None:
                        yield key, job_id

    def _own_checkpoints(
        self, directories: Sequence[Location], job_id: str, reported: Collection[Location]
    ) -> tuple[Checkpoint, ...]:
        """Return the job's checkpoints, oldest first; only without a directory also reported ones.

        These are what its clusters report, and what has its id if no other job has it.
        """
        own = [each for place in directories for each in self.by_directory.get(place, ())]
        if not directories:
            own = [
                each
                for each in self.checkpoints
                if each.folder in reported or (job_id and each.job_id == job_id)
            ]
        unique = {(str(checkpoint.folder), checkpoint.sha256): checkpoint for checkpoint in own}
        return tuple(
            sorted(
                unique.values(),
                key=lambda checkpoint: (checkpoint.checkpoint_id, str(checkpoint.folder)),
            )
        )


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
    scanned: ScannedDirectory,
    before: Sequence[JobFacts],
) -> Exported | None:
    if exported is None:
        return None
    completed = [each.latest_completed_id for each in before]
    why = contradiction(
        exported,
        own_checkpoints,
        ids_before=scanned.before,
        ids_after=scanned.after,
        completed_id=next((each for each in completed if each is not None), None),
    )
    return replace(exported, contradiction=why)


def _own_places(facts: Iterable[JobFacts], settings: StorageRootSettings) -> frozenset[Location]:
    """Return the checkpoints that clusters report of a job, without savepoints."""
    paths = (
        shown.external_path
        for each in facts
        for shown in each.checkpoints
        if not shown.is_savepoint
    )
    return frozenset(places_of(paths, settings.aliases))


def owner_of(folder: Location, owners: Mapping[Location, str]) -> str | None:
    """Return the job key of the innermost directory that contains a folder."""
    return next((owners[place] for place in folder.upwards() if place in owners), None)
