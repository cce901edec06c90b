"""The pages of a run's lineages, checkpoints and single objects, from what it kept on this machine.

What the ``_metadata`` of one checkpoint holds is read on request, by a child process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from pydantic import ValidationError

from flinkstate.places.locations import canonical
from flinkstate.text.redaction import redacted
from orphangc.app.render.reason_groups import REASONS, headline_of
from orphangc.app.render.retention.lineage_picture import LineagePicture, drawn
from orphangc.app.render.shown_names import JobNames
from orphangc.app.web.jobs_and_runs import FoundRun, shown_command
from orphangc.app.web.problem_documents import problem
from orphangc.core.documents.lineage_report import (
    LINEAGES_FILE,
    LineageCheckpointPart,
    LineagePart,
    LineageReport,
)
from orphangc.core.documents.plan import JobPart, Plan
from orphangc.core.documents.run_record import RunRecord
from orphangc.core.model.types import Action, Reason
from orphangc.errors import OrphanGcError

if TYPE_CHECKING:
    from orphangc.adapters.rows.verdict_lookup import VerdictLookup

LINEAGES_DRAWN = 50
"""Maximum number of lineages on a page; the file has all of them."""
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLineages:
    """Lineages of one run."""

    report: LineageReport | None = None
    problem: str = ""

    @property
    def drawn(self) -> tuple[tuple[LineagePart, LineagePicture], ...]:
        """Return the first lineages, the one without a sign of life for longest first."""
        return () if self.report is None else (*drawn(self.report, LINEAGES_DRAWN),)

    @property
    def checkpoints(self) -> tuple[LineageCheckpointPart, ...]:
        """Return every checkpoint and savepoint that the run read."""
        return () if self.report is None else self.report.checkpoints


def shown_lineages(record: RunRecord) -> ShownLineages:
    """Return the lineages of a run; only the folder that its record names is read."""
    if record.plan_folder is None:
        return ShownLineages(problem="This run made no plan: it has no lineages")
    file = Path(record.plan_folder) / LINEAGES_FILE
    try:
        if file.stat().st_size > _MAX_BYTES:
            return ShownLineages(problem=f"{file} is too large for a page")
        report = LineageReport.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return ShownLineages(problem=f"There are no lineages in {file.parent} on this machine")
    if report.root != record.root:
        return ShownLineages(problem=f"{file.parent} holds the lineages of another storage root")
    return ShownLineages(report=report)


_UNKNOWN = "This run read no such checkpoint."

ReadPagePart = Callable[[str, Sequence[str]], str]
"""Reads a checkpoint, with aliases, in bounded time as HTML; see ``Children.page_part``."""


def checkpoints_context(found: FoundRun, job_id: str | None) -> dict[str, Any]:
    """Return the values for the page that lists the checkpoints of a run, or of one job of it."""
    shown = shown_lineages(found.record)
    listed = [each for each in shown.checkpoints if job_id in {None, each.job_id}]
    newest = sorted(listed, key=lambda each: (each.job_id, -each.checkpoint_id, each.uri))
    return {"run": found.record, "job_id": job_id, "shown": shown, "checkpoints": newest}


def checkpoint_context(found: FoundRun, uri: str, page_part: ReadPagePart) -> dict[str, Any]:
    """Return the values for the page of one checkpoint.

    Only what the run itself has read is read: a request cannot name other places.

    Raises:
        HTTPException: The run has read no such checkpoint, or it cannot be read now.
    """
    record = found.record
    each = next((e for e in shown_lineages(record).checkpoints if e.uri == uri), None)
    if each is None:
        raise problem(HTTPStatus.NOT_FOUND, _UNKNOWN)
    aliases = found.root.settings.alias
    try:
        part = page_part(uri, aliases)
    except OrphanGcError as err:
        raise problem(HTTPStatus.SERVICE_UNAVAILABLE, redacted(f"{uri}: {err}.")) from err
    command = shown_command("inspect", uri, *(w for a in aliases for w in ("--alias", a)))
    return {"run": record, "checkpoint": each, "part": Markup(part), "command": command}  # noqa: S704 - our own template escaped it


_EXAMPLES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectExplanation:
    """What is known about a key.

    Attributes:
        key: Requested key, relative to the storage root; "" if none was requested.
        row: Verdict of the object, a row of ``VERDICT_SCHEMA``.
        command: Command that explains more from the storage itself; ``None`` if a shell cannot take
            the key.
    """

    key: str
    problem: str | None = None
    row: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None
    headline: str = ""
    meaning: str = ""
    job: JobPart | None = None
    job_name: str = ""
    command: str | None = None
    examples: Mapping[Reason, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def explanation(record: RunRecord, key: str) -> ObjectExplanation:
    """Return why an object has its verdict.

    Only the folder that the record names is read, and only if it still holds the record's plan.

    Args:
        key: Key relative to the storage root, or a URI below it; "" for some examples.
    """
    from orphangc.adapters.rows.verdict_lookup import VerdictLookup  # noqa: PLC0415 - loads Arrow

    relative = _relative(key.strip(), record.root)
    if record.plan_folder is None or record.plan_id is None:
        return ObjectExplanation(key=relative, problem="This run made no plan.")
    command = _command(relative, record.plan_folder)
    try:
        lookup = VerdictLookup(Path(record.plan_folder))
        plan = _plan(lookup, record)
        if not relative:
            return ObjectExplanation(key="", examples=_examples(lookup, plan))
        row = lookup.find(plan, relative)
    except OrphanGcError as err:
        said = f"The plan is not to be had on this machine: {err}."
        return ObjectExplanation(key=relative, problem=said, command=command)
    if row is None:
        said = "The plan has no object of this name. Names are compared byte by byte."
        return ObjectExplanation(key=relative, problem=said)
    return _explained(relative, row, plan, command)


def _plan(lookup: VerdictLookup, record: RunRecord) -> Plan:
    plan = lookup.plan()
    if plan.plan_id != record.plan_id:
        raise OrphanGcError(f"{record.plan_folder} now holds the plan of another run")
    return plan


def _explained(
    key: str, row: Mapping[str, Any], plan: Plan, command: str | None
) -> ObjectExplanation:
    action, reason = Action(row["action"]), Reason(row["reason"])
    job = plan.job_of(row["job_id"], canonical(plan.root).child(key.rpartition("/")[0]))
    return ObjectExplanation(
        key=key,
        row=row,
        reason=reason,
        headline=_headline(action, reason, job),
        meaning=REASONS[reason].meaning,
        job=job,
        job_name=JobNames.of(plan.jobs)(row["job_id"]),
        command=command,
    )


def _headline(action: Action, reason: Reason, job: JobPart | None) -> str:
    if action is Action.DELETE and job is not None and job.blocked:
        return "It stays for now: it is due for deletion, but its job is blocked."
    return headline_of(action, reason)


def _relative(key: str, root: str) -> str:
    try:
        inside = canonical(root).key_of(canonical(key))
    except ValueError:
        return key.lstrip("/")
    return key.lstrip("/") if inside is None else inside


def _command(key: str, folder: str) -> str | None:
    if key.startswith("-"):
        return shown_command("explain", "--plan", folder, "--", key)
    return shown_command("explain", key, "--plan", folder)


def _examples(lookup: VerdictLookup, plan: Plan) -> dict[Reason, Sequence[Mapping[str, Any]]]:
    found = lookup.examples(plan, _EXAMPLES)
    order = [Reason.QUARANTINE_OVER, Reason.ORPHAN, Reason.IN_QUARANTINE, *Reason]
    return {reason: found[reason] for reason in dict.fromkeys(order) if reason in found}
