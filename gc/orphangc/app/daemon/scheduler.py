"""The scheduler of the daemon: starts runs on schedule, one at a time of each storage root.

Each run is a child process, so its memory and its crash are its own. A child holds the other end of
a pipe as its stdin. When the daemon dies, the pipe closes, and the child stops in order.
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import monotonic

import structlog
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from pydantic import BaseModel, TypeAdapter, ValidationError

from orphangc import __version__
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.config.schedule import longest_gap, trigger_of
from orphangc.app.console.exit import is_signal
from orphangc.app.status.status_store import StatusStore
from orphangc.app.wiring.clock import now
from orphangc.core.documents.run_record import Phase, PhaseRecord, RunRecord, RunResult, run_id_at
from orphangc.core.model.shown import RunMode
from orphangc.errors import ExitCode, OrphanGcError

log = structlog.get_logger()

_TICKS_EVERY_SECONDS = 10
_ALIVE_FOR_SECONDS = 60.0
_READ_EVERY_SECONDS = 300
"""Seconds until a run of another process is shown, and between attempts to read the records."""
_DISCOVER_EVERY_SECONDS = 300
"""Seconds until a new deployment's storage root is collected, too."""
_SIGNALLED = 128


def unrecorded(settings: ScheduledRoot, result: RunResult, exit_code: int, error: str) -> RunRecord:
    """Return a record for a run that could not write its own."""
    at = now()
    mode = settings.mode or RunMode.REPORT
    phase = PhaseRecord(phase=Phase.PLAN, result=result, started_at=at, duration_seconds=0.0)
    return RunRecord(
        run_id=run_id_at(at, uuid.uuid4().hex[:8]),
        root=settings.root,
        tool_version=__version__,
        mode=mode,
        effective_mode=mode,
        started_at=at,
        ended_at=at,
        result=result,
        exit_code=exit_code,
        error=error,
        phases=(phase,),
        grace_period_seconds=settings.grace_period.total_seconds(),
    )


