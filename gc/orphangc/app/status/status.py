"""The status of the daemon, as a value that pages, REST and readiness are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.core.documents.run_record import JobRecord, RunRecord


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
