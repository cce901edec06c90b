"""``lineage`` and ``expire``: a cycle whose verdicts on single files are not kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from orphangc.adapters.rows.plan_directory import check_writable
from orphangc.app.config.validate import check_outside
from orphangc.app.console.progress import shown_progress
from orphangc.app.render.retention.unneeded_text import LIST_PRICE
from orphangc.app.wiring.compose import opened, state_of
from orphangc.collect.cycle import Cycle
from orphangc.collect.expire.lineage_cycle import LineageCycle, lineage_cycle, with_warnings
from orphangc.collect.observe.checkpoints import CheckpointReader
from orphangc.collect.state.store import RootState
from orphangc.collect.world.recalling import Recalled, new_state_warning, not_kept, recalled
from orphangc.core.documents.lineage_report import LineageReport
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import StorageRootSettings


def opened_lineage_cycle(
    settings: StorageRootSettings,
    policy: RetentionPolicy | None,
    state: RootState,
    before: Recalled,
) -> LineageCycle:
    """Return a fresh cycle of a storage root, which is opened for it, with its lineages."""
    reader = CheckpointReader.of(settings)
    with (
        shown_progress() as progress,
        opened(settings, state, progress, memory=before.memory) as world,
    ):
        return lineage_cycle(world, settings, policy, state=state, before=before, reader=reader)


def remembered(cycle: Cycle, state: RootState, before: Recalled) -> Cycle:
    """Return a cycle after writing it to the memory if possible, with the warnings about that."""
    warnings = [new_state_warning(state)] if before.is_new else []
    problem = not_kept(state, before, cycle.remembered)
    if problem is not None:
        cycle = replace(cycle, plan=cycle.plan.model_copy(update={"states": ()}))
        warnings.append(problem)
    return with_warnings(cycle, warnings)


def lineages_now(
    settings: StorageRootSettings, *, report: Path | None = None, price: float = LIST_PRICE
) -> LineageReport:
    """Return the lineages of a storage root as they are now; nothing is changed or remembered.

    Raises:
        OrphanGcError: The storage root, an extra root or the state location cannot be read.
    """
    check_report(settings, report)
    state = state_of(settings)
    found = opened_lineage_cycle(settings, None, state, recalled(state)).report
    write_report(found, report, price)
    return found


def check_report(settings: StorageRootSettings, report: Path | None) -> None:
    """Make sure that a report can be written, before a cycle is made for it.

    Raises:
        SettingsError: It is in the storage root, or cannot be written.
    """
    if report is not None:
        check_outside(settings, [report])
        check_writable(report)


def write_report(lineages: LineageReport, report: Path | None, price: float) -> None:
    """Write lineages as an HTML file, if one is asked for."""
    if report is None:
        return
    from orphangc.app.render.retention.lineage_picture import (  # noqa: PLC0415 - needs Jinja2
        render_lineages,
    )

    write_file(report, render_lineages(lineages, price))


def write_file(path: Path, text: str) -> None:
    """Write a report, and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
