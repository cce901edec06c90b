"""Deletions in the logs, each refusal with advice, and the end of each run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import structlog

from orphangc.app.render.advice import CONDITIONS
from orphangc.app.render.shown_names import JobNames
from orphangc.app.render.stops import Fate, Judged, Unmet, stopping
from orphangc.app.telemetry.logs import AuditLog, always_shown, needs_redaction
from orphangc.collect.runs.journal import json_lines
from orphangc.core.documents.plan import Plan
from orphangc.core.model.types import Action, Outcome
from orphangc.errors import RefusedError
from orphangc.ports import OutcomeSink

if TYPE_CHECKING:
    from orphangc.core.decision.judge import Judgement
    from orphangc.core.documents.plan import Tally
    from orphangc.core.documents.run_record import RunRecord, SweptPart

log = structlog.get_logger()

_DELETED = "object.deleted"
_LOGGED = (
    *("run_id", "root", "mode", "effective_mode", "effective_mode_reason", "result", "exit_code"),
    *("plan_id", "objects_listed", "bytes_listed", "missing_objects", "halted", "stopped", "error"),
)
_NAMED = ("key", "size", "reason", "etag", "outcome")


class Audited:
    """Passes outcomes to another sink; logs an event a batch, and a line an object if asked.

    Attributes:
        audit: Takes a line for each attempted deletion; ``None`` if none are asked for.
    """

    def __init__(self, sink: OutcomeSink, audit: AuditLog | None = None) -> None:
        self.sink, self.audit = sink, audit
        self._log = always_shown()

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows of ``OUTCOME_SCHEMA`` to the sink, then log them."""
        self.sink.write(batch)
        is_deletion = pc.equal(batch["action"], Action.DELETE)
        is_tried = pc.not_equal(batch["outcome"], Outcome.PLANNED)
        tried = batch.filter(pc.and_(is_deletion, is_tried))
        is_done = pc.and_(pc.equal(tried["outcome"], Outcome.DONE), tried["error"].is_null())
        done, others = tried.filter(is_done), tried.filter(pc.invert(is_done))
        if self.audit is None:
            self._sum_up("objects.deleted", done)
            self._sum_up("objects.not_deleted", others)
            return
        if _are_plain(done):
            self.audit.together(_DELETED, json_lines(_facts(done)))
        else:
            self._write_each(done, self.audit)
        self._write_each(others, self.audit)

    def _sum_up(self, event: str, rows: pa.RecordBatch) -> None:
        if not rows.num_rows:
            return
        facts = {"objects": rows.num_rows, "bytes": pc.sum(rows["size"]).as_py() or 0}
        facts["jobs"] = len(pc.unique(rows["job_id"]))
        errors = rows["error"].drop_null()
        if len(errors):
            facts["error"] = errors[0].as_py()
        self._log.info(event, key=rows["key"][0].as_py(), **facts)

    def _write_each(self, rows: pa.RecordBatch, audit: AuditLog) -> None:
        for row in rows.to_pylist():
            is_done = row["outcome"] == Outcome.DONE
            facts = {name: row[name] for name in _NAMED}
            facts |= {"job_id": row["job_id"], "stored_at": row["modified_at"].isoformat()}
            if row["error"] is not None:
                facts["error"] = row["error"]
            audit.one(_DELETED if is_done else "object.not_deleted", facts)


def _are_plain(rows: pa.RecordBatch) -> bool:
    """Return whether there are rows, each with a time, and nothing to redact in their few words."""
    words = {word for name in ("reason", "job_id") for word in pc.unique(rows[name]).to_pylist()}
    has_times = rows["modified_at"].null_count == 0
    return bool(rows.num_rows) and has_times and not any(map(needs_redaction, words))


def _facts(rows: pa.RecordBatch) -> pa.RecordBatch:
    times = rows["modified_at"]
    whole = times.cast(pa.timestamp("s", tz="UTC"), safe=False)
    if whole.cast(times.type).equals(times):
        text = whole.cast(pa.timestamp("s")).cast(pa.string())  # no zone, so no file of zones
        day, time = pc.utf8_slice_codeunits(text, 0, 10), pc.utf8_slice_codeunits(text, 11)
        stored_at = pc.binary_join_element_wise(day, time, "T")
        stored_at = pc.binary_join_element_wise(stored_at, "+00:00", "")
    else:
        stored_at = pa.array([at.isoformat() for at in times.to_pylist()], pa.string())
    columns = [*(rows[name] for name in (*_NAMED, "job_id")), stored_at]
    return pa.RecordBatch.from_arrays(columns, names=[*_NAMED, "job_id", "stored_at"])


def log_stops(jobs: Iterable[tuple[str, Judged | Judgement]], names: JobNames) -> None:
    """Log why no object of some jobs may be deleted: rule, job, and advice.

    Args:
        jobs: Jobs by job key; of a refused one only the guard is logged.
    """
    for key, job in jobs:
        for each in stopping(job):
            facts: dict[str, Any] = {"job_id": key, "reason": names.in_text(each.message)}
            if key in names.resources:
                facts["resources"] = list(names.resources[key])
            event = "job.refused" if each.fate is Fate.REFUSED else "job.blocked"
            log.warning(event, **each.logged(), **facts)


def log_plan(plan: Plan, *, logs_blocked: bool = False) -> None:
    """Log the findings of a plan, and what stops its jobs."""
    names = JobNames.of(plan.jobs)
    refused = [job for job in plan.jobs if job.refused is not None]
    others = [job for job in plan.jobs if logs_blocked and job.refused is None]
    log_stops(((job.job_id, job) for job in (*refused, *others)), names)
    for warning in plan.warnings:
        log.warning("plan.doubtful", reason=names.in_text(warning))
    log.info(
        "plan.written",
        plan_id=plan.plan_id,
        root=plan.root,
        objects=plan.objects_listed,
        orphans=plan.objects(Action.TOMBSTONE, Action.DELETE),
        jobs=len(plan.jobs),
        refused=len(refused),
        duration_seconds=plan.duration_seconds,
    )


def log_refusal(err: RefusedError) -> None:
    """Log why the whole storage root was refused, with advice."""
    facts: dict[str, Any] = {}
    if err.guard is not None:
        fate = Fate.BLOCKED if err.guard in CONDITIONS else Fate.REFUSED
        facts |= Unmet(fate, str(err.guard), str(err)).logged()
    log.warning("run.refused", reason=str(err), **facts)


def log_run(record: RunRecord) -> None:
    """Log one line with everything about a run."""
    facts: dict[str, Any] = {name: getattr(record, name) for name in _LOGGED}
    facts |= {
        "duration_seconds": (record.ended_at - record.started_at).total_seconds(),
        "jobs": len(record.jobs),
        "amounts": {f"{e.scope}/{e.action}/{e.reason}": _amount(e) for e in record.amounts},
        "swept": {f"{e.action}/{e.outcome}": _amount(e) for e in record.swept},
        "refusals": dict(record.refusals),
        "blocked": None if record.blocked is None else record.blocked.model_dump(),
    }
    always_shown().info("run.finished", **facts)


def _amount(part: Tally | SweptPart) -> dict[str, int]:
    return {"objects": part.objects, "bytes": part.bytes}
