"""Sources that name files or checkpoints outside every searched place, and their jobs (R3a).

Such a path is a hint that the world is larger than what was searched: a job there may have claimed
a checkpoint from here, as the one that names the path has claimed one from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from flinkstate.places.locations import Location
from orphangc.core.columns.file_names import FileNames
from orphangc.core.model.owners import job_directory_of
from orphangc.core.world.known_world import OutsidePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What one checkpoint, registry snapshot or cluster names.

    Attributes:
        jobs: Keys of the jobs that it is evidence of, and of those whose files it names.
        files: Names by folder, outside folders only.
    """

    by: str
    jobs: frozenset[str]
    files: Mapping[Location, FileNames]


class Searched(Protocol):
    """A place, or what is searched of a storage."""

    def contains(self, other: Location, /) -> bool:
        """Return whether a place is in it."""
        ...


def outside_only(
    files: Mapping[Location, FileNames], searched: Iterable[Searched]
) -> dict[Location, FileNames]:
    """Return the files in none of the searched places."""
    places = tuple(searched)
    return {
        folder: names
        for folder, names in files.items()
        if not any(place.contains(folder) for place in places)
    }


def home_of(folder: Location) -> Location:
    """Return the job directory of a folder by its path, or else the folder itself."""
    return job_directory_of(folder) or folder


def outside_paths(found: Iterable[tuple[Location, str, frozenset[str]]]) -> tuple[OutsidePath, ...]:
    """Return each outside place once, with everything that names it and every job concerned."""
    by_place: dict[str, tuple[set[str], set[str]]] = {}
    for place, by, jobs in found:
        named_by, concerned = by_place.setdefault(str(place), (set(), set()))
        named_by.add(by)
        concerned.update(jobs)
    return tuple(
        OutsidePath(uri=uri, named_by=tuple(sorted(by)), jobs=tuple(sorted(jobs)))
        for uri, (by, jobs) in sorted(by_place.items())
    )


def paths_of(key: str, paths: Iterable[OutsidePath]) -> tuple[OutsidePath, ...]:
    """Return the outside paths that concern a job."""
    return tuple(each for each in paths if key in each.jobs)
