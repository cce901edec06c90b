"""The facts of one cycle, gathered before anything is judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flinkstate.places.checkpoint_names import metadata_folder
from flinkstate.places.locations import Location
from flinkstate.values.metadata_values import MetadataFacts
from orphangc.core.cluster.end_records import EndRecord
from orphangc.core.cluster.ha_facts import Hold, holders_of, retained_throughout
from orphangc.core.cluster.job_facts import JobFacts, comes_back
from orphangc.core.cluster.known_checkpoints import retained_by
from orphangc.core.columns.file_names import FileNames
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot
from orphangc.core.memory.seen_cycles import LostFact
from orphangc.core.model.bounds import SafetyMargins
from orphangc.core.model.types import AreaName, DirectoryLayout, JobId, JobState, Mode
from orphangc.core.times.instants import shifted
from orphangc.core.world.known_world import OutsidePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(MetadataFacts):
    """One ``_metadata`` that was read to its last byte: a checkpoint that must stay restorable.

    Attributes:
        directory: Job directory that contains its ``chk-<n>``; ``None`` for any other place.
        job_id: Job id of that directory; "" for any other place.
        unregistered: Names of those files, outside its own folder, that Flink's shared state
            registry does not know: private files of RocksDB, for the most part.
        raw: Every UUID in the raw bytes that no referenced name ends in.
        unproven_layout: Reason why checkpoints cannot prove its liveness (R2), or ``None``.
        layouts: Layouts in which its handles or their folders show that files were written, but
            flat files and files of single checkpoints.
        has_write_ahead_sink: Whether it names the operator state of a write-ahead sink, whose
            bytes hold handles that no oracle reads (R37).
    """

    folder: Location
    directory: Location | None
    job_id: JobId
    modified_at: datetime | None
    sha256: str
    files: Mapping[Location, FileNames]
    unregistered: FileNames = field(default_factory=FileNames)
    raw: UuidSet = field(default_factory=UuidSet)
    unproven_layout: str | None = None
    layouts: frozenset[DirectoryLayout] = frozenset()
    has_write_ahead_sink: bool = False

    @property
    def is_self_contained(self) -> bool:
        """Return whether every file that it needs is in its own folder."""
        if self.unproven_layout is not None:
            return False
        return all(self.folder.contains(folder) for folder in self.files)

    @property
    def references(self) -> int:
        """Return how many distinct files it refers to."""
        return sum(len(names) for names in self.files.values())


@dataclass(frozen=True, slots=True)
class NoCheckpoint:
    """A file that may be a ``_metadata`` by its key, and is no checkpoint."""

    uri: str

    @property
    def is_table(self) -> bool:
        """Return whether it is Parquet's summary of a table, which has that very name."""
        return metadata_folder(self.uri) != self.uri


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableCheckpoint:
    """A ``_metadata`` that could not be read to its last byte.

    Attributes:
        sha256: Digest of its bytes, "" if they could not be read.
        directory: Job directory that contains it, ``None`` for any other place.
        is_acknowledged: The operator named exactly these bytes at this place (R6).
    """

    uri: str
    reason: str
    sha256: str
    raw: UuidSet = field(default_factory=UuidSet)
    directory: Location | None = None
    is_acknowledged: bool = False

    @property
    def problem(self) -> str:
        """Return what cannot be read, and why; the sentence of a store names it already."""
        said = f"cannot read {self.uri}: "
        return f"{said}{self.reason.removeprefix(said)}"


