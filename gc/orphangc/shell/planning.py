"""``plan`` and ``sweep``: from settings to files and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import structlog

from orphangc.adapters.plan_files import (
    NoVerdicts,
    PlanDirectory,
    VerdictFiles,
    check_writable,
)
from orphangc.core.model import Action
from orphangc.core.plan import Plan
from orphangc.core.settings import StorageRootSettings
from orphangc.errors import SettingsError
from orphangc.ports import Progress, VerdictSink
from orphangc.runs.breakdown import Breakdown
from orphangc.runs.cycle import Cycle, run_cycle
from orphangc.runs.lock import acquire
from orphangc.runs.permission import check_plan
from orphangc.runs.roots import RootReader
from orphangc.runs.sweep import OUTCOME_SCHEMA, Sweep, SweepResult
from orphangc.shell.clock import is_dead, now, this_process
from orphangc.shell.compose import check_outside, opened, state_of
from orphangc.shell.options import settings_from
from orphangc.shell.progress import shown_progress
from orphangc.shell.render.html import render_html
from orphangc.shell.render.markdown import render_markdown

__all__ = ["cycle_of", "make_plan", "sweep_plan"]

log = structlog.get_logger()


class _Several:
    """Hands each batch to several sinks."""

    def __init__(self, sinks: Sequence[VerdictSink]) -> None:
        self._sinks = sinks

    def write(self, batch: pa.RecordBatch) -> None:
        for sink in self._sinks:
            sink.write(batch)


def cycle_of(settings: StorageRootSettings, sink: VerdictSink, progress: Progress) -> Cycle:
    """Return one dry cycle of a storage root."""
    state = state_of(settings)
    tombstones, halted = state.tombstones(), state.halted()
    with opened(settings, progress) as root:
        return run_cycle(
            root.outside,
            settings,
            reader=RootReader(settings.aliases, settings.acknowledged),
            tombstones=tombstones,
            halted=halted,
            sink=sink,
        )


def make_plan(
    settings: StorageRootSettings,
    *,
    out: Path | None,
    report: Path | None,
    summary: Path | None,
) -> tuple[Plan, Breakdown]:
    """Return a plan and its breakdown, written to ``out`` and rendered where asked.

    Raises:
        OrphanGcError: Nothing was planned, and nothing was written.

    """
    check_outside(settings.root, [each for each in (out, report, summary) if each is not None])
    for file in (report, summary):
        if file is not None:
            check_writable(file)
    breakdown = Breakdown(now())
    directory = None if out is None else PlanDirectory(out)
    if directory is not None:
        directory.prepare()
    with shown_progress() as progress, _verdicts(directory) as verdicts:
        cycle = cycle_of(settings, _Several([breakdown, verdicts]), progress)
        files = verdicts.close() if isinstance(verdicts, VerdictFiles) else {}
    plan = cycle.plan.signed() if directory is None else directory.write(cycle.plan, files)
    if report is not None:
        _write(report, render_html(plan, breakdown))
    if summary is not None:
        _write(summary, render_markdown(plan, breakdown))
    _log_plan(plan)
    return plan, breakdown


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@contextmanager
def _verdicts(directory: PlanDirectory | None) -> Iterator[VerdictFiles | NoVerdicts]:
    """Yield the sink of a plan; what a failed plan has written is removed again."""
    if directory is None:
        yield NoVerdicts()
        return
    verdicts = VerdictFiles(directory.verdicts)
    try:
        yield verdicts
    except BaseException:
        verdicts.discard()
        raise


def _log_plan(plan: Plan) -> None:
    for job in plan.jobs:
        if job.refused is not None:
            log.warning(
                "job.refused",
                job_id=job.job_id,
                guard=job.refused.guard,
                reason=job.refused.message,
            )
    for warning in plan.warnings:
        log.warning("plan.doubtful", reason=warning)
    log.info(
        "plan.written",
        plan_id=plan.plan_id,
        root=plan.root,
        objects=plan.objects_listed,
        orphans=plan.objects(Action.TOMBSTONE, Action.DELETE),
        jobs=len(plan.jobs),
        refused=sum(job.refused is not None for job in plan.jobs),
        duration_seconds=plan.duration_seconds,
    )


def sweep_plan(
    path: Path,
    *,
    is_deleting: bool,
    flink_rest: Sequence[str] = (),
    clears_halt: bool = False,
) -> tuple[Plan, SweepResult]:
    """Return a saved plan and what became of it.

    Args:
        path: The plan's folder.
        is_deleting: Delete what is due.
        flink_rest: Endpoints with credentials, which a plan does not hold; replaces the plan's.
        clears_halt: A person has looked at why collection was halted.

    Raises:
        OrphanGcError: Nothing was swept.

    """
    directory = PlanDirectory(path)
    plan = directory.read()
    settings = plan.settings
    if flink_rest:
        settings = _with_credentials(settings, flink_rest)
    check_plan(plan, settings, now())
    state = state_of(settings)
    holder = this_process()
    lock = acquire(state.files, f"{state.folder}/lock", holder, is_dead=is_dead)
    try:
        if clears_halt:
            state.clear_halt()
        with shown_progress() as progress, opened(settings, progress) as root:
            sweep = Sweep(
                outside=root.outside,
                settings=settings,
                state=state,
                lock=lock,
                run_id=_run_id(now(), holder.token),
                is_deleting=is_deleting,
            )
            try:
                sweep.carry_out(plan, directory.rows(plan))
            except BaseException:
                if sweep.result.rows:
                    _keep_outcome(directory, plan, sweep)
                raise
            _keep_outcome(directory, plan, sweep)
    finally:
        lock.release()
    return plan, sweep.result


def _with_credentials(
    settings: StorageRootSettings, flink_rest: Sequence[str]
) -> StorageRootSettings:
    """Return the settings with endpoints that bear credentials; fewer would be less evidence.

    Raises:
        SettingsError: They are not the endpoints of the plan.

    """
    given = settings_from({**settings.model_dump(), "flink_rest": tuple(flink_rest)})
    if set(given.model_dump(mode="json")["flink_rest"]) != set(settings.flink_rest):
        raise SettingsError("--flink-rest must name exactly the endpoints of the plan")
    return given


def _keep_outcome(directory: PlanDirectory, plan: Plan, sweep: Sweep) -> None:
    """Write what was done beside the plan."""
    outcome = _outcome(plan, sweep.run_id, sweep.result)
    directory.write_outcome(outcome, _table(sweep.result.rows))


def _run_id(at: datetime, token: str) -> str:
    return f"{at:%Y%m%dT%H%M%SZ}-{token[:8]}"


def _outcome(plan: Plan, run_id: str, result: SweepResult) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "run_id": run_id,
        "plan_id": plan.plan_id,
        "root": plan.root,
        "counts": result.counts(),
        "refused": result.refused,
        "stopped": result.stopped,
        "exit_code": int(result.exit_code),
    }


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    filled = [{name: row.get(name) for name in OUTCOME_SCHEMA.names} for row in rows]
    return pa.Table.from_pylist(filled, schema=OUTCOME_SCHEMA)
