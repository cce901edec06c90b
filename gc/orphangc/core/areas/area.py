"""An area of a checkpoint storage, and the facts that its rule asks for."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from orphangc.core.model.bounds import Bound
from orphangc.core.model.codes import Guard
from orphangc.core.model.naming import FilePlace
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, Scope


@dataclass(frozen=True, slots=True)
class AreaFolder:
    """Folders of an area.

    Attributes:
        sub_folder: Name of the sub-folder that shows the layout; ``None`` for files directly in
            the folder of the scope.
    """

    scope: Scope
    sub_folder: re.Pattern[str] | None = None
    below: str = ""

    def contains(self, place: FilePlace) -> bool:
        """Return whether the area's files are directly in a place."""
        if place.scope is not self.scope or self.sub_folder is None:
            return place.scope is self.scope and not place.inner
        return self.shows(place) and place.inner.partition("/")[2] == self.below

    def leads_to(self, place: FilePlace) -> bool:
        """Return whether a place holds the area's files, or a folder on the way to them."""
        if self.sub_folder is None:
            return self.contains(place)
        rest = place.inner.partition("/")[2]
        return self.shows(place) and (not rest or f"{self.below}/".startswith(f"{rest}/"))

    def shows(self, place: FilePlace) -> bool:
        """Return whether a place is in a sub-folder that shows the area's layout."""
        if place.scope is not self.scope or self.sub_folder is None:
            return False
        return self.sub_folder.fullmatch(place.inner.partition("/")[0]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaFacts:
    """What the rules of all areas ask of one job; picklable.

    Attributes:
        is_end_proven: Whether positive evidence shows that the job is over: its own processes
            cannot hold a file that no checkpoint names (R34).
        completed_id: Newest checkpoint, no savepoint, that the present run is known to have
            completed or to have been restored from; ``None`` if unknown (R31).
        newest_trigger: Trigger time of the newest checkpoint that the present run has completed
            and retains, less twice the clock slack; ``None`` if unknown (R45).
        unknown_layout: Why the job may use a layout that is none of Flink's own, ``None`` if it
            does not.
        not_merged_within: Why files may not be merged within each checkpoint alone, ``None`` if
            they are (R46).
        has_write_ahead_sink: Whether any checkpoint holds handles in state bytes, which no oracle
            reads (R37).
        is_known_by_fixed_id_alone: Whether it is a primary directory of ForSt, and its id one that
            another job may have (R34).
    """

    state: JobState
    is_end_proven: bool = False
    completed_id: int | None = None
    newest_trigger: datetime | None = None
    unknown_layout: str | None = None
    not_merged_within: str | None = "nothing shows how files are merged"
    has_write_ahead_sink: bool = False
    is_known_by_fixed_id_alone: bool = False


Rule = Callable[[AreaFacts, FilePlace], str | None]
"""Returns why files of an area cannot be proven orphaned, ``None`` if they can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One kind of files.

    Attributes:
        named_by: Handles of ``_metadata`` that name its files, and by what (R36).
        rule_running: Number of the rule for a job that may run, "" where there is none.
        rule_ended: Number of the rule for a job that is over, "" where there is none.
        bound: A further bound of a running job's files; ``None``: the bounds of the job suffice.
        is_written_in_place: Whether an unfinished upload may be of an open file, whose data a
            completed ``_metadata`` may name already (R50).
        is_stricter_than_merged: Whether R46 judges no merged files beside files of it.
        withstands: Guards that may refuse a running job whose files here are judged all the same:
            the rule needs nothing that they ask for (R56).
    """

    name: AreaName
    layout: DirectoryLayout
    folders: tuple[AreaFolder, ...]
    written_by: str
    named_by: str
    rule_running: str
    rule_ended: str
    objection: Rule
    is_written_in_place: bool
    is_stricter_than_merged: bool
    bound: Callable[[AreaFacts], Bound] | None = None
    withstands: frozenset[Guard] = frozenset()

    def bounds_of(self, facts: AreaFacts) -> tuple[Bound, ...]:
        """Return the further bounds of the area's files."""
        is_over = facts.state is JobState.ENDED
        return () if self.bound is None or is_over else (self.bound(facts),)

    def rule_of(self, state: JobState) -> str:
        """Return the number of the rule that holds in a state of the job."""
        return self.rule_ended if state is JobState.ENDED else self.rule_running


def until_the_end(running: Rule) -> Rule:
    """Return the rule of an area: once the job is over, a proven end suffices (R34, R35).

    Args:
        running: Rule of a job that may run.
    """

    def objection(facts: AreaFacts, place: FilePlace) -> str | None:
        if facts.state is not JobState.ENDED:
            return running(facts, place)
        return None if facts.is_end_proven else NOT_PROVEN

    return objection


NOT_PROVEN = (
    "the job id is a fixed one, so an answer of Flink's about it may be of an earlier run:"
    " state its end with --ended-job"
)
"""R34: an id that comes back needs the operator's statement."""
