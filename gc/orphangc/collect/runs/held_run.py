"""What every run that deletes has in common: lock, journal, and the outcome that ends it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import Any

from orphangc.collect.state.lock import Lock
from orphangc.collect.state.store import RootState
from orphangc.core.documents.plan import Plan
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import OrphanGcError


class RunStoppedError(OrphanGcError):
    """A signal asked the run to end, or something ended its deletions: nothing more begins."""

    def __init__(self) -> None:
        super().__init__("stopped before the next batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """Run that holds the lock of its storage root.

    Attributes:
        ended: Runs that ``close`` ends: this one, and crashed ones whose deletions its outcome has.
        stopped: Set once nothing more may begin; what has begun goes on to its end.
    """

    settings: StorageRootSettings
    state: RootState
    lock: Lock
    run_id: str
    ended: list[str] = field(default_factory=list, init=False, compare=False)
    stopped: Event = field(default_factory=Event)

    def begin(self, plan: Plan, judged: Plan, at: datetime) -> None:
        """Write down which evidence the run acts on, before it changes anything."""
        self.state.start_run(self.run_id, at)
        header = {
            "plan_id": plan.plan_id,
            "root": plan.root,
            "live_set_sha256": judged.live_set_sha256,
            "jobs": [job.model_dump(mode="json") for job in judged.jobs],
            "roots": [checkpoint.model_dump(mode="json") for checkpoint in judged.roots],
        }
        self.write_journal("evidence", [header])

    def check_goes_on(self) -> None:
        """Raise ``RunStoppedError`` unless something more may begin; asked before each batch."""
        if self.stopped.is_set():
            raise RunStoppedError

    def write_journal(self, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write one part of the journal, before anything in it is acted upon (R23)."""
        self.state.write_journal(self.run_id, name, lines)

    def finish(self, outcome: Mapping[str, Any], crashed: Iterable[str]) -> None:
        """Write the outcome, which is that of some crashed runs too."""
        ended = (self.run_id, *crashed)
        for run_id in ended:
            self.state.finish_run(run_id, outcome)
        self.ended.extend(ended)

    def close(self) -> None:
        """Take no run that ended for one that crashed, once the outcome stands beside its plan.

        Before, the next run takes out of the journal what ``undelete`` needs of the outcome.
        """
        for run_id in self.ended:
            self.state.close_run(run_id)
