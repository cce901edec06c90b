"""One complete cycle: observe, mark, survey, judge, decide. It changes nothing anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa

from orphangc import __version__
from orphangc.core.bounds import NEVER, Bound, BoundName, JobBounds, job_bounds
from orphangc.core.conditions import Condition
from orphangc.core.decide import decide
from orphangc.core.evidence import CycleEvidence, JobEvidence, JobState, mode_of
from orphangc.core.guards import Guard
from orphangc.core.judge import Blocked, Judgement, judge_all
from orphangc.core.model import (
    Action,
    Mode,
    ObjectKey,
    Reason,
    Scope,
    StoredObject,
    Tombstone,
    Verdict,
)
from orphangc.core.names import Artifact, recognise
from orphangc.core.plan import (
    BoundsPart,
    Plan,
    ReportedPart,
    evidence_of,
    job_part,
    root_part,
    tallies_of,
)
from orphangc.core.settings import StorageRootSettings
from orphangc.core.snapshot import oldest_retained
from orphangc.core.uris import Location, canonical
from orphangc.errors import RefusedError
from orphangc.ports import VERDICT_SCHEMA, VerdictSink
from orphangc.runs.mark import Mark, cycle_evidence, mark, with_surveys
from orphangc.runs.observe import Observation, Outside, observe
from orphangc.runs.roots import RootReader
from orphangc.runs.rows import Row, instant, rows
from orphangc.runs.survey import Surveyed, survey

__all__ = ["Cycle", "JobView", "run_cycle"]

_REMOVAL = (Action.TOMBSTONE, Action.DELETE)


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as it was judged."""

    evidence: JobEvidence
    judgement: Judgement
    bounds: JobBounds


@dataclass(slots=True)
class Cycle:
    """What one cycle found.

    Attributes:
        plan: Unsigned: the verdict files are not in it yet.
        views: By job key, collected jobs only.
        mark: What is live.
        evidence: What concerns all jobs.

    """

    plan: Plan
    views: Mapping[str, JobView]
    mark: Mark
    evidence: CycleEvidence


def run_cycle(
    outside: Outside,
    settings: StorageRootSettings,
    *,
    reader: RootReader,
    tombstones: Mapping[ObjectKey, Tombstone],
    halted: str | None,
    sink: VerdictSink,
) -> Cycle:
    """Return the outcome of one cycle; every object's verdict goes to the sink.

    Raises:
        StorageUnreachableError: The storage root could not be listed completely.
        RefusedError: No job directory is there at all: an empty listing is never taken for an
            empty storage.

    """
    seen = observe(outside, settings, reader)
    bases = [base.location for base in outside.bases]
    marked = mark(seen, settings, bases)
    surveyed = survey(outside.spool, bases[0], marked, outside.extra)
    if not surveyed.jobs:
        raise RefusedError(
            f"no job directory below {bases[0]} ({surveyed.objects} objects listed);"
            " is this the storage root? Nothing was planned"
        )
    evidence = cycle_evidence(
        seen, settings, is_tested_storage=outside.storage.is_tested, halted=halted
    )
    jobs = with_surveys(marked.jobs, surveyed.jobs)
    judged = judge_all(list(jobs.values()), evidence)
    views = {
        key: JobView(job, judged[key], _bounds_of(job, judged[key], evidence))
        for key, job in jobs.items()
    }
    counts = _decide_all(outside, settings, marked, views, evidence, tombstones, sink)
    views = _with_limits(views, counts, settings)
    plan = _plan(outside, settings, seen, surveyed, marked, views, evidence, counts)
    return Cycle(
        plan, {k: v for k, v in views.items() if v.evidence.is_collected}, marked, evidence
    )


def _bounds_of(job: JobEvidence, judgement: Judgement, cycle: CycleEvidence) -> JobBounds:
    """Return what the objects of one job are compared with."""
    is_ended = job.state is JobState.ENDED
    newest = [root.modified_at or NEVER for root in job.own_roots]
    return JobBounds(
        is_void=judgement.refused is not None,
        is_ended=is_ended,
        bounds=job_bounds(
            cycle.now,
            cycle.margins,
            is_ended=is_ended,
            own_root_times=[root.modified_at for root in job.own_roots],
            registry_times=_registry_times(job),
        ),
        oldest_retained_checkpoint_id=_oldest_retained(job),
        checkpoint_id_margin=cycle.margins.checkpoint_id_margin,
        quarantine_start=cycle.now - cycle.margins.quarantine_period,
        newest_completed_at=None if is_ended else max(newest, default=NEVER),
    )


def _oldest_retained(job: JobEvidence) -> int | None:
    """Return the least id that any root or snapshot of the job retains."""
    ids = [*job.retained_ids[:1]]
    ids += [o for each in job.snapshots if (o := oldest_retained(each)) is not None]
    return min(ids, default=None)


