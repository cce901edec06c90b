"""What the daemon shows of itself: the one thing that pages, REST and readiness are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.core.documents.run_record import JobRecord, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RootStatus:
    """One configured storage root.

    Attributes:
        settings: As configured; show only ``model_dump(mode="json")``, which hides credentials.
        records: Newest first; of any process that shares the state location.
        next_run_at: ``None`` while the daemon ends.
        running_since: A run of this daemon is going on.

    """

    settings: ScheduledRoot
    records: Sequence[RunRecord] = ()
    next_run_at: datetime | None = None
    running_since: datetime | None = None

    @property
    def newest(self) -> RunRecord | None:
        """Return the newest record."""
        return self.records[0] if self.records else None

    @property
    def newest_plan(self) -> RunRecord | None:
        """Return the newest record that has a plan: what its numbers say still stands."""
        return next((each for each in self.records if each.plan_id is not None), None)

    @property
    def jobs(self) -> tuple[JobRecord, ...]:
        """Return the jobs that the newest plan knows."""
        return () if self.newest_plan is None else self.newest_plan.jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The daemon at one moment.

    Attributes:
        version: Of the tool.
        now: By this machine's clock.
        started_at: Of the daemon.
        not_ready: Why the daemon is not ready, ``None`` if it is.
        roots: In the order of the configuration.

    """

    version: str
    now: datetime
    started_at: datetime
    not_ready: str | None
    roots: tuple[RootStatus, ...]


class StatusSource(Protocol):
    """Tells the status from memory: it never touches a storage."""

    def status(self) -> Status:
        """Return the status of this moment."""
        ...

    def is_alive(self) -> bool:
        """Return whether the scheduler still does its work."""
        ...
