"""Open the chosen engine; Spark needs a session and a folder that executors can reach."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.rows.temporary_folder import TemporaryFolder
from orphangc.adapters.spark.session import is_on_this_machine, opened_session
from orphangc.adapters.spark.spark_engine import SparkEngine
from orphangc.adapters.spark.work_folder import WorkFolder, remove_left_behind
from orphangc.errors import SettingsError

_NEEDS_WORK = (
    "engine spark on a cluster needs --work URI: a folder that all executors see,"
    " below which it keeps its files while it runs"
)


@contextmanager
def opened_spark_engine(root: Location, work: Location | None) -> Iterator[SparkEngine]:
    """Yield the Spark engine of a storage root; its files are removed when it is closed.

    Args:
        root: The storage root; executors reach it with credentials of their environment.
        work: Folder for files during the run; ``None``: on this machine, if its executors run here.

    Raises:
        SettingsError: PySpark or Java is missing, Spark cannot be reached, or its executors cannot
            reach ``work``.
    """
    is_verbose = structlog.get_logger().is_enabled_for(logging.DEBUG)
    with (
        TemporaryFolder() as here,
        opened_session(is_verbose=is_verbose) as session,
    ):
        if work is None and not is_on_this_machine(session):
            raise SettingsError(_NEEDS_WORK)
        place = canonical(here) if work is None else work.child(f"orphangc-{uuid.uuid4().hex}")
        folder = WorkFolder(place)
        engine = SparkEngine(session, folder, root)
        try:
            engine.prepare()
            if work is not None:
                remove_left_behind(folder)
            yield engine
        finally:
            engine.close()
