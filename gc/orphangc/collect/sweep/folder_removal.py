"""Remove the folders that hold nothing any more, on file systems (R53).

A folder goes by a call that fails on one that holds anything, so no file ever goes with it. The
worst that a wrong removal does is to fail a write that comes between Flink's making the folder
and its making the file. That is why only folders go that nothing writes into.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from flinkstate.places.locations import Location
from orphangc.collect.decide.verdicts import DecidedJob
from orphangc.collect.delete.held_task import HeldTask
from orphangc.collect.delete.retry_queue import outcome_of
from orphangc.core.areas.table import area_of_folder, folder_objection
from orphangc.core.decision.flink_traces import has_trace_of_flink
from orphangc.core.model.job_folders import scopes_where
from orphangc.core.model.naming import Owners, place_of_folder
from orphangc.core.model.types import AreaName, Outcome, Scope
from orphangc.errors import LockHeldError, OrphanGcError
from orphangc.ports import Folder, Storage

_MADE_ONCE = scopes_where(lambda each: each.is_made_once)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRule:
    """Which folders may go once they hold nothing.

    Attributes:
        jobs: Each job that nothing stops, by key.
        savepoints: Keys of the folders of savepoints that nothing completes any more.
        kept: Places that stay with all that is above and below them: pins, and checkpoints whose
            ``_metadata`` is in quarantine and may be put back.
    """

    owners: Owners
    jobs: Mapping[str, DecidedJob]
    areas: frozenset[AreaName]
    savepoints: frozenset[str] = frozenset()
    kept: Sequence[Location] = ()

    def may_go(self, key: str) -> bool:
        """Return whether a folder may go."""
        folder = self.owners.base.child(key)
        if any(each.contains(folder) or folder.contains(each) for each in self.kept):
            return False
        if key in self.savepoints:
            return True
        place = place_of_folder(key, self.owners.base.name)
        area, owner = area_of_folder(place), self.owners.job_key(place)
        job = None if owner is None else self.jobs.get(owner)
        if area is None or area not in self.areas or job is None or job.facts is None:
            return False
        return job.judges(area) and folder_objection(job.facts, place) is None

    def directories(self) -> Iterator[str]:
        """Yield the keys of the job directories whose folders are looked into."""
        for directory, owner in self.owners.keys.items():
            key = self.owners.base.key_of(directory)
            if key is not None and owner in self.jobs:
                yield key

    def with_traces_left(self, found: Sequence[str], level: Folder, parent: str) -> list[str]:
        """Return what goes of a job directory: while it holds anything, what shows Flink stays.

        ``--ended-job all`` covers only directories with such a trace, and what is left may go
        later. Flink makes ``shared/`` and ``taskowned/`` once, so both stay as long.
        """
        top = {f"{parent}/{name}" if parent else name: name for name in level.folders}
        if top.keys() <= set(found) and not (level.objects or level.closed):
            return list(found)
        going = [key for key in found if self._scope(key) not in _MADE_ONCE or key not in top]
        if has_trace_of_flink({self._scope(key) for key in top.keys() - set(going)}):
            return going
        return [key for key in going if key not in top]

    def _scope(self, key: str) -> Scope:
        return place_of_folder(key, self.owners.base.name).scope


@dataclass(slots=True, kw_only=True)
class FolderRemoval(HeldTask[str]):
    """Removal of the empty folders of one storage root by one sweep."""

    journal_name = "folders"
    most_at_once = 1_000
    holds_data = False

    storage: Storage
    rule: FolderRule

    def carry_out(self, *, is_deleting: bool) -> OrphanGcError | None:
        """Remove what holds nothing; return what ends the whole sweep: a lock that was lost.

        Any other doubt keeps the rest for the next sweep: an empty folder costs nothing.

        Args:
            is_deleting: Whether folders are removed, or only counted.
        """
        try:
            self.take_all_away(self._found(), is_deleting=is_deleting)
        except LockHeldError as err:
            return err
        except OrphanGcError as err:
            log.warning("folders.kept", reason=str(err))
        return None

    def _found(self) -> list[str]:
        found = self.storage.empty_folders(sorted(self.rule.savepoints), self.rule.may_go)
        for parent in self.rule.directories():
            level = self.storage.folder(parent)
            inner = [f"{parent}/{name}" if parent else name for name in level.folders]
            empty = self.storage.empty_folders(inner, self.rule.may_go)
            found += self.rule.with_traces_left(empty, level, parent)
        return found

    def line(self, thing: str) -> dict[str, str]:
        """Return what the journal says of a folder."""
        return {"folder": thing}

    def take_away(self, thing: str) -> tuple[Outcome, str | None]:
        """Return what became of a folder, and why it failed."""
        result = self.storage.remove_empty(thing)
        return outcome_of(result.status), result.error
