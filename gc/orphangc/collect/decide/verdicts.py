"""Deciding: the rule, applied to every row of the listing, and what the verdicts add up to."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from orphangc.collect.decide.abandoned_savepoints import SAVEPOINTS, AbandonedSavepoints
from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.table import AREAS, area_at
from orphangc.core.columns.listing_columns import NO_TIME, Columns, RowKind
from orphangc.core.columns.marked_listing import MarkedRows
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import Judgement
from orphangc.core.decision.kernel import (
    BoundsTable,
    Verdicts,
    action_code,
    kernel,
    reason_code,
    verdict_batch,
)
from orphangc.core.decision.leftover_checkpoints import LeftBehind
from orphangc.core.model.bounds import JobBounds
from orphangc.core.model.naming import Owners
from orphangc.core.model.types import Action, AreaName, DirectoryLayout, Reason, Scope
from orphangc.core.times.instants import microseconds_of
from orphangc.ports import VerdictSink
from orphangc.ports.engine import ListingPass

_FEW = 20
_ACTIONS, _REASONS, _SCOPES = tuple(Action), tuple(Reason), tuple(Scope)
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class JobView:
    """One job as it was judged."""

    evidence: JobEvidence
    judgement: Judgement
    bounds: JobBounds
    facts: AreaFacts


@dataclass(frozen=True, slots=True)
class DecidedJob:
    """What the objects of one job are compared with; picklable.

    Attributes:
        job_id: Identifier of the job, "" for objects in no job directory.
        facts: Facts that the rules of areas ask for; ``None`` for objects in no job directory.
        spared: Areas of a refused job that are judged all the same.
        open: The same bounds for objects of an area that nothing refuses, by area.
        kept: The bounds for objects of any other area: they are only reported.
    """

    job_id: str
    bounds: JobBounds
    facts: AreaFacts | None
    spared: frozenset[AreaName] = frozenset()
    open: Mapping[AreaName | None, JobBounds] = field(init=False)
    kept: JobBounds = field(init=False)

    def __post_init__(self) -> None:
        """Make all bounds once a job, not once a batch."""
        is_refused = self.bounds.is_refused and not self.spared
        common = replace(self.bounds, is_refused=is_refused)
        by_area = {
            name: replace(common, bounds=(*common.bounds, *further))
            for name, area in AREAS.items()
            if self.facts is not None and (further := area.bounds_of(self.facts))
        }
        object.__setattr__(self, "open", by_area | {None: common})
        object.__setattr__(self, "kept", replace(self.bounds, is_report_only=True))

    def judges(self, area: AreaName) -> bool:
        """Return whether no refusal is about an area's files."""
        return area in self.spared if self.bounds.is_refused else True

    def open_in(self, area: AreaName) -> JobBounds:
        """Return the bounds of objects of an area that nothing refuses."""
        return self.open.get(area, self.open[None])


def decided_job(view: JobView) -> DecidedJob:
    """Return what the objects of a judged job are compared with."""
    return DecidedJob(view.evidence.job_id, view.bounds, view.facts, view.judgement.spared)


@dataclass(slots=True)
class Reported:
    """Contents of a report-only area of one job."""

    objects: int = 0
    size: int = 0
    unreferenced_objects: int = 0
    unreferenced_size: int = 0
    oldest_us: int | None = None


@dataclass(slots=True)
class HeldBack:
    """What a checkpoint that was left behind keeps from being collected."""

    checkpoint_id: int
    objects: int = 0
    size: int = 0


