"""Records of runs to show, count and keep."""

from datetime import UTC, datetime, timedelta
from typing import Any

from orphangc.core.documents.run_record import Phase, PhaseRecord, RunRecord, RunResult
from orphangc.core.model.shown import RunMode

ROOT = "s3://bucket/checkpoints"
T0 = datetime(2026, 11, 1, 12, tzinfo=UTC)


def a_phase(
    result: RunResult = RunResult.DONE, phase: Phase = Phase.PLAN, *, seconds: float = 2.0
) -> PhaseRecord:
    """Return how a phase ended."""
    return PhaseRecord(phase=phase, result=result, started_at=T0, duration_seconds=seconds)


def a_record(number: int = 1, **more: Any) -> RunRecord:
    """Return the record of a run, an hour after the one of the number before."""
    at = T0 + timedelta(hours=number)
    facts: dict[str, Any] = {
        "run_id": f"{at:%Y%m%dT%H%M%S%fZ}-{number:08x}",
        "root": ROOT,
        "tool_version": "1",
        "mode": RunMode.DELETE,
        "effective_mode": RunMode.DELETE,
        "started_at": at,
        "ended_at": at,
        "result": RunResult.DONE,
        "exit_code": 0,
        "phases": (a_phase(),),
        "grace_period_seconds": 259_200.0,
    }
    return RunRecord(**(facts | more))
