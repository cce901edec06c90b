"""The pages of a run's lineages and their checkpoints, from what the run kept on this machine.

What the ``_metadata`` of one checkpoint holds is read on request, by a child process.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import ValidationError

from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import visible
from orphangc.app.render.retention.lineage_picture import LineagePicture, drawn
from orphangc.app.web.jobs_and_runs import FoundRun
from orphangc.app.web.problem_documents import problem
from orphangc.core.documents.lineage_report import (
    LINEAGES_FILE,
    LineageCheckpointPart,
    LineagePart,
    LineageReport,
)
from orphangc.core.documents.run_record import RunRecord
from orphangc.errors import OrphanGcError

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
    words = ["orphangc", "inspect", uri, *(w for a in aliases for w in ("--alias", a))]
    is_shown = visible("".join(words)) == "".join(words)
    command = shlex.join(words) if is_shown else None
    return {"run": record, "checkpoint": each, "part": Markup(part), "command": command}  # noqa: S704 - our own template escaped it