class Daemon:
    """Starts runs by their schedules.

    The scheduler never waits for a storage: only child processes touch one.
    """

    def __init__(self, status: StatusStore, children: Children) -> None:
        self._status = status
        self._children = children
        self._configuration = status.configuration
        self._ticked = monotonic()
        self._scheduler = BackgroundScheduler(
            jobstores={"default": MemoryJobStore()},
            executors={
                "default": ThreadPoolExecutor(self._configuration.concurrent_runs),
                "records": ThreadPoolExecutor(1),
                "ticks": ThreadPoolExecutor(1),
                "discovery": ThreadPoolExecutor(1),
            },
            job_defaults={"coalesce": True, "max_instances": 1},
            timezone=self._configuration.timezone,
        )
        logging.getLogger("apscheduler").setLevel(
            logging.CRITICAL
        )  # the listeners report every event
        self._scheduler.add_listener(self._note, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)
        self._scheduler.add_listener(self._note_fault, EVENT_JOB_ERROR)
        status.next_run_of = self._next_run_of
        status.is_alive = self.is_alive

    def start(self) -> None:
        """Start the clock, read the records of earlier runs, and start runs on schedule."""
        self._every(_TICKS_EVERY_SECONDS, "ticks", self._tick)
        self._every(_READ_EVERY_SECONDS, "records", self._read_records)
        for settings in self._configuration.storage_roots:
            self._schedule(settings)
        if self._configuration.discovery.is_on:
            self._every(_DISCOVER_EVERY_SECONDS, "discovery", self._discover)
        self._scheduler.start()

    def _every(self, seconds: int, name: str, work: Callable[[], None]) -> None:
        self._scheduler.add_job(
            work,
            "interval",
            seconds=seconds,
            id=name,
            executor=name,
            next_run_time=now(),
            misfire_grace_time=None,
        )

    def _discover(self) -> None:
        """Schedule the storage roots that were not known before; none is ever taken out."""
        discovered = self._children.storage_roots()
        self._status.discovery_problem = discovered.problem
        found = [each for each in discovered.storage_roots if self._status.add_root(each)]
        for each in found:
            log.info("root.discovered", root=each.root)
        if found:
            self._read_records()
        for each in found:
            self._schedule(each)

    def _schedule(self, settings: ScheduledRoot) -> None:
        schedule, timezone = settings.schedule or "", self._configuration.timezone
        first = {"next_run_time": now()} if self._configuration.run_at_start else {}
        self._scheduler.add_job(
            self._run,
            trigger_of(schedule, timezone),
            args=(settings.root,),
            id=settings.root,
            name=settings.root,
            # a run that waits for others may start until the next one is scheduled
            misfire_grace_time=int(longest_gap(schedule, timezone).total_seconds()),
            replace_existing=True,
            **first,
        )

    def stop(self) -> None:
        """Stop in order: start no new run, end those in progress, and wait for them."""
        self._children.end()
        self._scheduler.remove_all_jobs()
        self._scheduler.shutdown(wait=True)

    def is_alive(self) -> bool:
        """Return whether the scheduler's thread lives and has ticked recently."""
        return bool(self._scheduler.running) and monotonic() - self._ticked < _ALIVE_FOR_SECONDS

    def _tick(self) -> None:
        self._ticked = monotonic()

    def _read_records(self) -> None:
        for root, known in self._children.known().items():
            self._status.load(root, known.records, known.error)

    def _next_run_of(self, root: str) -> datetime | None:
        job = self._scheduler.get_job(root)
        found: datetime | None = None if job is None else job.next_run_time
        return found

    # ------------------------------------------------------------------ runs

    def _run(self, root: str) -> None:
        self._status.began(root)
        record = None
        try:
            ended = self._children.run(root)
            if ended is not None:
                record = ended.record or self._of_dead(root, ended)
        finally:
            self._status.ended(root, record)
        if not self._status.is_loaded:
            self._read_records()

    def _of_dead(self, root: str, ended: Ended) -> RunRecord:
        settings = self._status.settings(root)
        if ended.code < 0:
            error = f"the process of the run was killed by {signal_name(ended.code)}"
            code = _SIGNALLED - ended.code
        else:
            error = f"the process of the run ended with code {ended.code}: see its log"
            code = ended.code or ExitCode.FAILED
        result = RunResult.INTERRUPTED if is_signal(code) else RunResult.FAILED
        record = unrecorded(settings, result, code, error)
        log.error("run.died", root=root, run_id=record.run_id, exit_code=code, reason=error)
        return self._children.keep(record)

    def _note(self, event: JobEvent) -> None:
        if not self._status.knows(event.job_id):
            return
        is_busy = event.code == EVENT_JOB_MAX_INSTANCES
        why = "the run before has not ended" if is_busy else "it could not start in time"
        settings = self._status.settings(event.job_id)
        record = unrecorded(settings, RunResult.MISSED, ExitCode.FAILED, why)
        log.warning("run.missed", root=event.job_id, reason=why)
        self._status.add(record)

    def _note_fault(self, event: JobEvent) -> None:
        """Record a run that failed before its process started: our error, or no memory."""
        reason = f"{type(event.exception).__name__}: {event.exception}"
        log.error("run.failed", root=event.job_id, reason=reason)
        if self._status.knows(event.job_id):
            settings = self._status.settings(event.job_id)
            self._status.add(unrecorded(settings, RunResult.FAILED, ExitCode.FAILED, reason))


_RECORDS = TypeAdapter(list[RunRecord])
_PAGE_CHARACTERS = 4_000_000
"""Bound of what a page shows of a checkpoint."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Result of a child that ran a storage root.

    Attributes:
        code: Exit code; a negative one is the signal that killed the child.
        record: Record that the child printed; ``None`` if it is absent or incomplete.
    """

    code: int
    record: RunRecord | None


class Known(BaseModel):
    """Records of one storage root, newest first, or why they cannot be read."""

    records: tuple[RunRecord, ...] = ()
    error: str | None = None


_KNOWN = TypeAdapter(dict[str, Known])


class FoundRoots(BaseModel):
    """Storage roots that a configuration names or discovers."""

    storage_roots: tuple[ScheduledRoot, ...] = ()
    problem: str | None = None


