"""Faults at the ports: what may go wrong at each call, and who decides when it does.

A script says what happens at which call of one run. Hypothesis writes scripts; the exhaustive test
writes one for each call of a run and each fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from orphangc.errors import StorageUnreachableError

_T = TypeVar("_T")

SKEWS = (timedelta(minutes=-50), timedelta(seconds=-40), timedelta(minutes=50), timedelta(0))
"""Where this machine's clock may jump to, seen from the store's."""


class Fault(StrEnum):
    """One way in which a call may go wrong."""

    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    UNAVAILABLE = "503"
    LOST_ANSWER = "lost answer"
    PARTLY = "partly"
    TWICE = "twice"
    REORDERED = "reordered"
    STALE = "stale"
    CLOCK_JUMPS = "clock jumps"


ANYWHERE = frozenset(
    {Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.SIGNAL, Fault.TIMEOUT, Fault.LOST_ANSWER}
)
"""What any call may meet with."""

SPECIAL: Mapping[str, frozenset[Fault]] = {
    "now": frozenset({Fault.CLOCK_JUMPS}),
    "page": frozenset({Fault.TWICE, Fault.REORDERED, Fault.STALE, Fault.UNAVAILABLE}),
    "folder": frozenset({Fault.PARTLY, Fault.UNAVAILABLE}),
    "read": frozenset({Fault.PARTLY, Fault.UNAVAILABLE}),
    "stat": frozenset({Fault.STALE, Fault.UNAVAILABLE}),
    "delete": frozenset({Fault.PARTLY, Fault.UNAVAILABLE}),
    "rest": frozenset({Fault.STALE, Fault.UNAVAILABLE}),
    "ha": frozenset({Fault.UNAVAILABLE}),
    "export.names": frozenset({Fault.STALE, Fault.UNAVAILABLE}),
    "export.read": frozenset({Fault.PARTLY, Fault.UNAVAILABLE}),
}
"""What else some kinds of call may; storages are consistent, so folders are never stale."""


def faults_of(kind: str) -> list[Fault]:
    return [fault for fault in Fault if fault in ANYWHERE | SPECIAL.get(kind, frozenset())]


class LossError(AssertionError):
    """Something live is gone, or was about to go."""


class ProcessDiedError(BaseException):
    """The process is no more: nothing may catch this, and nothing it does counts any more."""


@dataclass
class Tally:
    """What a machine has done, over all examples."""

    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # by port call and fault
    done: Counter[str] = field(default_factory=Counter)  # everything else by its name

    def told(self) -> str:
        names = ("examples", "plans", "sweeps", "runs", "deletions", "tombstones", "crashes",
                 "take-overs", "brought back", "checkpoints", "liveness checked",
                 "liveness excused")  # fmt: skip
        calls = len({call for call, _ in self.faults})
        counts = ", ".join(f"{self.done[name]:,} {name}" for name in names if self.done[name])
        total = sum(self.faults.values())
        return f"{counts}; {total:,} faults at {calls} kinds of call; 0 live files lost"


Action = Fault | Callable[[], None]


@dataclass
class Script:
    """What happens at the calls of one run."""

    left: list[tuple[int, Action]]  # pairs of how many calls pass first, and what happens then
    calls: int = 0  # how many there were

    @classmethod
    def of(cls, steps: Sequence[tuple[int, Action]] = ()) -> Script:
        return cls(list(steps))

    def next(self, kind: str) -> Fault | None:
        """Let happen what is due before a call; return the fault that the call meets with.

        One that this kind of call cannot meet with waits for one that can.
        """
        self.calls += 1
        while self.left:
            gap, action = self.left[0]
            if gap > 0:
                self.left[0] = (gap - 1, action)
                return None
            if isinstance(action, Fault):
                if action not in faults_of(kind):
                    return None
                del self.left[0]
                return action
            del self.left[0]
            action()
        return None


@dataclass
class Process:
    """One process of a collector: everything that it asks goes through ``call``."""

    token: str  # its name
    script: Script  # of its run
    tally: Tally  # takes the faults down
    passes: Callable[[], None]  # lets a moment pass
    skew: timedelta = timedelta(0)  # how far its clock is behind the store's
    is_dead: bool = False  # whether it died
    asked: int = 0  # number of calls so far
    looked_at: int = 0  # call at which it began to look again, as far as it has
    lost_at: int | None = None  # call at which it lost the lock
    kinds: list[str] = field(default_factory=list)  # of all calls

    def must_hold_lock(self) -> None:
        """Make sure that it has not looked again since it lost the lock."""
        if self.lost_at is not None and self.lost_at < self.looked_at:
            raise LossError(f"{self.token} deletes, and lost the lock before it looked again")

    def call(
        self,
        kind: str,
        do: Callable[[], _T],
        variants: Mapping[Fault, Callable[[], _T]] | None = None,
        *,
        error: type[Exception] = StorageUnreachableError,
    ) -> _T:
        """Return what a call answers, or what its fault makes of it.

        Args:
            kind: Of the call.
            do: Answers as it should.
            variants: Answer as some faults make them; any other one is no answer.
            error: What the port raises where there is no answer.

        """
        if self.is_dead:
            raise ProcessDiedError
        self.asked += 1
        self.kinds.append(kind)
        if kind == "rest":
            self.looked_at = self.asked
        self.passes()
        fault = self.script.next(kind)
        if self.is_dead:  # of what happened meanwhile
            raise ProcessDiedError
        if fault is None:
            return do()
        self.tally.faults[kind, fault] += 1
        if variants and fault in variants:
            return variants[fault]()
        return self._fail(kind, do, fault, error)

    def _fail(self, kind: str, do: Callable[[], _T], fault: Fault, error: type[Exception]) -> _T:
        """Return or raise what a fault comes to that any call may meet with."""
        if fault is Fault.CLOCK_JUMPS:
            self.skew = SKEWS[self.asked % len(SKEWS)]
            return do()
        if fault in {Fault.DIES_AFTER, Fault.LOST_ANSWER}:
            do()
        if fault in {Fault.DIES_BEFORE, Fault.DIES_AFTER}:
            self.is_dead = True
            raise ProcessDiedError
        if fault is Fault.SIGNAL:
            raise SystemExit(143)
        raise error(f"{kind}: {fault}")
