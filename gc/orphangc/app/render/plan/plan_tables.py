"""The plan and its outcome as tables for a terminal of 100 columns.

Foreign text becomes a ``Text`` with its control characters escaped; Rich prints it and never
interprets it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flinkstate.tables.printing import split_commands
from flinkstate.text.shown_text import counted, human_bytes, visible
from orphangc.app.console.text import duration, id_ranges, instant, share
from orphangc.app.render.plan.plan_view import ExtraRow, PlanView, is_worth_showing, plan_view
from orphangc.app.render.reason_groups import KIND_OF, ReasonKind
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import MARKS, Fate, Stop
from orphangc.app.render.text_table import as_text
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import Plan
from orphangc.core.groups import grouped
from orphangc.core.model.types import Mode

_JOBS = 50
_NAMED = 2
_STYLES: Mapping[ReasonKind, str] = {
    ReasonKind.ORPHAN: "yellow",
    ReasonKind.DUE: "red",
    ReasonKind.REFUSED: "magenta",
}
_BECAME = {
    frozenset[str](): ": nothing of this plan is due",
    frozenset({"gone"}): ": what was due is gone",
    frozenset({"changed"}): ": what was due is due no longer",
}
_FATES = {Fate.REFUSED: "bold red", Fate.BLOCKED: "yellow", Fate.CLEAR: "green"}


def plan_tables(plan: Plan, breakdown: Breakdown) -> list[RenderableType]:
    """Return a plan as tables: summary, tallies, jobs, and what stops them.

    Args:
        breakdown: Breakdown of the same cycle; it counts what is due in blocked jobs.
    """
    view = plan_view(plan, breakdown)
    parts: list[RenderableType] = [_heading(view), _tallies_table(view)]
    parts += [
        as_text(f"{row.scope} kept, {why}", "dim")
        for row in view.areas
        for why in row.reasons
        if "refused: " not in why  # the guard's own words follow below
    ]
    if plan.jobs:
        parts.append(_jobs_table(view))
    if len(plan.jobs) > _JOBS:
        parts.append(Text(f"{len(plan.jobs) - _JOBS:,} more jobs stand in plan.json."))
    if view.hint is not None:
        parts.append(as_text(view.hint, "bold"))
    if view.statement is not None:
        parts.append(as_text(view.statement))
    parts += [_stop_block(stop) for stop in view.stops]
    if is_worth_showing(plan.extras):
        parts.append(_extras_table(view.extras))
    return parts + [as_text(f"warning: {each}", "yellow") for each in view.warnings]


def outcome_tables(
    outcome: Mapping[str, Any], names: JobNames | None = None
) -> list[RenderableType]:
    """Return the outcome of a sweep as tables."""
    parts: list[RenderableType] = [_outcome_heading(outcome), _counts_table(outcome)]
    for name, number in (outcome.get("uploads") or {}).items():
        parts.append(as_text(f"unfinished uploads to abort, {name}: {number:,}"))
    for name, number in (outcome.get("folders") or {}).items():
        parts.append(as_text(f"empty folders to remove, {name}: {number:,}"))
    refused = outcome.get("refused") or {}
    if refused:
        parts += _refused_lines(refused, names or JobNames())
    if outcome.get("stopped"):
        parts.append(as_text(f"stopped early: {outcome['stopped']}", "bold red"))
    interrupted = outcome.get("interrupted_runs") or ()
    parts += [as_text(f"an earlier run was interrupted: {each}", "yellow") for each in interrupted]
    return parts


def _table(title: str, texts: Iterable[str], numbers: Iterable[str], *last: str) -> Table:
    """Return an empty table whose columns of texts come first, then those of numbers."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column in texts:
        table.add_column(column, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right", no_wrap=True)
    for column in last:
        table.add_column(column, overflow="fold")
    return table


# --- the plan


def _heading(view: PlanView) -> Text:
    plan = view.plan
    heading = as_text(plan.root, "bold")
    heading.append(f"\nplan of {instant(plan.created_at)}, ", style="dim")
    heading.append(f"grace period {duration(plan.bounds.grace_period_seconds)}\n", style="dim")
    heading.append(view.headline)
    if view.source is not None:
        heading.append(f"\n{view.source}", style="yellow")
    if plan.engine == "spark" and plan.engine_reason:
        heading.append(f"\nmade on Spark: {plan.engine_reason}", style="dim")
    return heading


def _tallies_table(view: PlanView) -> Table:
    plan = view.plan
    numbers = ("objects", "bytes", "exactly", "share")
    table = _table("Verdicts", ("area", "verdict", "reason"), numbers)
    for tally in view.tallies:
        style = _STYLES.get(KIND_OF[tally.reason], "")
        table.add_row(
            tally.scope.value,
            Text(tally.action.value, style=style),
            Text(tally.reason.value, style=style, overflow="fold"),
            f"{tally.objects:,}",
            human_bytes(tally.bytes),
            f"{tally.bytes:,}",
            share(tally.bytes, plan.bytes_listed),
        )
    table.add_section()
    listed = (f"{plan.objects_listed:,}", human_bytes(plan.bytes_listed), f"{plan.bytes_listed:,}")
    table.add_row("all", "", "listed", *listed, "")
    return table


def _jobs_table(view: PlanView) -> Table:
    texts, numbers = ("job", "deletion", "state", "retained"), ("live", "listed", "missing")
    table = _table("Jobs", texts, numbers)
    for job, shown in zip(view.plan.jobs[:_JOBS], view.jobs, strict=False):
        table.add_row(
            as_text(shown.name),
            _fate_text(shown.fate),
            job.state.value if job.mode is Mode.DERIVED else f"{job.state.value}, {job.mode.value}",
            id_ranges(job.retained_checkpoint_ids, 3) or "none",
            f"{job.live_objects:,}",
            f"{job.listed_objects:,}",
            f"{job.missing_objects:,}",
        )
    return table


def _extras_table(rows: Iterable[ExtraRow]) -> Table:
    table = _table("Not in the listing", ("what",), ("number", "bytes", "exactly"), "")
    for row in rows:
        table.add_row(row.name, row.number or "unknown", row.size, row.exactly, row.remark)
    return table


def _fate_text(fate: Fate) -> Text:
    return Text(f"{MARKS[fate]} {fate.value}", style=_FATES[fate])


def _stop_block(stop: Stop) -> Group:
    text = _fate_text(stop.fate)
    text.append(f" {visible(stop.code)}", style="bold")
    text.append(f", {counted(len(stop.jobs), 'job')}: {stop.advice.text}")
    shown = list(stop.by_message.items())[:_NAMED]
    lines = [
        as_text(f"{_some([each.name for each in jobs])}: {message}", "dim")
        for message, jobs in shown
    ]
    if rest := len(stop.jobs) - sum(len(jobs) for _, jobs in shown):
        lines.append(Text(f"and {rest:,} more", style="dim"))
    return Group(text, *(Padding(line, (0, 0, 0, 4)) for line in lines))


# --- the outcome


def _outcome_heading(outcome: Mapping[str, Any]) -> Text:
    heading = as_text(outcome.get("root", ""), "bold")
    counts = outcome.get("counts") or {}
    done, expired = counts.get("delete/done"), counts.get("expire/done")
    said = f"{counted(int(done['objects']), 'object')} deleted" if done else "nothing deleted"
    if expired:
        said = f"{counted(int(expired['objects']), 'checkpoint')} expired"
    elif not outcome.get("deleting"):
        said += ", as --delete was not given"
    elif not done:
        due = {name.partition("/")[2] for name in counts if name.startswith(("delete/", "expire/"))}
        said += _BECAME.get(frozenset(due), "")
    heading.append(f"\nsweep {visible(str(outcome.get('run_id', '')))}, {said}", style="dim")
    heading.append(f", exit code {outcome.get('exit_code', '?')}", style="dim")
    return heading


def _counts_table(outcome: Mapping[str, Any]) -> Table:
    table = _table("Outcomes", ("verdict", "outcome"), ("objects", "bytes", "exactly"))
    for name, amount in (outcome.get("counts") or {}).items():
        action, _, became = str(name).partition("/")
        size = int(amount["bytes"])
        table.add_row(
            as_text(action),
            as_text(became, "red" if became == "failed" else ""),
            f"{int(amount['objects']):,}",
            human_bytes(size),
            f"{size:,}",
        )
    if not table.row_count:
        table.add_row("nothing", "was asked for", "0", human_bytes(0), "0")
    return table


def _refused_lines(refused: Mapping[str, Any], names: JobNames) -> Iterator[RenderableType]:
    by_reason = grouped(refused.items(), lambda it: _without_id(names.in_text(str(it[1])), it[0]))
    yield Text("Jobs of which nothing was deleted", style="bold")
    for why, jobs in list(by_reason.items())[:_JOBS]:
        yield as_text(_some([names(job) for job, _ in jobs]))
        yield Padding(as_text(why, "dim"), (0, 0, 0, 4))
    if len(by_reason) > _JOBS:
        yield Text(f"{len(by_reason) - _JOBS:,} more reasons stand in outcome.json")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _without_id(why: str, job: str) -> str:
    """Return a reason without the id of the one job that it is about, so that jobs share it."""
    if not job:
        return why
    parts = enumerate(split_commands(why))
    return "".join(each if number % 2 else each.replace(job, "JOB") for number, each in parts)
