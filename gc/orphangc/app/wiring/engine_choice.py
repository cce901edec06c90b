"""Who lists and decides, as the operator says it."""

from __future__ import annotations

from dataclasses import dataclass

from orphangc.core.model.locations import Location


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Who lists and decides.

    Attributes:
        is_spark: Spark; else this process.
        work: Where Spark's executors keep files meanwhile; ``None``: on this machine.

    """

    is_spark: bool = False
    work: Location | None = None


LOCAL = EngineChoice()
