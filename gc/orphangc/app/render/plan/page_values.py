"""Jobs and rows of a picture, prepared for the page: templates compare values and compute none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from orphangc.app.console.text import duration
from orphangc.app.render.job_view import ShownJob
from orphangc.app.render.plan.plan_view import PlanView
from orphangc.app.render.reason_groups import AGE_LABELS, ByKind, by_kind, kind_order
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Stop, stops
from orphangc.core.documents.plan import JobPart
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.tallies import Amount, Cell, summed
from orphangc.core.model.types import Action, Reason, Scope

VerdictKey = tuple[Scope, Action, Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(ByKind):
    """Row of a picture and of the table beside it."""

    name: str


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
    verdicts: dict[str, list[tuple[VerdictKey, Amount]]] = {}
    sums = summed(view.cells, lambda cell: (cell.job_id, (cell.scope, cell.action, cell.reason)))
    for (job_id, key), amount in sorted(sums.items(), key=lambda it: _verdict_order(it[0][1])):
        verdicts.setdefault(job_id, []).append((key, amount))
    jobs = [
        JobOnPage(
            view=each,
            anchor=f"job-{number}",
            verdicts=tuple(verdicts.get(job.job_id, ())) if job.job_id else (),
            stops=stops([job], view.names),
            deciding=_deciding(job),
        )
        for number, (job, each) in enumerate(zip(view.plan.jobs, view.jobs, strict=True))
    ]
    return tuple(sorted(jobs, key=lambda each: -each.view.total.bytes))


def _verdict_order(key: VerdictKey) -> tuple[Scope, tuple[int, int]]:
    scope, _, reason = key
    return scope, kind_order(reason)


def _deciding(job: JobPart) -> frozenset[int]:
    """Return the positions of the bounds that decide the cutoff; an unknown bound decides alone."""
    unknown = frozenset(n for n, bound in enumerate(job.bounds) if bound.at is None)
    earliest = frozenset(n for n, bound in enumerate(job.bounds) if bound.at == job.cutoff)
    return unknown or earliest


def rows_by_job(cells: Iterable[Cell], names: JobNames) -> tuple[Row, ...]:
    """Return one row for each job, the largest first."""
    rows = _rows(cells, lambda cell: names(cell.job_id))
    return tuple(sorted(rows, key=lambda row: (-row.total.bytes, row.name)))


def rows_by_age(cells: Iterable[Cell]) -> tuple[Row, ...]:
    """Return one row for each age, including empty ones, the youngest first."""
    return _rows(cells, lambda cell: AGE_LABELS[cell.age], AGE_LABELS.values())


def _rows(
    cells: Iterable[Cell], name_of: Callable[[Cell], str], names: Iterable[str] = ()
) -> tuple[Row, ...]:
    found: dict[str, list[Cell]] = {name: [] for name in names}
    for cell in cells:
        found.setdefault(name_of(cell), []).append(cell)
    return tuple(Row(name=name, kinds=by_kind(own)) for name, own in found.items())


def settings_rows(settings: StorageRootSettings) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each setting with its values as text, without credentials."""
    shown = settings.model_dump(mode="json")
    return tuple(
        (name, _setting(value, getattr(settings, name))) for name, value in sorted(shown.items())
    )


def _setting(shown: object, value: object) -> tuple[str, ...]:
    """Return one setting as people write it.

    Args:
        shown: Value as JSON, without credentials.
        value: Value of the model; used for durations only.
    """
    if shown is None:
        return ()
    if isinstance(value, timedelta):
        return (duration(value),)
    if isinstance(shown, bool):
        return ("yes" if shown else "no",)
    return tuple(str(each) for each in shown) if isinstance(shown, list) else (str(shown),)
