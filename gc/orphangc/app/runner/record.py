"""Make the record of a run from its draft."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from flinkstate.text.redaction import redacted
from orphangc import __version__
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.console.exit import is_signal
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import stopping, unmet_by, widest
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.collect.runs.result import SweepResult, by_outcome
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.documents.plan import JobPart, Plan, Tally
from orphangc.core.documents.run_record import (
    DuePart,
    ExpiryRecord,
    JobRecord,
    Phase,
    PhaseRecord,
    RunRecord,
    RunResult,
    StoppedPart,
    SweptPart,
    TombstonesPart,
)
from orphangc.core.documents.self_sustained_record import (
    RememberedUsageCheck,
    answer_of,
    remembered,
)
from orphangc.core.groups import grouped
from orphangc.core.model.codes import Condition
from orphangc.core.model.shown import RunMode
from orphangc.core.model.tallies import Cell, summed
from orphangc.core.model.types import Action, EvidenceSource, JobState, Outcome
from orphangc.core.times.instants import EPOCH, shifted
from orphangc.errors import ExitCode, OrphanGcError, RefusedError

_RESULTS: Mapping[int, RunResult] = {
    ExitCode.DONE: RunResult.DONE,
    ExitCode.SOME_DELETES_FAILED: RunResult.SOME_DELETES_FAILED,
    ExitCode.REFUSED: RunResult.REFUSED,
    ExitCode.UNREACHABLE: RunResult.UNREACHABLE,
    ExitCode.LOCK_HELD: RunResult.LOCKED,
}
_DAY_US = 86_400_000_000


def result_of(exit_code: int) -> RunResult:
    """Return the result of a run with an exit code."""
    if is_signal(exit_code):
        return RunResult.INTERRUPTED
    return _RESULTS.get(exit_code, RunResult.FAILED)


@dataclass(slots=True, kw_only=True)
class Draft:
    """Unfinished record of a run.

    Attributes:
        reason: Reason why this is less than the configured mode.
        checks_before: By job id: what earlier runs saw of what its state rests on.
    """

    run_id: str
    settings: ScheduledRoot
    started_at: datetime
    effective_mode: RunMode
    reason: str | None = None
    checks_before: Mapping[str, Sequence[RememberedUsageCheck]] = field(default_factory=dict)
    phases: list[PhaseRecord] = field(default_factory=list)
    plan: Plan | None = None
    breakdown: Breakdown | None = None
    plan_folder: str | None = None
    swept: SweepResult | None = None
    expiry: ExpiryRecord | None = None
    tombstones: TombstonesPart | None = None
    halted: str | None = None
    error: str | None = None
    guard: str | None = None
    exit_code: int = ExitCode.DONE

    def fail(self, err: BaseException, exit_code: int) -> None:
        """Record the error that ended the run."""
        self.exit_code = exit_code
        if is_signal(exit_code):
            self.error = "a signal ended the run"
            return
        said = " ".join(redacted(str(err)).split())
        is_ours = isinstance(err, OrphanGcError)
        self.error = said if is_ours else f"{type(err).__name__}: {said}".removesuffix(": ")
        self.guard = err.guard if isinstance(err, RefusedError) else None

    def finished(self, ended_at: datetime) -> RunRecord:
        """Return the record, without the totals."""
        plan, swept = self.plan, self.swept
        jobs = () if plan is None else _jobs(plan, self.breakdown, self.checks_before)
        return RunRecord(
            run_id=self.run_id,
            root=self.settings.root,
            tool_version=__version__,
            mode=self.settings.mode or RunMode.REPORT,
            effective_mode=self.effective_mode,
            effective_mode_reason=self.reason,
            started_at=self.started_at,
            ended_at=max(ended_at, self.started_at),
            result=self._result(),
            exit_code=self.exit_code,
            error=self.error,
            phases=tuple(self._phases()),
            plan_id=None if plan is None else plan.plan_id,
            plan_folder=self.plan_folder,
            engine=None if plan is None else plan.engine,
            objects_listed=0 if plan is None else plan.objects_listed,
            bytes_listed=0 if plan is None else plan.bytes_listed,
            list_requests=0 if plan is None else plan.list_requests,
            roots_read=0 if plan is None else len(plan.roots),
            amounts=() if plan is None else plan.tallies,
            jobs=jobs,
            blocked=None if plan is None else _stopped(plan),
            world=None if plan is None else plan.world,
            warnings=() if plan is None else plan.warnings,
            missing_objects=sum(job.missing_objects for job in jobs),
            held_back_objects=sum(job.held_back.objects for job in jobs if job.held_back),
            held_back_bytes=sum(job.held_back.bytes for job in jobs if job.held_back),
            refusals=self._refusals(),
            swept=() if swept is None else _swept(swept),
            uploads={} if swept is None else by_outcome(swept.uploads),
            folders={} if swept is None else by_outcome(swept.folders),
            stopped=None if swept is None or swept.stopped is None else redacted(swept.stopped),
            tombstones=self.tombstones,
            expiry=self.expiry,
            halted=self.halted,
            registry_age_seconds=None if plan is None else _registry_age(plan),
            grace_period_seconds=self.settings.grace_period.total_seconds(),
        )

    def _result(self) -> RunResult:
        """Return how the run ended: one that is done and could delete nothing is blocked."""
        found, swept = result_of(self.exit_code), self.swept
        blocked = None if self.plan is None else _stopped(self.plan)
        is_stopped = found is RunResult.DONE and blocked is not None and blocked.are_all
        has_deleted = swept is not None and swept.objects[Action.DELETE, Outcome.DONE] > 0
        return RunResult.BLOCKED if is_stopped and not has_deleted else found

    def _phases(self) -> Iterator[PhaseRecord]:
        """Yield the phases; a sweep that could act on no job is blocked, unless all only wait."""
        jobs = () if self.plan is None else self.plan.jobs
        waits = all(each.advice.waits for job in jobs for each in stopping(job))
        is_blocked = self._result() is RunResult.BLOCKED and not waits
        for each in self.phases:
            is_its = is_blocked and each.phase is Phase.SWEEP
            yield each.model_copy(update={"result": RunResult.BLOCKED}) if is_its else each

    def _refusals(self) -> dict[str, int]:
        """Return how many jobs each rule stopped, in the plan or in the sweep's own cycle."""
        planned: Counter[str] = Counter()
        for job in () if self.plan is None else self.plan.jobs:
            planned.update(each.code for each in unmet_by(job))
        swept: Counter[str] = Counter()
        for judgement in () if self.swept is None else self.swept.unmet.values():
            swept.update(each.code for each in stopping(judgement))
        both = planned | swept
        stopped_by = None if self.swept is None else self.swept.stopped_by
        for guard in (self.guard, getattr(stopped_by, "guard", None)):
            if guard is not None:
                both |= Counter({str(guard): 1})
        if self.halted is not None:
            both |= Counter({str(Condition.HALTED): 1})
        return dict(sorted(both.items()))


