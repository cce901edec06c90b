"""``expire --out``: a plan of what a retention policy lets go (R44)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flinkstate.places.locations import canonical
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.adapters.rows.verdict_files import VerdictFiles
from orphangc.app.config.validate import check_outside
from orphangc.app.render.retention.unneeded_text import LIST_PRICE
from orphangc.app.runner.lineages import (
    check_report,
    opened_lineage_cycle,
    remembered,
    write_report,
)
from orphangc.app.wiring.compose import state_of
from orphangc.collect.expire.expiry_rows import expiry_plan, rows_of, stored_metadata
from orphangc.collect.expire.lineage_cycle import LineageCycle
from orphangc.collect.world.recalling import recalled
from orphangc.core.documents.plan import Plan
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import SettingsError


def make_expiry(
    settings: StorageRootSettings,
    policy: RetentionPolicy | None,
    out: Path | None,
    *,
    report: Path | None = None,
    price: float = LIST_PRICE,
) -> Plan:
    """Return a plan of ``expire``, written to a new folder; nothing else is changed.

    Its cycle is remembered, as that of ``plan`` is.

    Args:
        price: Price of a GiB a month in it.

    Raises:
        OrphanGcError: Nothing was planned, and nothing was written.
    """
    check_outside(settings, [] if out is None else [out])
    _check_savepoints(settings, policy)
    check_report(settings, report)
    directory = None if out is None else PlanDirectory(out)
    if directory is not None:
        directory.prepare()
    state = state_of(settings)
    before = recalled(state)
    found = opened_lineage_cycle(settings, policy, state, before)
    for each in found.report.impossible:
        raise SettingsError(each)
    write_report(found.report, report, price)
    return written_expiry(replace(found, cycle=remembered(found.cycle, state, before)), directory)


def _check_savepoints(settings: StorageRootSettings, policy: RetentionPolicy | None) -> None:
    """Make sure that the places of savepoints are searched.

    Raises:
        SettingsError: One is not: it would let none go, and say so of each.
    """
    for uri in () if policy is None else policy.savepoints:
        if not any(place.contains(canonical(uri)) for place in settings.own_places):
            raise SettingsError(f"savepoints: {uri} is in no extra root: name one around it, too")


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
