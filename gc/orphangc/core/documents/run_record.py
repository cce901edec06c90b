"""One run of one storage root as a value: for history, metrics, status page and REST.

A record is written beside the tombstones, in the state location, so that it outlives the process;
it holds sums only, and its size grows with jobs, never with objects.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from orphangc.core.documents.plan import BlockedPart, HeldBackPart, RefusedPart, Tally
from orphangc.core.documents.self_sustained_record import RememberedUsageCheck
from orphangc.core.model.frozen_part import FrozenPart
from orphangc.core.model.joined_facts import LATEST, LATEST_OF_EACH, Fact
from orphangc.core.model.shown import RunMode
from orphangc.core.model.tallies import Amount
from orphangc.core.model.types import Action, JobState, Mode, Outcome
from orphangc.core.times.instants import Instant, shifted
from orphangc.core.world.known_world import World

_Number = TypeVar("_Number", int, float)

DURATION_BUCKETS_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 14_400, 43_200)
"""Upper edges of the buckets that the durations of phases are counted in."""

RUN_ID_TIME = "%Y%m%dT%H%M%S%fZ"


def run_id_at(at: datetime, token: str) -> str:
    """Return the id of a scheduled run that begins then: ids sort by time."""
    return f"{at:{RUN_ID_TIME}}-{token}"


class Phase(StrEnum):
    """The parts of a run."""

    PLAN = "plan"
    SWEEP = "sweep"


class RunResult(StrEnum):
    """How a run, or a phase of it, ended; only ``DONE`` is a success."""

    DONE = "done"
    BLOCKED = "blocked"
    """It came to its end, and nothing of any job could be deleted.

    Its plan is done, and so is its sweep where time resolves what stops it, as a quiet period.
    """
    SOME_DELETES_FAILED = "some_deletes_failed"
    REFUSED = "refused"
    """A guard stopped the work on every job."""
    FAILED = "failed"
    UNREACHABLE = "unreachable"
    LOCKED = "locked"
    """Another run holds the lock."""
    INTERRUPTED = "interrupted"
    """A signal ended it, or its process died."""
    MISSED = "missed"
    """The scheduler could not start it in time."""


_NEVER_BEGUN = {RunResult.LOCKED, RunResult.MISSED}


class PhaseRecord(FrozenPart):
    """One phase of a run."""

    phase: Phase
    result: RunResult
    started_at: Instant
    duration_seconds: float


class JobRecord(FrozenPart):
    """What a run found of one job.

    Attributes:
        job_id: Identifier of the job, "" for objects in no known job's directory.
        state: State of its life; ``None`` for objects of no job.
        state_self_sustained: Whether no retained checkpoint refers to files outside the job's own
            directories, confirmed by a second check; ``None`` where it cannot be known (yet).
        looks: Checks of everything that is not the job's own, and of each such place, with what the
            runs before saw.
    """

    job_id: str
    directories: tuple[str, ...] = ()
    state: JobState | None = None
    mode: Mode | None = None
    oldest_retained_checkpoint_id: int | None = None
    retained_checkpoint_ids: tuple[int, ...] = ()
    amounts: tuple[Tally, ...] = ()
    missing_objects: int = 0
    held_back: HeldBackPart | None = None
    refused: RefusedPart | None = None
    blocked: tuple[BlockedPart, ...] = ()
    state_self_sustained: bool | None = None
    looks: tuple[RememberedUsageCheck, ...] = ()
    resources: tuple[str, ...] = ()


class DuePart(FrozenPart):
    """Tombstones whose quarantine ends on one day (UTC)."""

    day: date
    objects: int
    bytes: int

    @property
    def amount(self) -> Amount:
        """Return both numbers."""
        return Amount(self.objects, self.bytes)


class StoppedPart(FrozenPart):
    """The jobs of which nothing can be deleted, refused or blocked.

    Attributes:
        code: Guard or condition that stops the most of them.
        message: Its message about the first of these.
    """

    jobs: int
    of_jobs: int
    code: str
    message: str

    @property
    def are_all(self) -> bool:
        """Return whether nothing of any job can be deleted."""
        return self.jobs == self.of_jobs


class TombstonesPart(FrozenPart):
    """The tombstones at the end of a run."""

    objects: int = 0
    bytes: int = 0
    oldest_at: Instant | None = None
    due: tuple[DuePart, ...] = ()


class SweptPart(FrozenPart):
    """What became of one kind of verdict."""

    action: Action
    outcome: Outcome
    objects: int
    bytes: int


class ExpiryRecord(FrozenPart):
    """What a run did by the retention policy, and what it found.

    Attributes:
        in_use: Those of them that something names or was restored from: a person must look.
        unneeded_bytes: Bytes that only checkpoints hold which nothing living needs.
        expiring_bytes: Bytes that only checkpoints hold which expire.
    """

    expired: int
    released: int
    in_quarantine: int
    in_use: int
    unneeded_bytes: int
    expiring_bytes: int


_Counts = Annotated[Mapping[str, int], LATEST_OF_EACH]


class Totals(Fact):
    """Everything that the runs of one storage root ever counted, this one included.

    Counters of a process begin at zero; these go on from run to run, so that a counter that is
    pushed or scraped never goes back. Keys are label values joined by ``/``. Of two totals neither
    may know of all runs of the other: joined, they are the larger of each, for they only rise.

    Attributes:
        runs: Number of runs, by ``phase/result``.
        swept_objects: Number of objects, by ``action/outcome``.
        aborted_uploads: Number of unfinished uploads that were due to be aborted, by outcome.
        refusals: Jobs by guard or condition.
        durations: Phases by ``phase/edge``, the bucket that they fell in; ``inf`` is the last.
    """

    runs: _Counts = Field(default_factory=dict)
    swept_objects: _Counts = Field(default_factory=dict)
    swept_bytes: _Counts = Field(default_factory=dict)
    aborted_uploads: _Counts = Field(default_factory=dict)
    refusals: _Counts = Field(default_factory=dict)
    list_requests: Annotated[int, LATEST] = 0
    durations: _Counts = Field(default_factory=dict)
    duration_seconds: Annotated[Mapping[str, float], LATEST_OF_EACH] = Field(default_factory=dict)
    last_success_at: Annotated[Mapping[str, Instant], LATEST_OF_EACH] = Field(default_factory=dict)


class RunRecord(FrozenPart):
    """One run of one storage root.

    Attributes:
        run_id: Sorts by time.
        effective_mode: Mode that the run was allowed to use.
        effective_mode_reason: Reason why it is not the configured mode.
        started_at: Start by this machine's clock, aware UTC.
        result: Result of the whole run: its worst phase.
        exit_code: Exit code of the process for a single storage root.
        phases: In order; a run that could not begin (locked, missed) has one of no duration.
        plan_id: ``None``: there is no plan, nor anything below.
        plan_folder: Folder of the plan on the machine that ran.
        engine: Engine that listed and decided; of older records it is not known.
        roots_read: Checkpoints and savepoints.
        world: Everything that the plan searched, asked and missed; of older records the daemon
            keeps none.
        refusals: Jobs by guard that refused, or condition that blocked.
        uploads: Number of unfinished uploads that were due to be aborted, by outcome.
        folders: Number of folders that held nothing and were to go, by outcome.
        tombstones: ``None`` where the state could not be read.
        registry_age_seconds: Age of the oldest of the jobs' newest registry snapshots.
        totals: Counters, this run included.
    """

    schema_version: Literal[1] = 1
    run_id: str
    root: str
    tool_version: str
    mode: RunMode
    effective_mode: RunMode
    effective_mode_reason: str | None = None
    started_at: Instant
    ended_at: Instant
    result: RunResult
    exit_code: int
    error: str | None = None
    phases: tuple[PhaseRecord, ...] = ()
    plan_id: str | None = None
    plan_folder: str | None = None
    engine: Literal["local", "spark"] | None = None
    objects_listed: int = 0
    bytes_listed: int = 0
    list_requests: int = 0
    roots_read: int = 0
    amounts: tuple[Tally, ...] = ()
    jobs: tuple[JobRecord, ...] = ()
    blocked: StoppedPart | None = None
    world: World | None = None
    warnings: tuple[str, ...] = ()
    missing_objects: int = 0
    held_back_objects: int = 0
    held_back_bytes: int = 0
    refusals: Mapping[str, int] = Field(default_factory=dict)
    swept: tuple[SweptPart, ...] = ()
    uploads: Mapping[str, int] = Field(default_factory=dict)
    folders: Mapping[str, int] = Field(default_factory=dict)
    stopped: str | None = None
    tombstones: TombstonesPart | None = None
    expiry: ExpiryRecord | None = None
    halted: str | None = None
    registry_age_seconds: float | None = None
    grace_period_seconds: float
    totals: Totals = Totals()

    @property
    def has_deleted(self) -> bool:
        """Return whether the run deleted anything."""
        return self.swept_objects(Action.DELETE, Outcome.DONE) > 0

    def swept_objects(self, action: Action, outcome: Outcome) -> int:
        """Return how many objects an action ended so for."""
        return sum(s.objects for s in self.swept if s.action is action and s.outcome is outcome)

    def swept_bytes(self, action: Action, outcome: Outcome) -> int:
        """Return how many bytes an action ended so for."""
        return sum(s.bytes for s in self.swept if (s.action, s.outcome) == (action, outcome))


def totals_after(before: Totals, record: RunRecord) -> Totals:
    """Return the totals of earlier runs and of this one, without ``record.totals``."""
    swept = {f"{each.action}/{each.outcome}": each for each in record.swept}
    ended = [each for each in record.phases if each.result not in _NEVER_BEGUN]
    return Totals(
        runs=_sum(before.runs, [(f"{each.phase}/{each.result}", 1) for each in record.phases]),
        swept_objects=_sum(before.swept_objects, [(k, s.objects) for k, s in swept.items()]),
        swept_bytes=_sum(before.swept_bytes, [(k, s.bytes) for k, s in swept.items()]),
        aborted_uploads=_sum(before.aborted_uploads, record.uploads.items()),
        refusals=_sum(before.refusals, record.refusals.items()),
        list_requests=before.list_requests + record.list_requests,
        durations=_sum(before.durations, [(_bucket(each), 1) for each in ended]),
        duration_seconds=_sum(
            before.duration_seconds, [(str(each.phase), each.duration_seconds) for each in ended]
        ),
        last_success_at={
            **before.last_success_at,
            **{
                str(each.phase): shifted(each.started_at, timedelta(seconds=each.duration_seconds))
                for each in record.phases
                if each.result is RunResult.DONE
            },
        },
    )


def _bucket(phase: PhaseRecord) -> str:
    edges = (edge for edge in DURATION_BUCKETS_SECONDS if phase.duration_seconds <= edge)
    return f"{phase.phase}/{next(edges, 'inf')}"


def _sum(before: Mapping[str, _Number], added: Iterable[tuple[str, _Number]]) -> dict[str, _Number]:
    sums = dict(before)
    for key, count in added:
        sums[key] = sums[key] + count if key in sums else count
    return sums
