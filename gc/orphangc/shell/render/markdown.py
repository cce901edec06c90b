"""The plan as a short summary in Markdown."""

from __future__ import annotations

from orphangc.core.plan import Plan
from orphangc.runs.breakdown import Breakdown

__all__ = ["render_markdown"]


def render_markdown(plan: Plan, breakdown: Breakdown) -> str:
    """Return a short summary for a pull request or a chat."""
    return f"plan {plan.plan_id}: {len(breakdown.cells())}\n"
