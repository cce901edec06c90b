"""Prometheus metrics, computed from records at each scrape, so that no counter decreases.

Every possible series exists from the start with 0: a rate needs a sample before the first event. No
label holds a key or a job id, whose number has no bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate, product

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.config.schedule import longest_gap
from orphangc.core.documents.run_record import (
    DURATION_BUCKETS_SECONDS,
    Phase,
    RunRecord,
    RunResult,
    Totals,
    totals_after,
    totals_merged,
)
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import Action, Outcome, Reason, Scope

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

    @property
    def blocked_jobs(self) -> int:
        """Return the number of jobs that the newest plan could delete nothing of."""
        plan = self.newest_plan
        return 0 if plan is None or plan.blocked is None else plan.blocked.jobs

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
        self._roots: dict[str, ScheduledRoot] = {}
        self._intervals: dict[str, float] = {}
        self._known: dict[str, _Known] = {}
        for each in roots:
            self.add_root(each)
        self._version = version
        self._is_pushed = is_pushed
        self.registry.register(self)

    def add_root(self, settings: ScheduledRoot) -> None:
        """Start the series of one more storage root with zeros."""
        gap = settings.schedule and longest_gap(settings.schedule).total_seconds()
        self._intervals = {**self._intervals, settings.root: gap or 0.0}
        self._roots = {**self._roots, settings.root: settings}
        self._known = {**self._known, settings.root: _Known()}

    def restore(self, root: str, record: RunRecord) -> None:
        """Restore the totals and findings of an earlier run."""
        known = self._known[root]
        self._known[root] = known.after(record, totals_merged(known.totals, record.totals))

    def observe(self, record: RunRecord) -> None:
        """Add one run."""
        known = self._known[record.root]
        is_on_file = bool(record.totals.runs) and record.result is not RunResult.LOCKED
        if is_on_file:  # its totals include runs of other processes
            totals = totals_merged(known.totals, record.totals)
        else:
            totals = totals_after(known.totals, record)
        self._known[record.root] = known.after(record, totals)

    def describe(self) -> Iterable[Metric]:
        """Return the metric families, for the registry's check of names."""
        return self.collect()

    def collect(self) -> Iterator[Metric]:
        """Yield every family with its samples."""
        yield from self._counters()
        yield self._durations()
        yield self._successes()
        yield from self._stored()
        yield from self._findings()
        yield from self._expiry()
        yield from self._settings()

    def _totals(self) -> Iterator[tuple[str, Totals]]:
        for root, known in list(self._known.items()):
            yield root, known.totals

    def _counters(self) -> Iterator[Metric]:
        runs = _counter(
            "runs",
            "Runs by phase and how the phase ended; only done is a success.",
            "phase",
            "result",
        )
        objects = _counter(
            "swept_objects",
            "Objects that runs acted upon, and what became of them.",
            "action",
            "outcome",
        )
        swept_bytes = _counter(
            "swept_bytes", "Bytes of the objects that runs acted upon.", "action", "outcome"
        )
        uploads = _counter(
            "aborted_uploads",
            "Unfinished uploads that were due to be aborted, and what became of them.",
            "outcome",
        )
        refusals = _counter(
            "refusals",
            "Jobs that a guard refused, or an unmet condition kept from deletion, in each run.",
            "guard",
        )
        requests = _counter("list_requests", "List requests of all plans.")
        for root, totals in self._totals():
            _fill(runs, root, product(Phase, RunResult), totals.runs)
            _fill(objects, root, product(_SWEPT, Outcome), totals.swept_objects)
            _fill(swept_bytes, root, product(_SWEPT, Outcome), totals.swept_bytes)
            _fill(uploads, root, ((each,) for each in Outcome), totals.aborted_uploads)
            _fill(refusals, root, ((rule,) for rule in _RULES), totals.refusals)
            requests.add_metric((root,), totals.list_requests)
        yield from (runs, objects, swept_bytes, uploads, refusals, requests)

    def _durations(self) -> Metric:
        family = HistogramMetricFamily(
            "orphangc_run_duration_seconds",
            "How long the phases of runs took.",
            labels=("root", "phase"),
        )
        edges = (*map(str, DURATION_BUCKETS_SECONDS), "inf")
        for (root, totals), phase in product(self._totals(), Phase):
            counts = accumulate(totals.durations.get(f"{phase}/{edge}", 0) for edge in edges)
            buckets = [(str(float(edge)), n) for edge, n in zip(edges, counts, strict=True)]
            buckets[-1] = ("+Inf", buckets[-1][1])
            family.add_metric((root, phase), buckets, totals.duration_seconds.get(phase, 0.0))
        return family

    def _successes(self) -> Metric:
        family = _gauge(
            "last_success_timestamp_seconds", "When a phase was last done; 0: never.", "phase"
        )
        for (root, totals), phase in product(self._totals(), Phase):
            at = totals.last_success_at.get(phase)
            family.add_metric((root, phase), 0.0 if at is None else at.timestamp())
        return family

    def _findings(self) -> Iterator[Metric]:
        missing = _gauge("missing_objects", "Objects that checkpoints refer to and that are gone.")
        held = _gauge(
            "held_back_objects", "Objects that the jobs' oldest checkpoints alone hold back."
        )
        held_bytes = _gauge("held_back_bytes", "Bytes of the objects that are held back.")
        age = _gauge(
            "registry_age_seconds",
            "Age of the oldest of the jobs' newest registry snapshots, when the plan was made.",
        )
        tombstone = _gauge(
            "oldest_tombstone_timestamp_seconds", "Since when the oldest tombstone stands; 0: none."
        )
        halted = _gauge("halted", "Whether all collection is stopped until a person has looked.")
        refused = _gauge(
            "refused_jobs",
            "Jobs that the newest run saw refused by a guard, or kept by an unmet condition.",
            "guard",
        )
        blocked = _gauge(
            "run_blocked_jobs",
            "Jobs, refused or blocked, of which the newest run could delete nothing.",
        )
        sustained = _gauge(
            "self_sustained_jobs",
            "Jobs of the newest plan by whether they need nothing of what they were restored from.",
            "answer",
        )
        for root, known in self._known_roots():
            plan = known.newest_plan
            _fill(sustained, root, ((word,) for word in _ANSWERS.values()), _answers(plan))
            missing.add_metric((root,), 0 if plan is None else plan.missing_objects)
            held.add_metric((root,), 0 if plan is None else plan.held_back_objects)
            held_bytes.add_metric((root,), 0 if plan is None else plan.held_back_bytes)
            seconds = None if plan is None else plan.registry_age_seconds
            age.add_metric((root,), seconds or 0.0)
            tombstone.add_metric((root,), known.oldest_tombstone)
            halted.add_metric((root,), known.is_halted)
            blocked.add_metric((root,), known.blocked_jobs)
            _fill(refused, root, ((rule,) for rule in _RULES), known.refusals)
        yield from (missing, held, held_bytes, age, tombstone, halted, blocked, refused, sustained)

    def _expiry(self) -> Iterator[Metric]:
        unneeded = _gauge(
            "unneeded_bytes",
            "Bytes that only checkpoints hold which nothing living needs; 0 without `expire`.",
        )
        quarantined = _gauge(
            "quarantined_checkpoints", "Checkpoints whose `_metadata` is in quarantine."
        )
        in_use = _gauge(
            "quarantined_checkpoints_in_use",
            "Those of them that something names or was restored from: a person must look.",
        )
        for root, known in self._known_roots():
            expiry = None if known.newest_plan is None else known.newest_plan.expiry
            unneeded.add_metric((root,), 0 if expiry is None else expiry.unneeded_bytes)
            quarantined.add_metric((root,), 0 if expiry is None else expiry.in_quarantine)
            in_use.add_metric((root,), 0 if expiry is None else expiry.in_use)
        yield from (unneeded, quarantined, in_use)

    def _known_roots(self) -> Iterator[tuple[str, _Known]]:
        for root, known in list(self._known.items()):
            if known.newest_plan is not None or not self._is_pushed:
                yield root, known

    def _stored(self) -> Iterator[Metric]:
        objects = _gauge(
            "stored_objects", "Objects of the newest plan by its reason.", "scope", "reason"
        )
        sizes = _gauge("stored_bytes", "Bytes of the newest plan by its reason.", "scope", "reason")
        for root, known in self._known_roots():
            sums: dict[str, tuple[int, int]] = {}
            for each in () if known.newest_plan is None else known.newest_plan.amounts:
                key = f"{each.scope}/{each.reason}"
                before = sums.get(key, (0, 0))
                sums[key] = (before[0] + each.objects, before[1] + each.bytes)
            kinds = list(product(Scope, Reason))
            _fill(objects, root, kinds, {key: each[0] for key, each in sums.items()})
            _fill(sizes, root, kinds, {key: each[1] for key, each in sums.items()})
        yield from (objects, sizes)

    def _settings(self) -> Iterator[Metric]:
        grace = _gauge("grace_period_seconds", "Age below which nothing is an orphan.")
        interval = _gauge(
            "run_interval_seconds", "Longest time between two runs that the schedule asks for."
        )
        for root, settings in self._roots.items():
            grace.add_metric((root,), settings.grace_period.total_seconds())
            interval.add_metric((root,), self._intervals[root])
        build = GaugeMetricFamily(
            "orphangc_build_info", "The version that runs.", labels=("version",)
        )
        build.add_metric((self._version,), 1)
        yield from (grace, interval, build)


def _answers(plan: RunRecord | None) -> Mapping[str, int]:
    jobs = () if plan is None else plan.jobs
    return Counter(_ANSWERS[job.state_self_sustained] for job in jobs if job.job_id)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"orphangc_{name}", text, labels=("root", *labels))


def _counter(name: str, text: str, *labels: str) -> CounterMetricFamily:
    return CounterMetricFamily(f"orphangc_{name}", text, labels=("root", *labels))


def _fill(
    family: CounterMetricFamily | GaugeMetricFamily,
    root: str,
    kinds: Iterable[Sequence[str]],
    values: Mapping[str, int],
) -> None:
    """Add a sample for each kind; uncounted kinds are 0."""
    for kind in kinds:
        family.add_metric((root, *map(str, kind)), values.get("/".join(kind), 0))
