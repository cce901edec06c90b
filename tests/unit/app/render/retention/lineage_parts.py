"""Lineages as reports have them, built by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

from orphangc.core.documents.lineage_report import LineagePart, LineageReport

NOW = datetime(2026, 11, 22, tzinfo=UTC)
DAY = timedelta(days=1)


def job(number: int, *, is_over: bool = True, **changes: Any) -> dict[str, Any]:
    """Return a job that lived for ten days."""
    return {
        "job_id": f"{number:032x}",
        "directories": (f"/cp/{number}",),
        "state": "ended" if is_over else "running",
        "is_over": is_over,
        "first_life_at": NOW - (100 - 10 * number) * DAY,
        "last_life_at": NOW - (90 - 10 * number) * DAY,
        "resources": (),
        "is_self_sustained": None,
        "bytes_only": 42,
    } | changes


def checkpoint(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "uri": f"/cp/{number}/chk-9",
        "job_id": f"{number:032x}",
        "checkpoint_id": 9,
        "is_savepoint": False,
        "stored_at": NOW - (91 - 10 * number) * DAY,
        "sha256": "0" * 64,
        "is_restorable": True,
        "action": "keep",
        "reason": "keep_last",
        "why": "",
    } | changes


def edge(older: int, newer: int, **changes: Any) -> dict[str, Any]:
    """Return that one job continued another from its last checkpoint."""
    places = {"older": f"/cp/{older}", "newer": f"/cp/{newer}"}
    return {**places, "source": "rest", "checkpoint": f"/cp/{older}/chk-9"} | changes


def lineage(**changes: Any) -> LineagePart:
    """Return a lineage of three jobs, of which the last one runs."""
    values = {
        "name": "prod/orders",
        "is_over": False,
        "last_life_at": NOW,
        "bytes_only": 126,
        "unneeded_bytes": 84,
        "unneeded_objects": 2,
        "jobs": [job(0), job(1), job(2, is_over=False)],
        "checkpoints": [
            checkpoint(0, action="expire", reason="superseded"),
            checkpoint(1, is_savepoint=True),
            checkpoint(2, reason="job_not_over"),
        ],
        "continuations": [edge(0, 1), edge(1, 2)],
    }
    return LineagePart.model_validate(values | changes)


def report(*lineages: LineagePart, **changes: Any) -> LineageReport:
    counts = ("unneeded_bytes", "unneeded_objects", "expiring_bytes", "expiring_objects")
    values = {"root": "/cp", "created_at": NOW, "policy": None, "lineages": lineages}
    return LineageReport.model_validate(values | dict.fromkeys(counts, 2) | changes)
