"""Liveness: with faults off, a few good cycles delete every orphan that can be proven."""

from collections.abc import Iterator
from typing import Any

from orphangc.core.model.codes import Condition, Guard
from safety.simulation.cloud import COLLECTED

CYCLES = 3
"""A tombstone, a deletion after a further checkpoint, and one look at what is left."""

_EXCUSES = {
    Guard.GATE: "several checkpoints at once",
    Guard.UNPROVEN_LAYOUT: "a changelog, of which only some areas are judged",
    Guard.DEPENDENT_JOB: "another job is refused",
    Guard.COPIED_TREE: "one moment saw all its files",
    Guard.DAMAGED_LATEST_ROOT: "Flink deleted a file of a checkpoint that it still has",
}


def check_liveness(machine: Any) -> None:
    """Let all stand well, collect a few times, and look for orphans."""
    flinks, cloud = machine.flinks, machine.flinks.cloud
    _settle(machine)
    for _ in range(CYCLES):
        machine._pass(20 * machine.site.settings.clock_skew.total_seconds() + 1)
        for job in flinks.jobs:
            for _ in range(job.retained_most + 1):
                if job.is_running:
                    job.round()
                    machine._pass(2)
            job.tidy()
        saved = machine.good_run(lambda collector: collector.plan())
        stopped = machine.good_run(
            lambda collector, saved=saved: collector.sweep(saved, is_deleting=True)
        )
        machine.no_proof_has_failed()
        flinks.check()
    refused = {
        each.job_id: each.refused.guard if each.refused else each.blocked[0].condition
        for each in saved.plan.jobs
        if each.refused or each.blocked
    }
    excused = {*_EXCUSES, *_excuses_of_claims(flinks)}
    unknown = {job: why for job, why in refused.items() if why not in excused}
    assert not unknown, f"refused without need: {unknown}, {saved.plan.jobs}"
    left = {key for key in cloud.blobs if COLLECTED.fullmatch(key)} - flinks.needed()
    missed = {job for job, why in stopped.items() if why.partition(":")[0] in excused}
    left = {key for key in left if key.split("/")[1] not in refused.keys() | missed}
    machine.tally.done["liveness excused"] += len(refused)
    machine.tally.done["liveness checked"] += len(flinks.jobs) - len(refused)
    assert not left, f"orphans that stay: {_why(saved, left)}"


def _excuses_of_claims(flinks: Any) -> Iterator[Condition]:
    """Yield what may stop a job where one job claims what another one stored.

    A claiming job whose state is all in the other one's directory needs nothing of its own
    ``shared/``, and what it left there stays (R20). A checkpoint that was claimed, and removed by
    a job that itself was claimed before any cycle saw it, is missed until a person acknowledges it.
    """
    if not any(map(flinks.claimed, flinks.jobs)):
        return
    yield Condition.CHECKPOINT_NOT_FOUND
    yield Condition.JOB_DIRECTORY_EMPTIED
    needed = flinks.needed()
    running = [job for job in flinks.jobs if job.is_running]
    if any(not any(f"{job.id}/shared/" in key for key in needed) for job in running):
        yield Condition.NOTHING_PROTECTED


def _why(saved: Any, left: set[str]) -> list[str]:
    """Return what the last plan says of some keys."""
    rows = [row for batch in saved.rows for row in batch.to_pylist()]
    return [f"{row['key']} {row['reason']}" for row in rows if f"ck/{row['key']}" in left]


def _settle(machine: Any) -> None:
    """Let every job run or be over, and the operator say so.

    And let him remove the roots that a JobManager has forgotten: they keep what they name, and all
    that is younger.
    """
    over = []
    for job in machine.flinks.jobs:
        job.resume()
        if not job.is_running:
            over.append(job.id)
        job.tidy()
        known = {root.folder for root, _ in job.retained}
        for root in machine.flinks.existing() if job.is_running else ():
            if root.folder.startswith(job.directory) and root.folder not in known:
                machine.flinks.cloud.drop(root.key)
    machine.site.settings = machine.site.settings.model_copy(update={"ended_job": tuple(over)})
    machine.site.dead.add(machine.site.holder())
