"""Flink jobs as they use a checkpoint storage: incremental RocksDB checkpoints, step by step.

As in Flink 1.16-1.20: what is re-used comes from the last checkpoint that the task *knows* to be
complete; files are registered at the acknowledgement; an
entry lives until no checkpoint at or above the oldest retained one used it; deletions are chores
that a dying JobManager forgets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from cli.helpers import metadata
from orphangc.core.cluster.job_facts import CheckpointFacts, JobFacts, RestoredFacts
from orphangc.core.model.types import JobId
from safety.simulation.cloud import Cloud
from safety.simulation.faults import LossError
from support.builders import a_checkpoint, some_facts

MODES = ("CLAIM", "NO_CLAIM", "LEGACY")


@dataclass
class Root:
    """A completed checkpoint or savepoint, as whoever restores from it finds it."""

    id: int
    folder: str
    tables: dict[int, str]
    private: str
    home: str
    triggered_at: datetime
    log: tuple[str, ...] = ()

    @property
    def files(self) -> set[str]:
        return {*self.shared, self.private}

    @property
    def shared(self) -> tuple[str, ...]:
        return (*self.tables.values(), *self.log)

    @property
    def key(self) -> str:
        return f"{self.folder}/_metadata"


@dataclass
class Pending:
    """A checkpoint on its way; ``issued`` by the clock of its JobManager."""

    fresh: dict[int, str]
    reused: dict[int, str]
    private: str
    left: list[str]
    issued: datetime
    log: tuple[str, ...] = ()
    is_acknowledged: bool = False


@dataclass
class Flinks:
    """All jobs, and what they have ever completed."""

    cloud: Cloud  # the bucket
    jobs: list[Job] = field(default_factory=list)  # in the order of their birth
    roots: dict[str, Root] = field(default_factory=dict)  # by folder
    names: int = 0  # how many files were named
    completed: int = 0  # how many checkpoints
    ahead: timedelta = timedelta(0)  # how far the clocks of JobManagers are ahead of the store's
    savepoints: int = 0  # how many

    def told_by_a_job_manager(self) -> datetime:
        """Return the time as JobManagers have it: as coarse as the store's, where no slack is."""
        now = self.cloud.now + self.ahead
        return now.replace(microsecond=0) if self.cloud.is_coarse else now

    def file_name(self) -> str:
        self.names += 1
        return f"{self.names * 2654435761 % 2**32:08x}-0000-4000-8000-{self.names:012x}"

    def existing(self) -> list[Root]:
        return [root for root in self.roots.values() if root.key in self.cloud.blobs]

    def needed(self) -> set[str]:
        """Return all that some root names."""
        return {file for root in self.existing() for file in root.files}

    def check(self) -> None:
        for root in self.existing():
            lost = sorted(root.files & self.cloud.collected.keys())
            if lost:
                raise LossError(f"{root.key} needs {lost}, which a collector deleted")

    def start(self, base: str, spelled: str, **facts: int) -> Job:
        number = len(self.jobs) + 1
        job_id = JobId(f"{number:02d}" * 16)
        job = Job(self, job_id, f"{base}/{job_id}", spelled, born=self.cloud.now, **facts)
        self.jobs.append(job)
        return job

    def owner(self, root: Root) -> Job:
        return next(job for job in self.jobs if root.home == job.directory)

    def claimed(self, job: Job) -> bool:
        heirs = (each for each in self.jobs if each.source and each.mode != "NO_CLAIM")
        return any(heir.source and self.owner(heir.source) is job for heir in heirs)

    def restore(self, root: Root, mode: str, base: str, spelled: str, **facts: int) -> Job | None:
        """Start a job from a checkpoint, unless a file of it is missing: then Flink fails."""
        self.check()
        if not all(file in self.cloud.blobs for file in root.files):
            return None
        job = self.start(base, spelled, **facts)
        job.source, job.mode, job.next_id = root, mode, root.id + 1
        job.continue_from(root, is_first=True)
        return job