@dataclass(slots=True)
class Counts:
    """What the verdicts add up to.

    Attributes:
        removals: Number of objects to delete, now or later, by job key and whether they are
            directly in ``shared/``; those that the owner let go by a retention policy are expected,
            and not among them.
        candidates: Number of objects that could go at all, by the same.
        revived: A few keys that have a tombstone and are referred to again.
        reported: Contents of report-only areas, by scope and job id.
        held_back: Objects that a leftover checkpoint alone keeps, by job key.
    """

    objects: Counter[tuple[Scope, Action, Reason]] = field(default_factory=Counter)
    bytes: Counter[tuple[Scope, Action, Reason]] = field(default_factory=Counter)
    removals: Counter[tuple[str, bool]] = field(default_factory=Counter)
    candidates: Counter[tuple[str, bool]] = field(default_factory=Counter)
    deletions: int = 0
    revived: list[str] = field(default_factory=list)
    reported: dict[tuple[Scope, str], Reported] = field(default_factory=dict)
    held_back: dict[str, HeldBack] = field(default_factory=dict)


@dataclass(slots=True)
class Decided:
    """What a worker of the pass has found, and the sinks that took its verdicts."""

    counts: Counts = field(default_factory=Counts)
    sinks: list[VerdictSink] = field(default_factory=list)


class _BoundsRow(NamedTuple):
    """One row of the table of bounds.

    Attributes:
        key: Key of the collected job that owns the objects, "" if none does.
        is_open: Whether the objects are judged one by one.
        is_reported: Whether they are in an area that is only reported.
        area: Area that has bounds of its own, ``None`` for the bounds of the job.
    """

    key: str
    is_open: bool
    is_reported: bool
    is_flat: bool
    area: AreaName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidePass(ListingPass[Decided]):
    """Gives every object its verdict, and every verdict to a sink.

    Attributes:
        left_behind: Leftover checkpoint, if there is one, by job key.
        released: UUIDs of files that the owner let go, by a retention policy.
    """

    owners: Owners
    jobs: Mapping[str, DecidedJob]
    outside_jobs: JobBounds
    areas: frozenset[AreaName]
    open_sink: Callable[[], VerdictSink]
    left_behind: Mapping[str, LeftBehind] = field(default_factory=dict)
    savepoints: AbandonedSavepoints | None = None
    released: UuidSet = field(default_factory=UuidSet)
    phase: str = "deciding"

    def begin(self) -> Decided:
        """See ``ListingPass``."""
        return Decided(sinks=[self.open_sink()])

    def add(self, found: Decided, rows: MarkedRows) -> None:
        """See ``ListingPass``."""
        columns = rows.columns
        rows_of_kinds = [self._row(kind) for kind in columns.kinds]
        numbers = {each: number for number, each in enumerate(dict.fromkeys(rows_of_kinds))}
        jobs = [self._compared(row.key) for row in numbers]
        owner = np.array([numbers[each] for each in rows_of_kinds], np.int32)[columns.kind]
        verdicts = kernel(
            columns,
            is_live=rows.is_live,
            since_us=rows.tombstones.since_us,
            has_tombstone=rows.tombstones.has,
            owner=owner,
            bounds=BoundsTable.of(
                [
                    job.open[row.area]
                    if row.is_open
                    else (job.kept if row.is_reported else job.bounds)
                    for job, row in zip(jobs, numbers, strict=True)
                ]
            ),
        )
        job_ids = [job.job_id for job in jobs]
        batch = verdict_batch(columns, *verdicts, owner=owner, job_ids=job_ids)
        found.sinks[0].write(batch)
        _count(found.counts, columns, verdicts)
        _count_removals(
            found.counts, columns, verdicts, self.released, owner=owner, rows=tuple(numbers)
        )
        for row, number in numbers.items():
            if row.is_open and (left := self.left_behind.get(row.key)) is not None:
                held = found.counts.held_back.setdefault(row.key, HeldBack(left.checkpoint_id))
                _add_held(held, left, columns, verdicts, is_own=owner == number)
        if not all(row.is_open for row in numbers):
            _report(found.counts, rows, verdicts, owner=owner, job_ids=job_ids)

    def end(self, found: Decided) -> None:
        """See ``ListingPass``."""
        for sink in found.sinks:
            sink.close()

    def together(self, found: Iterable[Decided]) -> Decided:
        """See ``ListingPass``."""
        total = Decided()
        for each in found:
            _add(total.counts, each.counts)
            total.sinks += each.sinks
        return total

    def _compared(self, key: str) -> DecidedJob:
        if key == SAVEPOINTS and self.savepoints is not None:
            return DecidedJob("", self.savepoints.bounds, None)
        return self.jobs.get(key) or DecidedJob("", self.outside_jobs, None)

    def _row(self, kind: RowKind) -> _BoundsRow:
        """Return what a kind's objects are compared with (R56).

        They are judged one by one if the area is to be collected and its rule has no objection. A
        name of no scheme is of the area that it is in.
        """
        if self._is_abandoned(kind):
            return _BoundsRow(SAVEPOINTS, is_open=True, is_reported=False, is_flat=False)
        area = area_at(kind.place) if kind.area is None else AREAS[kind.area]
        key = self.owners.job_key(kind.place)
        job = None if key is None else self.jobs.get(key)
        if key is None or job is None or job.facts is None:
            return _BoundsRow("", kind.is_flat, area is not None and not kind.is_flat, kind.is_flat)
        is_closed = area is not None and (
            area.name not in self.areas
            or (bool(job.spared) and area.name not in job.spared)
            or area.objection(job.facts, kind.place) is not None
        )
        own = kind.area if kind.area in job.open else None
        return _BoundsRow(
            key, kind.area is not None and not is_closed, is_closed, kind.is_flat, own
        )

    def _is_abandoned(self, kind: RowKind) -> bool:
        """Return whether objects are files of a savepoint that nothing completes any more (R33)."""
        if self.savepoints is None or kind.area is not AreaName.SAVEPOINT:
            return False
        is_state = kind.artifact.layout is DirectoryLayout.EXCLUSIVE
        return is_state and kind.head.rpartition("/")[0] in self.savepoints.folders


