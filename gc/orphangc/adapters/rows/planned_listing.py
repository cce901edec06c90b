"""The listing of a saved plan, for the sweep that carries the plan out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from orphangc.adapters.rows.earlier_storage import EarlierStorage
from orphangc.core.documents.plan import Plan
from orphangc.ports import LISTING_SCHEMA, EarlierListing, Storage


class PlannedStorage(EarlierStorage):
    """A storage listed by the verdicts of a plan, which hold one row for each object."""

    def __init__(
        self, storage: Storage, plan: Plan, rows: Callable[[], Iterable[pa.RecordBatch]]
    ) -> None:
        """Take the plan, and what reads its verdicts: at least the columns of a listing."""
        super().__init__(storage, is_inventoried=plan.inventory is not None)
        self._plan = plan
        self._rows = rows

    @property
    def earlier(self) -> EarlierListing:
        """Return the plan as an earlier listing; see ``Storage``."""
        plan = self._plan
        inventory = plan.inventory
        return EarlierListing(
            source=f"plan {plan.plan_id[:12]}"
            if inventory is None
            else f"inventory {inventory.uri}",
            begun_at=plan.listed_at or plan.created_at,
            directories=frozenset(each for job in plan.jobs for each in job.directories),
        )

    def listed(self) -> Iterator[pa.RecordBatch]:
        """Yield the objects that the plan decided on; see ``EarlierStorage``.

        Raises:
            PlanMismatchError: A file of the plan cannot be read.

        """
        for batch in self._rows():
            columns = [batch[name] for name in LISTING_SCHEMA.names]
            yield pa.RecordBatch.from_arrays(columns, schema=LISTING_SCHEMA)