def _stopped(plan: Plan) -> StoppedPart | None:
    found = [job for job in plan.jobs if job.is_stopped]
    if not found:
        return None
    stop = widest(found, JobNames())
    return StoppedPart(
        jobs=len(found), of_jobs=len(plan.jobs), code=stop.code, message=stop.jobs[0].message
    )


def _swept(result: SweepResult) -> tuple[SweptPart, ...]:
    return tuple(
        SweptPart(
            action=Action(action),
            outcome=Outcome(outcome),
            objects=result.objects[action, outcome],
            bytes=result.bytes[action, outcome],
        )
        for action, outcome in sorted(result.objects)
    )


def _tallies(cells: Iterable[Cell]) -> dict[str, tuple[Tally, ...]]:
    sums = summed(cells, lambda cell: (cell.job_id, cell.scope, cell.action, cell.reason))
    found = grouped(sorted(sums.items()), lambda it: it[0][0])
    return {
        job_id: tuple(
            Tally(scope=scope, action=action, reason=reason, objects=sum_.objects, bytes=sum_.bytes)
            for (_, scope, action, reason), sum_ in sums_of_job
        )
        for job_id, sums_of_job in found.items()
    }


def _jobs(
    plan: Plan,
    breakdown: Breakdown | None,
    checks_before: Mapping[str, Sequence[RememberedUsageCheck]],
) -> tuple[JobRecord, ...]:
    amounts = _tallies(() if breakdown is None else breakdown.cells())
    jobs: list[JobRecord] = []
    for job in plan.jobs:
        own, checks = amounts.pop(job.job_id, ()), _checks(job, plan, checks_before)
        answer = answer_of(checks)
        jobs.append(JobRecord.like(job, amounts=own, state_self_sustained=answer, looks=checks))
    jobs += [JobRecord(job_id=job_id, amounts=rest) for job_id, rest in amounts.items()]
    return tuple(sorted(jobs, key=lambda job: job.job_id))


def _checks(
    job: JobPart, plan: Plan, before: Mapping[str, Sequence[RememberedUsageCheck]]
) -> tuple[RememberedUsageCheck, ...]:
    is_alone = sum(each.job_id == job.job_id for each in plan.jobs) == 1
    return remembered(
        before.get(job.job_id, ()) if job.job_id and is_alone else (),
        job.looks,
        at=plan.created_at,
        newest_checkpoint_id=max(job.retained_checkpoint_ids, default=None),
        is_ended=any(each.is_over for each in job.looks),
    )


def _registry_age(plan: Plan) -> float | None:
    newest = [
        max(taken)
        for job in plan.jobs
        if job.state is not JobState.ENDED
        and (
            taken := [
                each.taken_at
                for each in job.evidence
                if each.source is EvidenceSource.SNAPSHOT and each.taken_at is not None
            ]
        )
    ]
    if not newest:
        return None
    return max(0.0, (plan.created_at - min(newest)).total_seconds())  # E2 is younger than the plan


def tombstones_part(tombstones: Tombstones, quarantine_period: timedelta) -> TombstonesPart:
    """Return the standing tombstones, by the day on which their quarantine ends."""
    objects: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    oldest: list[datetime] = []
    for batch in tombstones.to_batches():
        since = batch["since"]
        oldest.append(pc.min(since).as_py())
        due = pc.add(since, pa.scalar(quarantine_period, pa.duration("us")))
        days = pc.divide(due.cast(pa.int64()), _DAY_US)
        table = pa.table({"day": days, "size": batch["size"]}).group_by("day")
        for row in table.aggregate([("size", "sum"), ([], "count_all")]).to_pylist():
            objects[row["day"]] += row["count_all"]
            sizes[row["day"]] += row["size_sum"]
    return TombstonesPart(
        objects=objects.total(),
        bytes=sizes.total(),
        oldest_at=min(oldest, default=None),
        due=tuple(
            DuePart(
                day=shifted(EPOCH, timedelta(days=day)).date(),
                objects=objects[day],
                bytes=sizes[day],
            )
            for day in sorted(objects)
        ),
    )


def phase_record(phase: Phase, exit_code: int, started_at: datetime, seconds: float) -> PhaseRecord:
    """Return one phase of a run."""
    return PhaseRecord(
        phase=phase,
        result=result_of(exit_code),
        started_at=started_at,
        duration_seconds=round(seconds, 3),
    )
