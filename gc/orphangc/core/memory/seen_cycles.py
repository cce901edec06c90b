"""This cycle beside the earlier ones: what one of them saw and this one does not is lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from flinkstate.places.locations import is_within
from orphangc.core.memory.acknowledgement import (
    Acknowledgement,
    acknowledging_command,
    is_acknowledged,
)
from orphangc.core.memory.remembered import RememberedJob, WorldMemory
from orphangc.core.memory.sighting import SeenPlace, Sighting
from orphangc.core.model.codes import Condition

REPORTED = "reported"
"""Kind of a place that is searched because something named a checkpoint in it."""
STORAGE = "storage"
"""Kind of a storage that is searched whole: checkpoints that concern no file here come and go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostFact:
    """A fact of an earlier cycle that no longer holds.

    Attributes:
        reach: Directories that are blocked; ``None`` for all of the storage root.
    """

    condition: Condition
    what: str
    since: datetime
    message: str
    reach: frozenset[str] | None = None
    is_acknowledged: bool = False

    def concerns(self, directories: Iterable[str]) -> bool:
        """Return whether it blocks a job with these directories."""
        if self.is_acknowledged:
            return False
        return self.reach is None or any(each in self.reach for each in directories)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCycles:
    """What the memory has of earlier cycles, and what this one saw.

    Attributes:
        jobs: Records of all jobs, with what this cycle learned.
        given: What people acknowledged.
    """

    memory: WorldMemory
    sighting: Sighting
    jobs: tuple[RememberedJob, ...]
    given: tuple[Acknowledgement, ...] = ()

    def lost(
        self,
        fact: tuple[Condition, str, datetime],
        sentence: str,
        reach: frozenset[str] | None = None,
        *,
        run: str = ", or run: ",
    ) -> LostFact:
        """Return a loss, acknowledged if a person did so; its message says how to do that.

        Args:
            sentence: What was there, what is there now, and after the colon how to bring it back.
            run: Words between the sentence and the command that acknowledges this one fact.
        """
        condition, what, since = fact
        root, state = self.sighting.root, self.sighting.state
        command = acknowledging_command(root, condition, what, state=state)
        return LostFact(
            condition=condition,
            what=what,
            since=since,
            message=f"{sentence}{run}{command}",
            reach=reach,
            is_acknowledged=self._is_acknowledged(condition, what, since),
        )

    def _is_acknowledged(self, condition: Condition, what: str, since: datetime) -> bool:
        """Return whether a person acknowledged exactly this fact; a place covers all below it."""
        covering = [(condition, what)]
        is_below = condition in {Condition.JOB_DIRECTORY_EMPTIED, Condition.CHECKPOINT_NOT_FOUND}
        if is_below and self.given:
            own = (e.place for e in self.memory.directories if is_within(what, (e.uri,)))
            covering += [(Condition.PLACE_LOST, place) for place in own]
        return any(is_acknowledged(self.given, *each, since) for each in covering)

    def place_now(self, uri: str) -> SeenPlace | None:
        """Return what this cycle saw of a place, ``None`` if nothing names it any more."""
        return next((each for each in self.sighting.places if each.uri == uri), None)

    def is_place_unreachable(self, uri: str) -> bool:
        """Return whether a place could not be searched, which another condition blocks for."""
        seen = self.place_now(uri)
        return seen is not None and seen.checkpoints is None and seen.kind != REPORTED

    def reach_of(self, directories: Iterable[str]) -> frozenset[str] | None:
        """Return the directories that a loss concerns, ``None`` for all of the storage root.

        A directory in no searched place may be one that is searched, spelled otherwise.
        """
        places = [each.uri for each in self.sighting.places]
        named = frozenset(directories)
        return named if all(is_within(each, places) for each in named) else None
