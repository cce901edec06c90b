"""The engine that lists and decides: as the operator chose it, and how ``auto`` chooses.

``auto`` is Spark if a cluster is configured and one process would be late. Both the size of the
storage root and the rate of one process are those of earlier runs, as far as there were any. They
are asked only if a cluster is configured.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec

import structlog

from flinkstate.files.paths import located
from flinkstate.places.locations import Location
from orphangc.adapters.open import open_storage
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.state.history import newest_records
from orphangc.collect.state.store import RootState
from orphangc.core.documents.run_record import Phase, RunRecord

_CLUSTERS = ("SPARK_REMOTE", "SPARK_MASTER", "PYSPARK_GATEWAY_PORT")
"""Environment variables that name a cluster; the last one is set by ``spark-submit``."""
_COUNTED = 10_000_000
"""Maximum number of objects that are counted only to choose: to count is to list."""
USUAL_PER_SECOND = 100_000
"""Objects a second that one process is taken to plan before a run has measured it: 4 M objects took
27.5 s with its start on two idle cores (145,000), and a machine may be slower by a third."""
_SHARE = 0.5
"""Share of the time between two runs that one process may plan: a run that fails at its end can be
repeated in the rest, and a storage can grow until the next run sees it."""

log = structlog.get_logger()


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
        cls, name: str, work: str | None, threshold: int | None, schedule: str | None = None
    ) -> EngineChoice:
        """Return the choice of ``local``, ``spark`` or ``auto``; ``SettingsError`` if ``work`` is
        no place.
        """
        place = None if work is None else located(work)
        match name:
            case "local":
                return LOCAL
            case "spark":
                return cls(is_spark=True, work=place)
            case _:
                return cls(work=place, is_auto=True, threshold=threshold, schedule=schedule)


LOCAL = EngineChoice()


@dataclass(frozen=True, slots=True)
class KnownSize:
    """Number of objects of a storage root before it is listed."""

    objects: int
    source: str
    is_exact: bool = True

    def __str__(self) -> str:
        return f"{'' if self.is_exact else 'about '}{self.objects:,} objects ({self.source})"


def settled(choice: EngineChoice, state: RootState, size: KnownSize | None = None) -> EngineChoice:
    """Return the choice with ``auto`` decided, and why, or raise ``StorageUnreachableError``."""
    if not choice.is_auto:
        return choice
    is_spark = False
    if choice.work is None or not any(map(os.environ.get, _CLUSTERS)):
        reason = "no cluster is configured (SPARK_MASTER or SPARK_REMOTE, and --work)"
    elif not find_spec("pyspark"):
        reason = "PySpark is not installed"
    else:
        is_spark, reason = _weighed(choice, state, size or _size(choice, state))
    log.info("engine.chosen", engine="spark" if is_spark else "local", reason=reason)
    work = choice.work if is_spark else None
    return EngineChoice(is_spark=is_spark, work=work, reason=reason)


def _weighed(choice: EngineChoice, state: RootState, size: KnownSize) -> tuple[bool, str]:
    """Return whether Spark is needed, from a threshold on or if one process is late, and why."""
    if choice.threshold is not None:
        is_spark = size.objects >= choice.threshold
        word = "at least" if is_spark else "fewer than"
        return is_spark, f"{size}: {word} --spark-threshold {choice.threshold:,}"
    from orphangc.app.config.schedule import DEFAULT_SCHEDULE, shortest_gap  # noqa: PLC0415 - loads the scheduler

    between = shortest_gap(choice.schedule or DEFAULT_SCHEDULE).total_seconds()
    per_second, source = _last_rate(state) or (USUAL_PER_SECOND, "usual")
    needed = size.objects / per_second
    is_spark = needed > between * _SHARE
    word = "longer than" if is_spark else "within"
    return is_spark, (
        f"{size}: one process plans {per_second:,.0f} a second ({source}) and needs"
        f" {needed:,.0f} s, {word} half of the {between:,.0f} s between two runs"
    )


def _size(choice: EngineChoice, state: RootState) -> KnownSize:
    for newest in _planned(state):
        return KnownSize(newest.objects_listed, f"run {newest.run_id}")
    found = estimated_objects(open_storage(state.root), choice.threshold or _COUNTED)
    return KnownSize(found.objects, "first pages of the listing", is_exact=found.is_exact)


def _planned(state: RootState) -> Iterable[RunRecord]:
    return (each for each in newest_records(state) if each.objects_listed)


def _last_rate(state: RootState) -> tuple[float, str] | None:
    for record in _planned(state):
        seconds = sum(each.duration_seconds for each in record.phases if each.phase is Phase.PLAN)
        if record.engine == "local" and seconds > 0:
            return record.objects_listed / seconds, f"run {record.run_id}"
    return None
