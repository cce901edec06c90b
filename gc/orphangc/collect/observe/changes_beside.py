"""When jobs last wrote in directories that the search of storages alone lists (R34)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from flinkstate.places.locations import Location
from orphangc.collect.observe.storage_search import FoundInStorage
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.dependencies.own_changelog import change_logs_of
from orphangc.core.model.naming import job_id_of
from orphangc.core.model.types import may_recur


@dataclass(frozen=True, slots=True)
class ChangesBeside:
    """Newest store times of what the search lists, by job directory and by job id.

    What is stored elsewhere under the id of a job is a copy, or where the job goes on by now. An id
    that comes back is that of many jobs.
    """

    by_place: dict[Location, datetime] = field(default_factory=dict)
    by_id: dict[str, datetime] = field(default_factory=dict)

    @classmethod
    def of(cls, storages: Iterable[FoundInStorage]) -> ChangesBeside:
        """Return what the search of some storages shows."""
        found = cls()
        for place, at in (item for each in storages for item in each.changed_at.items()):
            job_id = job_id_of(place)
            found.by_place[place] = at
            if job_id and not may_recur(job_id):
                found.by_id[job_id] = max(at, found.by_id.get(job_id, at))
        return found

    def of_job(
        self, job_id: str, directories: Collection[Location], own_checkpoints: Iterable[Checkpoint]
    ) -> datetime | None:
        """Return the newest store time of a job, ``None`` if none is known.

        The base path of a change log may be anywhere: its checkpoints name what is theirs.
        """
        places = {*directories, *change_logs_of(own_checkpoints)}
        times = [self.by_place.get(each) for each in places]
        times.append(self.by_id.get(job_id))
        return max((at for at in times if at is not None), default=None)

    def lists(self, directories: Collection[Location]) -> bool:
        """Return whether the search lists all of some directories."""
        return bool(directories) and self.by_place.keys() >= {*directories}
