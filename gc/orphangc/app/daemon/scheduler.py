"""The scheduler of the daemon: starts runs on schedule, one at a time of each storage root."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import datetime
from time import monotonic

import structlog
from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from orphangc import __version__
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.config.schedule import longest_gap, trigger_of
from orphangc.app.console.exit import is_signal
from orphangc.app.daemon.workers import Children, Ended, signal_name
from orphangc.app.status.status_store import StatusStore
from orphangc.app.wiring.clock import now
from orphangc.core.documents.run_record import Phase, PhaseRecord, RunRecord, RunResult
from orphangc.core.model.shown import RunMode
from orphangc.errors import ExitCode

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
        run_id=f"{at:%Y%m%dT%H%M%S%fZ}-{uuid.uuid4().hex[:8]}",
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
