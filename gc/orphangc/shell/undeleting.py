"""``undelete``: what a run deleted, back from a versioned bucket."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

from orphangc.adapters.plan_files import PlanDirectory
from orphangc.adapters.storages import open_storage
from orphangc.errors import RefusedError
from orphangc.ports import DeletionStatus, Undeleter
from orphangc.runs.undelete import undelete

__all__ = ["undelete_run"]


def undelete_run(path: Path) -> dict[str, Any]:
    """Bring back what the sweep of a plan deleted; return how many came back.

    Raises:
        SettingsError: There is no plan, or it was not swept.
        RefusedError: The storage keeps no versions, or the run deleted nothing.

    """
    directory = PlanDirectory(path)
    plan = directory.read()
    _, table = directory.read_outcome()
    storage = open_storage(plan.root)
    if not hasattr(storage, "undelete"):
        raise RefusedError(f"{plan.root} keeps no versions: what was deleted is gone for good")
    results = undelete(cast("Undeleter", storage), table.to_pylist())
    counts = Counter(
        "restored" if each.status is DeletionStatus.DELETED else each.status for each in results
    )
    failed = [
        {"key": each.key, "error": each.error}
        for each in results
        if each.status is not DeletionStatus.DELETED
    ]
    return {"plan_id": plan.plan_id, "root": plan.root, "counts": counts, "failed": failed}
