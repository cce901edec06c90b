"""Jobs and rows of a picture, prepared for the page: templates compare values and compute none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from orphangc.app.console.text import duration, id_ranges
from orphangc.app.render.reason_groups import (
    AGE_LABELS,
    KIND_OF,
    KINDS,
    STATE_TEXT,
    ReasonKind,
    kind_order,
)
from orphangc.app.render.shown_names import JobNames, name_of
from orphangc.app.render.stops import Fate, Stop, fate_of, stops
from orphangc.core.documents.plan import JobPart, Plan
from orphangc.core.model.bounds import NEVER
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.tallies import Amount, Cell, summed
from orphangc.core.model.types import Action, Reason, Scope

_GOING = frozenset({Reason.ORPHAN, Reason.IN_QUARANTINE, Reason.QUARANTINE_OVER})

VerdictKey = tuple[Scope, Action, Reason]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Row of a picture and of the table beside it; every kind has an amount."""

    name: str
    total: Amount
    amounts: Mapping[ReasonKind, Amount]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPageView:
    """One job of the plan, with numbers from the breakdown.

    Attributes:
        anchor: Anchor on the page; made of a number, never of a name.
    """

    part: JobPart
    anchor: str
    name: str
    fate: Fate
    state: str
    retained: str
    total: Amount
    going: Amount
    verdicts: tuple[tuple[VerdictKey, Amount], ...]
    stops: tuple[Stop, ...]
    deciding: frozenset[int]

    @property
    def is_cutoff_never(self) -> bool:
        """Return whether an unknown bound keeps everything."""
        return self.part.cutoff <= NEVER


def job_views(plan: Plan, cells: Iterable[Cell]) -> tuple[JobPageView, ...]:
    """Return the jobs of a plan, the largest first."""
    by_job: dict[str, list[Cell]] = {}
    for cell in cells:
        by_job.setdefault(cell.job_id, []).append(cell)
    names = JobNames.of(plan.jobs)
    views = [
        _job_view(job, f"job-{number}", by_job.get(job.job_id, []) if job.job_id else [], names)
        for number, job in enumerate(plan.jobs)
    ]
    return tuple(sorted(views, key=lambda view: -view.total.bytes))


def _job_view(job: JobPart, anchor: str, cells: Sequence[Cell], names: JobNames) -> JobPageView:
    verdicts = summed(cells, lambda cell: (cell.scope, cell.action, cell.reason))
    going = (cell.amount for cell in cells if cell.reason in _GOING)
    return JobPageView(
        part=job,
        anchor=anchor,
        name=name_of(job),
        fate=fate_of(job),
        state=STATE_TEXT[job.state],
        retained=id_ranges(job.retained_checkpoint_ids),
        total=sum(verdicts.values(), Amount()),
        going=sum(going, Amount()),
        verdicts=tuple(sorted(verdicts.items(), key=lambda it: (it[0][0], kind_order(it[0][2])))),
        stops=stops([job], names),
        deciding=_deciding(job),
    )


def _deciding(job: JobPart) -> frozenset[int]:
    """Return the positions of the bounds that decide the cutoff; an unknown bound decides alone."""
    unknown = frozenset(n for n, bound in enumerate(job.bounds) if bound.at is None)
    earliest = frozenset(n for n, bound in enumerate(job.bounds) if bound.at == job.cutoff)
    return unknown or earliest


def rows_by_job(cells: Iterable[Cell], names: JobNames) -> tuple[Row, ...]:
    """Return one row for each job, the largest first."""
    sums = summed(cells, lambda cell: (names(cell.job_id), KIND_OF[cell.reason]))
    rows = _rows(sums, dict.fromkeys(name for name, _ in sums))
    return tuple(sorted(rows, key=lambda row: (-row.total.bytes, row.name)))


def rows_by_age(cells: Iterable[Cell]) -> tuple[Row, ...]:
    """Return one row for each age, including empty ones, the youngest first."""
    sums = summed(cells, lambda cell: (AGE_LABELS[cell.age], KIND_OF[cell.reason]))
    return _rows(sums, AGE_LABELS.values())


def _rows(sums: Mapping[tuple[str, ReasonKind], Amount], names: Iterable[str]) -> tuple[Row, ...]:
    amounts = {name: {kind: sums.get((name, kind), Amount()) for kind in KINDS} for name in names}
    return tuple(
        Row(name=name, total=sum(each.values(), Amount()), amounts=each)
        for name, each in amounts.items()
    )


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
