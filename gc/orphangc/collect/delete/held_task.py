"""One kind of thing that a held run takes away beside the objects of its plan.

Each batch is taken away in the same order: the batch is journalled, the evidence is checked, the
storage is asked for one thing after the other, the outcomes are journalled, and what a checkpoint
may name is checked once more.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Generic, TypeVar

from orphangc.collect.delete.halt import halt_for
from orphangc.collect.delete.rate_limiter import RateLimiter
from orphangc.collect.revalidate.revalidation import Revalidation
from orphangc.collect.runs.held_run import HeldRun
from orphangc.core.columns.uuid_set import UuidSet
from orphangc.core.model.types import Outcome

_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class HeldTask(ABC, Generic[_T]):
    """Takes things of one kind away, batch by batch.

    Attributes:
        journal_name: Beginning of the names of its parts of the journal.
        most_at_once: Maximum number of things that go upon one check of the evidence.
        holds_data: Whether a checkpoint may need such a thing. If one names what has gone, all
            collection halts.
        now: Start of the cycle by the store's clock.
        limiter: Keeps the rate of deletions; ``None`` for what is no deletion of data.
        outcomes: Number of things that were due, by outcome.
    """

    journal_name: ClassVar[str]
    most_at_once: ClassVar[int]
    holds_data: ClassVar[bool]

    run: HeldRun
    revalidation: Revalidation
    now: datetime
    limiter: RateLimiter | None = None
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    @abstractmethod
    def line(self, thing: _T) -> dict[str, str]:
        """Return what the journal says of a thing."""

    @abstractmethod
    def take_away(self, thing: _T) -> tuple[Outcome, str | None]:
        """Return what became of a thing, and why it failed."""

    def is_named(self, thing: _T, named: UuidSet) -> bool:  # noqa: ARG002 - by default none is
        """Return whether a checkpoint names it."""
        return False

    def take_all_away(self, due: Sequence[_T], *, is_deleting: bool) -> None:
        """Take away what is due, or only count it.

        Raises:
            RefusedError: The evidence no longer holds, or a checkpoint names what has gone.
            RunStoppedError: A signal asked the run to end.
            LockHeldError: Another run has taken the lock over.
            StorageUnreachableError: The state could not be written, or evidence not be read.
        """
        try:
            for start in range(0, len(due) if is_deleting else 0, self.most_at_once):
                self._take(start // self.most_at_once, due[start : start + self.most_at_once])
        finally:
            self.outcomes[Outcome.PLANNED] += len(due) - self.outcomes.total()

    def _take(self, number: int, batch: Sequence[_T]) -> None:
        self.run.check_goes_on()
        if self.limiter is not None:
            self.limiter.wait_for_turn(len(batch))
        part = f"{self.journal_name}-{number:06d}"
        self.run.write_journal(part, map(self.line, batch))
        named = self.revalidation.check().named
        going = [each for each in batch if not self.is_named(each, named)]
        self.outcomes[Outcome.CHANGED] += len(batch) - len(going)
        done = [(each, *self.take_away(each)) for each in going]
        self.outcomes.update(outcome for _, outcome, _ in done)
        lines = (
            {**self.line(each), "outcome": outcome.value, "error": error}
            for each, outcome, error in done
        )
        try:
            self.run.write_journal(f"{part}-outcomes", lines)
        finally:
            if self.holds_data:
                self._check_none_is_named(going)

    def _check_none_is_named(self, gone: Sequence[_T]) -> None:
        """Halt all, and raise ``RefusedError``, if a checkpoint names what has gone (R22)."""
        named = self.revalidation.check_after().named
        wrong = next((each for each in gone if self.is_named(each, named)), None)
        if wrong is not None:
            what = f"the {self.journal_name.removesuffix('s')} of {self.line(wrong)['key']}"
            raise halt_for(what, self.revalidation, self.now)
