"""Prometheus metrics, computed from records at each scrape or push, so that no counter decreases.

Every possible series exists from the start with 0: a rate needs a sample before the first event. No
label holds a key or a job id, whose number has no bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import accumulate, product
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import structlog
from prometheus_client import CollectorRegistry, pushadd_to_gateway, write_to_textfile
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import basic_auth_handler, default_handler
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from flinkstate.text.redaction import redacted
from orphangc import __version__
from orphangc.app.config.configuration import Configuration, MetricsSettings, ScheduledRoot
from orphangc.app.config.schedule import longest_gap
from orphangc.core.documents.run_record import (
    DURATION_BUCKETS_SECONDS,
    Phase,
    RunRecord,
    RunResult,
    Totals,
    totals_after,
)
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.joined_facts import joined
from orphangc.core.model.settings import without_credentials
from orphangc.core.model.types import Action, Outcome, Reason, Scope
from orphangc.errors import OrphanGcError

_SWEPT = (Action.TOMBSTONE, Action.REVIVE, Action.DELETE)
_RULES = tuple(sorted({*map(str, Guard), *map(str, Condition)}))

_ANSWERS = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Metrics of one storage root; replaced as a whole, because other threads read it."""

    totals: Totals = field(default_factory=Totals)
    begun_at: datetime | None = None
    newest_plan: RunRecord | None = None
    oldest_tombstone: float = 0.0
    is_halted: bool = False
    refusals: Mapping[str, int] = field(default_factory=dict)

    def after(self, record: RunRecord, totals: Totals) -> _Known:
        """Return the metrics after one more run; of an older run the totals alone count."""
        if self.begun_at is not None and record.started_at < self.begun_at:
            return replace(self, totals=totals)
        oldest, is_halted = self.oldest_tombstone, self.is_halted
        if record.tombstones is not None:
            oldest_at = record.tombstones.oldest_at
            oldest = 0.0 if oldest_at is None else oldest_at.timestamp()
            is_halted = record.halted is not None
        plan = self.newest_plan if record.plan_id is None else record
        # a run without a plan knows nothing about the jobs, unless a rule stopped it
        has_looked = record.plan_id is not None or bool(record.refusals)
        return _Known(
            totals=totals,
            begun_at=record.started_at,
            newest_plan=plan,
            oldest_tombstone=oldest,
            is_halted=is_halted,
            refusals=record.refusals if has_looked else self.refusals,
        )


_Samples = Callable[[Any], Mapping[tuple[str, ...], float]]
"""Returns the samples of one storage root by the values of their labels."""


def _filled(kinds: Iterable[tuple[str, ...]], values: Mapping[str, int]) -> dict[Any, float]:
    """Return a sample for each kind; uncounted kinds are 0."""
    return {kind: values.get("/".join(kind), 0) for kind in kinds}


def _of_plan(name: str) -> _Samples:
    return lambda known: {(): getattr(known.newest_plan, name, None) or 0.0}


def _of_expiry(name: str) -> _Samples:
    return lambda known: {(): getattr(getattr(known.newest_plan, "expiry", None), name, 0)}


def _stored(name: str) -> _Samples:
    def samples(known: _Known) -> Mapping[tuple[str, ...], float]:
        sums: Counter[str] = Counter()
        for each in () if known.newest_plan is None else known.newest_plan.amounts:
            sums[f"{each.scope}/{each.reason}"] += getattr(each, name)
        return _filled(product(Scope, Reason), sums)

    return samples


def _answers(known: _Known) -> Mapping[tuple[str, ...], float]:
    jobs = () if known.newest_plan is None else known.newest_plan.jobs
    counts = Counter(_ANSWERS[job.state_self_sustained] for job in jobs if job.job_id)
    return _filled(zip(_ANSWERS.values(), strict=True), counts)


def _successes(totals: Totals) -> Mapping[tuple[str, ...], float]:
    found = {phase: totals.last_success_at.get(phase) for phase in Phase}
    return {(phase,): 0.0 if at is None else at.timestamp() for phase, at in found.items()}


class _Metric(NamedTuple):
    """One metric of a storage root.

    Attributes:
        text: What it counts, for the page and for Prometheus.
        labels: Names of its labels beside ``root``; each has few values, and never a key.
    """

    text: str
    samples: _Samples
    labels: tuple[str, ...] = ()


