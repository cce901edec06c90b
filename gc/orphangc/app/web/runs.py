"""Find runs among the records that the daemon has in memory."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from flinkstate.text.shown_text import visible
from orphangc.app.status.status_store import RootStatus, Status
from orphangc.core.documents.run_record import RunRecord

UNKNOWN_RUN = "No record that is kept is of this run."


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """One run, with the runs before and after it of the same storage root."""

    root: RootStatus
    record: RunRecord
    earlier: RunRecord | None
    later: RunRecord | None

    @property
    def undo(self) -> str | None:
        """Return the command that brings back what the run deleted; ``None`` if it is nothing, or
        a terminal does not show the name of the folder.
        """
        folder = self.record.plan_folder
        if folder is None or not self.record.has_deleted or visible(folder) != folder:
            return None
        return shlex.join(["orphangc", "undelete", folder])


def all_runs(status: Status, root: str | None = None) -> list[RunRecord]:
    """Return the runs of all storage roots, or of one, newest first."""
    roots = (each for each in status.roots if root in {None, each.settings.root})
    found = [record for each in roots for record in each.records]
    return sorted(found, key=lambda record: (record.started_at, record.run_id), reverse=True)


def find_run(status: Status, run_id: str) -> FoundRun | None:
    """Return a run by its id."""
    for root in status.roots:
        for place, record in enumerate(root.records):
            if record.run_id == run_id:
                return FoundRun(
                    root=root,
                    record=record,
                    earlier=root.records[place + 1] if place + 1 < len(root.records) else None,
                    later=root.records[place - 1] if place else None,
                )
    return None
