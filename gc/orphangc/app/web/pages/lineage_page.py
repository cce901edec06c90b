"""The page of a run's lineages, from the plan of ``expire`` that the run kept on this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from orphangc.app.render.retention.lineage_picture import LineagePicture, lineage_picture
from orphangc.core.documents.lineage_report import LineagePart, LineageReport
from orphangc.core.documents.run_record import RunRecord

LINEAGES_DRAWN = 50
"""Maximum number of lineages; the plan has all of them."""
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLineages:
    """Lineages of one run.

    Attributes:
        report: All of them; ``None`` where there is none.
        drawn: The first of them, the one without a sign of life for longest first.
        problem: Reason for which nothing can be shown.

    """

    report: LineageReport | None = None
    drawn: tuple[tuple[LineagePart, LineagePicture], ...] = ()
    problem: str = ""


def shown_lineages(record: RunRecord) -> ShownLineages:
    """Return the lineages of a run; only the folder that its record names is read."""
    if record.expiry is None or record.plan_folder is None:
        return ShownLineages(problem="This run carried out no retention policy: it has no lineages")
    file = Path(record.plan_folder) / "expiry" / "plan.json"
    try:
        if file.stat().st_size > _MAX_BYTES:
            return ShownLineages(problem=f"{file} is too large for a page")
        document = json.loads(file.read_bytes())
        report = LineageReport.model_validate(document["expiry"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return ShownLineages(problem=f"There is no plan of expire in {file.parent} any more")
    if report.root != record.root:
        return ShownLineages(problem=f"{file.parent} holds the plan of another storage root")
    first = report.lineages[:LINEAGES_DRAWN]
    drawn = tuple((each, lineage_picture(each, report.created_at)) for each in first)
    return ShownLineages(report=report, drawn=drawn)
