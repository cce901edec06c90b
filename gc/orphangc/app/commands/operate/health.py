"""How a check of ``doctor`` ends."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class CheckStatus(StrEnum):
    """How a check ended."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


Check = Callable[[], tuple[CheckStatus, str]]
