"""The engine that lists and decides, as the operator chose it."""

from __future__ import annotations

from dataclasses import dataclass

from flinkstate.places.locations import Location


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine that lists and decides.

    Attributes:
        work: Folder for files of Spark's executors during the run; ``None``: on this machine.
        is_auto: Whether ``auto`` has still to choose.
        threshold: Number of objects from which ``auto`` chooses Spark; ``None``: more than one
            process plans in half of the time between two runs.
        schedule: When runs start, as the configuration says it; ``None``: it does not.
        reason: Why the engine was chosen; "" if the operator did.
    """

    is_spark: bool = False
    work: Location | None = None
    is_auto: bool = False
    threshold: int | None = None
    schedule: str | None = None
    reason: str = ""

    @classmethod
    def of(
        cls, name: str, work: Location | None, threshold: int | None, schedule: str | None = None
    ) -> EngineChoice:
        """Return the choice of a name: ``local``, ``spark`` or ``auto``."""
        match name:
            case "local":
                return LOCAL
            case "spark":
                return cls(is_spark=True, work=work)
            case _:
                return cls(work=work, is_auto=True, threshold=threshold, schedule=schedule)


LOCAL = EngineChoice()


@dataclass(frozen=True, slots=True)
class KnownSize:
    """Number of objects of a storage root before it is listed."""

    objects: int
    source: str
    is_exact: bool = True

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'about '}{self.objects:,} objects ({self.source})"