_COUNTERS: Mapping[str, _Metric] = {
    "runs": _Metric(
        "Runs by phase and how the phase ended; only done is a success.",
        lambda totals: _filled(product(Phase, RunResult), totals.runs),
        ("phase", "result"),
    ),
    "swept_objects": _Metric(
        "Objects that runs acted upon, and what became of them.",
        lambda totals: _filled(product(_SWEPT, Outcome), totals.swept_objects),
        ("action", "outcome"),
    ),
    "swept_bytes": _Metric(
        "Bytes of the objects that runs acted upon.",
        lambda totals: _filled(product(_SWEPT, Outcome), totals.swept_bytes),
        ("action", "outcome"),
    ),
    "aborted_uploads": _Metric(
        "Unfinished uploads that were due to be aborted, and what became of them.",
        lambda totals: _filled(zip(Outcome, strict=True), totals.aborted_uploads),
        ("outcome",),
    ),
    "refusals": _Metric(
        "Jobs that a guard refused, or an unmet condition kept from deletion, in each run.",
        lambda totals: _filled(zip(_RULES, strict=True), totals.refusals),
        ("guard",),
    ),
    "list_requests": _Metric(
        "List requests of all plans.", lambda totals: {(): totals.list_requests}
    ),
}
_SUCCESSES: Mapping[str, _Metric] = {
    "last_success_timestamp_seconds": _Metric(
        "When a phase was last done; 0: never.", _successes, ("phase",)
    )
}
_FINDINGS: Mapping[str, _Metric] = {
    "stored_objects": _Metric(
        "Objects of the newest plan by its reason.", _stored("objects"), ("scope", "reason")
    ),
    "stored_bytes": _Metric(
        "Bytes of the newest plan by its reason.", _stored("bytes"), ("scope", "reason")
    ),
    "missing_objects": _Metric(
        "Objects that checkpoints refer to and that are gone.", _of_plan("missing_objects")
    ),
    "held_back_objects": _Metric(
        "Objects that the jobs' oldest checkpoints alone hold back.", _of_plan("held_back_objects")
    ),
    "held_back_bytes": _Metric(
        "Bytes of the objects that are held back.", _of_plan("held_back_bytes")
    ),
    "registry_age_seconds": _Metric(
        "Age of the oldest of the jobs' newest registry snapshots, when the plan was made.",
        _of_plan("registry_age_seconds"),
    ),
    "oldest_tombstone_timestamp_seconds": _Metric(
        "Since when the oldest tombstone stands; 0: none.",
        lambda known: {(): known.oldest_tombstone},
    ),
    "halted": _Metric(
        "Whether all collection is stopped until a person has looked.",
        lambda known: {(): known.is_halted},
    ),
    "run_blocked_jobs": _Metric(
        "Jobs, refused or blocked, of which the newest run could delete nothing.",
        lambda known: {(): getattr(getattr(known.newest_plan, "blocked", None), "jobs", 0)},
    ),
    "refused_jobs": _Metric(
        "Jobs that the newest run saw refused by a guard, or kept by an unmet condition.",
        lambda known: _filled(zip(_RULES, strict=True), known.refusals),
        ("guard",),
    ),
    "self_sustained_jobs": _Metric(
        "Jobs of the newest plan by whether they need nothing of what they were restored from.",
        _answers,
        ("answer",),
    ),
    "unneeded_bytes": _Metric(
        "Bytes that only checkpoints hold which nothing living needs; 0 without `expire`.",
        _of_expiry("unneeded_bytes"),
    ),
    "quarantined_checkpoints": _Metric(
        "Checkpoints whose `_metadata` is in quarantine.", _of_expiry("in_quarantine")
    ),
    "quarantined_checkpoints_in_use": _Metric(
        "Those of them that something names or was restored from: a person must look.",
        _of_expiry("in_use"),
    ),
}
_SETTINGS: Mapping[str, _Metric] = {
    "grace_period_seconds": _Metric(
        "Age below which nothing is an orphan.", lambda spans: {(): spans[0]}
    ),
    "run_interval_seconds": _Metric(
        "Longest time between two runs that the schedule asks for.", lambda spans: {(): spans[1]}
    ),
}


