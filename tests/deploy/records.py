"""Records of runs, sound and sick, as the program writes them."""

import itertools
from datetime import UTC, datetime, timedelta

from orphangc.core.documents.run_record import (
    Phase,
    PhaseRecord,
    RunMode,
    RunRecord,
    RunResult,
    SweptPart,
)
from orphangc.core.model.types import Action, Outcome

ROOT = "s3://bucket/checkpoints"
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
    return RunRecord(
        run_id=f"run-{next(numbers)}",
        root=ROOT,
        tool_version="1",
        mode=RunMode.DELETE,
        effective_mode=RunMode.DELETE,
        started_at=now,
        ended_at=now,
        result=sweep,
        exit_code=0,
        phases=phases,
        plan_id="plan",
        grace_period_seconds=timedelta(hours=72).total_seconds(),
        **found,
    )
