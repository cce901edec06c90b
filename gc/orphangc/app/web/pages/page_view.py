"""Storage roots, jobs and runs, prepared for pages: templates compare values and compute none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.text.shown_text import human_bytes
from orphangc.app.config.configuration import HttpSettings
from orphangc.app.render.reason_groups import KINDS, Bar, ByKind, ReasonKind, by_kind, stacked
from orphangc.app.render.shown_names import name_of
from orphangc.app.render.stops import Fate, ShownJob
from orphangc.app.status.status_store import RootStatus, Status
from orphangc.app.web.jobs_and_runs import Sustained, known_jobs, self_sustained
from orphangc.app.web.page_templates import span_text, utc_minute
from orphangc.core.documents.plan import Tally
from orphangc.core.documents.run_record import JobRecord, RunRecord, TombstonesPart
from orphangc.core.model.tallies import Amount, summed
from orphangc.core.model.types import Action, Outcome

_GIB = 1024**3


def cost_text(size: int, http: HttpSettings) -> str:
    """Return the monthly cost of bytes at the assumed price; no bill confirms it."""
    amount = size / _GIB * http.price_per_gib_month
    if not amount:
        return f"0 {http.currency}"
    return f"{'less than 1' if amount < 1 else f'about {amount:,.0f}'} {http.currency}"


def stored_in(name: str, tallies: Iterable[Tally]) -> Bar:
    """Return the sums of tallies as a bar that is as wide as the picture."""
    return stacked([(name, by_kind(tallies))])[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootView:
    """One storage root on the status page.

    Attributes:
        deleted: Objects that all runs together have deleted.
    """

    status: RootStatus
    stored: Bar | None
    growth: Growth | None
    jobs: int
    deleted: Amount


def root_view(root: RootStatus) -> RootView:
    """Return one storage root for the status page."""
    plan, newest = root.newest_plan, root.newest
    return RootView(
        status=root,
        stored=None if plan is None else stored_in(root.settings.root, plan.amounts),
        growth=growth((r.started_at, r.run_id, r.amounts) for r in root.records if r.plan_id),
        jobs=sum(bool(job.job_id) for job in root.jobs),
        deleted=Amount() if newest is None else _deleted(newest),
    )


def _deleted(record: RunRecord) -> Amount:
    key = f"{Action.DELETE}/{Outcome.DONE}"
    totals = record.totals
    return Amount(totals.swept_objects.get(key, 0), totals.swept_bytes.get(key, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow(ShownJob):
    """A job in a list of jobs.

    Attributes:
        job_id: Id of the job; "" if its owner is unknown.
        bar: Bar of its stored objects; that of the largest job is as wide as the picture.
        sustained: Whether its state is self-sustained; ``None`` if that cannot be known.
        snapshots: The same, with what it was restored from; ``None`` in a list of one run.
    """

    job_id: str
    root: str
    bar: Bar
    sustained: bool | None
    snapshots: Sustained | None


def job_rows(status: Status) -> tuple[JobRow, ...]:
    """Return every job of the newest plans: stopped jobs first, then by orphaned bytes."""
    known = known_jobs(status)
    found = [
        (root.settings.root, job, self_sustained(status, known[job.job_id]))
        if job.job_id in known
        else (root.settings.root, job, None)
        for root in status.roots
        for job in root.jobs
    ]
    return _rows(found)


def record_rows(record: RunRecord) -> tuple[JobRow, ...]:
    """Return the jobs of one run in the same order."""
    rows = _rows([(record.root, job, None) for job in record.jobs])
    return tuple(replace(row, sustained=row.part.state_self_sustained) for row in rows)


def _rows(found: Sequence[tuple[str, JobRecord, Sustained | None]]) -> tuple[JobRow, ...]:
    bars = stacked([(name_of(job), by_kind(job.amounts)) for _, job, _ in found])
    rows = (
        JobRow.of(
            job,
            job.amounts,
            job_id=job.job_id if is_job_id(job.job_id) else "",
            root=root,
            bar=bar,
            sustained=None if sustained is None else sustained.value,
            snapshots=sustained if sustained is not None and sustained.places else None,
        )
        for (root, job, sustained), bar in zip(found, bars, strict=True)
    )
    order = list(Fate)
    return tuple(
        sorted(rows, key=lambda r: (order.index(r.fate), -r.orphaned.bytes, -r.total.bytes))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDay:
    """Tombstones whose quarantine ends on one day."""

    day: date
    amount: Amount
    width: float
    is_past: bool


def due_days(parts: Iterable[TombstonesPart | None], today: date) -> tuple[DueDay, ...]:
    """Return the objects due on each day; widths are per cent of the largest day's bytes."""
    every = [due for part in parts if part is not None for due in part.due]
    sums = summed(every, lambda due: due.day)
    most = max((amount.bytes for amount in sums.values()), default=0)
    return tuple(
        DueDay(
            day=day,
            amount=amount,
            width=round(100 * amount.bytes / most, 2) if most else 0,
            is_past=day < today,
        )
        for day, amount in sorted(sums.items())
    )


