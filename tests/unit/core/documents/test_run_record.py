"""Totals go on from run to run and never back; a record tells how much was swept."""

from datetime import timedelta

import pytest

from orphangc.core.documents.run_record import (
    DURATION_BUCKETS_SECONDS,
    Phase,
    PhaseRecord,
    RunRecord,
    RunResult,
    SweptPart,
    Totals,
    totals_after,
)
from orphangc.core.model.joined_facts import joined
from orphangc.core.model.types import Action, Outcome
from unit.app.status import records
from unit.app.status.records import T0

BEFORE = Totals(
    runs={"plan/done": 10, "plan/failed": 3},
    swept_objects={"delete/done": 20, "revive/done": 4},
    swept_bytes={"delete/done": 200, "revive/done": 40},
    refusals={"gate": 5, "closed_world": 6},
    list_requests=30,
    durations={"plan/5": 7, "plan/60": 8},
    duration_seconds={"plan": 100.0, "sweep": 50.0},
    last_success_at={"plan": T0 - timedelta(days=1), "sweep": T0 - timedelta(days=2)},
)


def a_phase(phase: Phase, result: RunResult, seconds: float) -> PhaseRecord:
    return PhaseRecord(phase=phase, result=result, started_at=T0, duration_seconds=seconds)


def a_record(*phases: PhaseRecord, **more: object) -> RunRecord:
    return records.a_record(**{"phases": phases, "started_at": T0, **more})


SWEPT = (
    SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=3, bytes=31),
    SweptPart(action=Action.DELETE, outcome=Outcome.FAILED, objects=5, bytes=53),
    SweptPart(action=Action.REVIVE, outcome=Outcome.DONE, objects=7, bytes=71),
)


def test_a_record_tells_what_became_of_an_action() -> None:
    """Of this action with this outcome, and of nothing else."""
    record = a_record(swept=SWEPT)
    asked = [(each.action, each.outcome) for each in SWEPT]
    assert [record.swept_objects(*each) for each in asked] == [3, 5, 7]
    assert [record.swept_bytes(*each) for each in asked] == [31, 53, 71]
    assert record.swept_objects(Action.REVIVE, Outcome.FAILED) == 0
    assert record.swept_bytes(Action.REVIVE, Outcome.FAILED) == 0


def test_only_deletions_that_were_done_are_deletions() -> None:
    """A record of a failed one, or of one of nothing, says that all is still there."""
    assert a_record(swept=SWEPT).has_deleted
    assert not a_record(swept=SWEPT[1:]).has_deleted
    none = SweptPart(action=Action.DELETE, outcome=Outcome.DONE, objects=0, bytes=0)
    assert not a_record(swept=(none,)).has_deleted


def test_totals_go_on_from_where_they_were() -> None:
    """Every counter rises by what this run did; what it did not do stays as it was."""
    record = a_record(
        a_phase(Phase.PLAN, RunResult.DONE, 4.0),
        a_phase(Phase.SWEEP, RunResult.SOME_DELETES_FAILED, 100_000.0),
        swept=SWEPT,
        refusals={"gate": 1, "listing": 2},
        list_requests=9,
        totals=BEFORE,
    )
    assert totals_after(BEFORE, record) == Totals(
        runs={"plan/done": 11, "plan/failed": 3, "sweep/some_deletes_failed": 1},
        swept_objects={"delete/done": 23, "revive/done": 11, "delete/failed": 5},
        swept_bytes={"delete/done": 231, "revive/done": 111, "delete/failed": 53},
        refusals={"gate": 6, "closed_world": 6, "listing": 2},
        list_requests=39,
        durations={"plan/5": 8, "plan/60": 8, "sweep/inf": 1},
        duration_seconds={"plan": 104.0, "sweep": 100_050.0},
        last_success_at={"plan": T0 + timedelta(seconds=4), "sweep": T0 - timedelta(days=2)},
    )


@pytest.mark.parametrize("result", [RunResult.LOCKED, RunResult.MISSED])
def test_a_phase_that_never_began_has_no_duration(result: RunResult) -> None:
    """It is counted as a run, and would make the runs look fast."""
    totals = totals_after(Totals(), a_record(a_phase(Phase.PLAN, result, 0.0)))
    assert totals == Totals(runs={f"plan/{result}": 1})


@pytest.mark.parametrize("edge", DURATION_BUCKETS_SECONDS)
def test_a_bucket_holds_its_upper_edge(edge: int) -> None:
    """As Prometheus has it: less than or equal."""
    totals = totals_after(Totals(), a_record(a_phase(Phase.PLAN, RunResult.FAILED, edge)))
    assert totals.durations == {f"plan/{edge}": 1}
    totals = totals_after(Totals(), a_record(a_phase(Phase.PLAN, RunResult.FAILED, edge + 0.01)))
    assert totals.durations != {f"plan/{edge}": 1}


def test_totals_that_know_of_different_runs_give_the_larger_of_each() -> None:
    """Whichever was written later: a counter never goes back."""
    other = Totals(
        runs={"plan/done": 11, "sweep/done": 1},
        swept_objects={"delete/done": 19, "delete/failed": 2},
        swept_bytes={"delete/done": 201},
        refusals={"gate": 4},
        list_requests=31,
        durations={"plan/5": 9, "sweep/1": 2},
        duration_seconds={"plan": 99.0, "sweep": 51.0},
        last_success_at={"plan": T0},
    )
    merged = Totals(
        runs={"plan/done": 11, "plan/failed": 3, "sweep/done": 1},
        swept_objects={"delete/done": 20, "revive/done": 4, "delete/failed": 2},
        swept_bytes={"delete/done": 201, "revive/done": 40},
        refusals={"gate": 5, "closed_world": 6},
        list_requests=31,
        durations={"plan/5": 9, "plan/60": 8, "sweep/1": 2},
        duration_seconds={"plan": 100.0, "sweep": 51.0},
        last_success_at={"plan": T0, "sweep": T0 - timedelta(days=2)},
    )
    assert joined(BEFORE, other) == joined(other, BEFORE) == merged
