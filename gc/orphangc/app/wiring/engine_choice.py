"""The engine that lists and decides, as the operator chose it, or by what one process manages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flinkstate.places.locations import Location

USUAL_PER_SECOND = 100_000
"""Objects a second that one process is taken to plan before a run has measured it: 4 M objects took
27.5 s with its start on two idle cores (145,000), and a machine may be slower by a third."""

_SHARE = 0.5
"""Share of the time between two runs that one process may plan: a run that fails at its end can be
repeated in the rest, and a storage can grow until the next run sees it."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine that lists and decides.

    Attributes:
        work: Folder for files of Spark's executors during the run; ``None``: on this machine.
        threshold: Number of objects from which ``auto`` chooses Spark; ``None``: more than one
            process plans in half of the time between two runs.
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
        """Return number and source."""
        return f"{'' if self.is_exact else 'about '}{self.objects:,} objects ({self.source})"


@dataclass(frozen=True, slots=True)
class ProcessRate:
    """Objects that one process plans in a second, by whom measured, and the time between runs."""

    per_second: float
    source: str
    interval: timedelta

    @property
    def seconds(self) -> float:
        """Return how long a plan of one process may take."""
        return self.interval.total_seconds() * _SHARE


def chosen_by_size(choice: EngineChoice, size: KnownSize) -> EngineChoice:
    """Return the choice of ``auto`` where a cluster is configured: Spark from the threshold on."""
    assert choice.threshold is not None  # noqa: S101 - asked by the caller
    is_spark = size.objects >= choice.threshold
    word = "at least" if is_spark else "fewer than"
    return _chosen(choice, f"{size}: {word} --spark-threshold {choice.threshold:,}", is_spark)


def chosen_by_rate(choice: EngineChoice, size: KnownSize, rate: ProcessRate) -> EngineChoice:
    """Return the choice of ``auto`` where a cluster is configured: Spark if one process is late."""
    needed = size.objects / rate.per_second
    is_spark = needed > rate.seconds
    word = "longer than" if is_spark else "within"
    return _chosen(
        choice,
        f"{size}: one process plans {rate.per_second:,.0f} a second ({rate.source}) and needs"
        f" {needed:,.0f} s, {word} half of the {rate.interval.total_seconds():,.0f} s between two"
        " runs",
        is_spark,
    )


def _chosen(choice: EngineChoice, reason: str, is_spark: bool) -> EngineChoice:  # noqa: FBT001
    work = choice.work if is_spark else None
    return EngineChoice(is_spark=is_spark, work=work, reason=reason)
