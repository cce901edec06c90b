"""How a check of ``doctor`` ends."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

__all__ = ["Check", "Health"]


class Health(StrEnum):
    """How a check ended."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


Check = Callable[[], tuple[Health, str]]