def _report(
    counts: Counts,
    rows: MarkedRows,
    verdicts: Verdicts,
    *,
    owner: npt.NDArray[np.int32],
    job_ids: Sequence[str],
) -> None:
    """Count the objects that are only reported: unreferenced ones may be leaks of Flink's."""
    columns = rows.columns
    is_kept = _is(verdicts.reasons, Reason.REPORT_ONLY)
    if not is_kept.any():
        return
    of_kind = np.array([_SCOPES.index(kind.place.scope) for kind in columns.kinds])
    is_metadata = np.array(
        [kind.artifact.layout is DirectoryLayout.METADATA for kind in columns.kinds], np.bool_
    )
    is_named = (rows.is_live & columns.has_uuid) | is_metadata[columns.kind]
    sizes, cells = _numpy(columns), of_kind[columns.kind] + len(_SCOPES) * owner
    for cell in np.unique(cells[is_kept]).tolist():
        number, name = divmod(cell, len(_SCOPES))
        part = np.flatnonzero(is_kept & (cells == cell))
        shown = counts.reported.setdefault((_SCOPES[name], job_ids[number]), Reported())
        _add_reported(shown, _reported(sizes[part], is_named[part], columns.modified_us[part]))


def _numpy(columns: Columns) -> npt.NDArray[np.int64]:
    sizes = columns.batch.column("size").to_numpy(zero_copy_only=False)
    return np.asarray(sizes, np.int64)


def _count(counts: Counts, columns: Columns, verdicts: Verdicts) -> None:
    of_kind = np.array([_SCOPES.index(kind.place.scope) for kind in columns.kinds], np.int64)
    shape = (len(_SCOPES), len(_ACTIONS), len(_REASONS))
    cells = np.ravel_multi_index((of_kind[columns.kind], *verdicts), shape)
    objects = np.bincount(cells, minlength=np.prod(shape))
    sizes = np.zeros(len(objects), np.int64)
    np.add.at(sizes, cells, _numpy(columns))
    for cell in np.flatnonzero(objects).tolist():
        scope, action, reason = np.unravel_index(cell, shape)
        key = (_SCOPES[scope], _ACTIONS[action], _REASONS[reason])
        counts.objects[key] += int(objects[cell])
        counts.bytes[key] += int(sizes[cell])


