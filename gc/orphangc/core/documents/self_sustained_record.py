"""Checks of whether a job's state is self-sustained, and their confirmation (R30).

One check shows the retained checkpoints. A checkpoint that is still pending may name more, so only
a second check, with a newer completed checkpoint between, confirms a yes.
"""

from collections.abc import Sequence
from datetime import datetime

from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.types import ForeignKind
from orphangc.core.times.instants import Instant


class NamedPart(FrozenPart):
    """How many files one checkpoint, or a registry snapshot, still names."""

    uri: str
    checkpoint_id: int | None
    references: int


class SnapshotUserPart(FrozenPart):
    """A job, or a checkpoint of no job, that needs a snapshot.

    Attributes:
        job_id: Identifier of the job, "" for a checkpoint in no job's directory.
        place: The job's directory, or the checkpoint.
    """

    job_id: str
    place: str | None
    why: str
    references: int = 0
    bytes: int | None = None
    sample: tuple[str, ...] = ()
    checkpoints: tuple[NamedPart, ...] = ()


class UsageCheckPart(FrozenPart):
    """Result of one check of a job and of one place that is not its own.

    Attributes:
        kind: ``None`` for everything that is not the job's own.
        place: The snapshot's folder, or the directory; "" for everything.
        value: Whether the job needs nothing of it; ``None`` where that cannot be known.
        restored_from: Whether the job is said to be restored from it.
        references: Files of it that the job's checkpoints still name.
        bytes: Bytes of these files; ``None`` if not counted.
        sample: A few of them, as the checkpoints spell them.
        named_by: Checkpoints and registries that name them, the newest checkpoint first.
        also_named_by: Jobs, resources, configurations, pins, and checkpoints of no job of this
            storage root, that name a snapshot or files of it, too: not this job; the one that made
            it only if it is not over and may go back to it.
        unsearched: Why some place was not searched, or not stated to hold no more, or some cluster
            did not answer, whose jobs may need files of it, too.
        is_over: Whether the job's end is proven, so that it completes no further checkpoint.
    """

    kind: ForeignKind | None = None
    place: str = ""
    value: bool | None
    why: str
    restored_from: bool = False
    references: int = 0
    bytes: int | None = None
    sample: tuple[str, ...] = ()
    named_by: tuple[NamedPart, ...] = ()
    also_named_by: tuple[str, ...] = ()
    unsearched: str = ""
    is_over: bool = False


class RememberedUsageCheck(UsageCheckPart):
    """The newest check, with the results of earlier ones.

    Attributes:
        since: Time of the first check in a row with this result.
        since_checkpoint_id: The job's newest completed checkpoint then.
        confirmed_at: Time when a check with a newer checkpoint confirmed it; ``None``: not yet.
    """

    at: Instant
    since: Instant
    since_checkpoint_id: int | None = None
    confirmed_at: Instant | None = None

    def is_of_run(self, newest: int | None) -> bool:
        """Return whether ids have not started again: a check of another run proves nothing.

        Args:
            newest: Id of the job's newest completed checkpoint now.
        """
        since = self.since_checkpoint_id
        return since is None or (newest is not None and newest >= since)

    @property
    def answer(self) -> bool | None:
        """Return what may be acted upon: a yes that is not confirmed is none."""
        if self.value is None or (self.value and self.confirmed_at is None):
            return None
        return self.value

    @property
    def is_safe_to_delete(self) -> bool | None:
        """Return whether the place is needed by no job any more, as far as was checked."""
        if self.also_named_by:
            return False
        return None if self.answer and self.unsearched else self.answer

    @property
    def reason(self) -> str:
        """Return the reason, with what a yes still lacks."""
        if self.value and self.confirmed_at is None:
            return (
                f"{self.why}; seen so once: a second look, after checkpoint"
                f" {self.since_checkpoint_id} or with proof that the job has ended, must"
                " confirm it"
            )
        if self.also_named_by:
            return f"{self.why}; but {', '.join(self.also_named_by)} still needs files of it"
        if self.value and self.unsearched:
            return f"{self.why}; others may: {self.unsearched}"
        return self.why


def answer_of(looks: Sequence[RememberedUsageCheck]) -> bool | None:
    """Return whether the job's state is self-sustained: a no of any check, a yes of all."""
    answers = [each.answer for each in looks]
    if False in answers:
        return False
    return None if not answers or None in answers else True


def remembered(
    before: Sequence[RememberedUsageCheck],
    looks: Sequence[UsageCheckPart],
    *,
    at: datetime,
    newest_checkpoint_id: int | None,
    is_ended: bool,
) -> tuple[RememberedUsageCheck, ...]:
    """Return the newest checks with the results of earlier checks of the same places.

    Args:
        is_ended: Whether no newer checkpoint can come, so that one check confirms.
    """
    known = {(each.kind, each.place): each for each in before}

    def after(check: UsageCheckPart) -> RememberedUsageCheck:
        """Return a check with the earlier one's results; an unknown result restarts the count.

        An end that is no longer proven confirms nothing: the job may have been started again.
        """
        earlier, newest = known.get((check.kind, check.place)), newest_checkpoint_id
        since, since_id, confirmed_at = at, newest, None
        if earlier is not None and earlier.value is check.value and earlier.is_of_run(newest):
            since, since_id = earlier.since, earlier.since_checkpoint_id
            confirmed_at = earlier.confirmed_at
        has_newer = newest is not None and since_id is not None and newest > since_id
        is_confirmed = check.value and (is_ended or has_newer)
        return RememberedUsageCheck.like(
            check,
            restored_from=check.restored_from or (earlier is not None and earlier.restored_from),
            at=at,
            since=since,
            since_checkpoint_id=since_id,
            confirmed_at=(confirmed_at or at) if is_confirmed else None,
        )

    return tuple(map(after, looks))


def merged(
    one: Sequence[RememberedUsageCheck], other: Sequence[RememberedUsageCheck]
) -> tuple[RememberedUsageCheck, ...]:
    """Return the newer check of each place of two memories."""
    newest: dict[tuple[ForeignKind | None, str], RememberedUsageCheck] = {}
    for check in (*one, *other):
        known = newest.get((check.kind, check.place))
        if known is None or check.at > known.at:
            newest[check.kind, check.place] = check
    return tuple(newest.values())
