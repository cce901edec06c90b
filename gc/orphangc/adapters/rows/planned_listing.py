"""The listing of a saved plan, for the sweep that carries the plan out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from orphangc.adapters.rows.earlier_storage import ListedBefore
from orphangc.core.documents.plan import Plan
from orphangc.ports import EarlierListing, Storage


def planned_storage(
    storage: Storage, plan: Plan, rows: Callable[[], Iterable[pa.RecordBatch]]
) -> Storage:
    """Return a storage listed by the verdicts of a plan, which hold one row for each object.

    Args:
        rows: Reads its verdicts.
    """
    inventory = plan.inventory
    earlier = EarlierListing(
        source=f"plan {plan.plan_id[:12]}" if inventory is None else f"inventory {inventory.uri}",
        begun_at=plan.listed_at or plan.created_at,
        directories=frozenset(each for job in plan.jobs for each in job.directories),
    )
    return ListedBefore(storage, earlier, rows, is_inventoried=inventory is not None)
