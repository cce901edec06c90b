"""``--engine auto``: Spark for a large storage root if a cluster is configured, else this process.

The size is that of the last run, or is estimated from the first pages of the listing. It is asked
only if a cluster is configured.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from itertools import islice

import structlog

from orphangc.adapters.open import open_storage
from orphangc.app.wiring.compose import state_of
from orphangc.app.wiring.engine_choice import EngineChoice, KnownSize, chosen_by_size
from orphangc.collect.listing.first_pages import estimated_objects
from orphangc.collect.state.history import newest_records
from orphangc.core.model.settings import StorageRootSettings

_CLUSTERS = ("SPARK_REMOTE", "SPARK_MASTER", "PYSPARK_GATEWAY_PORT")
"""Environment variables that name a cluster; the last one is set by ``spark-submit``."""
_RECORDS_READ = 5

log = structlog.get_logger()


def settled(
    choice: EngineChoice, settings: StorageRootSettings, size: KnownSize | None = None
) -> EngineChoice:
    """Return the choice with ``auto`` decided, and why.

    Raises:
        StorageUnreachableError: The state location or the storage root cannot be read.
    """
    if choice.threshold is None:
        return choice
    lacking = _lacking(choice)
    if lacking:
        made = EngineChoice(reason=lacking)
    else:
        made = chosen_by_size(choice, size or _last_size(settings) or _first_size(settings, choice))
    engine = "spark" if made.is_spark else "local"
    log.info("engine.chosen", engine=engine, reason=made.reason)
    return made


def _lacking(choice: EngineChoice) -> str:
    """Return why Spark cannot be chosen, "" if it can."""
    if choice.work is None or not any(os.environ.get(name) for name in _CLUSTERS):
        return "no cluster is configured (SPARK_MASTER or SPARK_REMOTE, and --work)"
    return "" if find_spec("pyspark") else "PySpark is not installed"


def _last_size(settings: StorageRootSettings) -> KnownSize | None:
    for record in islice(newest_records(state_of(settings)), _RECORDS_READ):
        if record.objects_listed:
            return KnownSize(record.objects_listed, f"run {record.run_id}")
    return None


def _first_size(settings: StorageRootSettings, choice: EngineChoice) -> KnownSize:
    assert choice.threshold is not None  # noqa: S101 - asked by the caller
    found = estimated_objects(open_storage(settings.root), choice.threshold)
    return KnownSize(found.objects, "first pages of the listing", is_exact=found.is_exact)
