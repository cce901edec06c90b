"""The cutoff: a minimum of named bounds, each named for the race that it closes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from orphangc.core.times.instants import shifted

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""The cutoff if nothing is known: no object is stored before it, so nothing is removed."""


class BoundName(StrEnum):
    """Which race a bound closes."""

    GRACE_PERIOD = "grace_period"
    """State files are uploaded before the metadata that names them."""
    OLDEST_OWN_ROOT = "oldest_own_root"
    """What a pending checkpoint uploads is younger than every retained checkpoint (T1, R9)."""
    QUIET_PERIOD = "quiet_period"
    """A job said to be over may not be: its directory must have been still for long (R13)."""
    NEWEST_TRIGGER = "newest_trigger"
    """A log's file of before the trigger of a completed checkpoint is in it, or in none (R45)."""
    FIRST_SNAPSHOT = "first_snapshot"
    """What was uploaded after the first registry snapshot may be missing from it (R16)."""
    OLDEST_ISSUED = "oldest_issued"
    """An unfinished checkpoint began to upload when its id was issued (R16)."""
    CHECKPOINT_TIMEOUT = "checkpoint_timeout"
    """A savepoint may be pending for as long as Flink waits for it (R33)."""
    INVENTORY = "inventory"
    """What was stored since an inventory was begun may be in it or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyMargins:
    """Every margin between "looks orphaned" and "may go", in one value.

    Attributes:
        grace_period: Age below which nothing is an orphan. Default 72 h: longer than any
            checkpoint takes, and a weekend to notice a mistake.
        quarantine_period: Minimum age of a tombstone before its object may be deleted.
        checkpoint_id_margin: Number of ids below the oldest retained one that count as young.
        clock_skew: The slack in every comparison of two clocks or two store times.
        quiet_period: Time without a change after which an ended job's directory is quiet.
    """

    grace_period: timedelta = timedelta(hours=72)
    quarantine_period: timedelta = timedelta(hours=24)
    checkpoint_id_margin: int = 1
    clock_skew: timedelta = timedelta(minutes=15)
    quiet_period: timedelta = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit: objects stored at or after ``at`` are kept; ``None`` is unknown: keep all."""

    name: BoundName
    at: datetime | None


def cutoff(bounds: Sequence[Bound]) -> datetime:
    """Return the instant before which an unreferenced artifact may be an orphan.

    The earliest bound wins, so a further bound can only keep more. No bound, or one that is
    unknown, gives ``NEVER``.
    """
    instants = [bound.at for bound in bounds]
    known = [at for at in instants if at is not None]
    return min(known) if known and len(known) == len(instants) else NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBounds:
    """Everything that the rule (``core.decision.kernel``) compares one artifact of a job with.

    Attributes:
        is_refused: Whether the job's work is refused: keep everything.
        is_ended: Whether nothing can be pending, so that the checkpoint id proves nothing more.
        quarantine_start: A tombstone laid at or after it is still in quarantine.
        newest_completed_at: Store time of the newest completed checkpoint that proves progress
            since a tombstone; ``None`` for a job that has ended, ``NEVER`` if unknown.
        is_report_only: Whether the area has no proven rule for the job's state, or is not
            collected: keep everything.
    """

    is_refused: bool
    is_ended: bool
    bounds: tuple[Bound, ...]
    oldest_retained_checkpoint_id: int | None
    checkpoint_id_margin: int
    quarantine_start: datetime
    newest_completed_at: datetime | None
    is_report_only: bool = False
    cutoff: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Freeze the minimum, so that it is computed once a job and not once an object."""
        object.__setattr__(self, "cutoff", cutoff(self.bounds))


def job_bounds(
    now: datetime,
    margins: SafetyMargins,
    *,
    is_ended: bool,
    own_checkpoint_times: Sequence[datetime | None],
    registry_times: Sequence[Bound] = (),
    listed_at: datetime | None = None,
) -> tuple[Bound, ...]:
    """Return the bounds of one job's cutoff.

    Args:
        now: Start of the cycle by the store's clock, taken before the first listing.
        is_ended: Declared or proven: the quiet period replaces the bounds of the job's checkpoints.
        own_checkpoint_times: Store times of every ``_metadata`` in the job's directory; ``None`` is
            of a checkpoint without a time. Empty for a running job means unknown.
        registry_times: In registry mode: first snapshot and issued ids, before any slack.
        listed_at: Start of the inventory that replaces the listing, if one does.
    """
    always = [Bound(BoundName.GRACE_PERIOD, shifted(now, -margins.grace_period))]
    if listed_at is not None:
        always.append(Bound(BoundName.INVENTORY, shifted(listed_at, -margins.clock_skew)))
    if is_ended:
        return (*always, Bound(BoundName.QUIET_PERIOD, shifted(now, -margins.quiet_period)))
    oldest: datetime | None = None
    known = [at for at in own_checkpoint_times if at is not None]
    if known and len(known) == len(own_checkpoint_times):
        oldest = shifted(min(known), -margins.clock_skew)
    slack = 2 * margins.clock_skew  # R16: a JobManager's time is compared with the store's
    registry = (
        Bound(b.name, None if b.at is None else shifted(b.at, -slack)) for b in registry_times
    )
    return (*always, Bound(BoundName.OLDEST_OWN_ROOT, oldest), *registry)
