"""An area of a checkpoint storage, and the facts that its rule asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, Scope


@dataclass(frozen=True, slots=True)
class AreaFolder:
    """Folders of an area.

    Attributes:
        scope: Scope of the folder.
        sub_folder: Name of the sub-folder that shows the layout; ``None`` for files directly in
            the folder of the scope.
        below: Path from that sub-folder to the files.

    """

    scope: Scope
    sub_folder: re.Pattern[str] | None = None
    below: str = ""

    def contains(self, place: FilePlace) -> bool:
        """Return whether the area's files are directly in a place."""
        if place.scope is not self.scope or self.sub_folder is None:
            return place.scope is self.scope and not place.inner
        return self.shows(place) and place.inner.partition("/")[2] == self.below

    def shows(self, place: FilePlace) -> bool:
        """Return whether a place is in a sub-folder that shows the area's layout."""
        if place.scope is not self.scope or self.sub_folder is None:
            return False
        return self.sub_folder.fullmatch(place.inner.partition("/")[0]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaFacts:
    """What the rules of all areas ask of one job; picklable.

    Attributes:
        state: State of the job.
        is_end_proven: Whether positive evidence shows that the job is over: its own processes
            cannot hold a file that no checkpoint names (R34).
        completed_id: Newest checkpoint, no savepoint, that the present run is known to have
            completed or to have been restored from; ``None`` if unknown (R31).
        has_write_ahead_sink: Whether any checkpoint holds handles in state bytes, which no oracle
            reads (R37).

    """

    state: JobState
    is_end_proven: bool = False
    completed_id: int | None = None
    has_write_ahead_sink: bool = False


Rule = Callable[[AreaFacts, FilePlace], str | None]
"""Returns why files of an area cannot be proven orphaned, ``None`` if they can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One kind of files.

    Attributes:
        name: Its name.
        layout: Layout of its files.
        folders: Its folders.
        written_by: Processes of Flink that write its files.
        named_by: Handles of ``_metadata`` that name its files, and by what (R36).
        rule_running: Number of the rule for a job that may run, "" where there is none.
        rule_ended: Number of the rule for a job that is over, "" where there is none.
        objection: The rule itself.

    """

    name: AreaName
    layout: DirectoryLayout
    folders: tuple[AreaFolder, ...]
    written_by: str
    named_by: str
    rule_running: str
    rule_ended: str
    objection: Rule

    def rule_of(self, state: JobState) -> str:
        """Return the number of the rule that holds in a state of the job."""
        return self.rule_ended if state is JobState.ENDED else self.rule_running


def only_ended(why_running: str) -> Rule:
    """Return the rule of an area that is collected under a proven end only (R34, R35).

    Args:
        why_running: Reason for which the files of a job that may run are kept.

    """

    def objection(facts: AreaFacts, _: FilePlace) -> str | None:
        if facts.state is not JobState.ENDED:
            return why_running
        return None if facts.is_end_proven else NOT_PROVEN

    return objection


NOT_PROVEN = (
    "the job id is a fixed one, so an answer of Flink's about it may be of an earlier run:"
    " state its end with --ended-job"
)
"""R34: an id that comes back needs the operator's statement."""