class Metrics(Collector):
    """The metrics of some storage roots."""

    def __init__(
        self, roots: Sequence[ScheduledRoot], version: str, *, is_pushed: bool = False
    ) -> None:
        """Start with zeros.

        Args:
            is_pushed: Whether metrics that no run has set are left out: pushed zeros would replace
                the values of an earlier run.
        """
        self.registry = CollectorRegistry()
        self._spans: dict[str, tuple[float, float]] = {}
        self._known: dict[str, _Known] = {}
        for each in roots:
            self.add_root(each)
        self._version = version
        self._is_pushed = is_pushed
        self.registry.register(self)

    def add_root(self, settings: ScheduledRoot) -> None:
        """Start the series of one more storage root with zeros."""
        gap = settings.schedule and longest_gap(settings.schedule).total_seconds()
        grace = settings.grace_period.total_seconds()
        self._spans = {**self._spans, settings.root: (grace, gap or 0.0)}
        self._known = {**self._known, settings.root: _Known()}

    def restore(self, root: str, record: RunRecord) -> None:
        """Restore the totals and findings of an earlier run."""
        known = self._known[root]
        self._known[root] = known.after(record, joined(known.totals, record.totals))

    def observe(self, record: RunRecord) -> None:
        """Add one run."""
        known = self._known[record.root]
        is_on_file = bool(record.totals.runs) and record.result is not RunResult.LOCKED
        if is_on_file:  # its totals include runs of other processes
            totals = joined(known.totals, record.totals)
        else:
            totals = totals_after(known.totals, record)
        self._known[record.root] = known.after(record, totals)

    def describe(self) -> Iterable[Metric]:
        """Return the metric families, for the registry's check of names."""
        return self.collect()

    def collect(self) -> Iterator[Metric]:
        """Yield every family with its samples."""
        known = list(self._known.items())
        totals = [(root, each.totals) for root, each in known]
        found = [(root, e) for root, e in known if e.newest_plan is not None or not self._is_pushed]
        yield from _families(CounterMetricFamily, _COUNTERS, totals)
        yield _durations(totals)
        yield from _families(GaugeMetricFamily, _SUCCESSES, totals)
        yield from _families(GaugeMetricFamily, _FINDINGS, found)
        yield from _families(GaugeMetricFamily, _SETTINGS, self._spans.items())
        build = GaugeMetricFamily(
            "orphangc_build_info", "The version that runs.", labels=("version",)
        )
        build.add_metric((self._version,), 1)
        yield build


def _families(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    table: Mapping[str, _Metric],
    roots: Iterable[tuple[str, Any]],
) -> Iterator[Metric]:
    every = list(roots)
    for name, metric in table.items():
        family = kind(f"orphangc_{name}", metric.text, labels=("root", *metric.labels))
        for root, known in every:
            for label, value in metric.samples(known).items():
                family.add_metric((root, *map(str, label)), value)
        yield family


def _durations(found: Iterable[tuple[str, Totals]]) -> Metric:
    family = HistogramMetricFamily(
        "orphangc_run_duration_seconds",
        "How long the phases of runs took.",
        labels=("root", "phase"),
    )
    edges = (*map(str, DURATION_BUCKETS_SECONDS), "inf")
    for (root, totals), phase in product(found, Phase):
        counts = accumulate(totals.durations.get(f"{phase}/{edge}", 0) for edge in edges)
        buckets = [(str(float(edge)), n) for edge, n in zip(edges, counts, strict=True)]
        buckets[-1] = ("+Inf", buckets[-1][1])
        family.add_metric((root, phase), buckets, totals.duration_seconds.get(phase, 0.0))
    return family


log = structlog.get_logger()

_TIMEOUT_SECONDS = 10.0
NewestRecords = Callable[[ScheduledRoot], Iterable[RunRecord]]
"""Returns the records of a storage root, newest first, or raises ``OrphanGcError``."""


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


def write_textfile(
    configuration: Configuration, records: Sequence[RunRecord], newest: NewestRecords
) -> None:
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
        before = _before(root, newest) if record is None or record.plan_id is None else []
        for each in [*before, *([] if record is None else [record])]:
            metrics.restore(root.root, each)
    _tried("metrics.not_written", lambda: write_to_textfile(str(path), metrics.registry))


def _before(root: ScheduledRoot, newest: NewestRecords) -> list[RunRecord]:
    found: list[RunRecord] = []
    try:
        for record in newest(root):
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