@dataclass(slots=True)
class Children:
    """Starts children, and stops those that run.

    Attributes:
        page_seconds: How long a page may wait for a checkpoint to be read.
    """

    config: Path
    options: Sequence[str] = ()
    page_seconds: float = 20
    _running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    _is_over: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self) -> None:
        """Start no further run, and stop those in progress: they finish their batch."""
        with self._lock:
            self._is_over = True
            for process in self._running.values():
                process.terminate()

    def run(self, root: str) -> Ended | None:
        """Return the result of a run of a storage root; ``None`` if no run may start now."""
        words = ("--only", root, "--child", "--output", "json")
        with self._counted("run", *words) as process:
            if process is None:
                return None
            out, code = _waited_for(process)
        return Ended(code, _only_record(out))

    @contextmanager
    def _counted(self, *words: str) -> Iterator[subprocess.Popen[str] | None]:
        """Yield a child that the end of the daemon stops; ``None`` if none may start now."""
        with self._lock:
            process = None if self._is_over else self._start(*words)
            if process is not None:
                self._running[process.pid] = process
        try:
            yield process
        finally:
            if process is not None:
                with self._lock:
                    del self._running[process.pid]

    def page_part(self, checkpoint: str, aliases: Sequence[str]) -> str:
        """Return a checkpoint as a part of a page in bounded time, or raise ``OrphanGcError``."""
        words = [*(word for each in aliases for word in ("--alias", each)), "--", checkpoint]
        with self._counted("page-part", *words) as process:
            if process is None:
                raise OrphanGcError("the daemon is ending")
            killer = threading.Timer(self.page_seconds, process.kill)  # it only reads
            killer.daemon = True
            killer.start()
            out, code = _waited_for(process, most=_PAGE_CHARACTERS)
            is_late = killer.finished.is_set()
            killer.cancel()
        if is_late:
            raise OrphanGcError(f"it could not be read within {self.page_seconds:g} s")
        if len(out) >= _PAGE_CHARACTERS:
            raise OrphanGcError("it is too large for a page")
        if code:
            raise OrphanGcError(f"reading it failed with exit code {code}; the log says why")
        return out

    def known(self) -> dict[str, Known]:
        """Return the records of each storage root; empty if the child failed."""
        out, code = _waited_for(self._start("records"))
        try:
            return _KNOWN.validate_json(out)
        except ValidationError as err:
            log.warning("records.unread", exit_code=code, reason=type(err).__name__)
            return {}

    def storage_roots(self) -> FoundRoots:
        """Return the storage roots of the configuration, discovered ones included."""
        out, code = _waited_for(self._start("roots"))
        try:
            found = FoundRoots.model_validate_json(out)
        except ValidationError as err:
            found = FoundRoots(problem=f"it failed with exit code {code} ({type(err).__name__})")
        if found.problem is not None:
            log.warning("discovery.failed", exit_code=code, reason=found.problem)
        return found

    def keep(self, record: RunRecord) -> RunRecord:
        """Write a record for a run that left none; return it with its totals if it was written."""
        process = self._start("records", "--keep")
        assert process.stdin is not None  # noqa: S101 - asked for
        try:
            process.stdin.write(json.dumps([record.model_dump(mode="json")]))
            process.stdin.close()
        except OSError:
            log.warning("record.not_written", run_id=record.run_id)
        out, _ = _waited_for(process)
        return _only_record(out) or record

    def _start(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        options = ("--config", str(self.config), *arguments)
        return subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", "orphangc", *self.options, command, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C of a terminal reaches only the daemon
        )


def _waited_for(process: subprocess.Popen[str], most: int = -1) -> tuple[str, int]:
    assert process.stdout is not None  # noqa: S101 - asked for
    assert process.stdin is not None  # noqa: S101
    try:
        out = process.stdout.read(most)
        process.stdout.close()  # a child that prints more ends
        return out, process.wait()
    finally:
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()


def _only_record(text: str) -> RunRecord | None:
    try:
        (record,) = _RECORDS.validate_json(text)
    except ValueError:  # no record, or several
        return None
    return record


def signal_name(code: int) -> str:
    """Return the name of the signal in an exit code of a child."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
