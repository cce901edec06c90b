"""The retention policy of a scheduled run, carried out upon the cycle of that run (R44)."""

from __future__ import annotations

from pathlib import Path

from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.app.runner.held_plan import HeldPlan
from orphangc.app.runner.make_expiry import written_expiry
from orphangc.app.runner.sweep_plan import expire_held_plan
from orphangc.collect.expire.lineage_cycle import LineageCycle
from orphangc.collect.quarantine.quarantine import is_release
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.runs.result import SweepResult
from orphangc.core.documents.run_record import ExpiryRecord
from orphangc.core.lineage.checkpoint_fates import RetentionAction, RetentionReason
from orphangc.core.model.types import Outcome


def scheduled_expiry(
    run: HeldRun, made: LineageCycle, folder: Path, *, is_deleting: bool
) -> tuple[ExpiryRecord, str | None]:
    """Return what a scheduled run did by a retention policy, and what ended it early.

    It carries out the cycle of the run, as the sweep does (decision 23): the storage root is not
    listed again. What that cycle rests on is read again before each batch.

    Raises:
        OrphanGcError: Nothing was changed.
    """
    directory = PlanDirectory(folder)
    directory.prepare()
    plan = written_expiry(made, directory)
    assert plan.expiry is not None  # noqa: S101 - made above
    result = SweepResult()
    if is_deleting:
        held = HeldPlan(run=run, path=folder, plan=plan, is_deleting=True)
        result = expire_held_plan(held, plan.expiry, made=made)
    done = {each.uri for each in plan.expiry.expiring if is_release(each)} if is_deleting else ()
    quarantined = [each for each in plan.expiry.checkpoints if each.expired_at is not None]
    released = min(len(done), result.objects[RetentionAction.EXPIRE, Outcome.DONE])
    record = ExpiryRecord(
        expired=result.objects[RetentionAction.EXPIRE, Outcome.DONE] - released,
        released=released,
        in_quarantine=len(quarantined),
        in_use=sum(each.reason is RetentionReason.HELD for each in quarantined),
        unneeded_bytes=plan.expiry.unneeded_bytes,
        expiring_bytes=plan.expiry.expiring_bytes,
    )
    return record, result.stopped
