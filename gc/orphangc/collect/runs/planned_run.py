"""One run that carries out a plan: the steps that every kind of plan shares, in their order.

The state location is bound; the cycle is made or taken over; the lock is checked; what the cycle
saw is remembered; what forbids the run is checked; the run is written down, and acts; its outcome
ends it. What differs between a sweep and an expiry is one method each.
"""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa
import structlog

from orphangc.collect.cycle import Cycle
from orphangc.collect.observe.observation import Environment
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.collect.runs.held_run import HeldRun
from orphangc.collect.runs.result import SweepResult, code_of
from orphangc.collect.runs.undisturbed import undisturbed
from orphangc.collect.state.lock import Renewal
from orphangc.collect.world.recalling import Recalled, not_kept
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.documents.plan import Plan
from orphangc.core.model.codes import Condition
from orphangc.errors import RefusedError
from orphangc.ports import OutcomeSink, Progress

log = structlog.get_logger()

_NOT_REMEMBERED = "the state location does not remember what this cycle saw; nothing goes"


class HasCycle(Protocol):
    """What a run acts on: a cycle, and what its kind of plan takes from it."""

    @property
    def cycle(self) -> Cycle:
        """Return the cycle whose evidence counts."""
        ...


_Found = TypeVar("_Found", bound=HasCycle)


@dataclass(slots=True, kw_only=True)
class PlannedRun(ABC, Generic[_Found]):
    """One run that carries out one plan.

    Attributes:
        is_deleting: Whether what is due goes; else the run only checks, and writes tombstones.
        before: Facts of earlier cycles, with which ``environment`` was opened.
        made: What made the plan under the same lock; ``None`` for a saved plan.
        result: Result so far, also after an error or a signal.
    """

    event: ClassVar[str]

    environment: Environment
    run: HeldRun
    plan: Plan
    is_deleting: bool
    before: Recalled
    outcomes: OutcomeSink
    made: object | None = None
    result: SweepResult = field(default_factory=SweepResult)

    def __post_init__(self) -> None:
        """Start with a result that has the run's identifier."""
        self.result.run_id = self.run.run_id

    @abstractmethod
    def evidence(self, environment: Environment) -> _Found:
        """Return a fresh cycle, or the one that made the plan under the same lock."""

    def check_remembered(self, found: _Found) -> None:
        """Write what a fresh cycle saw to the memory that later cycles protect by.

        Raises:
            RefusedError: It is not there: what is hidden later is missed by none, so nothing that
                the run would do may rest on this cycle.
        """
        cycle = found.cycle
        if self.made is None:
            problem = not_kept(self.run.state, self.before, cycle.remembered)
        else:
            problem = None if cycle.plan.states else _NOT_REMEMBERED
        if problem is not None:
            raise RefusedError(problem, guard=Condition.MEMORY_UNREADABLE)

    @abstractmethod
    def check(self, found: _Found) -> None:
        """Make sure that the run may begin; a refusal leaves everything as it is."""

    @abstractmethod
    def act(self, found: _Found) -> None:
        """Carry out what plan and cycle agree on; the result shows what ended it early."""

    @abstractmethod
    def exit_code(self, found: _Found) -> int:
        """Return what the run amounts to."""

    @abstractmethod
    def ending(self, found: _Found, interrupted: Sequence[str]) -> Mapping[str, Any]:
        """Return the outcome that the state location keeps."""

    @property
    def is_writing(self) -> bool:
        """Return whether the run changes anything, and so is written down."""
        return True

    def interrupted(self) -> Sequence[str]:
        """Return the crashed runs that this one ends."""
        return ()

    def carry_out(self) -> SweepResult:
        """Return what became of the plan.

        Raises:
            StorageUnreachableError: The storage could not be listed; nothing was touched.
            LockHeldError: Another run took the lock over; nothing more was touched.
            RefusedError: The plan or the state belongs to another storage root, or the run may not
                begin; nothing was touched.
            SystemExit: A signal came; what was done is written down.
        """
        self.run.state.bind()
        interrupted = self.interrupted()
        with Renewal(self.run.lock) as renewal:
            shown = _checking(self.environment.progress, renewal)
            found = self.evidence(replace(self.environment, progress=shown))
            renewal.check()
            self.check_remembered(found)
            self.check(found)
            if self.is_writing:
                self.run.begin(self.plan, found.cycle.plan, found.cycle.evidence.now)
            signalled = self._act(found)
            if self.is_writing:
                outcome = self.ending(found, interrupted)
                self.run.finish(outcome, interrupted)
                log.info(self.event, **outcome)
                if self.result.error is not None:
                    log.error("objects.failed", objects=self.result.failed, error=self.result.error)
            if signalled is not None:
                raise signalled
        return self.result

    def _act(self, found: _Found) -> SystemExit | None:
        """Act, and settle the exit code; return the signal that ended it.

        No signal comes between a deletion and the check that follows it, or its record, whatever
        is deleted (R22): the signal asks the run to stop, and the run asks before each batch.
        """
        try:
            undisturbed(partial(self.act, found), self.run.stopped.set, "run")
        except SystemExit as signalled:
            self.result.stopped_by = signalled
            self.result.exit_code = code_of(signalled)
            return signalled
        self.result.exit_code = self.exit_code(found)
        return None

    def record(self, rows: pa.RecordBatch) -> None:
        """Write down and count what became of some verdicts, ``OUTCOME_SCHEMA``."""
        if rows.num_rows:
            self.outcomes.write(rows)
            self.result.count(rows)

    def revalidation(
        self,
        jobs: Iterable[JobEvidence],
        of_any_layout: Container[str] = (),
        *,
        has_savepoints: bool = False,
    ) -> Revalidation:
        """Return what checks the evidence of a cycle again; see ``Revalidation``."""
        return Revalidation(
            environment=self.environment,
            jobs=tuple(jobs),
            of_any_layout=of_any_layout,
            state=self.run.state,
            lock=self.run.lock,
            has_savepoints=has_savepoints,
        )


def _checking(progress: Progress, renewal: Renewal) -> Progress:
    def show(phase: str, done: int, total: int | None = None) -> None:
        renewal.check()
        progress(phase, done, total)

    return show
