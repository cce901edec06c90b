"""The geometry of stacked bars: shares of one common width; no share is rounded to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """Return the segments of one bar; edges are rounded, not widths, so that gaps do not add up."""
    segments, done = [], 0
    for kind in KINDS:
        amount = amounts.get(kind, Amount())
        if not amount.bytes:
            continue
        left, right = (_per_cent(at, widest) for at in (done, done + amount.bytes))
        segments.append(
            Segment(kind=kind, x=left, width=round(right - left, _DIGITS), amount=amount)
        )
        done += amount.bytes
    return tuple(segments)


def _per_cent(size: int, whole: int) -> float:
    return round(100 * size / whole, _DIGITS)
