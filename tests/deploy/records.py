"""Records of runs, sound and sick, as the program writes them."""

import itertools
from datetime import UTC, datetime

from orphangc.core.documents.run_record import Phase, PhaseRecord, RunRecord, RunResult, SweptPart
from orphangc.core.model.types import Action, Outcome
from unit.app.status.records import ROOT, a_record

__all__ = ["ROOT", "SICK", "a_run"]

numbers = itertools.count()

SICK = {
    "missing_objects": 2,
    "refusals": {"gate": 1, "unreadable_root": 3},
    "registry_age_seconds": 2700.0,
    "swept": (SweptPart(action=Action.DELETE, outcome=Outcome.FAILED, objects=5, bytes=50),),
}


def a_run(sweep: RunResult = RunResult.DONE, **found: object) -> RunRecord:
    """Return a run that ends now."""
    now = datetime.now(UTC)  # noqa: TID251 - Prometheus compares with its own clock
    phases = tuple(
        PhaseRecord(phase=phase, result=result, started_at=now, duration_seconds=0.0)
        for phase, result in ((Phase.PLAN, RunResult.DONE), (Phase.SWEEP, sweep))
    )
    return a_record(
        next(numbers),
        started_at=now,
        ended_at=now,
        result=sweep,
        phases=phases,
        plan_id="plan",
        **found,
    )
