"""Sentences about checkpoints that nothing living needs, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkstate.text.shown_text import human_bytes

if TYPE_CHECKING:  # --version loads no document
    from orphangc.core.documents.lineage_report import UnneededPart
    from orphangc.core.documents.plan import Plan

LIST_PRICE = 0.023
"""List price of a GiB a month in S3 Standard, in USD."""
_GIB = 2**30


def unneeded_sentence(part: UnneededPart, price: float) -> str:
    """Return how much is held by checkpoints that nothing living needs.

    Args:
        price: Price of a GiB a month in USD.
    """
    return (
        f"Checkpoints that nothing living needs hold {human_bytes(part.bytes)} in"
        f" {part.objects:,} files, {money(part.bytes, price)} a month."
    )


def expiry_hint(plan: Plan) -> str | None:
    """Return what ``expire`` could free, for a plan; ``None`` if nothing that is known."""
    part = plan.unneeded
    if part is None or not part.bytes:
        return None
    return (
        f"{unneeded_sentence(part, LIST_PRICE)} Nothing of it goes without a retention"
        " policy: orphangc expire shows it by lineage."
    )


def money(size: int, price: float) -> str:
    """Return the price of some bytes for a month."""
    return f"{size / _GIB * price:,.2f} USD"
