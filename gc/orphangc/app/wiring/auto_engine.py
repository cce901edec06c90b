"""``--engine auto``: Spark if a cluster is configured and one process would be late.

Both the size of the storage root and the rate of one process are those of earlier runs, as far as
there were any. They are asked only if a cluster is configured.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec

import structlog

from orphangc.adapters.open import open_storage
from orphangc.app.wiring.compose import state_of
from orphangc.app.wiring.engine_choice import (
    USUAL_PER_SECOND,
    EngineChoice,
    KnownSize,
    ProcessRate,
    chosen_by_rate,
    chosen_by_size,
)
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.state.history import newest_records
from orphangc.core.documents.run_record import Phase, RunRecord
from orphangc.core.model.settings import StorageRootSettings

_CLUSTERS = ("SPARK_REMOTE", "SPARK_MASTER", "PYSPARK_GATEWAY_PORT")
"""Environment variables that name a cluster; the last one is set by ``spark-submit``."""
_COUNTED = 10_000_000
"""Maximum number of objects that are counted only to choose: to count is to list."""

log = structlog.get_logger()


def settled(
    choice: EngineChoice, settings: StorageRootSettings, size: KnownSize | None = None
) -> EngineChoice:
    """Return the choice with ``auto`` decided, and why, or raise ``StorageUnreachableError``."""
    if not choice.is_auto:
        return choice
    lacking = _lacking(choice)
    made = EngineChoice(reason=lacking) if lacking else _measured(choice, settings, size)
    engine = "spark" if made.is_spark else "local"
    log.info("engine.chosen", engine=engine, reason=made.reason)
    return made


def _lacking(choice: EngineChoice) -> str:
    if choice.work is None or not any(os.environ.get(name) for name in _CLUSTERS):
        return "no cluster is configured (SPARK_MASTER or SPARK_REMOTE, and --work)"
    return "" if find_spec("pyspark") else "PySpark is not installed"


def _measured(
    choice: EngineChoice, settings: StorageRootSettings, size: KnownSize | None
) -> EngineChoice:
    size = size or _last_size(settings) or _first_size(settings, choice)
    if choice.threshold is not None:
        return chosen_by_size(choice, size)
    from orphangc.app.config.schedule import DEFAULT_SCHEDULE, shortest_gap  # noqa: PLC0415 - loads the scheduler

    interval = shortest_gap(choice.schedule or DEFAULT_SCHEDULE)
    per_second, source = _last_rate(settings) or (USUAL_PER_SECOND, "usual")
    return chosen_by_rate(choice, size, ProcessRate(per_second, source, interval))


def _planned(settings: StorageRootSettings) -> Iterable[RunRecord]:
    return (each for each in newest_records(state_of(settings)) if each.objects_listed)


def _last_size(settings: StorageRootSettings) -> KnownSize | None:
    newest = next(iter(_planned(settings)), None)
    return None if newest is None else KnownSize(newest.objects_listed, f"run {newest.run_id}")


def _last_rate(settings: StorageRootSettings) -> tuple[float, str] | None:
    for record in _planned(settings):
        seconds = sum(each.duration_seconds for each in record.phases if each.phase is Phase.PLAN)
        if record.engine == "local" and seconds > 0:
            return record.objects_listed / seconds, f"run {record.run_id}"
    return None


def _first_size(settings: StorageRootSettings, choice: EngineChoice) -> KnownSize:
    found = estimated_objects(open_storage(settings.location), choice.threshold or _COUNTED)
    return KnownSize(found.objects, "first pages of the listing", is_exact=found.is_exact)