def _registry_times(job: JobEvidence) -> list[Bound]:
    """Return R16's bounds: the first snapshot, and ids that were issued and not yet retained."""
    if mode_of(job) is Mode.DERIVED:
        return []
    exported = [each for each in job.snapshots if each.source is Mode.REGISTRY]
    bounds = [Bound(BoundName.FIRST_SNAPSHOT, exported[0].taken_at)]
    oldest = oldest_retained(exported[0])
    issued = [i.at for each in exported for i in each.issued if oldest is None or i.id > oldest]
    if issued:
        bounds.append(Bound(BoundName.OLDEST_ISSUED, min(issued)))
    return bounds


# --- deciding -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Counts:
    """What the verdicts add up to."""

    objects: Counter[tuple[Scope, Action, Reason]] = field(default_factory=Counter)
    bytes: Counter[tuple[Scope, Action, Reason]] = field(default_factory=Counter)
    removals: Counter[str] = field(default_factory=Counter)
    deletions: int = 0
    revived: list[str] = field(default_factory=list)
    reported: dict[tuple[Scope, str], _Reported] = field(default_factory=dict)


@dataclass(slots=True)
class _Reported:
    objects: int = 0
    size: int = 0
    unreferenced_objects: int = 0
    unreferenced_size: int = 0
    oldest_us: int | None = None


@dataclass(frozen=True, slots=True)
class _Owner:
    """Whose a folder's objects are, and what they are compared with."""

    key: str
    job_id: str
    bounds: JobBounds


@dataclass(slots=True)
class _Deciding:
    base: Location
    views: Mapping[str, JobView]
    marked: Mark
    tombstones: Mapping[ObjectKey, Tombstone]
    nobody: _Owner
    owners: dict[str | None, _Owner] = field(default_factory=dict)

    def owner(self, row: Row) -> _Owner:
        directory = row.place.job_directory
        if directory not in self.owners:
            self.owners[directory] = self._find(directory, row.place.job_id)
        return self.owners[directory]

    def _find(self, directory: str | None, job_id: str) -> _Owner:
        if directory is None:
            return self.nobody
        place = self.base.child(directory) if directory else self.base
        key = self.marked.owners.get(place) or job_id or str(place)
        view = self.views.get(key)
        if view is None:
            return self.nobody
        return _Owner(key, view.evidence.job_id, view.bounds)

    def verdict(self, row: Row, owner: _Owner) -> tuple[Artifact, Verdict]:
        artifact = recognise(row.name, row.place)
        stored = StoredObject(
            key=ObjectKey(row.key),
            size=row.size or 0,
            modified_at=instant(row.modified_us),
            etag=row.etag,
        )
        return artifact, decide(
            stored,
            artifact,
            live=self.marked.live,
            bounds=owner.bounds,
            tombstone=self.tombstones.get(stored.key),
        )


def _decide_all(
    outside: Outside,
    settings: StorageRootSettings,
    marked: Mark,
    views: Mapping[str, JobView],
    evidence: CycleEvidence,
    tombstones: Mapping[ObjectKey, Tombstone],
    sink: VerdictSink,
) -> _Counts:
    """Write every object's verdict to the sink and return what they add up to."""
    is_void = bool(views) and all(view.bounds.is_void for view in views.values())
    nobody = JobBounds(
        is_void=is_void and _is_global(views),
        is_ended=False,
        bounds=(),
        oldest_retained_checkpoint_id=None,
        checkpoint_id_margin=0,
        quarantine_start=evidence.now,
        newest_completed_at=NEVER,
    )
    deciding = _Deciding(
        outside.storage.location, views, marked, tombstones, _Owner("", "", nobody)
    )
    counts = _Counts()
    done = 0
    for batch in rows(outside.spool, deciding.base.name):
        sink.write(_decide_batch(batch, deciding, settings, counts))
        done += len(batch)
        outside.progress("deciding", done)
    return counts


def _is_global(views: Mapping[str, JobView]) -> bool:
    """Return whether all work is void for one common cause."""
    everywhere = {Guard.UNREADABLE_ROOT, Guard.CLOCK_SKEW, Guard.PARSER_DISAGREEMENT}
    return all(
        v.judgement.refused and v.judgement.refused.guard in everywhere for v in views.values()
    )


