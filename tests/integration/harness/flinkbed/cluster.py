"""A standalone session cluster: one JobManager, one TaskManager, and ways to break them."""

import copy
import os
import shutil
import signal
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from integration.harness.flinkbed.distribution import JOB_SOURCE, compiled, jars
from integration.harness.flinkbed.jvm import Jvm
from integration.harness.flinkbed.rest import ENDED, Rest
from integration.harness.flinkbed.settings import (
    DEFAULT_RETAINED,
    ON_REQUEST,
    REQUESTS_SINCE,
    RETAINED,
    Workload,
    as_numbers,
    cluster_settings,
    job_settings,
    spelled,
    write_configuration,
)
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import FlinkbedError, wait_until
from support import speed
from support.ports import free_ports

Answer = TypeVar("Answer")
Directory = TypeVar("Directory", bound=Path | str)
"""A folder, or a URI; what Flink makes in it is given back as the same."""
_SECONDS_BETWEEN = 2
ClaimMode = Literal["CLAIM", "NO_CLAIM", "LEGACY"]
SavepointFormat = Literal["CANONICAL", "NATIVE"]

JOBMANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
TASKMANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
JOBMANAGER_HEAP_MB = 200
TASKMANAGER_HEAP_MB = 192
STRICT_RESTORE = {
    "restart-strategy.type": "none",
    # one download at a time: else an error that is only a consequence may be the one reported
    "state.backend.rocksdb.checkpoint.transfer.thread.num": "1",
}


