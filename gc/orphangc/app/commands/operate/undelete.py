"""``undelete``: restore what a run deleted, on a versioned bucket, or what it expired (R44)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flinkstate.places.locations import Location, canonical
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.adapters.rows.outcome_files import outcome_rows, read_outcome
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.app.render.advice import LIFT_HALT
from orphangc.app.runner.sweep_plan import held_lock
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import state_of
from orphangc.collect.quarantine.checkpoint_folders import CheckpointFolders
from orphangc.collect.quarantine.expired_records import ExpiredRecords
from orphangc.collect.runs.journal import MARKER_SCHEMA, markers_of
from orphangc.collect.state.lock import Renewal
from orphangc.collect.state.store import RootState
from orphangc.collect.sweep.restore_deleted import undelete
from orphangc.core.documents.plan import Plan
from orphangc.core.model.types import Action, ObjectKey, Outcome
from orphangc.errors import OrphanGcError, RefusedError, SettingsError, StorageUnreachableError
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
    plan = PlanDirectory(path).read_head()
    if is_dry and (checkpoints or plan.expiry is not None):
        raise SettingsError("--dry-run is for deleted objects; expired checkpoints cost no bytes")
    if checkpoints:
        return undo_expiry(plan, {str(_place(each)) for each in checkpoints})
    if plan.expiry is not None:
        return undo_expiry(plan)
    counts: Counter[str] = Counter()
    failed: list[dict[str, str | None]] = []
    journals: list[Callable[[], Iterator[pa.RecordBatch]]] = []
    try:
        state = state_of(plan.settings)
        journals += (partial(markers_of, state, e) for e in state.unrecorded_runs(plan.plan_id))
    except StorageUnreachableError as err:  # what an outcome has comes back all the same
        failed.append({"key": "", "error": f"what a run deleted that died is not known: {err}"})
        counts[DeletionStatus.FAILED] += 1
    if not journals:
        read_outcome(path)
    storage = open_storage(plan.root)
    rows, words = partial(_deleted, path, journals), _IS_DRY if is_dry else _IS_BACK
    for each in undelete(storage, rows, is_dry=is_dry):
        word = words.get(each.status)
        counts[word or each.status] += 1
        if word is None:
            failed.append({"key": each.key, "error": each.error})
    return {"plan_id": plan.plan_id, "root": plan.root, "counts": counts, "failed": failed}


def _deleted(
    path: Path, journals: Iterable[Callable[[], Iterator[pa.RecordBatch]]]
) -> Iterator[pa.RecordBatch]:
    """Yield what sweeps of a plan deleted, those that died by their journals."""
    yield from outcome_rows(path)
    for read in journals:
        for made in read():
            count = made.num_rows
            columns = {name: made[name] for name in MARKER_SCHEMA.names}
            said = {"action": Action.DELETE, "outcome": Outcome.DONE}
            columns |= {name: pa.repeat(each.value, count) for name, each in said.items()}
            yield pa.RecordBatch.from_pydict(columns | {"etag": made["version_id"]})


def _place(uri: str) -> Location:
    try:
        return canonical(uri)
    except ValueError as err:
        raise SettingsError(f"--checkpoint {uri}: {err}") from err


def undeletion_lines(document: dict[str, Any]) -> list[RenderableType]:
    """Return what ``undelete_run`` returned as lines of text."""
    from orphangc.app.render.text_table import as_text  # noqa: PLC0415 - JSON needs none

    counts = document["counts"]
    lines = [_SAID.get(name, f"{{}} {name}").format(f"{n:,}") for name, n in counts.items()]
    return [as_text(each) for each in (*lines, document.get("warning")) if each]


def undo_expiry(plan: Plan, places: Collection[str] = ()) -> dict[str, Any]:
    """Put back every ``_metadata`` that sweeps of a plan of ``expire`` put into quarantine.

    One whose quarantine is over is put back only while all of its files are stored. If some of
    them have a tombstone, the document warns that the next sweep halts (R17).

    Args:
        places: Folders of the checkpoints to put back instead, whichever run expired them.

    Raises:
        RefusedError: Nothing of it is in quarantine.
        LockHeldError: Another run holds the lock.
    """
    state = state_of(plan.settings)
    expiring = () if plan.expiry is None else plan.expiry.expiring
    counts: Counter[str] = Counter()
    failed: list[dict[str, str]] = []
    warning: str | None = None
    with held_lock(state) as lock, Renewal(lock):
        files = partial(open_state_files, is_probed=False)
        expired = ExpiredRecords(state, CheckpointFolders(plan.settings, files, open_storage))
        records = expired.of({(each.uri, each.sha256) for each in expiring})
        if places:
            records = expired.newest_at(places)
        for uri in sorted(set(places) - {each.uri for each in records}):
            raise RefusedError(f"no sweep of {plan.root} put {uri} into quarantine")
        if not records:
            raise RefusedError("no sweep of that plan put anything into quarantine")
        for each in records:
            try:
                keys = expired.put_back(each, lock, now)
                if each.released_at is not None:
                    warning = warning or _halt_warning(state, keys)
            except OrphanGcError as err:
                failed.append({"key": each.key, "error": str(err)})
                counts["failed"] += 1
            else:
                counts["restored"] += 1
    document = {"plan_id": plan.plan_id, "root": plan.root, "counts": counts, "failed": failed}
    return document | {"warning": warning}


def _halt_warning(state: RootState, keys: Sequence[ObjectKey]) -> str | None:
    tombstones = state.tombstones()
    marked = next((key for key in keys if tombstones.get(key) is not None), None)
    if marked is None:
        return None
    return (
        f"{marked} is in use again and has a tombstone: the next sweep deletes nothing and halts"
        f" (R17). {LIFT_HALT}"
    )
