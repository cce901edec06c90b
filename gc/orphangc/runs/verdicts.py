"""Deciding: the rule, applied to every row of a listing, and what the verdicts add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from orphangc.core.bounds import JobBounds
from orphangc.core.decide import decide
from orphangc.core.evidence import JobEvidence
from orphangc.core.judge import Judgement
from orphangc.core.model import (
    Action,
    ObjectKey,
    Reason,
    Scope,
    StoredObject,
    Tombstone,
    Verdict,
)
from orphangc.core.names import METADATA_NAME, Artifact, Place, recognise
from orphangc.core.uris import Location
from orphangc.ports import VERDICT_SCHEMA, Progress, Spool, VerdictSink
from orphangc.runs.mark import Mark
from orphangc.runs.rows import Row, instant, rows

__all__ = ["Counts", "Deciding", "JobView", "Reported", "decide_all"]

_REMOVAL = (Action.TOMBSTONE, Action.DELETE)


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as it was judged."""

    evidence: JobEvidence
    judgement: Judgement
    bounds: JobBounds


@dataclass(slots=True)
class Counts:
    """What the verdicts add up to."""

    objects: Counter[tuple[Scope, Action, Reason]] = field(default_factory=Counter)
    bytes: Counter[tuple[Scope, Action, Reason]] = field(default_factory=Counter)
    removals: Counter[str] = field(default_factory=Counter)
    deletions: int = 0
    revived: list[str] = field(default_factory=list)
    reported: dict[tuple[Scope, str], Reported] = field(default_factory=dict)


@dataclass(slots=True)
class Reported:
    """What a report-only area of one job holds."""

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
class Deciding:
    """Everything that a verdict needs beside its row.

    Attributes:
        base: The storage root.
        views: Jobs by key.
        marked: What is live.
        tombstones: By key.
        outside_jobs: What objects in no job directory are compared with.
        scopes: Areas to report on.

    """

    base: Location
    views: Mapping[str, JobView]
    marked: Mark
    tombstones: Mapping[ObjectKey, Tombstone]
    outside_jobs: JobBounds
    scopes: tuple[Scope, ...]
    owners: dict[str | None, _Owner] = field(default_factory=dict)

    def owner(self, row: Row) -> _Owner:
        """Return whose an object is, looked up once a job directory."""
        directory = row.place.job_directory
        if directory not in self.owners:
            self.owners[directory] = self._find(row.place)
        return self.owners[directory]

    def _find(self, place: Place) -> _Owner:
        key = self.marked.job_key(self.base, place)
        view = None if key is None else self.views.get(key)
        if key is None or view is None:
            return _Owner("", "", self.outside_jobs)
        return _Owner(key, view.evidence.job_id, view.bounds)

    def verdict(self, row: Row, owner: _Owner) -> tuple[Artifact, Verdict]:
        """Return what an object is, and what is to happen to it."""
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


def decide_all(
    deciding: Deciding, spool: Spool, *, sink: VerdictSink, progress: Progress
) -> Counts:
    """Write every object's verdict to the sink and return what they add up to."""
    counts = Counts()
    done = 0
    for batch in rows(spool, deciding.base.name):
        sink.write(_decide_batch(batch, deciding, counts))
        done += len(batch)
        progress("deciding", done)
    return counts


def _decide_batch(batch: Iterable[Row], deciding: Deciding, counts: Counts) -> pa.RecordBatch:
    columns: list[list[object]] = [[] for _ in VERDICT_SCHEMA]
    for row in batch:
        owner = deciding.owner(row)
        artifact, verdict = deciding.verdict(row, owner)
        _count(row, owner, verdict, counts)
        if row.place.scope in deciding.scopes and row.place.scope is not Scope.SHARED:
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
    typed = zip(columns, VERDICT_SCHEMA, strict=True)
    arrays = [pa.array(column, type=each.type) for column, each in typed]
    return pa.RecordBatch.from_arrays(arrays, schema=VERDICT_SCHEMA)


def _count(row: Row, owner: _Owner, verdict: Verdict, counts: Counts) -> None:
    key = (row.place.scope, verdict.action, verdict.reason)
    counts.objects[key] += 1
    counts.bytes[key] += row.size or 0
    if verdict.action in _REMOVAL or verdict.reason is Reason.IN_QUARANTINE:
        counts.removals[owner.key] += 1
    if verdict.action is Action.DELETE:
        counts.deletions += 1
    if verdict.action is Action.REVIVE:
        counts.revived.append(row.key)


def _report(row: Row, owner: _Owner, deciding: Deciding, counts: Counts) -> None:
    """Count an object of a report-only area: what no root refers to may be a leak of Flink's."""
    shown = counts.reported.setdefault((row.place.scope, owner.job_id), Reported())
    shown.objects += 1
    shown.size += row.size or 0
    if deciding.marked.names_file(row.name) or row.name == METADATA_NAME:
        return
    shown.unreferenced_objects += 1
    shown.unreferenced_size += row.size or 0
    if row.modified_us is not None:
        shown.oldest_us = min(shown.oldest_us or row.modified_us, row.modified_us)
