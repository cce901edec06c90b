"""A saved plan that a run carries out while it holds the lock, and the outcome beside the plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from orphangc.adapters.rows.outcome_files import OutcomeFiles
from orphangc.app.config.validate import check_outside
from orphangc.app.telemetry.audit_log import Audited
from orphangc.app.telemetry.logs import audit_file, audit_log
from orphangc.app.wiring.clock import is_dead, this_process
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.runs.result import SweepResult, code_of
from orphangc.collect.state.lock import Holder, Lock, acquire
from orphangc.collect.state.store import RootState
from orphangc.collect.world.recalling import Recalled
from orphangc.core.documents.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPlan:
    """Plan in the hands of a run.

    Attributes:
        before: What earlier cycles left to the run's own.
        is_deleting: Whether what is due goes; else the run only checks, and writes tombstones.
        result: Result so far, also after an error or a signal.
    """

    run: HeldRun
    path: Path
    plan: Plan
    before: Recalled
    is_deleting: bool
    result: SweepResult = field(default_factory=SweepResult)

    @contextmanager
    def recorded(self) -> Iterator[Audited]:
        """Yield the sink of outcomes; write the outcome, however the work with it ends.

        Without any row an error leaves none: nothing was done. Only then no run counts as crashed.
        """
        self.result.run_id = self.run.run_id
        outcome = partial(self.result.outcome, self.plan, is_deleting=self.is_deleting)
        check_outside(self.plan.settings, [audit_file()])
        with audit_log() as audit:
            outcomes = OutcomeFiles(self.path)
            outcomes.open()
            try:
                yield Audited(outcomes, audit)
            except BaseException as err:
                self.result.stopped_by = self.result.stopped_by or err
                self.result.exit_code = code_of(err)
                if outcomes.rows:
                    outcomes.publish(outcome())
                outcomes.discard()
                self.run.close()
                raise
            outcomes.publish(outcome())
            self.run.close()


def lock_folder(state: RootState) -> str:
    """Return the path of a storage root's lock in its state location."""
    return f"{state.folder}/lock"


@contextmanager
def held_lock(state: RootState, *, holder: Holder | None = None) -> Iterator[Lock]:
    """Yield the lock of a storage root, or raise ``LockHeldError``; each holder renews a halt."""
    wanting = holder or this_process()
    lock = acquire(state.files, lock_folder(state), wanting, is_dead=is_dead)
    try:
        state.renew_halt()
        yield lock
    finally:
        lock.release()
