"""The plan as one HTML file: no script, no asset, no request; it can be mailed and printed.

The templates compare values and compute none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from orphangc.app.console.text import duration
from orphangc.app.render.plan.plan_view import EXTRAS_ADVICE, PlanView, plan_view
from orphangc.app.render.reason_groups import (
    AGE_LABELS,
    BOUND_TEXT,
    KINDS,
    Bar,
    by_kind,
    kind_order,
    stacked,
)
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Fate, ShownJob, Stop, stops
from orphangc.app.render.template_environment import report
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import JobPart, Plan
from orphangc.core.groups import grouped
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.tallies import Amount, Cell, summed, total
from orphangc.core.model.types import Action, Reason, Scope

VerdictKey = tuple[Scope, Action, Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOnPage:
    """One job of the plan, with what the page alone shows of it.

    Attributes:
        anchor: Anchor on the page; made of a number, never of a name.
        deciding: Positions of the bounds that decide the cutoff.
    """

    view: ShownJob
    anchor: str
    verdicts: tuple[tuple[VerdictKey, Amount], ...]
    stops: tuple[Stop, ...]
    deciding: frozenset[int]


def jobs_on_page(view: PlanView) -> tuple[JobOnPage, ...]:
    """Return the jobs of a plan, the largest first."""
    sums = summed(view.cells, lambda cell: (cell.job_id, (cell.scope, cell.action, cell.reason)))
    ordered = sorted(sums.items(), key=lambda it: (it[0][1][0], kind_order(it[0][1][2])))
    verdicts = grouped(ordered, lambda it: it[0][0])
    jobs = [
        JobOnPage(
            view=each,
            anchor=f"job-{number}",
            verdicts=tuple((key, amount) for (_, key), amount in verdicts.get(job.job_id, ()))
            if job.job_id
            else (),
            stops=stops([job], view.names),
            deciding=_deciding(job),
        )
        for number, (job, each) in enumerate(zip(view.plan.jobs, view.jobs, strict=True))
    ]
    return tuple(sorted(jobs, key=lambda each: -each.view.total.bytes))


def _deciding(job: JobPart) -> frozenset[int]:
    """Return the positions of the bounds that decide the cutoff; an unknown bound decides alone."""
    unknown = frozenset(n for n, bound in enumerate(job.bounds) if bound.at is None)
    earliest = frozenset(n for n, bound in enumerate(job.bounds) if bound.at == job.cutoff)
    return unknown or earliest


def _bars(found: Mapping[str, Sequence[Cell]]) -> tuple[Bar, ...]:
    return stacked([(name, by_kind(own)) for name, own in found.items()])


def settings_rows(settings: StorageRootSettings) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each setting with its values as text, without credentials."""
    shown = settings.model_dump(mode="json")
    return tuple(
        (name, _setting(value, getattr(settings, name))) for name, value in sorted(shown.items())
    )


def _setting(shown: object, value: object) -> tuple[str, ...]:
    """Return one setting as people write it."""
    if shown is None:
        return ()
    if isinstance(value, timedelta):
        return (duration(value),)
    if isinstance(shown, bool):
        return ("yes" if shown else "no",)
    return tuple(str(each) for each in shown) if isinstance(shown, list) else (str(shown),)


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
    return report("report.html.j2", **_LIMITS, **_context(plan, breakdown))


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
        "bound_text": BOUND_TEXT,
        "extras_advice": EXTRAS_ADVICE,
        "settings": settings_rows(plan.settings),
        "sections": _sections(view),
        **_pictures(view.cells, view.names),
    }


def _pictures(cells: tuple[Cell, ...], names: JobNames) -> dict[str, Any]:
    """Return one bar for each job, the largest first, and for each age, the youngest first."""
    every = _bars(grouped(cells, lambda cell: names(cell.job_id)))
    by_job = sorted(every, key=lambda bar: (-bar.total.bytes, bar.name))
    of_age = grouped(cells, lambda cell: cell.age)
    rest = by_job[JOBS_IN_PICTURE:]
    return {
        "by_job": by_job,
        "by_age": _bars({label: of_age.get(age, ()) for age, label in AGE_LABELS.items()}),
        "columns": [kind for kind in KINDS if any(bar.kinds[kind].objects for bar in by_job)],
        "drawn": by_job[:JOBS_IN_PICTURE],
        "left_out": rest,
        "left_out_bytes": sum(bar.total.bytes for bar in rest),
    }


def _tone(plan: Plan, fates: Mapping[Fate, int]) -> Fate:
    if plan.are_all_refused or fates[Fate.REFUSED]:
        return Fate.REFUSED
    return Fate.BLOCKED if fates[Fate.BLOCKED] else Fate.CLEAR


def _sections(view: PlanView) -> list[tuple[str, str]]:
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
