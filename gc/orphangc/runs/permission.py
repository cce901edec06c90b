"""What a saved plan permits: each of its verdicts, held against those of a fresh cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from orphangc import __version__
from orphangc.core.model import Action, JobId, ObjectKey, Outcome, Reason, StoredObject, Tombstone
from orphangc.core.plan import Plan
from orphangc.core.settings import StorageRootSettings
from orphangc.core.uris import canonical
from orphangc.errors import PlanMismatchError

__all__ = ["Asked", "Fresh", "asked_of", "check_plan", "tombstone_for"]

_MINIMAL_PLAN_LIFE = timedelta(hours=1)


def check_plan(plan: Plan, settings: StorageRootSettings, now: datetime) -> None:
    """Make sure that a plan is for this storage root, by this version, and young enough.

    Raises:
        PlanMismatchError: It is not; nothing was touched.

    """
    if plan.tool_version != __version__:
        raise PlanMismatchError(f"the plan is by version {plan.tool_version}, not {__version__}")
    if plan.root != str(canonical(settings.root)):
        raise PlanMismatchError(f"the plan is for {plan.root}, not {settings.root}")
    life = max(settings.grace_period, _MINIMAL_PLAN_LIFE)
    age = now - plan.created_at
    if not -settings.clock_skew - _MINIMAL_PLAN_LIFE <= age <= life:
        raise PlanMismatchError(f"the plan was made {age} ago, longer than {life}: make a new one")


@dataclass(frozen=True, slots=True)
class Asked:
    """One verdict that asks for something."""

    row: Mapping[str, Any]

    @property
    def key(self) -> ObjectKey:
        """Return the object's key."""
        return ObjectKey(self.row["key"])

    @property
    def action(self) -> Action:
        """Return what is asked for."""
        return Action(self.row["action"])

    @property
    def stored(self) -> StoredObject:
        """Return the object as it was listed."""
        row = self.row
        return StoredObject(
            key=self.key, size=row["size"], modified_at=row["modified_at"], etag=row["etag"]
        )

    def with_outcome(
        self, outcome: Outcome, *, error: str | None = None, version_id: str | None = None
    ) -> dict[str, Any]:
        """Return the row of ``outcomes.parquet``."""
        return {**self.row, "outcome": outcome, "error": error, "version_id": version_id}


def asked_of(batches: Iterable[pa.RecordBatch]) -> list[Asked]:
    """Return the verdicts that ask for something, of any number of ``VERDICT_SCHEMA`` batches."""
    asking = (batch.filter(pc.not_equal(batch.column("action"), Action.KEEP)) for batch in batches)
    return [Asked(row) for batch in asking for row in batch.to_pylist()]


@dataclass(slots=True)
class Fresh:
    """Takes the verdicts of a fresh cycle, and keeps what asks for something.

    Attributes:
        known: The tombstones.
        asking: What the cycle asks for, by key.
        listed_tombstones: Tombstoned keys that are still stored.
        in_quarantine: Keys that wait.

    """

    known: Mapping[ObjectKey, Tombstone]
    asking: dict[ObjectKey, Asked] = field(default_factory=dict)
    listed_tombstones: set[ObjectKey] = field(default_factory=set)
    in_quarantine: set[ObjectKey] = field(default_factory=set)
    _known_keys: pa.Array = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the look-up of tombstoned keys."""
        self._known_keys = pa.array(list(self.known), type=pa.string())

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch of ``VERDICT_SCHEMA``."""
        self.asking.update((each.key, each) for each in asked_of([batch]))
        keys = batch.column("key")
        waits = pc.equal(batch.column("reason"), Reason.IN_QUARANTINE)
        self.in_quarantine.update(keys.filter(waits).to_pylist())
        is_known = pc.is_in(keys, value_set=self._known_keys)
        self.listed_tombstones.update(keys.filter(is_known).to_pylist())

    def agrees(self, planned: Asked) -> bool:
        """Return whether the cycle asks for the same, for the very same object."""
        now = self.asking.get(planned.key)
        return now is not None and now.action is planned.action and now.stored == planned.stored


def tombstone_for(
    planned: Asked, plan: Plan, *, since: datetime, fresh: Fresh
) -> Tombstone | Outcome:
    """Return the tombstone of one object if the fresh cycle agrees, else what became of it."""
    asked = fresh.asking.get(planned.key)
    if planned.key in fresh.in_quarantine or (asked and asked.action is Action.DELETE):
        return Outcome.DONE
    if not fresh.agrees(planned):
        return Outcome.CHANGED
    job_id = JobId(planned.row["job_id"])
    return Tombstone(object=planned.stored, job_id=job_id, since=since, plan_id=plan.plan_id)
