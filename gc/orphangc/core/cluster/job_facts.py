"""Facts of Flink's REST API about a cluster's jobs, and what follows from them (R12, R13, R27).

Nothing here asks Flink; ``core.cluster.rest_json`` reads the answers, ``adapters.flink.flink_rest``
fetches them. The types of a checkpoint's fields say what an answer may hold; a constructor checks
none of them. A fact that Flink did not state is ``None``, and ``None`` never counts as evidence.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, GetPydanticSchema, Strict

from orphangc.core.cluster.place_options import NO_PLACES, named_origins
from orphangc.core.model.types import JobId, may_recur
from orphangc.core.times.instants import LATEST_US, from_milliseconds

RestCount = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
RestMillis = Annotated[int, Field(strict=True, ge=0, le=LATEST_US // 1000)]
RestInstant = Annotated[
    datetime,
    GetPydanticSchema(
        lambda _, handler: handler(Annotated[RestMillis, AfterValidator(from_milliseconds)])
    ),
]
"""A number of milliseconds in an answer."""
PerhapsRestInstant = Annotated[
    datetime | None,
    GetPydanticSchema(
        lambda _, handler: handler(
            Annotated[
                Annotated[int, Field(strict=True, ge=-1, le=LATEST_US // 1000)] | None,
                AfterValidator(lambda ms: from_milliseconds(ms) if ms and ms > 0 else None),
            ]
        )
    ),
]
"""The same, or 0 or -1 for an unknown time."""

GLOBALLY_TERMINAL = frozenset({"FINISHED", "CANCELED", "FAILED"})
"""Terminal states of a job, which no JobManager changes again; SUSPENDED is not one of them.

Source: Flink 1.14-2.3, ``JobStatus.isGloballyTerminalState``.
"""

_LINE = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\D.*)?", re.DOTALL)
_FIRST_LINE_THAT_SAYS_CHANGELOG = (1, 16)
_BACKENDS = frozenset(
    {
        "EmbeddedRocksDBStateBackend",
        "RocksDBStateBackend",
        "HashMapStateBackend",
        "MemoryStateBackend",
        "FsStateBackend",
    }
)
_NOT_YET_KNOWN = "Unknown"
"""What REST shows of a job that has no execution graph: the adaptive scheduler waits for resources.

Source: Flink 1.15-2.3, ``ArchivedExecutionGraph.createSparseArchivedExecutionGraph``.
"""
WITHOUT_GRAPH = frozenset({"INITIALIZING", "CREATED", "RESTARTING", "RECONCILING"})
"""Words of a job that may have no execution graph yet."""
_IN_PLACE = frozenset({"ForStStateBackend"})
"""State backends whose files prove nothing while they run, and are known once they are gone (R35).

Source: Flink 2.0-2.3, ``ForStStateBackend``.
"""
_STORAGES = frozenset(
    {"FileSystemCheckpointStorage", "RocksDBStateBackend", "FsStateBackend", "CheckpointIdStorage"}
)
"""Storages that write Flink's file layout; up to 1.20 the two backends name their storage too.

The last is our plugin's: Flink's own, but for the ids in the names of shared files.

