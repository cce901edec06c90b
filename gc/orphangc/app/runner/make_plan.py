"""``plan``: from settings to files and tables."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from flinkstate.places.locations import Location
from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.app.console.progress import shown_progress
from orphangc.app.runner.lineages import checked_files, remembered, write_file
from orphangc.app.telemetry.audit_log import log_plan
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import CycleStart, listed_in_pass, opened
from orphangc.app.wiring.engines import LOCAL, EngineChoice, settled
from orphangc.collect.cycle import Cycle, run_cycle
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.collect.expire.assemble_report import (
    lineage_report,
    policy_warnings,
    unneeded_part,
    with_warnings,
)
from orphangc.collect.observe.observation import Environment
from orphangc.collect.observe.shared_checkpoints import SharedCheckpoints
from orphangc.collect.observe.storage_search import StorageSearch
from orphangc.core.documents.lineage_report import LineageReport, UnneededPart
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.errors import StorageUnreachableError
from orphangc.ports import Progress, VerdictSink

if TYPE_CHECKING:
    from orphangc.adapters.spark.work_folder import SentVerdicts, WorkFolder


@dataclass(slots=True)
class _PlanSink:
    breakdown: Breakdown
    files: VerdictFiles | SentVerdicts | None

    def write(self, batch: pa.RecordBatch) -> None:
        self.breakdown.write(batch)
        if self.files is not None:
            self.files.write(batch)

    def close(self) -> None:
        if self.files is not None:
            self.files.close()


def _open_plan_sink(folder: Path | None, at: datetime, sent: WorkFolder | None) -> _PlanSink:
    if folder is None:
        return _PlanSink(Breakdown(at), None)
    if sent is None:
        return _PlanSink(Breakdown(at), VerdictFiles(folder))
    from orphangc.adapters.spark.work_folder import SentVerdicts  # noqa: PLC0415 - only with Spark

    return _PlanSink(Breakdown(at), SentVerdicts(sent))


@contextmanager
def _work_folder(work: Location | None) -> Iterator[WorkFolder | None]:
    """Yield the folder for verdicts of executors that cannot reach the plan's folder."""
    if work is None:
        yield None
        return
    from orphangc.adapters.spark.work_folder import WorkFolder  # noqa: PLC0415 - only with Spark

    folder = WorkFolder(work.child(f"orphangc-verdicts-{uuid.uuid4().hex}"))
    try:
        yield folder
    finally:
        folder.remove()


@contextmanager
def opened_cycle(
    start: CycleStart,
    open_sink: Callable[[], VerdictSink],
    progress: Progress,
    *,
    listing: Path | None = None,
    engine: EngineChoice = LOCAL,
    is_remembered: bool = True,
    shared: SharedCheckpoints | None = None,
) -> Iterator[tuple[Cycle, Environment]]:
    """Yield one dry cycle of a storage root, while its engine still holds the listing."""
    state, lists = start.state, engine.is_spark or start.settings.inventory is not None
    tombstones, halted = state.tombstones(), state.halted()
    with opened(
        start,
        progress,
        shared=shared,
        listing=(None if lists else listed_in_pass(shared, state.root)) or listing,
        engine=engine,
        is_planning=True,
    ) as environment:
        cycle = run_cycle(
            environment,
            tombstones=tombstones,
            halted=halted,
            open_sink=open_sink,
            before=start.before,
        )
        if is_remembered:
            cycle = remembered(cycle, start)
            _remember_readings(environment.search, cycle)
        yield cycle, environment


def _remember_readings(search: StorageSearch | None, cycle: Cycle) -> None:
    """Keep what was read of storages; if that fails, the next cycle reads it again."""
    if search is not None and search.remembered is not None:
        listed = [str(each.location) for each in cycle.seen.storages if each.problem is None]
        with suppress(StorageUnreachableError):
            search.remembered.save(listed)


@dataclass(frozen=True, slots=True)
class MadePlan:
    """A plan, the cycle that made it, and its lineages if they were asked for."""

    plan: Plan
    breakdown: Breakdown
    cycle: Cycle
    lineages: LineageReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFiles:
    """Where a plan is written to, as far as it is: a new folder, an HTML and a Markdown file."""

    out: Path | None = None
    report: Path | None = None
    summary: Path | None = None

    def render(self, plan: Plan, breakdown: Breakdown) -> None:
        """Write the report and the summary."""
        if self.report is not None:
            from orphangc.app.render.plan.plan_html import render_html  # noqa: PLC0415 - needs Jinja2

            write_file(self.report, render_html(plan, breakdown))
        if self.summary is not None:
            from orphangc.app.render.plan.plan_markdown import render_markdown  # noqa: PLC0415 - rarely asked for

            write_file(self.summary, render_markdown(plan, breakdown))


def make_plan(
    start: CycleStart,
    files: PlanFiles,
    *,
    engine: EngineChoice = LOCAL,
    logs_blocked: bool = False,
    shared: SharedCheckpoints | None = None,
    policy: RetentionPolicy | None = None,
    asks_lineages: bool = False,
) -> MadePlan:
    """Return a plan and its breakdown, written to the files that are asked for.

    Args:
        logs_blocked: Whether each unmet condition of deletion is logged too, as no person reads a
            table.
        asks_lineages: Whether the lineages are asked for, as a run with a policy needs them.

    Raises:
        OrphanGcError: Nothing was planned, and nothing was written.
    """
    directory = checked_files(start.settings, files.out, files.report, files.summary)
    at, engine = now(), settled(engine, start.state)
    folder = None if directory is None else directory.verdicts
    with (
        shown_progress() as progress,
        ExitStack() as undone,
        _work_folder(engine.work if folder is not None else None) as sent,
    ):
        if directory is not None:
            undone.callback(directory.discard)
        with opened_cycle(
            start,
            partial(_open_plan_sink, folder, at, sent),
            progress,
            listing=None if directory is None else directory.listing,
            engine=engine,
            shared=shared,
        ) as (cycle, environment):
            lineages, unneeded = _lineages(cycle, policy, environment, is_asked=asks_lineages)
        breakdown, digests = _gathered(cycle.decided.sinks, at, folder)
        warned = cycle if lineages is None else with_warnings(cycle, policy_warnings(lineages))
        more = {"engine_reason": engine.reason, "unneeded": unneeded}
        unsigned = warned.plan.model_copy(update=more)
        plan = unsigned.signed() if directory is None else directory.write(unsigned, digests)
        undone.pop_all()
    files.render(plan, breakdown)
    log_plan(plan, logs_blocked=logs_blocked)
    return MadePlan(plan, breakdown, cycle, lineages)


def _gathered(
    sinks: Iterable[VerdictSink], at: datetime, folder: Path | None
) -> tuple[Breakdown, dict[str, str]]:
    breakdown, digests = Breakdown(at), dict[str, str]()
    for sink in sinks:
        assert isinstance(sink, _PlanSink)  # noqa: S101 - opened for the plan
        breakdown.add(sink.breakdown)
        digests |= {} if folder is None or sink.files is None else sink.files.fetch(folder)
    return breakdown, digests


def _lineages(
    cycle: Cycle, policy: RetentionPolicy | None, environment: Environment, *, is_asked: bool
) -> tuple[LineageReport | None, UnneededPart]:
    if not is_asked:
        return None, unneeded_part(cycle, environment.engine, environment.progress)
    report = lineage_report(cycle, policy, environment)
    return report, report.unneeded