def history_of(status: Status, job_id: str) -> Growth | None:
    """Return the stored objects of a job over all runs that knew it."""
    return growth(
        (record.started_at, record.run_id, job.amounts)
        for root in status.roots
        for record in root.records
        for job in record.jobs
        if job.job_id == job_id
    )


WIDTH = 600
HEIGHT = 150
_MOST = 60
"""Maximum number of runs in the picture; the first and the last are always drawn."""
_TICKS = 3
_AXIS = (
    (timedelta(days=365), "%b %Y"),
    (timedelta(days=4), "%b %d"),
    (timedelta(hours=1), "%b %d %H:%M"),
    (timedelta(), "%H:%M:%S"),
)
"""Form of the times at the axis, by the least span that it fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(ByKind):
    """Findings of one run."""

    at: datetime
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Picture with its scale and its description.

    Attributes:
        areas: Each kind over time: an SVG path in a picture of ``WIDTH`` times ``HEIGHT``.
    """

    samples: tuple[Sample, ...]
    areas: Mapping[ReasonKind, str]
    most: int

    @property
    def times(self) -> tuple[str, ...]:
        """Return the times at the axis, from left to right at equal distances."""
        first, last = self.samples[0].at, self.samples[-1].at
        span = last - first
        form = next((form for least, form in _AXIS if span >= least), _AXIS[-1][1])
        steps = (first + span * part / (_TICKS - 1) for part in range(_TICKS))
        return tuple(at.strftime(form) for at in steps)

    @property
    def sentence(self) -> str:
        """Return a sentence about the change of all bytes and of orphans."""
        first, last = self.samples[0], self.samples[-1]
        span = span_text(last.at - first.at)
        return (
            f"In {span}: stored {_change(first.total, last.total)},"
            f" orphaned {_change(first.orphaned, last.orphaned)}."
        )

    @property
    def alternative(self) -> str:
        """Return a description of the picture."""
        first, last = self.samples[0], self.samples[-1]
        return (
            f"Bytes by kind from {utc_minute(first.at)} to {utc_minute(last.at)},"
            f" {len(self.samples)} runs. {self.sentence}"
        )


def growth(found: Iterable[tuple[datetime, str, Iterable[Tally]]]) -> Growth | None:
    """Return the picture of runs; ``None`` if there are too few to draw.

    Args:
        found: Time, id and findings of each run, in any order.
    """
    every = sorted(
        (Sample(at=at, run_id=run, kinds=by_kind(tallies)) for at, run, tallies in found),
        key=lambda sample: (sample.at, sample.run_id),
    )
    samples = _thinned(every)
    if len(samples) < 2 or samples[0].at == samples[-1].at:  # noqa: PLR2004 - a line has two ends
        return None
    most = max(sample.total.bytes for sample in samples)
    return Growth(samples=samples, areas=_areas(samples, most), most=most)


def _thinned(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    if len(samples) <= _MOST:
        return tuple(samples)
    step = (len(samples) - 1) / (_MOST - 1)
    return tuple(samples[round(place * step)] for place in range(_MOST))


def _areas(samples: Sequence[Sample], most: int) -> dict[ReasonKind, str]:
    floor = [0] * len(samples)
    areas: dict[ReasonKind, str] = {}
    for kind in KINDS:
        top = [low + sample.kinds[kind].bytes for low, sample in zip(floor, samples, strict=True)]
        if top != floor:
            areas[kind] = _path(samples, floor, top, most)
        floor = top
    return areas


def _path(samples: Sequence[Sample], floor: list[int], top: list[int], most: int) -> str:
    """Return the outline of an area: its upper edge from left to right, its lower edge back.

    An amount holds from its run to the next one: between two runs nothing was measured.
    """
    start, span = samples[0].at, samples[-1].at - samples[0].at
    xs = [(WIDTH * ((sample.at - start) / span)) for sample in samples]
    edges = [
        [f"{x:.1f},{HEIGHT * (1 - size / most):.1f}" for x, size in _steps(xs, sizes)]
        for sizes in (top, floor)
    ]
    return "M" + "L".join([*edges[0], *reversed(edges[1])]) + "Z"


def _steps(xs: Sequence[float], sizes: Sequence[int]) -> Iterator[tuple[float, int]]:
    """Yield the corners of a line that keeps each size until the next one."""
    for position, (x, size) in enumerate(zip(xs, sizes, strict=True)):
        if position:
            yield x, sizes[position - 1]
        yield x, size


def _change(before: Amount, after: Amount) -> str:
    more = after.bytes - before.bytes
    sign = "+" if more > 0 else "\N{MINUS SIGN}"
    return f"{sign}{human_bytes(abs(more))}" if more else "unchanged"
