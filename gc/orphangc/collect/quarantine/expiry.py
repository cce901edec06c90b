"""Carry out a plan of ``expire``: what expires or is released by plan and cycle alike (R44).

A copy of an expired ``_metadata`` serves ``undelete`` as long as all files that it names are
stored. Without an end the state location would grow with every redeploy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from orphangc.collect.delete.retry_queue import with_outcomes
from orphangc.collect.expire.assemble_report import LineageCycle, lineage_cycle
from orphangc.collect.expire.expiry_rows import rows_of, stored_metadata
from orphangc.collect.observe.observation import Environment
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders, RunStorages
from orphangc.collect.quarantine.expired_records import ExpiredRecords, Leftovers
from orphangc.collect.quarantine.quarantine import (
    ExpiryEvidence,
    Quarantine,
    SavepointClearing,
    agreed,
    is_release,
)
from orphangc.collect.runs.planned_run import PlannedRun
from orphangc.collect.runs.result import exit_code_of_expiry
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.model.codes import Condition
from orphangc.core.model.types import Outcome
from orphangc.errors import OrphanGcError, RefusedError

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Expiry(PlannedRun[LineageCycle]):
    """Sweep of a plan of ``expire``."""

    event = "expiry.finished"

    planned: LineageReport
    beside: CheckpointFolders
    made: LineageCycle | None = None

    @property
    def is_writing(self) -> bool:
        """Return whether anything changes: without ``--delete`` there is no tombstone, either."""
        return self.is_deleting

    def evidence(self, environment: Environment) -> LineageCycle:
        """Return what the plan is held against; see ``PlannedRun``."""
        return self.made or lineage_cycle(
            environment, self.planned.policy, state=self.run.state, before=self.before
        )

    def check(self, found: LineageCycle) -> None:
        """Make sure that nothing is halted, and that this is the state of what is in quarantine.

        Raises:
            RefusedError: It is not: a marker that another one left beside a checkpoint must stay.
                Or more checkpoints expire than ``max_deletes`` allows.
        """
        evidence = found.cycle.evidence
        lost, halted = evidence.state_problem, self.run.state.halted() or evidence.halted
        if lost is not None:
            raise RefusedError(lost, guard=Condition.STATE_LOST)
        if halted is not None:
            raise RefusedError(halted, guard=Condition.HALTED)
        most = self.run.settings.max_deletes
        new = [each for each in agreed(self.planned, found.report) if not is_release(each)]
        if most is not None and len(new) > most:
            raise RefusedError(
                f"{len(new)} checkpoints would expire, more than max_deletes allows ({most});"
                " nothing expires: raise max_deletes",
                guard=Condition.MAX_DELETES,
            )

    def act(self, found: LineageCycle) -> None:
        """Carry out what is agreed on, journalled; write down what becomes of the rest."""
        wanted = agreed(self.planned, found.report)
        agreed_on = {each.uri for each in wanted}
        stale = [each for each in self.planned.expiring if each.uri not in agreed_on]
        stored = stored_metadata(found.cycle)
        self.record(with_outcomes(rows_of(stale, stored), Outcome.CHANGED))
        if not self.is_deleting:
            self.record(with_outcomes(rows_of(wanted, stored), Outcome.PLANNED))
            return
        quarantine = self._quarantine(found)
        self.result.stopped_by = quarantine.carry_out(wanted)
        self.run.check_goes_on()
        quarantine.leftovers.remove_markers(self.environment.quarantined)
        try:
            removed = quarantine.records.forget_copies(found.cycle.evidence.now)
        except OrphanGcError as err:  # copies that can restore nothing: the next run tries again
            log.warning("expiry.copies_left", reason=str(err))
        else:
            log.info("expiry.copies_removed", copies=removed)

    def exit_code(self, _: LineageCycle) -> int:
        """Return what the expiry amounts to."""
        return exit_code_of_expiry(self.result)

    def ending(self, _: LineageCycle, __: Sequence[str]) -> dict[str, Any]:
        """Return the outcome that the state location keeps: that beside the plan."""
        return self.result.outcome(self.plan, is_deleting=self.is_deleting)

    def _quarantine(self, found: LineageCycle) -> Quarantine:
        run, cycle, known = self.run, found.cycle, found.cycle.known
        storages = RunStorages(self.environment.storage, self.environment.extra)
        jobs = [job for key, job in known.jobs.items() if known.judged[key].refused is None]
        revalidation = self.revalidation(jobs)
        records = ExpiredRecords(run.state, self.beside)
        return Quarantine(
            run=run,
            cycle=cycle,
            storages=storages,
            evidence=ExpiryEvidence(revalidation=revalidation, found=found),
            clearing=SavepointClearing(
                storages=storages,
                run=run,
                revalidation=revalidation,
                checkpoints=cycle.mark.checkpoints,
                at=cycle.evidence.now,
            ),
            leftovers=Leftovers(storages=storages, cycle=cycle, records=records),
            records=records,
            record_outcomes=self.record,
        )
