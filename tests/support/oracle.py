"""The rule for one object, in plain steps: the oracle that ``kernel`` must equal, row by row."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from orphangc.core.model.bounds import NEVER, JobBounds
from orphangc.core.model.naming import Artifact
from orphangc.core.model.types import Action, DirectoryLayout, Reason, StoredObject
from support.tombstone_tables import Tombstone


@dataclass(frozen=True, slots=True)
class Verdict:
    action: Action
    reason: Reason


class Live(Protocol):
    """Whatever answers whether a UUID is in use."""

    def __contains__(self, uuid: bytes) -> bool:
        """Return whether a checkpoint, snapshot or pin names it."""
        ...


_JOB_REFUSED = Verdict(Action.KEEP, Reason.JOB_REFUSED)
_REPORT_ONLY = Verdict(Action.KEEP, Reason.REPORT_ONLY)
_UNRECOGNISED = Verdict(Action.KEEP, Reason.UNRECOGNISED)
_REFERENCED = Verdict(Action.KEEP, Reason.REFERENCED)
_REVIVED = Verdict(Action.REVIVE, Reason.REFERENCED)
_NOT_OLDER = Verdict(Action.KEEP, Reason.NOT_OLDER_THAN_OLDEST_RETAINED)
_TOO_YOUNG = Verdict(Action.KEEP, Reason.TOO_YOUNG)
_ORPHAN = Verdict(Action.TOMBSTONE, Reason.ORPHAN)
_IN_QUARANTINE = Verdict(Action.KEEP, Reason.IN_QUARANTINE)
_QUARANTINE_OVER = Verdict(Action.DELETE, Reason.QUARANTINE_OVER)


def decide(
    stored: StoredObject,
    artifact: Artifact,
    *,
    live: Live,
    bounds: JobBounds,
    tombstone: Tombstone | None,
) -> Verdict:
    """Return the fate of one object and its reason; a tie with any bound keeps it.

    The questions have the order of ``Reason``. A tombstone counts only while the object is
    unchanged; otherwise the object is a new orphan.
    """
    if bounds.is_refused:
        return _JOB_REFUSED
    if bounds.is_report_only:
        return _REPORT_ONLY
    if artifact.uuid is None:
        is_unrecognised = artifact.layout is DirectoryLayout.UNRECOGNISED
        return _UNRECOGNISED if is_unrecognised else _REPORT_ONLY
    if artifact.uuid in live:
        return _REFERENCED if tombstone is None else _REVIVED
    if _is_not_older(artifact.checkpoint_id, bounds):
        return _NOT_OLDER
    if not _is_older_than(stored.modified_at, bounds.cutoff):
        return _TOO_YOUNG
    if tombstone is None or not tombstone.object.is_same_as(stored):
        return _ORPHAN
    return _IN_QUARANTINE if _is_in_quarantine(tombstone, bounds) else _QUARANTINE_OVER


def _is_not_older(checkpoint_id: int | None, bounds: JobBounds) -> bool:
    """Return whether the id in the name forbids; a missing oldest retained id forbids all."""
    if checkpoint_id is None or bounds.is_ended:
        return False
    oldest = bounds.oldest_retained_checkpoint_id
    return oldest is None or checkpoint_id >= oldest - bounds.checkpoint_id_margin


def _is_older_than(modified_at: datetime | None, cutoff: datetime) -> bool:
    """Return whether a store time is known, not zero, and strictly before the cutoff.

    A time in the future is never before a cutoff, for no cutoff is after the cycle's start.
    """
    return modified_at is not None and NEVER < modified_at < cutoff


def _is_in_quarantine(tombstone: Tombstone, bounds: JobBounds) -> bool:
    """Return whether the period still runs or no newer checkpoint has completed since (R17)."""
    if tombstone.since >= bounds.quarantine_start:
        return True
    newest = bounds.newest_completed_at
    return newest is not None and newest <= tombstone.since
