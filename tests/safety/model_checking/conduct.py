"""How collectors behave, and what one of them has seen so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from safety.model_checking.verdict import Rules, Snapshot
from safety.model_checking.world import File, Place, Rest, Root, World, moved_roots

IDLE, OVER = -1, -2

DERIVED = (
    ("now", "rest"),
    ("s0",),
    ("s1(",),
    ("s1)",),
    ("list", "s2("),
    ("s2)",),
    ("rest+", "judge"),
)
"""R11. ``s1(`` to ``s1)`` is one listing of roots that takes its time. The listing of ``shared/``
may be put off to the next step: what it shows more can only make more candidates."""
DERIVED_AT_ONCE = (
    ("now", "rest"),
    ("s0",),
    ("s1(", "s1)"),
    ("list", "s2(", "s2)"),
    ("rest+", "judge"),
)
"""The same where each listing is of one instant."""
REGISTRY = (("now", "e1"), ("s1(",), ("s1)",), ("list", "e2", "s2("), ("s2)", "judge"))
"""R14: E1, roots, listing, nonce and E2 that repeats it, roots."""
DERIVED_SAVED = (
    ("list",),
    ("now", "rest"),
    ("s0",),
    ("s1(", "s1)"),
    ("s2(", "s2)"),
    ("rest+", "judge"),
)
"""A saved plan's sweep: the listing is the plan's, and all evidence is younger (decision 23)."""
REGISTRY_SAVED = (("list",), ("now", "e1"), ("s1(", "s1)"), ("e2",), ("s2(", "s2)", "judge"))
REGISTRY_ALONE = (("now", "e1"), ("list", "e2"), ("s2(", "s2)", "judge"))
"""What T2 needs of it: S1 only protects, and only voids."""


class Collector(NamedTuple):
    """One collector: where it stands, and what it has seen."""

    phase: int = IDLE
    runs: int = 0
    now: int = -1
    before: tuple[Rest | None, ...] = ()
    after: tuple[Rest | None, ...] = ()
    at_start: tuple[Place, ...] = ()
    always: tuple[Root, ...] | None = None
    ever: tuple[Root, ...] = ()
    first_roots: tuple[Root, ...] = ()
    second_roots: tuple[Root, ...] = ()
    first: tuple[Snapshot | None, ...] = ()
    second: tuple[Snapshot | None, ...] = ()
    listing: tuple[tuple[File, int], ...] = ()
    due: tuple[File, ...] = ()
    stable: tuple[Place, ...] = ()
    blind: Place | None = None

    def instants(self) -> Iterator[int]:
        """Yield what may still be compared."""
        if self.now >= 0:
            yield self.now
        for root in chain(self.always or (), self.ever, self.first_roots, self.second_roots):
            yield root.at
        for _, at in self.listing:
            yield at
        for each in chain(self.first, self.second):
            if each is not None:
                yield each.taken
                yield each.heard
                yield from (at for _, at in each.issued)

    def moved(self, to: Callable[[int], int]) -> Collector:
        if self.phase < 0:
            return self
        return self._replace(
            now=-1 if self.now < 0 else to(self.now),
            always=None if self.always is None else moved_roots(self.always, to),
            ever=moved_roots(self.ever, to),
            first_roots=moved_roots(self.first_roots, to),
            second_roots=moved_roots(self.second_roots, to),
            listing=tuple((file, to(at)) for file, at in self.listing),
            first=tuple(_moved(each, to) for each in self.first),
            second=tuple(_moved(each, to) for each in self.second),
        )


def _moved(seen: Snapshot | None, to: Callable[[int], int]) -> Snapshot | None:
    if seen is None:
        return None
    issued = tuple((number, to(at)) for number, at in seen.issued)
    return seen._replace(taken=to(seen.taken), heard=to(seen.heard), issued=issued)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How collectors behave; the defaults are orphangc's, but for what makes them greedier."""

    # the order of reads; what stands together happens at once
    program: tuple[tuple[str, ...], ...] = DERIVED
    rules: Rules = field(default_factory=Rules)  # how they judge
    asked: tuple[int, ...] = (0,)  # jobs that REST is asked for
    declared: tuple[int, ...] = ()  # jobs that the operator says are over
    exporting: tuple[int, ...] = ()  # jobs with an exporter
    # A listing of roots takes its time: what comes or goes meanwhile is seen or not
    is_weak: bool = True
    is_cached: bool = False  # REST answers are as old as Flink's cache
    waits: bool = True  # the last REST answer is newer than the last listing, whatever the cache
    protects_first: bool = True  # S1's roots protect, beside S2's
    is_greedy: bool = True  # what looks orphaned goes at once: no tombstone, no second look
    has_quarantine: bool = True  # R17; only if not greedy
    looks_again: bool = True  # R18; only if not greedy
    has_gap: bool = False  # something may happen between the look and the deletion
    runs: int = 1  # of each collector
    may_crash: bool = False  # anywhere
    faults: int = 0  # so many times a root hides from a collector
    hides: Place | None = None  # which root; any, if none is given
    is_long: bool = False  # it hides for the whole run, not only for the cycle's two listings
    loses_entries: bool = False  # the exporter's answer may lack entries (and its footer)
    # leave out what cannot delete any more; for speed, see ``test_ties.py``
    stops_early: bool = True

    @property
    def shrinks(self) -> bool:
        """Return whether files that are named already may be forgotten; not where R8 counts."""
        rules = self.rules
        is_plain = not (rules.sees_missing or rules.is_path_only) and self.protects_first
        return self.stops_early and self.is_greedy and is_plain

    @property
    def whole(self) -> tuple[tuple[str, ...], ...]:
        """Return the program of a run."""
        if self.is_greedy:
            return self.program
        ending = (("look",), ("delete", "end")) if self.has_gap else (("look", "delete", "end"),)
        return (("lock",), *self.program, *ending)


Steps = Iterator[tuple[str, World]]


def rested(collector: Collector, conduct: Conduct) -> Collector:
    runs = collector.runs + 1
    return Collector(phase=OVER if runs >= conduct.runs else IDLE, runs=runs)


def with_collector(world: World, index: int, collector: Collector) -> World:
    others = world.collectors
    return world._replace(collectors=(*others[:index], collector, *others[index + 1 :]))
