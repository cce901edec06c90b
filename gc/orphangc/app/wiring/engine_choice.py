"""The engine that lists and decides, as the operator chose it, or by the size of the root."""

from __future__ import annotations

from dataclasses import dataclass

from flinkstate.places.locations import Location


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The engine that lists and decides.

    Attributes:
        work: Folder for files of Spark's executors during the run; ``None``: on this machine.
        threshold: Number of objects from which Spark is chosen; ``None``: the choice is made.
        reason: Why the engine was chosen; "" if the operator did.
    """

    is_spark: bool = False
    work: Location | None = None
    threshold: int | None = None
    reason: str = ""


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


def chosen_by_size(choice: EngineChoice, size: KnownSize) -> EngineChoice:
    """Return the choice of ``auto`` where a cluster is configured: Spark from the threshold on."""
    assert choice.threshold is not None  # noqa: S101 - asked by the caller
    is_spark = size.objects >= choice.threshold
    word = "at least" if is_spark else "fewer than"
    return EngineChoice(
        is_spark=is_spark,
        work=choice.work if is_spark else None,
        reason=f"{size}: {word} --spark-threshold {choice.threshold:,}",
    )
