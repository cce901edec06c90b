"""Clocks that differ: time ticks, and margins are the product's own (R10, R16).

One tick is the unit; the clock of the collectors is the one that ticks. Every object that is stored
gets its time from one of several machines of the store, which differ by ``SIGMA``; another one
tells the collectors the time; JobManagers have clocks of their own. What is out of bounds must be
refused by a guard: those worlds are explored with the others.
"""

from dataclasses import replace
from itertools import product

from orphangc.core.model.codes import Guard
from safety.model_checking.conduct import Conduct
from safety.model_checking.flink import Scope
from safety.model_checking.scenario import Scenario
from safety.model_checking.scenarios import AT_ONCE, BY_TIME, IN_FULL
from safety.model_checking.verdict import margins

SIGMA = 1
START = 5
"""No instant is below 0, whatever a clock says."""
STAMPS = (-SIGMA, 0)
"""Two machines of one store: two of its times say nothing of an order unless they differ more."""


def with_slack(conduct: Conduct, sigma: int = SIGMA, *without: Guard, **changes: int) -> Conduct:
    """Return a collector that takes a slack of some instants, and asks not every guard."""
    guards = conduct.rules.without | frozenset(without)
    rules = replace(conduct.rules, margins=margins(sigma), without=guards, **changes)
    return replace(conduct, rules=rules)


def ticking(
    name: str,
    conduct: Conduct,
    *,
    ticks: int = 1,
    clocks: tuple[tuple[int, int], ...] = ((SIGMA, 0),),
    scope: Scope | None = None,
    history: tuple[str, ...] = (),
) -> Scenario:
    """Return a scenario in which clocks differ."""
    return Scenario(
        name=name,
        scope=scope or Scope(checkpoints=2, concurrent=2),
        conduct=conduct,
        starts_at=START,
        ticks=ticks,
        stamps=STAMPS,
        clocks=clocks,
        history=history,
    )


EVERY_PAIR = tuple(product(range(-2 * SIGMA, 2 * SIGMA + 1), (-SIGMA, 0)))
"""Also those that the guard of registries has to refuse."""
BOTH_WRONG = ((3 * SIGMA, 3 * SIGMA),)
"""The store tells a wrong time, and the JobManager believes the same; what is stored is dated
right. The collector's own clock alone can tell."""
ONE_BY_ONE = Scope(checkpoints=2)

TICKING = [
    ticking(
        "clocks: derived, the store's machines differ",
        with_slack(AT_ONCE),
        ticks=2,
        clocks=((0, 0), (0, -SIGMA)),
        scope=ONE_BY_ONE,
    ),
    ticking("clocks: registry by time, all differ", with_slack(BY_TIME)),
]
"""No loss, as long as the slack is what the product takes."""

TICKING_LONG = [
    ticking(
        "large: clocks: registry by time, all differ, and tick on", with_slack(BY_TIME), ticks=2
    ),
    ticking(
        "large: clocks: registry by time, every pair of clocks",
        with_slack(BY_TIME),
        clocks=EVERY_PAIR,
    ),
    ticking(
        "large: clocks: registry in full, all differ",
        with_slack(IN_FULL),
        ticks=2,
        scope=ONE_BY_ONE,
    ),
    ticking("large: clocks: the store tells a wrong time", with_slack(BY_TIME), clocks=BOTH_WRONG),
]
"""The same, of the class ``nightly``."""

BOTH_ARE_PENDING = ("A: trigger 1", "A: trigger 2")

UNSLACKED = {
    "R9: no slack between two times of the store": ticking(
        "", with_slack(AT_ONCE, 0), ticks=0, clocks=((0, 0),), scope=ONE_BY_ONE
    ),
    "R16: the slack taken once from a JobManager's times": ticking(
        "", with_slack(BY_TIME, registry_slack=1), history=BOTH_ARE_PENDING
    ),
    "R16: no slack from a JobManager's times": ticking(
        "", with_slack(BY_TIME, registry_slack=0), history=BOTH_ARE_PENDING
    ),
    "R15: nobody asks how far a JobManager's clock is ahead": ticking(
        "",
        with_slack(BY_TIME, SIGMA, Guard.REGISTRY),
        clocks=((2 * SIGMA, 0),),
        history=BOTH_ARE_PENDING,
    ),
    "R10: the collector does not look at its own clock": ticking(
        "",
        with_slack(BY_TIME, SIGMA, Guard.CLOCK_SKEW),
        clocks=BOTH_WRONG,
        history=BOTH_ARE_PENDING,
    ),
}
"""Each takes a slack, or a look at a clock, away: a loss must be found."""
