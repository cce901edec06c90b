"""The geometry of stacked bars: shares of one common width; no share is rounded to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from flinkstate.text.shown_text import human_bytes
from orphangc.app.render.reason_groups import KINDS, ReasonKind
from orphangc.core.model.tallies import Amount

_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of a bar; ``x`` and ``width`` are per cent of the picture's width."""

    kind: ReasonKind
    x: float
    width: float
    amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of the picture."""

    name: str
    total: Amount
    segments: tuple[Segment, ...]

    @property
    def alternative(self) -> str:
        """Return a description of the bar."""
        parts = (
            f"{KINDS[each.kind].label} {human_bytes(each.amount.bytes)}" for each in self.segments
        )
        return f"{self.name}: {', '.join(parts) or 'nothing'}"


def stacked(rows: Sequence[tuple[str, Mapping[ReasonKind, Amount]]]) -> tuple[Bar, ...]:
    """Return one bar for each row; the longest is as wide as the picture, zero is the left edge."""
    totals = [sum(amounts.values(), Amount()) for _, amounts in rows]
    widest = max((total.bytes for total in totals), default=0)
    return tuple(
        Bar(name=name, total=total, segments=_segments(amounts, widest))
        for (name, amounts), total in zip(rows, totals, strict=True)
    )


def _segments(amounts: Mapping[ReasonKind, Amount], widest: int) -> tuple[Segment, ...]:
    found = {kind: amounts[kind] for kind in KINDS if kind in amounts and amounts[kind].bytes}
    places = spans([amount.bytes for amount in found.values()], widest)
    return tuple(
        Segment(kind=kind, x=x, width=width, amount=amount)
        for (kind, amount), (x, width) in zip(found.items(), places, strict=True)
    )


def spans(sizes: Sequence[int], widest: int) -> list[tuple[float, float]]:
    """Return place and width of the parts of a bar, in per cent of the picture's width.

    Edges are rounded, not widths, so that gaps do not add up.
    """
    edges = (
        [round(100 * at / widest, _DIGITS) for at in accumulate(sizes, initial=0)] if sizes else []
    )
    return [(left, round(right - left, _DIGITS)) for left, right in pairwise(edges)]
