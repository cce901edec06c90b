"""The pages of a run's lineages and their checkpoints, from what the run kept on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from orphangc.app.render.retention.lineage_picture import LineagePicture, lineage_picture
from orphangc.core.documents.lineage_report import (
    LINEAGES_FILE,
    LineageCheckpointPart,
    LineagePart,
    LineageReport,
)
from orphangc.core.documents.run_record import RunRecord

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
        if self.report is None:
            return ()
        first = self.report.lineages[:LINEAGES_DRAWN]
        return tuple((each, lineage_picture(each, self.report.created_at)) for each in first)

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