def _count_removals(
    counts: Counts,
    columns: Columns,
    verdicts: Verdicts,
    released: UuidSet,
    *,
    owner: npt.NDArray[np.int32],
    rows: Sequence[_BoundsRow],
) -> None:
    """Add removals by job, due deletions, and revivals: tombstones that were wrong."""
    actions, reasons = verdicts
    goes = _is(actions, Action.TOMBSTONE) | _is(actions, Action.DELETE)
    goes |= _is(reasons, Reason.IN_QUARANTINE)
    going = np.flatnonzero(goes)
    goes[going] = ~released.contains(columns.hi[going], columns.lo[going])
    listed = np.bincount(owner, minlength=len(rows)).tolist()
    removed = np.bincount(owner[goes], minlength=len(rows)).tolist()
    for row, objects, removals in zip(rows, listed, removed, strict=True):
        if row.is_open:
            counts.candidates[row.key, row.is_flat] += objects
            counts.removals[row.key, row.is_flat] += removals
    counts.deletions += int(np.count_nonzero(_is(actions, Action.DELETE)))
    revived = np.flatnonzero(_is(actions, Action.REVIVE))[: _FEW - len(counts.revived)]
    if len(revived):
        counts.revived += columns.batch.column("key").take(pa.array(revived)).to_pylist()


def _add_held(
    held: HeldBack, left: LeftBehind, columns: Columns, verdicts: Verdicts, *, is_own: _Mask
) -> None:
    is_old = (columns.modified_us != NO_TIME) & (columns.modified_us < microseconds_of(left.cutoff))
    by_name = _is(verdicts.reasons, Reason.REFERENCED)
    by_name &= left.names.contains(columns.hi, columns.lo)
    is_kept = by_name | _is(verdicts.reasons, Reason.TOO_YOUNG)
    is_held = is_own & columns.is_artifact & is_old & is_kept
    held.objects += int(np.count_nonzero(is_held))
    held.size += int(_numpy(columns)[is_held].sum())


def _is(codes: npt.NDArray[np.uint8], word: Action | Reason) -> _Mask:
    code = action_code(word) if isinstance(word, Action) else reason_code(word)
    return np.asarray(codes == code, np.bool_)


def _reported(
    sizes: npt.NDArray[np.int64], is_named: _Mask, modified_us: npt.NDArray[np.int64]
) -> Reported:
    """Return the sums of some objects of a report-only area; times are of the unreferenced."""
    times = modified_us[~is_named & (modified_us != NO_TIME)]
    return Reported(
        objects=len(sizes),
        size=int(sizes.sum()),
        unreferenced_objects=int(np.count_nonzero(~is_named)),
        unreferenced_size=int(sizes[~is_named].sum()),
        oldest_us=int(times.min()) if len(times) else None,
    )


def _add_reported(total: Reported, more: Reported) -> None:
    total.objects += more.objects
    total.size += more.size
    total.unreferenced_objects += more.unreferenced_objects
    total.unreferenced_size += more.unreferenced_size
    times = [at for at in (total.oldest_us, more.oldest_us) if at is not None]
    total.oldest_us = min(times, default=None)


def _add(total: Counts, more: Counts) -> None:
    total.objects.update(more.objects)
    total.bytes.update(more.bytes)
    total.removals.update(more.removals)
    total.candidates.update(more.candidates)
    total.deletions += more.deletions
    total.revived += more.revived[: _FEW - len(total.revived)]
    for name, held in more.held_back.items():
        sums = total.held_back.setdefault(name, HeldBack(held.checkpoint_id))
        sums.objects += held.objects
        sums.size += held.size
    for key, shown in more.reported.items():
        _add_reported(total.reported.setdefault(key, Reported()), shown)
