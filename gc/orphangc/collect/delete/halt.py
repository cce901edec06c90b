"""Halt all collection after a wrong deletion: the one rule for it (R22)."""

from datetime import datetime

import pyarrow as pa
import structlog

from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.core.model.codes import Condition
from orphangc.core.model.types import ObjectKey
from orphangc.errors import OrphanGcError, RefusedError, StorageUnreachableError
from orphangc.ports import Storage

log = structlog.get_logger()


def halted_after(
    rows: pa.RecordBatch, revalidation: Revalidation, storage: Storage, at: datetime
) -> RefusedError | None:
    """Halt all collection if a stored checkpoint names an object that is gone.

    Args:
        rows: ``VERDICT_SCHEMA``: objects that were deleted, or may have been.

    Returns:
        The refusal that ends the run, ``None`` if nothing is known to be wrong.
    """
    if not rows.num_rows:
        return None
    try:
        is_named = revalidation.check_after().names(rows)
    except OrphanGcError as err:
        log.warning("sweep.unchecked", reason=str(err))
        return None
    named = rows.filter(pa.array(is_named))["key"].to_pylist()
    gone = next((key for key in named if _is_gone(storage, key)), None)
    return None if gone is None else halt_for(gone, revalidation, at)


def halt_for(key: str, revalidation: Revalidation, at: datetime) -> RefusedError:
    """Halt all collection because a live object is gone, and return the refusal that says so."""
    reason = f"{key} was deleted, and a checkpoint names it now"
    revalidation.state.halt(reason, at)
    log.error("sweep.halted", reason=reason)
    return RefusedError(revalidation.state.halted() or reason, guard=Condition.HALTED)


def _is_gone(storage: Storage, key: ObjectKey) -> bool:
    """Return whether an object is not there, as it is taken where the storage does not answer."""
    try:
        return storage.stat([key])[0] is None
    except StorageUnreachableError:
        return True
