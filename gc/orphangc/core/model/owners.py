"""Owner of a place below the storage root: the job of its directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.places.locations import Location
from orphangc.core.model.naming import FilePlace, place_of_folder
from orphangc.core.model.types import JobId


@dataclass(frozen=True, slots=True)
class Owners:
    """The job directories that the scans showed, and their jobs.

    Attributes:
        keys: Job key by job directory.
    """

    base: Location
    keys: Mapping[Location, str]
    _known: dict[tuple[str, str], str] = field(default_factory=dict, compare=False)

    def job_key(self, place: FilePlace) -> str | None:
        """Return the key of the job that owns a place, ``None`` if none does."""
        if place.job_directory is None:
            return None
        known = (place.job_directory, place.job_id)
        if known not in self._known:
            directory = self.base.child(place.job_directory)
            self._known[known] = self.keys.get(directory) or place.job_id or str(directory)
        return self._known[known]


def job_id_of(directory: Location) -> JobId:
    """Return the job id in the name of a job directory, "" if the name is none."""
    return JobId(directory.name if is_job_id(directory.name) else "")


def job_directory_of(folder: Location) -> Location | None:
    """Return the job directory of a folder by its path alone, ``None`` if there is none."""
    place = place_of_folder(folder.path[1:])
    if not place.job_directory or not place.job_id:
        return None
    return folder.top.child(place.job_directory)
