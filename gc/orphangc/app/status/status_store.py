"""The daemon's status in memory: the value that pages, REST and readiness are made from."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from orphangc import __version__
from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.telemetry.metrics import Metrics
from orphangc.app.wiring.clock import now
from orphangc.core.documents.run_record import JobRecord, RunRecord, RunResult
from orphangc.core.model.shown import RunMode


@dataclass(frozen=True, slots=True, kw_only=True)
class RootStatus:
    """Status of one configured storage root.

    Attributes:
        settings: Configured settings; show only ``model_dump(mode="json")``, which hides
            credentials.
        records: Records of runs, newest first, of every process that shares the state location.
        running_since: Start of the daemon's run in progress; ``None`` if there is none.
        unread: Reason why records of earlier runs are not known yet; ``None`` if they are.
    """

    settings: ScheduledRoot
    records: Sequence[RunRecord] = ()
    next_run_at: datetime | None = None
    running_since: datetime | None = None
    unread: str | None = None

    @property
    def newest(self) -> RunRecord | None:
        """Return the newest record."""
        return self.records[0] if self.records else None

    @property
    def newest_plan(self) -> RunRecord | None:
        """Return the newest record with a plan: its numbers are the latest known."""
        return next((each for each in self.records if each.plan_id is not None), None)

    @property
    def mode(self) -> RunMode:
        """Return the mode of runs, as far as known before the first run."""
        newest = RunMode.REPORT if self.newest is None else self.newest.mode
        return self.settings.mode or newest

    @property
    def jobs(self) -> tuple[JobRecord, ...]:
        """Return the jobs of the newest plan."""
        return () if self.newest_plan is None else self.newest_plan.jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Status of the daemon at one moment.

    Attributes:
        not_ready: Reason why the daemon is not ready; ``None`` if it is.
    """

    version: str
    now: datetime
    started_at: datetime
    not_ready: str | None
    roots: tuple[RootStatus, ...]
    discovery_problem: str | None = None


_KEPT = 50
_UNREAD = "its records have not been read yet"


@dataclass(slots=True)
class StatusStore:
    """Holds the status of a daemon; many threads read it and few write it, from memory alone."""

    configuration: Configuration
    metrics: Metrics
    next_run_of: Callable[[str], datetime | None] = lambda _: None
    is_alive: Callable[[], bool] = lambda: False
    is_ending: bool = False
    discovery_problem: str | None = None
    _started_at: datetime = field(default_factory=now)
    _rows: dict[str, RootStatus] = field(init=False)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        roots = self.configuration.storage_roots
        self._rows = {each.root: RootStatus(settings=each, unread=_UNREAD) for each in roots}

    @property
    def is_loaded(self) -> bool:
        """Return whether the records of every storage root have been read."""
        return all(row.unread is None for row in self._rows.values())

    def add_root(self, settings: ScheduledRoot) -> bool:
        """Add a discovered storage root; return whether it is new."""
        with self._lock:
            if settings.root in self._rows:
                return False
            self.metrics.add_root(settings)
            self._rows[settings.root] = RootStatus(settings=settings, unread=_UNREAD)
            return True

    def knows(self, root: str) -> bool:
        """Return whether a storage root is configured or was discovered."""
        return root in self._rows

    def settings(self, root: str) -> ScheduledRoot:
        """Return the settings of a storage root."""
        return self._rows[root].settings

    def load(self, root: str, records: Sequence[RunRecord], error: str | None) -> None:
        """Take the records of a storage root, or the reason why they cannot be read."""
        with self._lock:
            row = self._rows.get(root)
            if row is None:
                return
            if error is not None:
                if row.unread is not None:  # what was read once is known, and its runs say the rest
                    self._rows[root] = replace(row, unread=f"its records cannot be read: {error}")
                return
            known = {each.run_id for each in row.records}
            for record in reversed(records):
                if record.run_id not in known:
                    self.metrics.restore(root, record)
            self._rows[root] = replace(row, records=_newest((*row.records, *records)), unread=None)

    def began(self, root: str) -> None:
        """Record that a run has started."""
        with self._lock:
            self._rows[root] = replace(self._rows[root], running_since=now())

    def ended(self, root: str, record: RunRecord | None) -> None:
        """Record that a run has ended; without a record it never began."""
        with self._lock:
            self._rows[root] = replace(self._rows[root], running_since=None)
            if record is not None:
                self.add(record)

    def add(self, record: RunRecord) -> None:
        """Add the record of a run; of consecutive missed runs only the newest is kept."""
        with self._lock:
            row, before = self._rows[record.root], self._rows[record.root].records
            self.metrics.observe(record)
            if record.result is RunResult.MISSED:
                before = tuple(
                    each
                    for position, each in enumerate(before)
                    if position or each.result is not RunResult.MISSED
                )
            self._rows[record.root] = replace(row, records=_newest((record, *before)))

    def status(self) -> Status:
        """Return the present status."""
        with self._lock:
            rows = list(self._rows.values())
        return Status(
            version=__version__,
            now=now(),
            started_at=self._started_at,
            not_ready=self._not_ready(rows),
            discovery_problem=self.discovery_problem,
            roots=tuple(
                row
                if self.is_ending
                else replace(row, next_run_at=self.next_run_of(row.settings.root))
                for row in rows
            ),
        )

    def _not_ready(self, rows: Sequence[RootStatus]) -> str | None:
        if self.is_ending:
            return "the daemon is ending"
        for row in rows:
            if row.unread is not None:
                return f"{row.settings.root}: {row.unread}"
        newest = [row.records[0].result for row in rows if row.records]
        if len(newest) == len(rows) and set(newest) == {RunResult.UNREACHABLE}:
            return "no storage root could be reached in its last run"
        return None


def _newest(records: Iterable[RunRecord]) -> tuple[RunRecord, ...]:
    """Return the newest records, each run once, newest first, and that of the newest plan however
    old it is.

    Only that one keeps its world.
    """
    runs = {each.run_id: each for each in records}.values()
    every = sorted(runs, key=lambda each: each.run_id, reverse=True)
    plan = next((each for each in every if each.plan_id is not None), None)
    found = every[:_KEPT] + [each for each in every[_KEPT:] if each is plan]
    return tuple(
        each if each is plan or each.world is None else each.model_copy(update={"world": None})
        for each in found
    )
