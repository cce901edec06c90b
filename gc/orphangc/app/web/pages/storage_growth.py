"""The growth of a storage root over its runs, as the geometry of a stacked area."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from flinkstate.text.shown_text import human_bytes
from orphangc.app.render.reason_groups import KINDS, ByKind, ReasonKind, by_kind
from orphangc.app.web.page_text import minute, span_text
from orphangc.core.documents.plan import Tally
from orphangc.core.model.tallies import Amount

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
class GrowthArea:
    """One kind over time: an SVG path in a picture of ``WIDTH`` times ``HEIGHT``."""

    kind: ReasonKind
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Picture with its scale and its description."""

    samples: tuple[Sample, ...]
    areas: tuple[GrowthArea, ...]
    most: int

    @property
    def kinds(self) -> tuple[ReasonKind, ...]:
        """Return the kinds that occur in the picture."""
        return tuple(area.kind for area in self.areas)

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
            f"Bytes by kind from {minute(first.at)} to {minute(last.at)},"
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


def _areas(samples: Sequence[Sample], most: int) -> tuple[GrowthArea, ...]:
    floor = [0] * len(samples)
    areas = []
    for kind in KINDS:
        top = [low + sample.kinds[kind].bytes for low, sample in zip(floor, samples, strict=True)]
        if top != floor:
            areas.append(GrowthArea(kind=kind, path=_path(samples, floor, top, most)))
        floor = top
    return tuple(areas)


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