@dataclass
class Job:
    flinks: Flinks  # all of them
    id: JobId  # of the job
    directory: str  # key of its checkpoint directory
    spelled: str  # what its metadata puts before keys
    born: datetime  # start of its JobManager
    concurrent: int = 1  # checkpoints that may be pending at once
    retained_most: int = 1  # checkpoints that it retains
    has_ids: int = 0  # file names begin with checkpoint ids
    # it uses a changelog: what it appends is uploaded at any time, and named later
    has_log: int = 0
    # Flink's word; "" while no JobManager has it, ``forgotten`` long after its end
    status: str = "RUNNING"
    is_hidden: bool = False  # its cluster's REST API is none of those that are asked
    epoch: int = 1  # which JobManager has it
    source: Root | None = None  # what it was restored from, in which ``mode``
    mode: str = ""
    next_id: int = 1
    next_table: int = 2
    tables: list[int] = field(default_factory=lambda: [0, 1])  # its SST files
    base: int = 0  # the checkpoint that the task re-uses files of, in ``uploaded``
    uploaded: dict[int, dict[int, str]] = field(default_factory=dict)
    notices: list[int] = field(default_factory=list)
    pending: dict[int, Pending] = field(default_factory=dict)
    # by path: the last id that used it, and whether Flink deletes it
    registry: dict[str, tuple[int, bool]] = field(default_factory=dict)
    retained: list[tuple[Root, bool]] = field(default_factory=list)
    restored: Root | None = None
    chores: list[str] = field(default_factory=list)  # deletions to come
    # files of the log since the last materialisation, the newest maybe not uploaded yet
    log: list[str] = field(default_factory=list)
    history: list[CheckpointFacts] = field(default_factory=list)  # as REST has it

    @property
    def is_listed(self) -> bool:
        return self.status not in {"", "forgotten"} and not self.is_hidden

    @property
    def is_running(self) -> bool:
        return self.status == "RUNNING"

    # --- checkpoints

    def trigger(self) -> None:
        """Begin a checkpoint: the task takes its snapshot at once."""
        if len(self.pending) >= self.concurrent:
            return
        number, self.next_id = self.next_id, self.next_id + 1
        known = self.uploaded.get(self.base, {})
        reused = {table: known[table] for table in self.tables if table in known}
        fresh = {table: self._place(number) for table in self.tables if table not in known}
        private = self._private_place(number)
        issued = self.flinks.told_by_a_job_manager()
        log = self._persisted()
        left = [*fresh.values(), private, *(each for each in log if each not in self._uploads)]
        self.pending[number] = Pending(fresh, reused, private, left, issued, log)
        self.uploaded[number] = reused | fresh

    def append(self) -> None:
        """Upload a part of the log, which no checkpoint names yet (R45)."""
        if self.has_log:
            self.log.append(self._log_place())
            self.flinks.cloud.put(self.log[-1])

    def materialize(self) -> None:
        """Let later checkpoints do without the log so far."""
        self.log = [each for each in self.log if each not in self._uploads]

    def _persisted(self) -> tuple[str, ...]:
        """Return all that was appended since the last materialisation, the newest part included."""
        if self.has_log:
            self.log.append(self._log_place())
        return tuple(self.log)

    def _log_place(self) -> str:
        return f"{self.directory}/dstl/{self.flinks.file_name()}"

    @property
    def _uploads(self) -> set[str]:
        """Return what was ever uploaded and not deleted by Flink, whatever a collector did."""
        return {*self.flinks.cloud.blobs, *self.flinks.cloud.collected}

    def _private_place(self, number: int) -> str:
        """Return where its own file goes: each second checkpoint has it in its own folder."""
        if number % 2 == 0:
            return self._place(number)
        return f"{self.directory}/chk-{number}/{self.flinks.file_name()}"

    def _place(self, number: int) -> str:
        led = f"{number}_" if self.has_ids else ""
        return f"{self.directory}/shared/{led}{self.flinks.file_name()}"

    def upload(self) -> None:
        """Store one more file of the newest checkpoint that lacks one."""
        for one in reversed(self.pending.values()):
            if one.left:
                file = one.left.pop(0)
                if file not in self._uploads:  # a part of the log is uploaded once
                    self.flinks.cloud.put(file)
                return

    def acknowledge(self) -> None:
        """Acknowledge the newest checkpoint that is uploaded, long before it completes."""
        for number, one in reversed(self.pending.items()):
            if not (one.left or one.is_acknowledged):
                self._acknowledge(number, one)
                return

    def complete(self) -> None:
        for number, one in self.pending.items():
            if not one.left:
                self._acknowledge(number, one)
                if number in self.pending:
                    self._complete(number, one)
                return

    def _acknowledge(self, number: int, one: Pending) -> None:
        """Register its files; a placeholder without an entry fails it."""
        if one.is_acknowledged:
            return
        one.is_acknowledged = True
        for file in (*one.fresh.values(), *one.log):
            self.registry.setdefault(file, (number, True))
        if any(file not in self.registry for file in one.reused.values()):
            self._end(number)
            return
        for file in (*one.reused.values(), *one.log):
            used, is_ours = self.registry[file]
            self.registry[file] = (max(used, number), is_ours)

    def _complete(self, number: int, one: Pending) -> None:
        """Write its metadata, and let the completed store have it."""
        del self.pending[number]
        folder = f"{self.directory}/chk-{number}"
        tables = one.reused | one.fresh
        root = Root(number, folder, tables, one.private, self.directory, one.issued, one.log)
        lost = sorted(root.files & self.flinks.cloud.collected.keys())
        if lost:
            raise LossError(f"checkpoint {root.folder} completes, and {lost} was deleted")
        shared = [f"{self.spelled}{file}" for file in sorted(root.files - {one.private})]
        private = [f"{self.spelled}{one.private}"]
        self.flinks.cloud.put(root.key, metadata(number, shared, private=private))
        self.flinks.roots[root.folder] = root
        self.flinks.completed += 1
        self._retain(root)

    def _retain(self, root: Root) -> None:
        """Add to the store, subsume the oldest, drop what is not used any more; tell the task."""
        self.retained.append((root, True))
        self.history.append(self._shown(root))
        while len(self.retained) > self.retained_most:
            self._subsume(*self.retained.pop(0))
        lowest = self.retained[0][0].id
        for file, (used, is_ours) in list(self.registry.items()):
            if used < lowest:
                del self.registry[file]
                self.chores += [file] * is_ours
        for older in [number for number in self.pending if number < root.id]:
            self._end(older)
        self.notices.append(root.id)

    def _subsume(self, root: Root, is_ours: bool) -> None:  # noqa: FBT001 - as it is kept
        self.chores += [root.private, root.key] * is_ours
        self.history = [
            self._shown(root, discarded=True) if each.id == root.id else each
            for each in self.history
        ]

    def savepoint(self) -> None:
        """Write a native savepoint: whole in itself, in a folder that no checkpoint lies in."""
        number, self.next_id = self.next_id, self.next_id + 1
        self.flinks.savepoints += 1
        folder = f"savepoints/savepoint-{self.id[:6]}-{self.flinks.savepoints:012x}"
        tables = {table: f"{folder}/{self.flinks.file_name()}" for table in self.tables}
        private = f"{folder}/{self.flinks.file_name()}"
        issued = self.flinks.told_by_a_job_manager()
        root = Root(number, folder, tables, private, self.directory, issued)
        for file in sorted(root.files):
            self.flinks.cloud.put(file)
        paths = [f"{self.spelled}{file}" for file in sorted(root.files)]
        self.flinks.cloud.put(root.key, metadata(number, paths))
        self.flinks.roots[folder] = root
        self.history.append(replace(self._shown(root), is_savepoint=True))

    def notify(self) -> None:
        """Let the task hear of the newest completed checkpoint; older news are lost."""
        if self.notices:
            number = self.notices.pop()
            self.notices.clear()
            if number > self.base and number in self.uploaded:
                self.base = number

    def miss(self) -> None:
        """Let the task never hear of it."""
        self.notices.clear()

    def abort(self) -> None:
        """Let the oldest pending checkpoint time out, half uploaded."""
        if self.pending:
            self._end(min(self.pending))

    def _end(self, number: int) -> None:
        """Give a checkpoint up; what it did not upload of the log is appended again later."""
        one = self.pending.pop(number)
        others = {each for other in self.pending.values() for each in other.left}
        self.log = [each for each in self.log if each not in one.left or each in others]
        self.uploaded.pop(number, None)

    def grow(self) -> None:
        """Let an SST file appear."""
        if len(self.tables) < 4:
            self.tables.append(self.next_table)
            self.next_table += 1

    def compact(self) -> None:
        """Let the oldest SST files be merged into a new one."""
        self.tables = [*self.tables[1:], self.next_table]
        self.next_table += 1

    def chore(self) -> None:
        """Do one deletion that is due."""
        if self.chores:
            self.flinks.cloud.drop(self.chores.pop(0))

    def tidy(self) -> None:
        while self.chores:
            self.chore()

    def round(self) -> None:
        """Complete a checkpoint, whatever was pending."""
        for number in list(self.pending):
            self._end(number)
        for step in (self.trigger, *[self.upload] * 6, self.complete, self.notify):
            step()

    def leak(self) -> None:
        """Upload for a checkpoint that then times out."""
        self.round()
        self.grow()
        for step in (self.trigger, self.upload, self.upload, self.abort):
            step()

    # --- lives

    def kill_taskmanager(self) -> None:
        newest = self._newest()
        self.pending, self.notices = {}, []
        if newest is not None:
            self.continue_from(newest)

    def kill_jobmanager(self) -> None:
        """Let another JobManager take over: it knows what the store retains, and no more."""
        newest = self._newest()
        self.restored = newest
        self.epoch += 1
        self.born = self.flinks.cloud.now
        self.history, self.chores = [], []
        self.registry = {
            file: (root.id, self.registry.get(file, (0, is_ours))[1])
            for root, is_ours in self.retained
            for file in root.shared
        }
        self.pending, self.notices, self.uploaded, self.base = {}, [], {}, 0
        if newest is not None:
            self.continue_from(newest)

    def suspend(self) -> None:
        """Let the JobManager die, and nobody take over for a while."""
        self.kill_jobmanager()
        self.status = ""

    def resume(self) -> None:
        """Let a JobManager take it up again."""
        if not self.status:
            self.status = "RUNNING"

    def cancel(self) -> None:
        """End it; what it retains stays."""
        if self.is_running:
            self.status, self.pending = "CANCELED", {}

    def _newest(self) -> Root | None:
        if self.retained:
            return self.retained[-1][0]
        is_there = self.source is not None and self.source.key in self.flinks.cloud.blobs
        return self.source if is_there else None

    def continue_from(self, root: Root, *, is_first: bool = False) -> None:
        self.pending, self.notices = {}, []
        self.tables, self.restored = sorted(root.tables), root
        self.next_table = max(self.next_table, *root.tables, 0) + 1
        is_full = root is self.source and self.mode == "NO_CLAIM"
        self.log = [] if is_full else list(root.log)
        self.uploaded = {} if is_full else {root.id: dict(root.tables)}
        self.base = 0 if is_full else root.id
        if is_first and not is_full:
            is_ours = self.mode == "CLAIM"
            self.retained = [(root, is_ours)]
            self.registry = dict.fromkeys(root.shared, (root.id, is_ours))

    # --- what REST says

    def _shown(self, root: Root, *, discarded: bool = False) -> CheckpointFacts:
        now = self.flinks.cloud.now
        return a_checkpoint(
            root.id,
            discarded=discarded,
            external_path=f"s3://b/{root.folder}",
            triggered_at=root.triggered_at if self.has_log else now - timedelta(seconds=1),
        )

    def facts(self) -> JobFacts:
        shown = self.history[:-11:-1]
        own = [each.id for each in self.history if not each.is_savepoint]
        restored = self.restored
        return some_facts(
            self.id,
            status=self.status,
            started_at=self.born,
            incarnation=f"{self.id}/{self.epoch}",
            max_concurrent=self.concurrent,
            changelog_enabled=bool(self.has_log),
            latest_completed_id=max(own, default=None),
            restored=restored
            and RestoredFacts(
                id=restored.id,
                external_path=f"s3://b/{restored.folder}",
                is_savepoint=restored.folder.startswith("savepoints/savepoint-"),
            ),
            in_progress_ids=tuple(sorted(self.pending)),
            in_progress_count=len(self.pending),
            completed_count=len(self.history),
            checkpoints=tuple(shown),
        )


STEPS: dict[str, Callable[[Job], None]] = {
    "round": Job.round,
    "leak": Job.leak,
    "trigger": Job.trigger,
    "upload": Job.upload,
    "acknowledge": Job.acknowledge,
    "complete": Job.complete,
    "savepoint": Job.savepoint,
    "notify": Job.notify,
    "miss": Job.miss,
    "abort": Job.abort,
    "grow": Job.grow,
    "compact": Job.compact,
    "chore": Job.chore,
    "tidy": Job.tidy,
    "taskmanager dies": Job.kill_taskmanager,
    "jobmanager dies": Job.kill_jobmanager,
}
"""What a running job may do."""