class Cluster:
    """A running Flink of one version; as a context manager it starts and ends both processes.

    Settings are given by their Flink 2.x names and translated for older versions. Everything
    the cluster writes, save checkpoints, lies under ``work_dir``. ``libraries`` are jars beside
    Flink's own in ``lib/``; ``jobmanager_options`` are Java's, of the JobManager; ``job`` is the
    source of the job, and ``job_parts`` are sources that it uses.
    """

    def __init__(
        self,
        version: str,
        work_dir: Path,
        *,
        config: Mapping[str, str] | None = None,
        slots: int = 4,
        workload: Workload | None = None,
        libraries: Sequence[Path] = (),
        jobmanager_options: Sequence[str] = (),
        job: Path = JOB_SOURCE,
        job_parts: Sequence[Path] = (),
    ) -> None:
        self.version = version
        self._job = job
        self._job_parts = tuple(job_parts)
        self._libraries = tuple(libraries)
        self._jobmanager_options = tuple(jobmanager_options)
        self.workload = workload or Workload()
        self._work = work_dir.resolve()
        self._conf = self._work / "conf"
        self._control = self._work / "control"
        self._tmp = self._work / "tmp"
        self._slots = slots
        self._config = dict(config or {})
        self._jobmanager = Jvm("jobmanager", self._work / "log")
        self._taskmanager = Jvm("taskmanager", self._work / "log")
        rest_port, rpc_port = free_ports()
        self._ports = rest_port, rpc_port
        self.rest = Rest(f"http://127.0.0.1:{rest_port}")
        self._uploaded = (0, "")  # to which start of the JobManager, as which jar
        self._on_request: set[str] = set()
        self._scratch: list[Path] = []

    def running(self, job: Path, *parts: Path, workload: Workload) -> Self:
        """Return the same two processes, to which another job is submitted."""
        other = copy.copy(self)
        other._job, other._job_parts, other.workload = job, parts, workload
        other._uploaded = (0, "")
        other._job_jar = compiled(self.version, job, *parts)
        return other

    @property
    def rest_url(self) -> str:
        """Where the JobManager answers."""
        return self.rest.url

    def __enter__(self) -> Self:
        try:
            self._prepare()
            self._spawn_jobmanager()
            self._spawn_taskmanager()
            self._wait_for_slots()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End both processes and remove their working files; logs and checkpoints stay."""
        self.release()
        both = self._taskmanager, self._jobmanager
        for process in both:
            process.ask_to_end()
        for process in both:
            process.end(signal.SIGTERM)
        self.rest.close()
        for folder in (self._tmp, *self._scratch):
            shutil.rmtree(folder, ignore_errors=True)

    def start_jobmanager(self) -> None:
        """Start a JobManager, which knows of no job, and wait until it answers."""
        self._spawn_jobmanager()
        self._wait("an answer of the JobManager", lambda: self.rest.get("/overview"))

    def start_taskmanager(self) -> None:
        """Start a TaskManager and wait until the JobManager counts its slots."""
        self._spawn_taskmanager()
        self._wait_for_slots()

    def kill_jobmanager(self) -> None:
        """End the JobManager with SIGKILL: jobs are gone, pending checkpoints stay as they are.

        Kill the TaskManager right after it, before it notices: a TaskManager that lost its
        JobManager cancels its tasks and deletes what they uploaded for a pending checkpoint.
        """
        self._jobmanager.kill()

    def kill_taskmanager(self) -> None:
        """End the TaskManager with SIGKILL; the job waits for another one."""
        self._taskmanager.kill()

    def tidy(self) -> None:
        """Have both processes running, nothing held and no job left."""
        self.release()
        if not self._jobmanager.running:
            self.start_jobmanager()
        if not self._taskmanager.running:
            self.start_taskmanager()
        self._end_jobs(self.rest.unfinished_jobs())

    def _prepare(self) -> None:
        for folder in (self._control, self._tmp):
            folder.mkdir(parents=True, exist_ok=True)
        settings = cluster_settings(*self._ports, self._tmp, self._slots) | self._config
        write_configuration(self._conf, self.version, settings)
        self._classpath = os.pathsep.join(map(str, (*self._libraries, *jars(self.version))))
        self._job_jar = compiled(self.version, self._job, *self._job_parts)

    def _spawn_jobmanager(self) -> None:
        options = self._jobmanager_options
        self._spawn(self._jobmanager, JOBMANAGER, JOBMANAGER_HEAP_MB, options=options)

    def _spawn_taskmanager(self) -> None:
        # a name of its own, or the JobManager may take it for the one that it still believes alive
        name = f"taskmanager-{self._taskmanager.starts + 1}"
        shutil.rmtree(self._tmp / f"tm_taskmanager-{self._taskmanager.starts}", ignore_errors=True)
        arguments = ["-D", f"taskmanager.resource-id={name}"]
        self._spawn(self._taskmanager, TASKMANAGER, TASKMANAGER_HEAP_MB, arguments=arguments)

    def _spawn(
        self,
        jvm: Jvm,
        main: str,
        heap_mb: int,
        *,
        arguments: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        jvm.start(
            main,
            classpath=self._classpath,
            conf=self._conf,
            options=[f"-Xmx{heap_mb}m", f"-Djava.io.tmpdir={self._tmp}", *options],
            arguments=list(arguments),
        )

    def _wait_for_slots(self) -> None:
        name = f"taskmanager-{self._taskmanager.starts}"
        self._wait(f"{name} to register", lambda: name in self._registered())

    def _registered(self) -> set[str]:
        found = self.rest.get("/taskmanagers")["taskmanagers"]
        return {entry["id"] for entry in found if entry["slotsNumber"] == self._slots}

    def submit(
        self,
        checkpoint_dir: Path | str,
        restore: Path | str | None = None,
        claim_mode: ClaimMode | None = None,
        *,
        parallelism: int = 2,
        interval: str = "1s",
        config: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> str:
        """Start the job, from a checkpoint or savepoint if one is given, and wait until it runs.

        Its checkpoints go to ``checkpoint_dir/<job id>``, every ``interval``, or ``ON_REQUEST``;
        a Flink that takes none on request takes one every few seconds. A setting that ``config``
        gives as an empty text is left out. Returns the job id.
        """
        is_on_request = interval == ON_REQUEST and as_numbers(self.version) >= REQUESTS_SINCE
        if interval == ON_REQUEST and not is_on_request:
            interval = f"{speed.scaled(_SECONDS_BETWEEN):.0f}s"
        job_id = self._launch(
            job_settings(_uri(checkpoint_dir), interval) | dict(config or {}),
            {} if claim_mode is None else {self._claim_mode: claim_mode},
            restore=restore,
            parallelism=parallelism,
            arguments=arguments,
        )
        if is_on_request:
            self._on_request.add(job_id)
        self._wait_on_job(job_id, "running tasks", lambda: self.rest.is_running(job_id))
        return job_id

    def run_to_end(
        self,
        restore: Path | str,
        *,
        parallelism: int = 2,
        arguments: Sequence[str] = (),
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Run the job, which must end by itself, with those states of a checkpoint that it knows.

        It takes no checkpoints and is not started again.
        """
        never = {"execution.checkpointing.interval": "", "execution.checkpointing.min-pause": ""}
        job_id = self._launch(
            job_settings(_uri(self._tmp / "none"), "")
            | STRICT_RESTORE
            | dict(config or {})
            | never,
            {"allowNonRestoredState": True},
            restore=restore,
            parallelism=parallelism,
            arguments=arguments,
        )
        state = self._wait("the job to end", lambda: self._end_of(job_id))
        if state != "FINISHED":
            raise self._error(f"{restore}: {state}: {self.rest.root_exception(job_id)}")

    def _end_of(self, job_id: str) -> str | None:
        state = self.rest.job_state(job_id)
        return state if state in ENDED else None

    @property
    def _claim_mode(self) -> str:
        return "claimMode" if as_numbers(self.version) >= (1, 20) else "restoreMode"

    def _launch(
        self,
        settings: Mapping[str, str],
        more: Mapping[str, object],
        *,
        restore: Path | str | None,
        parallelism: int,
        arguments: Sequence[str],
    ) -> str:
        settings = spelled({k: v for k, v in settings.items() if v}, self.version)
        body: dict[str, Any] = {
            "entryClass": self._job.stem,
            "programArgsList": [*self.workload.arguments(self._control), *arguments],
            "parallelism": parallelism,
            **more,
        }
        if as_numbers(self.version) >= (1, 17):
            body["flinkConfiguration"] = settings
        else:
            told = ";".join(f"{key}={value}" for key, value in settings.items())
            body["programArgsList"] += ["--settings", told]
        if restore is not None:
            body["savepointPath"] = _uri(restore)
        if self._uploaded[0] != self._jobmanager.starts:
            self._uploaded = self._jobmanager.starts, self.rest.upload(self._job_jar)
        return str(self.rest.ask("POST", f"/jars/{self._uploaded[1]}/run", body)["jobid"])

    def cancel(self, job_id: str, *, between_checkpoints: bool = False) -> None:
        """Cancel the job; its checkpoints are retained.

        A pending checkpoint may leave orphans of its own, hence ``between_checkpoints``.
        """
        if between_checkpoints:
            if job_id not in self._on_request:
                self.wait_for_checkpoints(job_id, 1)
            self._wait("no pending checkpoint", lambda: not self._count(job_id, "in_progress"))
        self.rest.ask("PATCH", f"/jobs/{job_id}?mode=cancel")
        self._wait("the job to end", lambda: self.rest.job_state(job_id) in ENDED)

    def _end_jobs(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            try:
                self.cancel(job_id)
            except FlinkbedError:
                if self.rest.job_state(job_id) not in ENDED:
                    raise

    def savepoint(
        self, job_id: str, directory: Directory, savepoint_format: SavepointFormat = "CANONICAL"
    ) -> Directory:
        body = {
            "target-directory": _uri(directory),
            "cancel-job": False,
            "formatType": savepoint_format,
        }
        request = self.rest.ask("POST", f"/jobs/{job_id}/savepoints", body)["request-id"]
        done = self._wait_on_job(job_id, "a savepoint", lambda: self._savepoint(job_id, request))
        return type(directory)(self._location(done))

    def stop_with_savepoint(
        self, job_id: str, directory: Directory, savepoint_format: SavepointFormat = "CANONICAL"
    ) -> Directory:
        """Take a savepoint, with which the job finishes, and return its folder.

        Flink deletes the checkpoints of a job that finishes.
        """
        body = {"targetDirectory": _uri(directory), "drain": False, "formatType": savepoint_format}
        request = self.rest.ask("POST", f"/jobs/{job_id}/stop", body)["request-id"]
        done = self._wait("a last savepoint", lambda: self._savepoint(job_id, request))
        folder = self._location(done)
        self._wait("the job to end", lambda: self._end_of(job_id))
        return type(directory)(folder)

    def _location(self, done: Mapping[str, Any]) -> str:
        if "location" not in done:
            raise self._error(f"the savepoint failed: {done['failure-cause']}")
        return str(done["location"]).removeprefix("file:")

    def _savepoint(self, job_id: str, request: str) -> dict[str, Any]:
        answer = self.rest.get(f"/jobs/{job_id}/savepoints/{request}")
        return dict(answer.get("operation") or {}) if answer["status"]["id"] == "COMPLETED" else {}

    def progress(self, job_id: str) -> dict[str, int]:
        """Return the job's own numbers since its last (re)start, up to a second old.

        ``restored``: keys in the restored state; ``verified``: keys whose restored state was
        read and found right; ``fresh``: keys that had no state; ``records``.
        """
        return self.rest.accumulators(job_id)

    def checkpoints(self, job_id: str) -> dict[str, Any]:
        return dict(self.rest.get(f"/jobs/{job_id}/checkpoints"))

    def latest_completed(self, job_id: str) -> dict[str, Any] | None:
        """Return the newest completed checkpoint's entry: ``id``, ``external_path`` and more."""
        latest: dict[str, Any] | None = self.checkpoints(job_id)["latest"]["completed"]
        return latest

    def wait_for_checkpoints(self, job_id: str, n: int) -> None:
        """Wait until n more checkpoints (or savepoints) have completed, counted from now.

        Of a job whose checkpoints are taken on request, request them one by one; when each has
        completed, REST shows it and what it subsumed is gone.
        """
        if job_id in self._on_request:
            for _ in range(n):
                self._wait_on_job(job_id, "a requested checkpoint", lambda: self._take(job_id))
            return
        now = self._wait_on_job(job_id, "an answer", lambda: self.checkpoints(job_id))
        goal = now["counts"]["completed"] + n
        self._wait_on_job(
            job_id, f"{n} completed checkpoints", lambda: self._count(job_id, "completed") >= goal
        )

    def _take(self, job_id: str) -> bool:
        """Request a checkpoint; return whether it completed: a task may not have run yet."""
        place = f"/jobs/{job_id}/checkpoints/{self._request(job_id)}"

        def answer() -> Mapping[str, Any] | None:
            told = self.rest.get(place)
            return dict(told["operation"]) if told["status"]["id"] == "COMPLETED" else None

        done = self._wait_on_job(job_id, "the end of a checkpoint", answer)
        taken = done.get("checkpointId")
        if taken is None:
            return False
        self._wait_on_job(job_id, "its traces", lambda: self._shows(job_id, int(taken)))
        return True

    def _request(self, job_id: str) -> str:
        body = {"checkpointType": "CONFIGURED"}
        return str(self.rest.ask("POST", f"/jobs/{job_id}/checkpoints", body)["request-id"])

    def _shows(self, job_id: str, checkpoint_id: int) -> bool:
        """Return whether REST shows a checkpoint, and the storage no more than are retained."""
        latest = self.latest_completed(job_id)
        if latest is None or latest["id"] < checkpoint_id:
            return False
        most = int(self._config.get(RETAINED, DEFAULT_RETAINED))
        return len(retained(Path(latest["external_path"].removeprefix("file:")).parent)) <= most

    def _count(self, job_id: str, which: str) -> int:
        return int(self.checkpoints(job_id)["counts"][which])

    def hold(self) -> None:
        """From now on no subtask acknowledges a checkpoint: it waits after its upload.

        Until ``release``, at most half an hour. Holds every job of this cluster.
        """
        self.release()
        (self._control / "hold").touch()

    def wait_until_held(self, subtasks: int = 2) -> None:
        """Wait until so many subtasks have uploaded their keyed state and are held.

        Where checkpoints are taken on request, request one of each running job.
        """
        for job_id in self._on_request & set(self.rest.unfinished_jobs()):
            self._request(job_id)
        self._wait(
            f"{subtasks} held subtasks", lambda: len(list(self._control.glob("held-*"))) >= subtasks
        )

    def lose_an_upload(self, subtasks: int = 2) -> None:
        """Kill the TaskManager when so many subtasks have uploaded; start another one."""
        self.hold()
        self.wait_until_held(subtasks)
        self.kill_taskmanager()
        self.release()
        self.start_taskmanager()

    def release(self) -> None:
        for path in [self._control / "hold", *self._control.glob("held-*")]:
            path.unlink(missing_ok=True)

    def restore_and_check(
        self, path: Path | str, *, parallelism: int = 2, config: Mapping[str, str] | None = None
    ) -> None:
        """Prove that Flink restores from this checkpoint or savepoint, in NO_CLAIM mode.

        The job runs without restarts in a scratch checkpoint directory until it has read the
        state of every key back, found each as it was written, and completed a checkpoint. Then
        it is cancelled. Raises with the root exception otherwise.
        """
        scratch = self._work / f"restore-{uuid.uuid4()}"
        others = set(self.rest.unfinished_jobs())
        try:
            progress = self._restore(scratch, path, parallelism, dict(config or {}))
        finally:
            self._end_jobs(set(self.rest.unfinished_jobs()) - others)
            self._scratch.append(scratch)  # REST goes on reporting its checkpoints as kept
        if not 0 < progress["restored"] == progress["verified"]:
            raise self._error(f"{path} lost state: {progress}")

    def _restore(
        self, scratch: Path, path: Path | str, parallelism: int, config: Mapping[str, str]
    ) -> dict[str, int]:
        job_id = self.submit(
            scratch,
            path,
            "NO_CLAIM",
            parallelism=parallelism,
            interval=ON_REQUEST,
            config=STRICT_RESTORE | config,
        )
        self.wait_for_checkpoints(job_id, 1)
        self._wait_on_job(job_id, "visits of all keys", lambda: self._visited_all(job_id))
        return self.progress(job_id)

    def _visited_all(self, job_id: str) -> bool:
        progress = self.progress(job_id)
        return progress.get("verified", 0) + progress.get("fresh", 0) >= self.workload.keys

    def _wait_on_job(self, job_id: str, what: str, probe: Callable[[], Answer | None]) -> Answer:
        """Wait, but not for a job that has ended."""

        def ask() -> Answer | None:
            if (state := self.rest.job_state(job_id)) in ENDED:
                cause = self.rest.root_exception(job_id)
                raise FlinkbedError(f"the job is {state} while waiting for {what}:\n{cause}")
            return probe()

        return self._wait(f"{what} of job {job_id}", ask)

    def _wait(self, what: str, probe: Callable[[], Answer | None]) -> Answer:
        try:
            return wait_until(what, lambda: self._alive(probe))
        except FlinkbedError as err:
            raise self._error(str(err)) from err

    def _alive(self, probe: Callable[[], Answer | None]) -> Answer | None:
        """Ask, but not a JobManager that has ended."""
        if not self._jobmanager.running:
            raise FlinkbedError("the JobManager does not run")
        return probe()

    @property
    def control(self) -> Path:
        """Where the job looks whether it is held, and leaves its marks."""
        return self._control

    def jobmanager_log(self) -> str:
        return self._jobmanager.log()

    def taskmanager_log(self) -> str:
        return self._taskmanager.log()

    def _error(self, message: str) -> FlinkbedError:
        tails = self._jobmanager.tail(), self._taskmanager.tail()
        return FlinkbedError("\n".join([message, *tails]))


def _uri(path: Path | str) -> str:
    """Return a local path as Flink reads it: unlike a proper URI, with nothing escaped."""
    return path if isinstance(path, str) else f"file://{path.resolve()}"
