"""Verdicts to carry out: those of the cycle's own plan, or what a saved plan and a cycle share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from orphangc import __version__
from orphangc.collect.runs.result import TOO_YOUNG
from orphangc.collect.sweep.temporary_rows import Cuts, Shards, TemporarySpace, shard_of, shelved
from orphangc.core.columns.tombstones import Tombstones
from orphangc.core.documents.plan import Plan
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import Action, Outcome, Reason
from orphangc.errors import PlanMismatchError
from orphangc.ports import VERDICT_SCHEMA, Storage

_MINIMAL_PLAN_LIFE = timedelta(hours=1)
_HEADS_AT_ONCE = 1000
_SEEN = ["key", "size", "modified_at", "etag", "action", "reason"]
_SEEN_SCHEMA = pa.schema([VERDICT_SCHEMA.field(name) for name in _SEEN])
_WAITING = pa.array([Reason.IN_QUARANTINE, Reason.TOO_YOUNG], pa.string())
_Mask = npt.NDArray[np.bool_]


def check_plan(plan: Plan, settings: StorageRootSettings, now: datetime) -> None:
    """Raise ``PlanMismatchError`` unless a plan is of this root and version, and young enough."""
    if plan.tool_version != __version__:
        made = f"the plan is by version {plan.tool_version}, not {__version__}"
        raise PlanMismatchError(f"{made}; plan again")
    if plan.root != str(settings.location):
        raise PlanMismatchError(f"the plan is for {plan.root}, not {settings.root}; plan again")
    life = settings.plan_life
    age = now - plan.created_at
    if age < -settings.clock_skew - _MINIMAL_PLAN_LIFE:
        raise PlanMismatchError(
            f"the plan is dated {-age} in the future: a clock was set back; plan again"
        )
    if age > life:
        raise PlanMismatchError(f"the plan was made {age} ago, longer than {life}; plan again")


def requested_verdicts(batches: Iterable[pa.RecordBatch], scratch: TemporarySpace) -> Shards:
    """Return the verdicts of a plan that request an action, in temporary shards by key."""
    return shelved(
        (batch.filter(pc.not_equal(batch["action"], Action.KEEP)) for batch in batches),
        VERDICT_SCHEMA,
        scratch,
    )


@dataclass(slots=True)
class TombstonedObjects:
    """What the verdicts of a cycle say of the objects that have a tombstone.

    Attributes:
        known: The tombstones; ``None`` when no more verdicts come.
        is_listed: bool[len(known)], which tombstones' keys are still stored.
        is_revived: bool[len(known)], which of them are referred to again.
    """

    known: Tombstones | None
    is_listed: _Mask
    is_revived: _Mask

    @classmethod
    def among(cls, known: Tombstones) -> TombstonedObjects:
        """Return the objects of some tombstones; no verdict is known of any."""
        return cls(known, *(np.zeros(len(known), np.bool_) for _ in range(2)))

    def take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Take a batch of ``VERDICT_SCHEMA`` into account, and return it."""
        if self.known is not None and len(self.known):
            rows = self.known.rows_of(batch["key"])
            is_revived = mask_of(pc.equal(batch["action"], Action.REVIVE))
            self.is_listed[rows[rows >= 0]] = True
            self.is_revived[rows[is_revived & (rows >= 0)]] = True
        return batch


@dataclass(slots=True)
class FreshSink:
    """Receives the verdicts of a fresh cycle, and keeps those that a plan may match.

    Attributes:
        tombstoned: Objects that have a tombstone; it gives the tombstones back on closing.
        requested: Actions that the cycle requests, and objects that it lets wait.
    """

    tombstoned: TombstonedObjects
    requested: Shards

    @classmethod
    def opened(cls, known: Tombstones, cuts: Cuts, scratch: TemporarySpace) -> FreshSink:
        """Return an empty sink."""
        return cls(TombstonedObjects.among(known), Shards(scratch, _SEEN_SCHEMA, cuts))

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``VERDICT_SCHEMA``."""
        is_waiting = pc.is_in(batch["reason"], value_set=_WAITING)
        is_requested = pc.not_equal(batch["action"], Action.KEEP)
        self.requested.write(batch.filter(pc.or_(is_requested, is_waiting)).select(_SEEN))
        self.tombstoned.take(batch)

    def close(self) -> None:
        """End the writing."""
        self.tombstoned.known = None
        self.requested.close()


@dataclass(frozen=True, slots=True)
class Fresh:
    """Verdicts of a fresh cycle.

    Attributes:
        known: The tombstones before the sweep.
        tombstoned: What the verdicts say of their objects.
        parts: Actions that it requests, by worker; ``None``: the plan itself is of this cycle.
        is_listed_anew: Whether the cycle listed the objects by itself.
    """

    known: Tombstones
    tombstoned: TombstonedObjects
    parts: tuple[Shards, ...] | None
    is_listed_anew: bool = True

    @classmethod
    def of(
        cls, known: Tombstones, sinks: Sequence[object], *, is_listed_anew: bool = True
    ) -> Fresh:
        """Return what all workers' sinks have taken."""
        total = TombstonedObjects.among(known)
        parts = []
        for sink in sinks:
            assert isinstance(sink, FreshSink)  # noqa: S101 - opened by the sweep
            total.is_listed |= sink.tombstoned.is_listed
            total.is_revived |= sink.tombstoned.is_revived
            parts.append(sink.requested)
        return cls(known, total, tuple(parts), is_listed_anew)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedShard:
    """One shard of a plan, n rows by key, compared with the fresh cycle.

    Attributes:
        rows: The plan's, ``VERDICT_SCHEMA``.
        agrees: bool[n], whether the cycle asks for the same, for the very same object.
        waits: bool[n], whether the object now has a tombstone of its own.
        is_absent: bool[n], whether it is not stored any more.
        is_too_young: bool[n], whether the cycle judged the very same object too young.
        tombstone: int64[n], row of the key's tombstone, -1 without one.
    """

    number: int
    rows: pa.RecordBatch
    agrees: _Mask
    waits: _Mask
    is_absent: _Mask
    is_too_young: _Mask
    tombstone: npt.NDArray[np.int64]

    @property
    def outcomes(self) -> npt.NDArray[np.str_]:
        """Return str[n]: what becomes of the rows; ``planned`` where the cycle agrees."""
        found = np.where(self.is_absent, Outcome.GONE.value, Outcome.CHANGED.value)
        return np.where(self.agrees, Outcome.PLANNED.value, found)

    @property
    def errors(self) -> list[str | None]:
        """Return for each row why the cycle does not ask for the same, where waiting lifts it."""
        return [TOO_YOUNG if each else None for each in self.is_too_young]

    def with_action(self, action: Action) -> ConfirmedShard:
        """Return the rows that ask for one action."""
        mask = mask_of(pc.equal(self.rows["action"], action))
        return ConfirmedShard(
            number=self.number,
            rows=self.rows.filter(pa.array(mask)),
            agrees=self.agrees[mask],
            waits=self.waits[mask],
            is_absent=self.is_absent[mask],
            is_too_young=self.is_too_young[mask],
            tombstone=self.tombstone[mask],
        )


