"""The engine that lists and decides, as the operator chose it."""

from __future__ import annotations

from dataclasses import dataclass

from orphangc.core.model.locations import Location


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine that lists and decides.

    Attributes:
        is_spark: Whether Spark lists and decides; otherwise this process does.
        work: Folder for files of Spark's executors during the run; ``None``: on this machine.

    """

    is_spark: bool = False
    work: Location | None = None


LOCAL = EngineChoice()
