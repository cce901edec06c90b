"""``lineage`` and ``expire``: a cycle whose verdicts on single files are not kept (R44)."""

from dataclasses import replace
from mimetypes import guess_type
from pathlib import Path

from flinkstate.places.locations import canonical
from orphangc.adapters.rows.plan_directory import PlanDirectory, check_writable
from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.app.config.validate import check_outside
from orphangc.app.console.progress import shown_progress
from orphangc.app.wiring.compose import CycleStart, opened, start_of
from orphangc.collect.cycle import Cycle
from orphangc.collect.expire.assemble_report import LineageCycle, lineage_cycle, with_warnings
from orphangc.collect.expire.expiry_rows import expiry_plan, rows_of, stored_metadata
from orphangc.collect.world.recalling import new_state_warning, not_kept
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import SettingsError


def opened_lineage_cycle(start: CycleStart, policy: RetentionPolicy | None) -> LineageCycle:
    """Return a fresh cycle of a storage root, which is opened for it, with its lineages."""
    with shown_progress() as progress, opened(start, progress) as environment:
        return lineage_cycle(environment, policy, state=start.state, before=start.before)


def remembered(cycle: Cycle, start: CycleStart) -> Cycle:
    """Return a cycle after writing it to the memory if possible, with the warnings about that."""
    warnings = [new_state_warning(start.state)] if start.before.is_new else []
    problem = not_kept(start.state, start.before, cycle.remembered)
    if problem is not None:
        cycle = replace(cycle, plan=cycle.plan.model_copy(update={"states": ()}))
        warnings.append(problem)
    return with_warnings(cycle, warnings)


def lineages_now(
    settings: StorageRootSettings, *, report: Path | None, price: float
) -> LineageReport:
    """Return the lineages of a storage root as they are now; nothing is changed or remembered."""
    checked_files(settings, None, report)
    found = opened_lineage_cycle(start_of(settings), None).report
    write_report(found, report, price)
    return found


def checked_files(
    settings: StorageRootSettings,
    out: Path | None,
    report: Path | None,
    summary: Path | None = None,
) -> PlanDirectory | None:
    """Return the new folder of a plan, ``None`` if it is not saved.

    Raises:
        SettingsError: It, the HTML report or the Markdown summary is in the storage root, or cannot
            be written, or the name of a file says that it has another format.
    """
    check_outside(settings, [out, report, summary])
    for option, path, kind in (("report", report, "html"), ("summary", summary, "markdown")):
        if path is None:
            continue
        if guess_type(path.name)[0] not in {None, f"text/{kind}"}:
            raise SettingsError(f"--{option} {path}: it is written as {kind}: name it so")
        check_writable(path)
    return None if out is None else PlanDirectory(out).prepared()


def write_report(lineages: LineageReport, report: Path | None, price: float) -> None:
    """Write lineages as an HTML file, if one is asked for."""
    if report is None:
        return
    from orphangc.app.render.retention.lineage_picture import render_lineages  # noqa: PLC0415 - needs Jinja2

    write_file(report, render_lineages(lineages, price))


def write_file(path: Path, text: str) -> None:
    """Write a report, and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def make_expiry(
    settings: StorageRootSettings,
    policy: RetentionPolicy | None,
    out: Path | None,
    *,
    report: Path | None,
    price: float,
) -> Plan:
    """Return a plan of ``expire``, written to a new folder; nothing else is changed.

    Its cycle is remembered, as that of ``plan`` is.
    """
    for uri in () if policy is None else policy.savepoints:
        if not any(place.contains(canonical(uri)) for place in settings.own_places):
            raise SettingsError(f"savepoints: {uri} is in no extra root: name one around it, too")
    directory = checked_files(settings, out, report)
    start = start_of(settings)
    found = opened_lineage_cycle(start, policy)
    for each in found.report.impossible:
        raise SettingsError(each)
    write_report(found.report, report, price)
    return written_expiry(replace(found, cycle=remembered(found.cycle, start)), directory)


def written_expiry(found: LineageCycle, directory: PlanDirectory | None) -> Plan:
    """Return the plan of ``expire`` of one cycle, written to a prepared folder if there is one."""
    rows = rows_of(found.report.checkpoints, stored_metadata(found.cycle))
    plan = expiry_plan(found.cycle, found.report, rows)
    if directory is None:
        return plan.signed()
    sink = VerdictFiles(directory.verdicts)
    if rows.num_rows:
        sink.write(rows)
    sink.close()
    return directory.write(plan, sink.digests)
