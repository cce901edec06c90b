"""Status of a check of ``doctor``."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class CheckStatus(StrEnum):
    """Status of a check."""

    GOOD = "good"
    NOTE = "note"
    """Nothing is wrong, and something could not be looked at."""
    WARNING = "warning"
    BAD = "bad"


Check = Callable[[], tuple[CheckStatus, str]]
