"""Has a job ended? The one rule of evidence and guards (R13).

Absence from REST proves nothing, a suspended job is
not over, and a directory that still changes belongs to a job that has not ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orphangc.core.cluster.job_facts import JobFacts
from orphangc.core.model.types import JobState
from orphangc.core.times.instants import shifted


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """Everything that is said of one job's life.

    Attributes:
        is_held: Whether HA metadata, or a resource of the operator, shows that it is not over.
        may_be_running: Whether a cluster runs a job of this id in an unknown directory.
        is_end_recorded: Whether a record of Flink's shows the end of its newest run (R34).
        has_other_run: Whether a cluster showed another run of it alive in an earlier cycle, and
            none has shown the end of that one.
        is_id_fixed: Whether another run of it may have the same id (R34).
        changed_at: Newest store time of anything of the job, ``None`` if it has nothing.
        slack: Time for which files of a run may be stored after its end.
    """

    before: Sequence[JobFacts]
    after: Sequence[JobFacts]
    is_held: bool
    is_declared_ended: bool
    may_be_running: bool = False
    has_other_run: bool = False
    is_end_recorded: bool = False
    is_id_fixed: bool = False
    changed_at: datetime | None = None
    slack: timedelta = timedelta(0)

    @property
    def is_running(self) -> bool:
        """Return whether Flink said at least once that the job is not over."""
        return any(not facts.is_globally_terminal for facts in (*self.before, *self.after))

    @property
    def is_proven_ended(self) -> bool:
        """Return whether Flink itself reports it, before and after, and nothing holds the job."""
        is_answered = bool(self.before) and bool(self.after)
        is_doubted = self.is_running or self.is_held or self.may_be_running
        return is_answered and not (is_doubted or self.has_other_run or self.has_changed_since)

    @property
    def has_changed_since(self) -> bool:
        """Return whether anything was stored after the end that Flink shows: by a later run."""
        ends = [each.ended_at for each in (*self.before, *self.after) if each.ended_at is not None]
        return not is_of_last_run(max(ends, default=None), self.changed_at, self.slack)

    @property
    def state(self) -> JobState:
        """Return the state of the job; a job that HA metadata holds is never over."""
        if self.is_running:
            return JobState.RUNNING
        if self.is_held:
            return JobState.SUSPENDED
        if self.may_be_running:
            return JobState.UNKNOWN
        is_recorded = self.is_end_recorded and not self.has_other_run
        is_over = self.is_declared_ended or self.is_proven_ended or is_recorded
        return JobState.ENDED if is_over else JobState.UNKNOWN

    @property
    def is_end_proven(self) -> bool:
        """Return whether positive evidence shows that its processes are gone (R34: E1-E6).

        The state ``ENDED`` is never given for silence alone. An id that application clusters and
        people reuse needs the operator's statement, or the exporter's record of its newest run: any
        other answer of Flink's may be of an earlier run.
        """
        if self.state is not JobState.ENDED:
            return False
        return self.is_declared_ended or not self.is_id_fixed or self.is_end_recorded

    def has_ended(self, *, now: datetime, quiet_period: timedelta) -> bool:
        """Return whether the job is over, for itself and for the jobs whose files it needs.

        A statement alone is not believed while the job's directory still changes.

        Args:
            now: Start of the cycle by the store's clock.
        """
        if not self.is_end_proven:
            return False
        return self.is_proven_ended or is_quiet(self.changed_at, now, quiet_period)


def is_of_last_run(
    ended_at: datetime | None, changed_at: datetime | None, slack: timedelta
) -> bool:
    """Return whether nothing of a job is newer than the run that ended: a later one would write."""
    return changed_at is None or (ended_at is not None and changed_at <= shifted(ended_at, slack))


def is_quiet(changed_at: datetime | None, now: datetime, quiet_period: timedelta) -> bool:
    """Return whether nothing changed for the quiet period; a tie is not quiet."""
    return changed_at is None or changed_at < shifted(now, -quiet_period)