@dataclass(slots=True)
class Survey:
    """What the listing shows of one job's directories.

    Attributes:
        live_in_shared: Number of those objects in flat ``shared/``.
        live_artifacts: Number of those objects that are files of any area.
        sub_folders: A few names of folders inside ``shared/`` (R2).
        shared_directories: Job directories with an object in ``shared/``.
        only_in_raw_bytes: Artifacts that raw bytes name and the parser did not (R7), a few.
        missing_of_latest: A few files that the latest checkpoint names and no listing shows (R8).
    """

    objects: int = 0
    size: int = 0
    live_objects: int = 0
    live_in_shared: int = 0
    live_artifacts: int = 0
    flat_artifacts: int = 0
    oldest_modified_at: datetime | None = None
    newest_modified_at: datetime | None = None
    areas: set[AreaName] = field(default_factory=set)
    sub_folders: set[str] = field(default_factory=set)
    shared_directories: set[Location] = field(default_factory=set)
    only_in_raw_bytes: list[str] = field(default_factory=list)
    missing_of_latest: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What clusters, HA metadata and resources say of one job.

    Attributes:
        before: REST answers before the listings.
        after: REST answers after the listings.
        clusters: Clusters that gave the answers in ``after``, in their order.
        unplaced: Clusters that run a job of this id, and whose answers fit no directory.
        holders: Clusters that may write into its directories by their HA metadata; ``None``: all
            that hold it.
        proven_holders: Those of which an answer, or a resource, says that they do.
    """

    job_id: JobId
    before: tuple[JobFacts, ...] = ()
    after: tuple[JobFacts, ...] = ()
    clusters: tuple[str, ...] = ()
    unplaced: tuple[str, ...] = ()
    held_before: tuple[Hold, ...] = ()
    held_after: tuple[Hold, ...] = ()
    holders: frozenset[str] | None = None
    proven_holders: frozenset[str] = frozenset()

    @property
    def facts(self) -> tuple[JobFacts, ...]:
        """Return everything that REST said of the job."""
        return (*self.before, *self.after)

    @property
    def sides(self) -> tuple[tuple[JobFacts, ...], tuple[JobFacts, ...]]:
        """Return what REST said of the job before the listing, and after it."""
        return self.before, self.after

    @property
    def holds(self) -> tuple[Hold, ...]:
        """Return all HA metadata and resources that hold, or held, the job."""
        return (*self.held_before, *self.held_after)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvidence(JobReport):
    """Everything known of one job: a directory and a job id (decision 20).

    Attributes:
        key: Job id if one job alone has it, else the directory, or the cluster that shows the job.
        directories: Directories of its files; several with entropy injection or a changelog.
        is_collected: Whether one of them is below the storage root that is being collected.
        is_not_in_all: The operator stated that all jobs are over, and nothing shows that Flink
            wrote this directory, so the statement does not cover it.
        own_checkpoints: Checkpoints in its ``chk-<n>`` folders, of both listings.
        ids_at_start: Ids of the ``chk-<n>`` with ``_metadata`` in the listing of names (S0).
        ids_before: Ids of the ``chk-<n>`` in the first listing that was read (S1).
        ids_after: Ids of the ``chk-<n>`` in the second listing (S2).
        ids_passed: Ids of the ``chk-<n>`` that one listing showed without ``_metadata``, and the
            next one neither it nor a later one that is whole: it may have come and gone unread.
        reported_ids: Ids of the checkpoints at places where Flink reports one of this job.
        snapshots: Registry snapshots of this job, oldest first.
        depends_on: Keys of the jobs whose directories contain its state, by path or by UUID.
        is_origin_unread: Flink says that it was restored from a checkpoint that was not read,
            so ``depends_on`` may lack some.
        strangers: Ids of living jobs that report checkpoints of theirs in its directories.
        other_runs: Clusters that showed another run of it alive in an earlier cycle, and no end of
            that one since.
        survey: Facts of the listing; empty for a job that is not collected.
        slack: Time for which a TaskManager may store files after the end that a JobManager says.
        changed_elsewhere_at: Newest store time of what it has outside the storage root, as far as
            the search of storages shows it; where its silence is to show its end, of all of it.
        is_listed_beside: Whether the search of storages lists each of its directories.
        outside_paths: Paths outside every searched place that concern the job.
    """

    key: str
    is_collected: bool
    is_declared_ended: bool
    directories: tuple[Location, ...] = ()
    own_checkpoints: tuple[Checkpoint, ...] = ()
    ids_at_start: frozenset[int] = frozenset()
    ids_before: frozenset[int] = frozenset()
    ids_after: frozenset[int] = frozenset()
    ids_passed: frozenset[int] = frozenset()
    reported_ids: frozenset[int] = frozenset()
    snapshots: tuple[RegistrySnapshot, ...] = ()
    exported: Exported | None = None
    is_not_in_all: bool = False
    is_declared_merged_within: bool = False
    depends_on: frozenset[str] = frozenset()
    is_origin_unread: bool = False
    strangers: frozenset[str] = frozenset()
    other_runs: tuple[str, ...] = ()
    clusters_of_id: frozenset[str] = frozenset()
    holds_of_id: frozenset[str] = frozenset()
    ends: tuple[EndRecord, ...] = ()
    slack: timedelta = timedelta(0)
    survey: Survey = field(default_factory=Survey)
    changed_elsewhere_at: datetime | None = None
    is_listed_beside: bool = False
    outside_paths: tuple[OutsidePath, ...] = ()

    @property
    def is_running(self) -> bool:
        """Return whether Flink said at least once that the job is not over."""
        return any(not facts.is_globally_terminal for facts in self.facts)

    @property
    def is_proven_ended(self) -> bool:
        """Return whether Flink itself reports it, before and after, and nothing holds the job."""
        is_doubted = self.is_running or self.holds or self.unplaced or self.other_runs
        return all(self.sides) and not (is_doubted or self.has_changed_since)

    @property
    def has_changed_since(self) -> bool:
        """Return whether anything was stored after the end that Flink shows: by a later run."""
        ends = [each.ended_at for each in self.facts if each.ended_at is not None]
        return not is_of_last_run(max(ends, default=None), self.changed_at, self.slack)

    @property
    def state(self) -> JobState:
        """Return what is known of the job's life; one that HA metadata holds is never over (R13).

        Absence from REST proves nothing, a suspended job is not over, and a directory that still
        changes belongs to a job that has not ended.
        """
        if self.is_running:
            return JobState.RUNNING
        if self.holds:
            return JobState.SUSPENDED
        if self.unplaced:
            return JobState.UNKNOWN
        is_recorded = self.recorded_end is not None and not self.other_runs
        is_over = self.is_declared_ended or self.is_proven_ended or is_recorded
        return JobState.ENDED if is_over else JobState.UNKNOWN

    @property
    def is_end_proven(self) -> bool:
        """Return whether positive evidence shows that its processes are gone (R34: E1-E6).

        The state ``ENDED`` is never given for silence alone. An id that application clusters and
        people reuse needs the operator's statement, or the exporter's record of its newest run: any
        other answer of Flink's may be of an earlier run.
        """
        if self.state is not JobState.ENDED:
            return False
        return self.is_declared_ended or not self.is_id_fixed or self.recorded_end is not None

    @property
    def is_id_fixed(self) -> bool:
        """Return whether another run may have its id, or its folder (R34, R3)."""
        return self.may_share_its_folder or comes_back(self.job_id, self.facts)

    @property
    def may_share_its_folder(self) -> bool:
        """Return whether runs of other ids may write into a folder of it, which bears no id."""
        return any(directory.name != self.job_id for directory in self.directories)

    @property
    def recorded_end(self) -> EndRecord | None:
        """Return a record of the end of its newest run (R34: E1, E3, E4), ``None`` if none is.

        A record that says nothing of later runs counts only for an id that does not come back.
        """
        changed_at = self.changed_at
        ends = (each for each in self.ends if is_of_last_run(each.at, changed_at, self.slack))
        return next((e for e in ends if e.is_of_newest_run or not self.is_id_fixed), None)

    @property
    def is_change_known(self) -> bool:
        """Return whether all of its objects were listed: its checkpoints alone are not all."""
        return self.is_collected or self.is_listed_beside

    @property
    def changed_at(self) -> datetime | None:
        """Return the newest store time of anything of the job, ``None`` if it has nothing.

        Its checkpoints may be in another storage than the listed one (entropy injection), and no
        exporter writes the registry of a job that is over.
        """
        exported = () if self.exported is None else self.exported.snapshots
        times = (
            self.survey.newest_modified_at,
            self.changed_elsewhere_at,
            *(checkpoint.modified_at for checkpoint in self.own_checkpoints),
            *(snapshot.taken_at for snapshot in exported),
        )
        return max((at for at in times if at is not None), default=None)

    @property
    def flink_versions(self) -> frozenset[str]:
        """Return every version of Flink that clusters or exporters of the job show."""
        exported = () if self.exported is None else self.exported.snapshots
        current = () if self.state is JobState.ENDED else exported
        return frozenset(
            (
                *(facts.flink_version for facts in self.facts),
                *(each.flink_version or "unknown" for each in current),
            )
        )

    @property
    def retained_ids(self) -> tuple[int, ...]:
        """Return the checkpoint ids of its own checkpoints without savepoints, ascending."""
        return tuple(sorted({r.checkpoint_id for r in self.own_checkpoints if not r.is_savepoint}))

    @property
    def ids_seen(self) -> frozenset[int]:
        """Return the ids of the checkpoints of the job that both looks show.

        A checkpoint that Flink itself reports for this job counts in any place: a checkpoint that
        it claimed, a savepoint that it was restored from, or one that Flink before 1.15 retains.
        """
        own = () if self.directories else (each.checkpoint_id for each in self.own_checkpoints)
        return (self.ids_before & self.ids_after) | self.reported_ids.union(own)

    @property
    def unread_retained(self) -> Mapping[int, str]:
        """Return the source of each checkpoint that HA metadata retains all the time, unread.

        Where more clusters hold the job than have a directory, what was read may be another's.
        """
        held = retained_throughout(self.held_before, self.held_after)
        seen = self.ids_seen if len(self.ha_clusters) < 2 else ()  # noqa: PLR2004
        return {each: uri for each, uri in held.items() if each not in seen}

    @property
    def ha_clusters(self) -> frozenset[str]:
        """Return the clusters whose HA metadata may hold this very job."""
        return holders_of(self.holds) if self.holders is None else self.holders

    @property
    def directories_with_checkpoints(self) -> frozenset[Location]:
        """Return its directories that contain checkpoints."""
        return frozenset(
            checkpoint.directory
            for checkpoint in self.own_checkpoints
            if checkpoint.directory is not None
        )

    @property
    def current_ids(self) -> frozenset[int] | None:
        """Return the ids that the run may retain which Flink shows; ``None`` if it shows none.

        Any other checkpoint in the directory belongs to an earlier run of the same job id.
        """
        living = [facts for facts in self.facts if not facts.is_globally_terminal]
        return retained_by(living) if living else None

    @property
    def leftover_ids(self) -> frozenset[int]:
        """Return the ids that a listing showed and the run that Flink shows does not know.

        A checkpoint that completes after the last listing is not among them.
        """
        seen = self.ids_at_start | self.ids_before | self.ids_after
        return seen - self._of_present_run(seen)

    @property
    def stable_id(self) -> int | None:
        """Return the newest checkpoint of the present run that existed at the start (R12)."""
        return max(self._of_present_run(self.ids_at_start), default=None)

    @property
    def bounding_checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return the checkpoints whose store times bound what may be an orphan (R9; decision 19).

        For a job that REST shows running, without a registry: k* alone. R9 needs no other, for
        what a pending checkpoint uploads is younger than k*, and what it re-uses is named by a
        checkpoint that was read. An older, leftover checkpoint keeps nothing back. For any
        other job all own checkpoints count: no fact proves that k* is retained.
        """
        if self.state is not JobState.RUNNING or mode_of(self) is not Mode.DERIVED:
            return self.own_checkpoints
        stable = tuple(
            checkpoint
            for checkpoint in self.own_checkpoints
            if checkpoint.checkpoint_id == self.stable_id
        )
        return stable or self.own_checkpoints

    @property
    def latest(self) -> Checkpoint | None:
        """Return the newest checkpoint of the present run that existed all the time.

        If none did, the newest one of the second listing, or else of the first.
        """
        for ids in (self.ids_before & self.ids_after, self.ids_after, self.ids_before):
            present = self._of_present_run(ids)
            settled = [
                checkpoint
                for checkpoint in self.own_checkpoints
                if checkpoint.checkpoint_id in present
            ]
            if settled:
                return max(settled, key=lambda checkpoint: checkpoint.checkpoint_id)
        return None

    @property
    def has_standing_latest(self) -> bool:
        """Return whether ``latest`` existed before, during and after the listing."""
        standing = self.ids_before & self.ids_after
        return self.latest is not None and self.latest.checkpoint_id in standing

    def _of_present_run(self, ids: frozenset[int]) -> frozenset[int]:
        current = self.current_ids
        return ids if current is None else ids & current


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleEvidence:
    """Everything known of one cycle beside its jobs.

    Attributes:
        now: Start of the cycle by the store's clock, or this machine's where the store has none.
        skew_seconds: Seconds by which the store's clock is ahead of this machine's; 0 if unknown.
        is_closed_world: The operator's statement that every checkpoint is known (R3a).
        is_tested_storage: R27 for the storage.
        source_errors: Clusters, namespaces and ZooKeepers without a usable answer, and why.
        observed_until: End of the observation, by the clock of ``now``; ``None``
            if it took no time.
        accepted_versions: Flink's versions that the operator vouches for (R27).
        is_registry_mode: A running job's registry was exported, so each living job must have one.
        empty_places: Extra roots and other storage roots that were searched and have no
            checkpoint, though the operator does not say that they are empty.
        unreached_places: Reason for each other storage root that could not be searched.
        unsearched_storages: Reason for each named storage that could not be searched to its end.
        lost: Facts that earlier cycles saw, this one does not, and nothing explains.
        unclear: Parts of what discovery reads that cannot be read, each a sentence.
        is_file_system: Whether a file of the storage can be seen before it is closed.
        has_write_ahead_sink: Whether any checkpoint, also one that could not be read, may hold
            handles in state bytes (R37).
        listed_at: Start of a listing that is older than the cycle; ``None`` if it is the cycle's.
        written_at: Times at which expired checkpoints were written, by folder and digest: where
            they were put back, their store times are later (R44).
    """

    now: datetime
    is_store_time: bool
    skew_seconds: float
    margins: SafetyMargins
    is_closed_world: bool
    is_tested_storage: bool
    prove_with: str = "orphangc doctor --prove URI --state STATE"
    unreadable: tuple[UnreadableCheckpoint, ...] = ()
    source_errors: tuple[str, ...] = ()
    halted: str | None = None
    observed_until: datetime | None = None
    accepted_versions: frozenset[str] = frozenset()
    is_registry_mode: bool = False
    empty_places: tuple[str, ...] = ()
    unreached_places: Mapping[str, str] = field(default_factory=dict)
    unsearched_storages: Mapping[str, str] = field(default_factory=dict)
    lost: tuple[LostFact, ...] = ()
    memory_problem: str | None = None
    state_problem: str | None = None
    unclear: tuple[str, ...] = ()
    listed_at: datetime | None = None
    written_at: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    has_write_ahead_sink: bool = False
    is_file_system: bool = False

    @property
    def missed(self) -> LostFact | None:
        """Return a fact that is lost, whatever directories it concerns; ``None`` if none is (R4).

        A savepoint is in no job's directory, and any job may need it, also one that is lost.
        """
        return next((each for each in self.lost if not each.is_acknowledged), None)


