"""``undelete``: restore what a run deleted, on a versioned bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flinkstate.places.locations import Location, canonical
from flinkstate.text.shown_text import visible
from orphangc.adapters.open import open_storage
from orphangc.adapters.rows.outcome_files import outcome_rows, read_outcome
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.app.runner.undo_expiry import undo_expiry
from orphangc.collect.sweep.restore_deleted import undelete
from orphangc.errors import SettingsError
from orphangc.ports import DeletionStatus

if TYPE_CHECKING:
    from rich.console import RenderableType


_IS_BACK = {DeletionStatus.DELETED: "restored", DeletionStatus.GONE: "already_there"}
_SAID = {
    "restored": "{} brought back",
    "restorable": "{} would be brought back",
    "already_there": "{} already there",
}
_IS_DRY = _IS_BACK | {DeletionStatus.DELETED: "restorable"}


def undelete_run(
    path: Path, checkpoints: Sequence[str] = (), *, is_dry: bool = False
) -> dict[str, Any]:
    """Restore what the sweep of a plan deleted; return the number of restored objects.

    Args:
        checkpoints: Folders of expired checkpoints to put back instead, whichever run of the same
            storage root expired them: the plans of scheduled runs do not outlast a quarantine.

    Raises:
        SettingsError: There is no plan, or it was not swept; or a folder is no place.
        RefusedError: The storage keeps no versions, or the run deleted nothing.
        StorageUnreachableError: The store does not answer; a later call goes on.
    """
    plan = PlanDirectory(path).read()
    if is_dry and (checkpoints or plan.expiry is not None):
        raise SettingsError("--dry-run is for deleted objects; expired checkpoints cost no bytes")
    if checkpoints:
        return undo_expiry(plan, {str(_place(each)) for each in checkpoints})
    if plan.expiry is not None:
        return undo_expiry(plan)
    read_outcome(path)
    storage = open_storage(plan.root)
    counts: Counter[str] = Counter()
    failed = []
    rows, words = partial(outcome_rows, path), _IS_DRY if is_dry else _IS_BACK
    for each in undelete(storage, rows, is_dry=is_dry):
        word = words.get(each.status)
        counts[word or each.status] += 1
        if word is None:
            failed.append({"key": each.key, "error": each.error})
    return {"plan_id": plan.plan_id, "root": plan.root, "counts": counts, "failed": failed}


def _place(uri: str) -> Location:
    """Return the place of a checkpoint.

    Raises:
        SettingsError: It is none.
    """
    try:
        return canonical(uri)
    except ValueError as err:
        raise SettingsError(f"--checkpoint {uri}: {err}") from err


def undeletion_lines(document: dict[str, Any]) -> list[RenderableType]:
    """Return what ``undelete_run`` returned as lines of text."""
    from rich.text import Text  # noqa: PLC0415 - JSON needs none

    counts = document["counts"]
    lines = [_SAID.get(name, f"{{}} {name}").format(f"{n:,}") for name, n in counts.items()]
    warning = document.get("warning")
    return [Text(visible(each)) for each in (*lines, *([warning] if warning else ()))]
