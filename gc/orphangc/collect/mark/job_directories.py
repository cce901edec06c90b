"""Which job each directory belongs to: a job is a directory and a job id (decision 20)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flinkstate.places.locations import Location
from orphangc.core.decision.entropy_injection import is_spread_over
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.types import JobId, may_recur


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDirectories:
    """The job directories that were seen, and the job of each.

    Attributes:
        keys: Job key by directory: the job id if one job alone is proven to have it, else the
            directory.
        job_ids: Job id by job key, "" where it is unknown.
        unclaimed: Keys of directories without a checkpoint that several jobs of one id may own.
        with_checkpoints: Keys of the jobs of which a checkpoint was seen.
    """

    keys: Mapping[Location, str]
    job_ids: Mapping[str, JobId]
    unclaimed: frozenset[str] = frozenset()
    with_checkpoints: frozenset[str] = frozenset()

    def directories_of(self, key: str) -> tuple[Location, ...]:
        """Return the directories of one job, in a stable order."""
        return tuple(sorted((d for d, owner in self.keys.items() if owner == key), key=str))

    def of_id(self, job_id: str) -> dict[str, tuple[Location, ...]]:
        """Return the directories of each job with an id."""
        found: dict[str, tuple[Location, ...]] = {}
        for place, key in sorted(self.keys.items(), key=lambda each: str(each[0])):
            if self.job_ids[key] == job_id:
                found[key] = (*found.get(key, ()), place)
        return found


def job_directories(
    owners: Mapping[Location, str],
    *,
    holding: Collection[Location],
    configured: Collection[Location],
    checkpoints: Iterable[Checkpoint],
    working: Collection[Location] = (),
) -> JobDirectories:
    """Return which job each directory belongs to.

    Args:
        owners: Job id by directory, "" where it is unknown.
        holding: Directories that contain checkpoints.
        configured: Directories that some cluster is configured to write into.
        working: Directories that contain nothing but working files of ForSt, which no checkpoint
            names: an id that does not come back shows whose they are.
    """
    by_id: dict[str, list[Location]] = {}
    for place in sorted(owners, key=str):
        by_id.setdefault(owners[place], []).append(place)
    named = _named_from(checkpoints)
    keys: dict[Location, str] = {}
    for job_id, places in by_id.items():
        own = [place for place in places if place in holding or place in configured]
        found = {
            place: [
                each
                for each in own
                if (place in working and not may_recur(job_id))
                or _is_attached(place, each, named.get(each, ()))
            ]
            for place in places
        }
        keys |= _keys_of_id(job_id, own, found)
    left = {place for place in keys if not (place in holding or place in configured)}
    return JobDirectories(
        keys=keys,
        job_ids={key: JobId(owners[place]) for place, key in keys.items()},
        unclaimed=frozenset(str(e) for e in left if owners[e] and keys[e] == str(e)),
        with_checkpoints=frozenset(key for place, key in keys.items() if place in holding),
    )


def _keys_of_id(
    job_id: str, own: Sequence[Location], claimers: Mapping[Location, Sequence[Location]]
) -> dict[Location, str]:
    """Return the job key of each directory of an id: one for all, if they surely are one job's."""
    others = [place for place in claimers if place not in own]
    if job_id and (not own or (len(own) == 1 and all(claimers[each] for each in others))):
        return dict.fromkeys(claimers, job_id)
    attached = {each for each in others if job_id and len(claimers[each]) == 1}
    return {each: str(claimers[each][0] if each in attached else each) for each in claimers}


def _named_from(checkpoints: Iterable[Checkpoint]) -> dict[Location, set[Location]]:
    """Return the folders that the checkpoints of each directory name files in."""
    named: dict[Location, set[Location]] = {}
    for checkpoint in checkpoints:
        if checkpoint.directory is not None:
            named.setdefault(checkpoint.directory, set()).update(checkpoint.files)
    return named


def _is_attached(place: Location, owner: Location, folders: Iterable[Location]) -> bool:
    """Return whether a directory surely holds files of the job of another one.

    Without that it may be another job's of the same id, whose first checkpoint is pending (R9).
    """
    known = tuple(folders)
    return _names_into(known, place) or is_spread_over(owner, known, place)


def _names_into(folders: Iterable[Location], place: Location) -> bool:
    return any(place.contains(folder) for folder in folders)