def has_ended(job: JobEvidence, cycle: CycleEvidence) -> bool:
    """Return whether a job is over, for itself and for the jobs whose files it needs.

    A statement alone is not believed while the job's directory still changes.
    """
    if not job.is_end_proven:
        return False
    quiet_period = cycle.margins.quiet_period
    return job.is_proven_ended or is_quiet(job.changed_at, cycle.now, quiet_period)


def is_of_last_run(
    ended_at: datetime | None, changed_at: datetime | None, slack: timedelta
) -> bool:
    """Return whether nothing of a job is newer than the run that ended: a later one would write."""
    return changed_at is None or (ended_at is not None and changed_at <= shifted(ended_at, slack))


def is_quiet(changed_at: datetime | None, now: datetime, quiet_period: timedelta) -> bool:
    """Return whether nothing changed for the quiet period; a tie is not quiet."""
    return changed_at is None or changed_at < shifted(now, -quiet_period)


Check = Callable[[JobEvidence, CycleEvidence], str | None]
"""A guard or condition: returns a sentence with the reason, ``None`` if satisfied."""


def mode_of(job: JobEvidence) -> Mode:
    """Return the evidence that the job's liveness depends on."""
    if job.exported is not None:
        return Mode.REGISTRY
    is_exported = any(snapshot.source is Mode.REGISTRY for snapshot in job.snapshots)
    return Mode.REGISTRY if is_exported else Mode.DERIVED
