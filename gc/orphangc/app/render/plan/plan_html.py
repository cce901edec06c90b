"""The plan as one HTML file: no script, no asset, no request; it can be mailed and printed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment

from orphangc.app.render.plan.page_values import (
    jobs_on_page,
    rows_by_age,
    rows_by_job,
    settings_rows,
)
from orphangc.app.render.plan.plan_view import PlanView, plan_view
from orphangc.app.render.plan.stacked_bars import stacked
from orphangc.app.render.plan.unlisted_rows import EXTRAS_ADVICE
from orphangc.app.render.reason_groups import BOUND_TEXT, KINDS
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Fate
from orphangc.app.render.template_environment import page_environment
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import Plan
from orphangc.core.model.tallies import Cell, total

JOBS_IN_PICTURE = 50
"""Maximum number of bars; the table has all jobs."""

_LIMITS = {
    "limit_jobs": JOBS_IN_PICTURE,  # the page folds the others
    "limit_missing": 50,
    "limit_evidence": 50,
    "limit_stops": 10,
    "limit_rows": 2000,
}
"""Maximum numbers of entries; ``plan.json`` has all of them."""


def render_html(plan: Plan, breakdown: Breakdown) -> str:
    """Return the report of a plan as one self-contained page.

    Foreign text (names in a bucket, error messages of a store) is escaped for HTML and loses its
    control characters in the environment, not in the templates.
    """
    return _environment().get_template("report.html.j2").render(_context(plan, breakdown))


@cache
def _environment() -> Environment:
    environment = page_environment("orphangc.app.render")
    environment.globals.update(bound_text=BOUND_TEXT, **_LIMITS)
    return environment


def _context(plan: Plan, breakdown: Breakdown) -> dict[str, Any]:
    view = plan_view(plan, breakdown)
    jobs = jobs_on_page(view)
    return {
        "plan": plan,
        "view": view,
        "now": plan.created_at,
        "tone": _tone(plan, view.fates),
        "names": view.names,
        "jobs": jobs,
        "anchors": {job.view.name: job.anchor for job in jobs},
        "fates": {job.view.name: job.view.fate for job in jobs},
        "whole": stacked([("All that is stored", view.kinds)])[0],
        "does_add_up": total(cell.amount for cell in view.cells) == view.total,
        "extras_advice": EXTRAS_ADVICE,
        "settings": settings_rows(plan.settings),
        "sections": _sections(view),
        **_pictures(view.cells, view.names),
    }


def _pictures(cells: tuple[Cell, ...], names: JobNames) -> dict[str, Any]:
    by_job, by_age = rows_by_job(cells, names), rows_by_age(cells)
    rest = by_job[JOBS_IN_PICTURE:]
    return {
        "by_job": by_job,
        "by_age": by_age,
        "columns": [kind for kind in KINDS if any(row.kinds[kind].objects for row in by_job)],
        "bars_by_job": stacked([(row.name, row.kinds) for row in by_job[:JOBS_IN_PICTURE]]),
        "bars_by_age": stacked([(row.name, row.kinds) for row in by_age]),
        "left_out": rest,
        "left_out_bytes": sum(row.total.bytes for row in rest),
    }


def _tone(plan: Plan, fates: Mapping[Fate, int]) -> Fate:
    """Return the mark of the headline: the worst state of a job."""
    if plan.are_all_refused or fates[Fate.REFUSED]:
        return Fate.REFUSED
    return Fate.BLOCKED if fates[Fate.BLOCKED] else Fate.CLEAR


def _sections(view: PlanView) -> list[tuple[str, str]]:
    """Return the anchors and titles of the page's sections."""
    plan = view.plan
    every = (
        ("listing", "What is stored", True),
        ("warnings", "Warnings", bool(plan.warnings)),
        ("stops", "What stops deletion", bool(view.stops)),
        ("by-area", "By area", bool(plan.tallies)),
        ("by-job", "By job", True),
        ("by-age", "By age", True),
        ("jobs", "Jobs", True),
        ("tallies", "Verdicts", True),
        ("reported", "Only reported", bool(plan.reported)),
        ("extras", "Not in the listing", plan.extras is not None),
        ("roots", "Roots", True),
        ("settings", "Settings", True),
        ("identity", "Identity", True),
    )
    return [(anchor, title) for anchor, title, is_there in every if is_there]