Source: Flink 1.14-1.20, ``CheckpointStorageLoader.load``: a legacy backend that is itself a
``CheckpointStorage`` wins, and REST shows its simple class name.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointFacts:
    """One checkpoint or savepoint that REST remembers (a bounded history, in memory only).

    Attributes:
        id: Number of the job's counter, shared by checkpoints and savepoints.
        status: Flink's word: IN_PROGRESS, COMPLETED, FAILED.
        is_savepoint: Savepoints never hold back subsumption.
        discarded: Whether its deletion was *started*; ``None`` if it is not complete.
        external_path: Folder of its ``_metadata``; ``None`` if it has none (yet).
        triggered_at: Trigger time by the JobManager's clock.
        acknowledged_at: Time of the last acknowledgement by the same clock; ``None`` if not shown.
    """

    id: RestCount
    status: Annotated[str, Field(min_length=1)]
    is_savepoint: Annotated[bool, Strict()]
    discarded: Annotated[bool, Strict()] | None = None
    external_path: str | None = None
    triggered_at: Annotated[RestInstant, Field(alias="trigger_timestamp")]
    acknowledged_at: Annotated[PerhapsRestInstant, Field(alias="latest_ack_timestamp")] = None

    @property
    def is_completed(self) -> bool:
        """Return whether Flink finished it."""
        return self.status == "COMPLETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFacts:
    """What a job last continued from, also after a failover within its life.

    Attributes:
        restored_at: Time of the restore by the JobManager's clock; ``None`` if not shown.
    """

    id: RestCount
    external_path: str | None
    is_savepoint: Annotated[bool, Strict()]
    restored_at: Annotated[PerhapsRestInstant, Field(alias="restore_timestamp")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """One job at one moment; a moment up to the REST cache's age in the past.

    Attributes:
        status: Flink's word. Where the live list and the cached details disagree, the one that
            is not terminal: a job is over only if both say so.
        started_at: Time when this JobManager took the job, by its clock.
        ended_at: Time of its end by the same clock; ``None`` if not shown, as of a job that failed
            before it had an execution graph.
        answered_at: Time when it answered, by its clock; ``None`` if not shown.
        incarnation: Changes when another JobManager, or the same after losing leadership, starts
            the job again; ``None`` if unknown. See ``is_same_incarnation``.
        max_concurrent: Checkpoints that may be pending at once; this and the next five are
            ``None`` for a job that cannot checkpoint (batch). A streaming job that has it switched
            off is shown with an endless interval instead (seen in 1.20.5 and 2.3.0).
        state_backend: Simple class name.
        checkpoint_storage: Simple class name.
        changelog_enabled: Whether the changelog is on; ``None`` also before Flink 1.16.
        checkpoint_interval_ms: Interval in milliseconds; 2**63-1 means "not periodic".
        checkpoint_timeout_ms: After which Flink aborts a pending checkpoint.
        latest_completed_id: Newest completed checkpoint since this JobManager started.
        in_progress_ids: Pending ones in the history, ascending.
        in_progress_count: Pending ones by Flink's counter; the history may be shorter.
        completed_count: Completed since this JobManager started, savepoints included.
        checkpoints: History and latest ones, newest first, each id once.
        graph_built_at: Time when the JobManager began to count this run's checkpoints, by its
            clock; ``None`` if unknown.
        is_id_fixed: Whether the cluster's configuration chose its ids, so that another run may have
            this one too.
        has_high_availability: Whether the cluster's configuration sets it: what HA metadata names,
            a lost JobManager goes on from.
    """

    job_id: JobId
    flink_version: str
    status: str
    started_at: datetime
    incarnation: str | None
    max_concurrent: int | None
    state_backend: str | None
    checkpoint_storage: str | None
    changelog_enabled: bool | None
    checkpoint_interval_ms: int | None
    checkpoint_timeout_ms: int | None
    latest_completed_id: int | None
    restored: RestoredFacts | None
    in_progress_ids: tuple[int, ...]
    in_progress_count: int
    completed_count: int
    checkpoints: tuple[CheckpointFacts, ...]
    graph_built_at: datetime | None = None
    ended_at: datetime | None = None
    is_id_fixed: bool = False
    has_high_availability: bool = False
    answered_at: datetime | None = None

    @property
    def is_globally_terminal(self) -> bool:
        """Return whether the job is over and cannot restart; an unknown status word is not."""
        return self.status in GLOBALLY_TERMINAL

    @property
    def has_nothing_since(self) -> bool:
        """Return whether the job was restored, and has completed no checkpoint since."""
        restored = self.restored
        return restored is not None and (self.latest_completed_id or -1) <= restored.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """Answer of a cluster about itself: its version, and the maximum age of its answers.

    Attributes:
        cache_seconds: Maximum age of answers; a second request must come later than that.
        checkpoint_directories: Places of checkpoints in its configuration; a job's code may decide
            otherwise.
        are_ids_fixed: Whether its configuration chooses the id of its first job. Flink 2.3 computes
            those of the others from it, and from their names (``JobNameBasedJobIdManager``).
        has_high_availability: Whether each spelling of the option that is set names some.
    """

    flink_version: str
    cache_seconds: float
    cluster_ids: frozenset[str] = frozenset()
    checkpoint_directories: frozenset[str] = frozenset()
    are_ids_fixed: bool = False
    has_high_availability: bool = False
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts(ClusterSettings):
    """What one cluster said in one observation.

    Attributes:
        uri: URL of the cluster, without credentials.
        jobs: Every job that it lists, ended ones included. A job that is absent may well be
            alive: suspended, or on another cluster.
    """

    uri: str
    jobs: Mapping[JobId, JobFacts]


def comes_back(job_id: str, facts: Iterable[JobFacts]) -> bool:
    """Return whether another run may have a job's id: it looks so, or a configuration chose it."""
    return may_recur(job_id) or any(each.is_id_fixed for each in facts)


def is_same_incarnation(before: JobFacts, after: JobFacts) -> bool:
    """Return whether both moments belong to one start of one job by one JobManager (R13).

    The incarnation is made of two timestamps of ``/jobs/:id``. INITIALIZING (``start-time`` is a
    copy of it) is taken when a dispatcher creates the job's runner, so a new JobManager changes
    it, while failovers of tasks do not. CREATED is taken when the execution graph is built,
    which also happens when one runner regains leadership; the adaptive scheduler builds a graph
    at each restart, so there a restart between two requests counts as another start: that only
    keeps more.
    Source: Flink 1.14-2.3, ``JobDetailsHandler``, ``Dispatcher.createJobManagerRunner``,
    ``DefaultExecutionGraph``; seen in runs of 1.15.4, 1.20.5 and 2.3.0: three killed
    TaskManagers left both values alone.
    """
    return (
        before.job_id == after.job_id
        and before.incarnation is not None
        and before.incarnation == after.incarnation
    )


def is_kept_answer(before: JobFacts, after: JobFacts) -> bool:
    """Return whether a later answer is no later one: a proxy has kept it, or an older one (R11).

    Flink says the time of each request, whatever it has in its own caches.
    Source: Flink 1.14-2.3, ``JobDetailsHandler``.
    """
    if before.answered_at is None or after.answered_at is None:
        return False
    return after.answered_at <= before.answered_at


def external_paths(cluster: ClusterFacts) -> frozenset[str]:
    """Return the folder of every checkpoint and savepoint that the cluster reports (R4).

    Discarded ones are among them: their deletion was started, which does not mean done. So is what
    its configuration restores a job from. A checkpoint that lives in the JobManager's memory has no
    folder.
    """
    paths: set[str | None] = {*restored_paths(cluster)}
    for job in cluster.jobs.values():
        paths.update(checkpoint.external_path for checkpoint in job.checkpoints)
        if job.restored is not None:
            paths.add(job.restored.external_path)
    return frozenset(path for path in paths if path is not None and path not in NO_PLACES)


def restored_paths(cluster: ClusterFacts) -> frozenset[str]:
    """Return what the cluster's configuration restores a job from."""
    return frozenset(named_origins(cluster.options.items()))


def configured_origins(cluster: ClusterFacts) -> frozenset[str]:
    """Return what the cluster's configuration restores a job from, "" alone if it names no place.

    The operator writes for each deployment what that begins with, and a word for HA metadata.
    Source: operator 1.10-1.16, ``ApplicationReconciler.deploy``; before, HA metadata has no word.
    """
    return restored_paths(cluster) or frozenset({""})


def latest_known_id(job: JobFacts) -> int | None:
    """Return the newest completed checkpoint's id, or what the job continued from, or ``None``.

    After a JobManager's failover REST has forgotten all but the restored checkpoint, which is
    the newest retained one until the next completes.
    """
    if job.latest_completed_id is not None:
        return job.latest_completed_id
    return None if job.restored is None else job.restored.id


def is_not_subsumed(checkpoint_id: int, before: JobFacts, after: JobFacts) -> bool:
    """Return whether REST proves that a checkpoint was retained from ``before`` to ``after`` (R12).

    Either the later answer shows it completed and not discarded, or no checkpoint completed in
    between; both only for an id that is not below the newest one of ``before`` (a folder that
    Flink failed to delete is no evidence). The caller lets more than ``cache_seconds`` pass
    between its last listing and ``after``, otherwise the later answer may be the earlier one.
    """
    newest = latest_known_id(before)
    if not is_same_incarnation(before, after) or (newest is not None and checkpoint_id < newest):
        return False
    if newest is not None and latest_known_id(after) == newest:
        return True
    return any(
        shown.id == checkpoint_id
        and shown.is_completed
        and not shown.is_savepoint
        and shown.discarded is False
        for shown in after.checkpoints
    )


def eligibility_problem(job: JobFacts) -> str | None:
    """Return why a live job's checkpoints cannot prove what is live, ``None`` if they can.

    With two checkpoints pending at once, one may refer to a file that no retained checkpoint
    names (T1), so exactly one is allowed. To be asked before and after
    the listings. An ended job has nothing pending: there ``layout_problem`` suffices.
    """
    if (restarting := restarting_problem(job)) is not None:
        return restarting
    if job.max_concurrent is None:
        return f"job {job.job_id} ({job.status}) reports no checkpoint configuration"
    if job.max_concurrent != 1:
        return (
            f"job {job.job_id} may have {job.max_concurrent} checkpoints pending at once;"
            " without its registry only one is safe"
        )
    return layout_problem(job)


def restarting_problem(job: JobFacts) -> str | None:
    """Return why a living job's layout is not known yet, ``None`` if it is, or never will be.

    While the adaptive scheduler waits for resources, as it does at each restart, REST shows
    neither state backend nor storage: any backend may use files in place (R2).
    """
    if job.is_globally_terminal:
        return None
    shown = (job.state_backend, job.checkpoint_storage)
    if _NOT_YET_KNOWN not in shown and not (None in shown and job.status in WITHOUT_GRAPH):
        return None
    return (
        f"job {job.job_id} starts or restarts ({job.status}): until it runs, Flink does not show"
        " its state backend and checkpoint storage; plan again once it runs"
    )


def shows_no_origin(job: JobFacts) -> bool:
    """Return whether Flink shows that a job began from nothing: while it starts, it shows none."""
    return job.restored is None and restarting_problem(job) is None


def hidden_origin_problem(clusters: Iterable[ClusterFacts]) -> str | None:
    """Return which job may be reading a checkpoint that Flink does not show yet, else ``None``.

    Flink reads the ``_metadata`` before there is an execution graph to show.
    """
    shown = (job for cluster in clusters for job in cluster.jobs.values() if job.restored is None)
    found = (job.job_id for job in shown if restarting_problem(job) is not None)
    starting = next(found, None)
    if starting is None:
        return None
    return f"job {starting} starts, and Flink does not show yet what it is restored from"


def layout_problem(job: JobFacts) -> str | None:
    """Return why the job's files may be in a layout without a proven rule, else ``None`` (R2).

    A problem that ``restarting_problem`` reports proves nothing about the layout.
    """
    if restarting_problem(job) is not None:
        return None
    return unnamed_layout_problem(job) or _changelog_problem(job)


def unnamed_layout_problem(job: JobFacts) -> str | None:
    """Return why a job's checkpoints may not name every file that it uses, else ``None`` (R38).

    While it starts or restarts, it may be of any layout.
    """
    return _unknown_class(job, _BACKENDS)


def _unknown_class(job: JobFacts, backends: Collection[str]) -> str | None:
    if job.state_backend not in backends:
        return f"state backend {job.state_backend} of job {job.job_id} is not known to be safe"
    if job.checkpoint_storage not in _STORAGES:
        return f"checkpoint storage {job.checkpoint_storage} of job {job.job_id} is not known"
    return None


def exported_layout_problem(state_backend: str | None, *, changelog: bool | None) -> str | None:
    """Return why settings that a JobManager exports are of a layout without a proven rule (R2).

    An unknown one proves nothing, and is no problem here.
    """
    if state_backend is not None and state_backend not in _BACKENDS:
        return f"state backend {state_backend}, which is not known to be safe"
    return "the changelog state backend" if changelog else None


def unknown_layout_problem(job: JobFacts) -> str | None:
    """Return why an ended job may have used a layout that Flink's own do not include (R35).

    Changelog, file merging and ForSt are Flink's own: once the job's processes are gone, what no
    checkpoint names is dead there too (T7).
    """
    return _unknown_class(job, _BACKENDS | _IN_PLACE)


def _changelog_problem(job: JobFacts) -> str | None:
    """Return why the changelog may be on.

    Flink up to 1.15 has no such field; there the changelog shows in the checkpoints (its handles),
    in the layout, and in 1.15.4 by its backend (``ChangelogStateBackend``), which is not known.
    """
    if job.changelog_enabled is False:
        return None
    if job.changelog_enabled:
        return f"job {job.job_id} uses the changelog state backend"
    line = _LINE.fullmatch(job.flink_version)
    if line is not None and (int(line[1]), int(line[2])) < _FIRST_LINE_THAT_SAYS_CHANGELOG:
        return None
    return f"job {job.job_id} does not say whether it uses the changelog state backend"
