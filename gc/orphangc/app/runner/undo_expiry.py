"""``undelete`` of a plan of ``expire``: every ``_metadata`` that it put into quarantine (R44)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from orphangc.adapters.open import open_storage
from orphangc.app.render.advice import LIFT_HALT
from orphangc.app.runner.checkpoint_folders import CheckpointFolders
from orphangc.app.runner.held_plan import held_lock
from orphangc.app.wiring.clock import now
from orphangc.app.wiring.compose import state_of
from orphangc.collect.quarantine.expired_records import expired_of, newest_expired_at
from orphangc.collect.quarantine.undoing import Undoing
from orphangc.collect.state.lock import Renewal
from orphangc.collect.state.store import RootState
from orphangc.core.documents.plan import Plan
from orphangc.core.model.types import ObjectKey
from orphangc.errors import OrphanGcError, RefusedError


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
        undoing = Undoing(
            settings=plan.settings,
            state=state,
            lock=lock,
            beside=CheckpointFolders(plan.settings),
            open_storage=open_storage,
            now=now,
        )
        records = list(expired_of(state, {(each.uri, each.sha256) for each in expiring}))
        if places:
            records = newest_expired_at(state, places)
        for uri in sorted(set(places) - {each.uri for each in records}):
            raise RefusedError(f"no sweep of {plan.root} put {uri} into quarantine")
        if not records:
            raise RefusedError("no sweep of that plan put anything into quarantine")
        for each in records:
            try:
                keys = undoing.put_back(each)
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
    """Return that files put back into use halt the next sweep, ``None`` if none has a tombstone."""
    tombstones = state.tombstones()
    marked = next((key for key in keys if tombstones.get(key) is not None), None)
    if marked is None:
        return None
    return (
        f"{marked} is in use again and has a tombstone: the next sweep deletes nothing and halts"
        f" (R17). {LIFT_HALT}"
    )
