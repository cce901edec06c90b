"""Each fault at each call of a run, one after the other: none is left to chance."""

from __future__ import annotations

import copy
import os
from functools import cache

import pytest

from safety.simulation.faults import Fault, Tally, faults_of
from safety.simulation.flinks import Job
from safety.simulation.world import World
from support import night

IS_NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"

pytestmark = pytest.mark.timeout(7_200 if IS_NIGHTLY else 600)


class Story(World):
    """A world that the same thing may happen to again and again."""

    tally = Tally()

    def copy(self) -> Story:
        other = Story()
        other.site, other.plans = copy.deepcopy((self.site, self.plans))
        other.flinks, other.runs = other.site.flinks, self.runs
        return other


@cache
def story() -> Story:
    """Return two jobs, one of which claimed the other's checkpoint, and orphans that are due."""
    told = Story()
    told.set_up(0, is_versioned=True)
    first, _ = (told.flinks.start("ck", "s3://b/", retained_most=2) for _ in range(2))
    told._go_on(Job.leak, Job.round, Job.round)
    first.cancel()
    told._pass(1)
    root = first.retained[-1][0]
    told.flinks.restore(root, "CLAIM", "other", "s3a://b/", retained_most=1)
    told._go_on(Job.round, Job.compact, Job.leak, Job.round, Job.round)
    told.declare_ended(first)
    told.make_plan([])
    told.sweep_plan(0, [])
    told.flinks.cloud.remember()
    told._go_on(Job.round)
    told.make_plan([])
    return told


def pairs(kinds: list[str]) -> list[tuple[int, Fault]]:
    """Return every call with every fault; or each kind of call once, in the midst of the run."""
    every = [(call, fault) for call, kind in enumerate(kinds) for fault in faults_of(kind)]
    if IS_NIGHTLY:  # of a part of a night, one in so many, spread over the run
        return every[:: max(1, len(every) // night.share(len(every), least=85))]
    by_kind: dict[tuple[str, Fault], list[int]] = {}
    for call, fault in every:
        by_kind.setdefault((kinds[call], fault), []).append(call)
    return [(calls[len(calls) * 2 // 3], fault) for (_, fault), calls in by_kind.items()]


def briefly(found: list[tuple[int, Fault]], kinds: list[str]) -> list[tuple[int, Fault]]:
    """Return so many of these that each kind of call, and each fault, is among them."""
    first = {kinds[call]: (call, fault) for call, fault in reversed(found)}
    first |= {fault: (call, fault) for call, fault in found}
    return sorted({*first.values()})


@pytest.mark.parametrize(
    ("verb", "is_brief"),
    [("plan", False), ("sweep", False), ("run", False)]
    if IS_NIGHTLY
    else [pytest.param("run", False, marks=pytest.mark.ci), ("run", True)],
)
def test_one_fault_at_any_call_loses_nothing(verb, is_brief, record_property) -> None:
    """And the next run, which meets with none, finishes the work; a sweep looks as a plan does."""
    calm = played(verb, [])
    deleted = len(calm.flinks.cloud.collected)
    assert not deleted if verb == "plan" else deleted
    tried = 0
    kinds = calm.last.kinds
    for call, fault in briefly(pairs(kinds), kinds) if is_brief else pairs(kinds):
        hit = played(verb, [(call, fault)])
        hit.nothing_live_is_gone()
        hit.no_proof_has_failed()
        hit.site.dead.add(hit.last.token)
        hit._pass(60)
        hit.carry_out([])
        hit.no_proof_has_failed()
        assert len(hit.flinks.cloud.collected) >= deleted, (call, fault)
        tried += 1
    record_property("told", f"one fault at one call of a {verb}: {tried} tried")


def played(verb: str, script: list[tuple[int, Fault]]) -> Story:
    """Return the story after one more plan, a sweep of its newest one, or a run."""
    told = story().copy()
    if verb == "plan":
        told.make_plan(script)
    elif verb == "sweep":
        told.sweep_plan(-1, script)
    else:
        told.carry_out(script)
    return told
