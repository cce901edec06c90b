"""Targets for the metrics of a finished run: a Pushgateway, or a file for the node exporter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import unquote, urlsplit

import structlog
from prometheus_client import CollectorRegistry, pushadd_to_gateway, write_to_textfile
from prometheus_client.exposition import basic_auth_handler, default_handler

from flinkstate.text.redaction import redacted
from orphangc import __version__
from orphangc.app.config.configuration import Configuration, MetricsSettings, ScheduledRoot
from orphangc.app.telemetry.metrics import Metrics
from orphangc.app.wiring.compose import state_of
from orphangc.collect.state.history import newest_records
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.model.settings import without_credentials
from orphangc.errors import OrphanGcError

log = structlog.get_logger()

_TIMEOUT_SECONDS = 10.0


def push(settings: MetricsSettings, root: ScheduledRoot, record: RunRecord) -> None:
    """Push the metrics of a run; a failure never fails the run.

    The group is job and root, so storage roots do not replace each other; ``pushadd`` keeps the
    metrics that this run does not set. Without totals (the state could not be read) no metric is
    pushed: counters would go back to zero.
    """
    if settings.pushgateway is None:
        return
    if not record.totals.runs:
        log.warning("metrics.not_pushed", reason="the totals of the runs before are not known")
        return
    metrics = Metrics([root], __version__, is_pushed=True)
    metrics.restore(root.root, record)
    _tried("metrics.not_pushed", partial(_push, settings, metrics.registry, record.root))


def _push(settings: MetricsSettings, registry: CollectorRegistry, root: str) -> None:
    url = settings.pushgateway or ""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    authenticated = partial(basic_auth_handler, username=user, password=password)
    pushadd_to_gateway(
        without_credentials(url),
        job=settings.push_job,
        registry=registry,
        grouping_key={"root": root},
        timeout=_TIMEOUT_SECONDS,
        handler=authenticated if user else default_handler,
    )


def write_textfile(configuration: Configuration, records: Sequence[RunRecord]) -> None:
    """Write the metrics of all storage roots to the configured file; never fails the run.

    The metrics of storage roots that did not run come from their records, as the file is replaced
    as a whole.
    """
    path = configuration.metrics.textfile
    if path is None:
        return
    metrics = Metrics(configuration.storage_roots, __version__)
    ran = {record.root: record for record in records}
    for root in configuration.storage_roots:
        record = ran.get(root.root)
        before = _before(root) if record is None or record.plan_id is None else []
        for each in [*before, *([] if record is None else [record])]:
            metrics.restore(root.root, each)
    _tried("metrics.not_written", lambda: write_to_textfile(str(path), metrics.registry))


def _before(root: ScheduledRoot) -> list[RunRecord]:
    found: list[RunRecord] = []
    try:
        for record in newest_records(state_of(root)):
            if not found or record.plan_id is not None:
                found.insert(0, record)
            if record.plan_id is not None:
                break
    except OrphanGcError as err:
        log.warning("state.unread", root=root.root, reason=str(err))
    return found


def _tried(event: str, work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as err:  # noqa: BLE001 - metrics never fail a run
        log.warning(event, reason=redacted(str(err)))