def confirmed_shards(planned: Shards, fresh: Fresh, reader: Storage) -> Iterator[ConfirmedShard]:
    """Yield a plan by shards, in the order of keys; ``StorageUnreachableError`` without an answer.

    A cycle agrees with its own plan in every row.
    """
    for number in range(len(planned.cuts.keys) + 1):
        rows = shard_of([planned], number, VERDICT_SCHEMA)
        if rows.num_rows and fresh.parts is None:
            yield _own_shard(number, rows, fresh.known)
        elif rows.num_rows:
            yield _confirmed_shard(number, rows, fresh, reader)


def _own_shard(number: int, rows: pa.RecordBatch, known: Tombstones) -> ConfirmedShard:
    nowhere = np.zeros(rows.num_rows, np.bool_)
    return ConfirmedShard(
        number=number,
        rows=rows,
        agrees=~nowhere,
        waits=nowhere,
        is_absent=nowhere,
        is_too_young=nowhere,
        tombstone=known.rows_of(rows["key"]),
    )


def _confirmed_shard(
    number: int, rows: pa.RecordBatch, fresh: Fresh, reader: Storage
) -> ConfirmedShard:
    requested = shard_of(fresh.parts or (), number, _SEEN_SCHEMA, among=rows["key"])
    at = pc.index_in(rows["key"], value_set=requested["key"])
    now = requested.take(at)
    is_requested = mask_of(at.is_valid())
    same = [_is_equal(rows[name], now[name]) for name in ("size", "modified_at", "etag")]
    is_same = is_requested & np.logical_and.reduce(same)
    agrees = is_same & _is_equal(rows["action"], now["action"])
    has_own = mask_of(pc.equal(now["reason"], Reason.IN_QUARANTINE)) | mask_of(
        pc.equal(now["action"], Action.DELETE)
    )
    tombstone = fresh.known.rows_of(rows["key"])
    waits = has_own & is_same
    return ConfirmedShard(
        number=number,
        rows=rows,
        agrees=agrees,
        waits=waits,
        is_absent=_absent(rows, ~is_requested, tombstone, fresh=fresh, reader=reader)
        if fresh.is_listed_anew
        else are_gone(rows, ~(agrees | waits), reader),
        is_too_young=is_same & mask_of(pc.equal(now["reason"], Reason.TOO_YOUNG)),
        tombstone=tombstone,
    )


def mask_of(values: pa.Array) -> _Mask:
    """Return a boolean column as a mask; null is no."""
    filled: _Mask = pc.fill_null(values, False).to_numpy(zero_copy_only=False)  # noqa: FBT003
    return filled


def _is_equal(left: pa.Array, right: pa.Array) -> _Mask:
    both_null = pc.and_(left.is_null(), right.is_null())
    return mask_of(pc.equal(left, right)) | mask_of(both_null)


def _absent(
    rows: pa.RecordBatch,
    is_unasked: _Mask,
    tombstone: npt.NDArray[np.int64],
    *,
    fresh: Fresh,
    reader: Storage,
) -> _Mask:
    """Return bool[n]: what the cycle's own listing did not show.

    The cycle recorded each key with a tombstone. Any other key gets a HEAD request: an earlier
    sweep deleted it, or it is no longer an orphan.
    """
    absent = is_unasked & (tombstone >= 0)
    absent[absent] = ~fresh.tombstoned.is_listed[tombstone[absent]]
    return absent | are_gone(rows, is_unasked & (tombstone < 0), reader)


def are_gone(rows: pa.RecordBatch, is_asked: _Mask, reader: Storage) -> _Mask:
    """Return bool[n]: of which rows a HEAD request shows that the object is not stored."""
    gone = np.zeros(rows.num_rows, np.bool_)
    asked = np.flatnonzero(is_asked)
    for start in range(0, len(asked), _HEADS_AT_ONCE):
        some = asked[start : start + _HEADS_AT_ONCE]
        found = reader.stat(rows["key"].take(pa.array(some)).to_pylist())
        gone[some] = [each is None for each in found]
    return gone
