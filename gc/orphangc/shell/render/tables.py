"""The plan and its outcome as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from orphangc.core.plan import Plan

__all__ = ["outcome_tables", "plan_tables"]


def plan_tables(plan: Plan) -> list[RenderableType]:
    """Return what a person wants to know of a plan."""
    return [Text(plan.plan_id)]


def outcome_tables(outcome: Mapping[str, Any]) -> list[RenderableType]:
    """Return what a person wants to know of a sweep's ``outcome.json``."""
    return [Text(str(outcome.get("run_id", "")))]
