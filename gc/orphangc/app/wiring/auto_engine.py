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
from orphangc.app.wiring.engine_choice import EngineChoice, KnownSize
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.state.history import newest_records
from orphangc.core.documents.run_record import Phase, RunRecord
from orphangc.core.model.settings import StorageRootSettings

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


def settled(
    choice: EngineChoice, settings: StorageRootSettings, size: KnownSize | None = None
) -> EngineChoice:
    """Return the choice with ``auto`` decided, and why, or raise ``StorageUnreachableError``."""
    if not choice.is_auto:
        return choice
    is_spark = False
    if choice.work is None or not any(map(os.environ.get, _CLUSTERS)):
        reason = "no cluster is configured (SPARK_MASTER or SPARK_REMOTE, and --work)"
    elif not find_spec("pyspark"):
        reason = "PySpark is not installed"
    else:
        is_spark, reason = _weighed(choice, settings, size or _size(choice, settings))
    log.info("engine.chosen", engine="spark" if is_spark else "local", reason=reason)
    work = choice.work if is_spark else None
    return EngineChoice(is_spark=is_spark, work=work, reason=reason)


def _weighed(
    choice: EngineChoice, settings: StorageRootSettings, size: KnownSize
) -> tuple[bool, str]:
    """Return whether Spark is needed, from a threshold on or if one process is late, and why."""
    if choice.threshold is not None:
        is_spark = size.objects >= choice.threshold
        word = "at least" if is_spark else "fewer than"
        return is_spark, f"{size}: {word} --spark-threshold {choice.threshold:,}"
    from orphangc.app.config.schedule import DEFAULT_SCHEDULE, shortest_gap  # noqa: PLC0415 - loads the scheduler

    between = shortest_gap(choice.schedule or DEFAULT_SCHEDULE).total_seconds()
    per_second, source = _last_rate(settings) or (USUAL_PER_SECOND, "usual")
    needed = size.objects / per_second
    is_spark = needed > between * _SHARE
    word = "longer than" if is_spark else "within"
    return is_spark, (
        f"{size}: one process plans {per_second:,.0f} a second ({source}) and needs"
        f" {needed:,.0f} s, {word} half of the {between:,.0f} s between two runs"
    )


def _size(choice: EngineChoice, settings: StorageRootSettings) -> KnownSize:
    for newest in _planned(settings):
        return KnownSize(newest.objects_listed, f"run {newest.run_id}")
    found = estimated_objects(open_storage(settings.location), choice.threshold or _COUNTED)
    return KnownSize(found.objects, "first pages of the listing", is_exact=found.is_exact)


def _planned(settings: StorageRootSettings) -> Iterable[RunRecord]:
    return (each for each in newest_records(state_of(settings)) if each.objects_listed)


def _last_rate(settings: StorageRootSettings) -> tuple[float, str] | None:
    for record in _planned(settings):
        seconds = sum(each.duration_seconds for each in record.phases if each.phase is Phase.PLAN)
        if record.engine == "local" and seconds > 0:
            return record.objects_listed / seconds, f"run {record.run_id}"
    return None