def _decide_batch(
    batch: Iterable[Row], deciding: _Deciding, settings: StorageRootSettings, counts: _Counts
) -> pa.RecordBatch:
    columns: list[list[object]] = [[] for _ in VERDICT_SCHEMA]
    for row in batch:
        owner = deciding.owner(row)
        artifact, verdict = deciding.verdict(row, owner)
        _count(row, owner, verdict, counts)
        if row.place.scope in settings.scopes and row.place.scope is not Scope.SHARED:
            _report(row, owner, deciding, counts)
        values = (
            owner.job_id,
            row.key,
            row.place.scope.value,
            row.size,
            row.modified_us,
            row.etag,
            artifact.checkpoint_id,
            verdict.action.value,
            verdict.reason.value,
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    arrays = [
        pa.array(column, type=each.type)
        for column, each in zip(columns, VERDICT_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=VERDICT_SCHEMA)


def _count(row: Row, owner: _Owner, verdict: Verdict, counts: _Counts) -> None:
    key = (row.place.scope, verdict.action, verdict.reason)
    counts.objects[key] += 1
    counts.bytes[key] += row.size or 0
    if verdict.action in _REMOVAL or verdict.reason is Reason.IN_QUARANTINE:
        counts.removals[owner.key] += 1
    if verdict.action is Action.DELETE:
        counts.deletions += 1
    if verdict.action is Action.REVIVE:
        counts.revived.append(row.key)


def _report(row: Row, owner: _Owner, deciding: _Deciding, counts: _Counts) -> None:
    """Count an object of a report-only area: what no root refers to may be a leak of Flink's."""
    shown = counts.reported.setdefault((row.place.scope, owner.job_id), _Reported())
    shown.objects += 1
    shown.size += row.size or 0
    if deciding.marked.names_file(row.name) or row.name == "_metadata":
        return
    shown.unreferenced_objects += 1
    shown.unreferenced_size += row.size or 0
    if row.modified_us is not None:
        shown.oldest_us = min(shown.oldest_us or row.modified_us, row.modified_us)


# --- the plan -------------------------------------------------------------------------------


def _with_limits(
    views: Mapping[str, JobView], counts: _Counts, settings: StorageRootSettings
) -> dict[str, JobView]:
    """Return the views with the conditions that only the verdicts can show (R17, R20)."""
    limited: dict[str, JobView] = {}
    for key, view in views.items():
        unmet = []
        listed, removals = view.evidence.survey.objects, counts.removals[key]
        if listed and removals > settings.max_delete_share * listed:
            message = (
                f"{removals} of {listed} objects would go, over {settings.max_delete_share:.0%}"
            )
            unmet.append(Blocked(Condition.MAX_DELETE_SHARE, message))
        if settings.max_deletes is not None and counts.deletions > settings.max_deletes:
            message = f"{counts.deletions} deletions are due, over {settings.max_deletes}"
            unmet.append(Blocked(Condition.MAX_DELETES, message))
        if counts.revived:
            message = (
                f"{counts.revived[0]} had a tombstone and is referred to again: a proof failed"
            )
            unmet.append(Blocked(Condition.REVIVED, message))
        judgement = replace(view.judgement, blocked=(*view.judgement.blocked, *unmet))
        limited[key] = replace(view, judgement=judgement)
    return limited


def _plan(
    outside: Outside,
    settings: StorageRootSettings,
    seen: Observation,
    surveyed: Surveyed,
    marked: Mark,
    views: Mapping[str, JobView],
    evidence: CycleEvidence,
    counts: _Counts,
) -> Plan:
    margins = evidence.margins
    jobs = tuple(
        job_part(
            view.evidence,
            view.judgement,
            bounds=view.bounds.bounds,
            cutoff=view.bounds.cutoff,
            oldest_retained_checkpoint_id=view.bounds.oldest_retained_checkpoint_id,
            missing=surveyed.missing.get(key, ()),
            evidence=evidence_of(view.evidence, evidence, _clusters_of(seen, view.evidence)),
        )
        for key, view in views.items()
        if view.evidence.is_collected
    )
    finished = outside.storage.now()
    return Plan(
        tool_version=__version__,
        root=str(canonical(settings.root)),
        scopes=settings.scopes,
        created_at=evidence.now,
        engine="local",
        bounds=BoundsPart(
            cutoff=evidence.now - margins.grace_period,
            grace_period_seconds=margins.grace_period.total_seconds(),
            quarantine_period_seconds=margins.quarantine_period.total_seconds(),
            checkpoint_id_margin=margins.checkpoint_id_margin,
            clock_skew_seconds=margins.clock_skew.total_seconds(),
        ),
        jobs=jobs,
        roots=tuple(root_part(root) for root in marked.roots),
        tallies=tallies_of(counts.objects, counts.bytes),
        objects_listed=surveyed.objects,
        bytes_listed=surveyed.size,
        list_requests=outside.storage.list_requests,
        duration_seconds=_seconds(seen.time.local, finished.local),
        live_set_sha256=marked.live.digest(),
        reported=tuple(_reported_part(key, each) for key, each in sorted(counts.reported.items())),
        warnings=_warnings(views, surveyed),
        settings=settings,
    )


def _seconds(start: datetime, end: datetime) -> float:
    return round((end - start).total_seconds(), 3)


def _clusters_of(seen: Observation, job: JobEvidence) -> list[str]:
    return [cluster.uri for cluster in seen.after if job.job_id in cluster.jobs]


def _reported_part(key: tuple[Scope, str], shown: _Reported) -> ReportedPart:
    return ReportedPart(
        scope=key[0],
        job_id=key[1],
        objects=shown.objects,
        bytes=shown.size,
        unreferenced_objects=shown.unreferenced_objects,
        unreferenced_bytes=shown.unreferenced_size,
        oldest_modified_at=instant(shown.oldest_us),
    )


def _warnings(views: Mapping[str, JobView], surveyed: Surveyed) -> tuple[str, ...]:
    """Return what is worth a look though it stops nothing."""
    collected = [view.evidence for view in views.values() if view.evidence.is_collected]
    if any(job.own_roots for job in collected) and not any(
        shown.live_objects for shown in surveyed.jobs.values()
    ):
        return ("roots were read, but nothing in the listing is referred to: an alias missing?",)
    return ()
