"""Job directories: what the scans of a cycle showed in each, and which job it belongs to.

A job is a directory and a job id (decision 20).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from flinkstate.places.locations import Location
from orphangc.collect.observe.checkpoints import CheckpointScan
from orphangc.collect.observe.observation import Observation
from orphangc.core.decision.entropy_injection import is_spread_over
from orphangc.core.decision.evidence import Checkpoint
from orphangc.core.model.naming import job_id_of
from orphangc.core.model.types import JobId, Scope, may_recur

_NO_IDS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedDirectory:
    """What the scans showed in one directory, or in several of one job together.

    Attributes:
        job_id: Job id in its name, "" if it holds none; ``None`` if it is no job directory.
        at_start: Ids of S0, those of ``chk-<n>`` with a ``_metadata``.
        before: Ids of S1.
        after: Ids of S2.
        passed: Ids that one scan showed without ``_metadata``, and the next not; a later one that
            the next scan shows with ``_metadata`` took their place.
        areas: Areas that any scan showed.
    """

    job_id: str | None = None
    at_start: frozenset[int] = _NO_IDS
    before: frozenset[int] = _NO_IDS
    after: frozenset[int] = _NO_IDS
    passed: frozenset[int] = _NO_IDS
    areas: frozenset[Scope] = frozenset()

    @property
    def has_checkpoints(self) -> bool:
        """Return whether any scan showed a checkpoint in it."""
        return bool(self.at_start or self.before or self.after)


def scanned_directories(
    observation: Observation, bases: Sequence[Location]
) -> dict[Location, ScannedDirectory]:
    """Return what the scans showed of each directory; one seen from two bases counts once."""
    found: dict[Location, ScannedDirectory] = {}
    every = zip(bases, observation.at_start, observation.first, observation.second, strict=True)
    for base, start, first, second in every:
        scans = (start, first.scan, second.scan)
        names = {name for scan in scans for name in (*scan.directories, *scan.ids, *scan.shown)}
        for name in sorted(names):
            place, own = base.child(name), _scanned(name, scans, base)
            found[place] = together([found[place], own] if place in found else [own])
    return found


def together(directories: Iterable[ScannedDirectory]) -> ScannedDirectory:
    """Return what the scans showed in several directories."""
    every = [*directories]
    return ScannedDirectory(
        job_id=next((each.job_id for each in every if each.job_id is not None), None),
        at_start=_NO_IDS.union(*(each.at_start for each in every)),
        before=_NO_IDS.union(*(each.before for each in every)),
        after=_NO_IDS.union(*(each.after for each in every)),
        passed=_NO_IDS.union(*(each.passed for each in every)),
        areas=frozenset[Scope]().union(*(each.areas for each in every)),
    )


def _scanned(name: str, scans: Sequence[CheckpointScan], base: Location) -> ScannedDirectory:
    start, before, after = (scan.ids.get(name, _NO_IDS) for scan in scans)
    is_job_directory = any(name in scan.directories for scan in scans)
    return ScannedDirectory(
        job_id=job_id_of(base.child(name)) if is_job_directory else None,
        at_start=start,
        before=before,
        after=after,
        passed=_NO_IDS.union(*(_passed(name, *each) for each in pairwise(scans))),
        areas=frozenset(area for scan in scans for area in scan.areas.get(name, ())),
    )


def _passed(name: str, earlier: CheckpointScan, later: CheckpointScan) -> frozenset[int]:
    own, newer = earlier.ids.get(name, _NO_IDS), later.ids.get(name, _NO_IDS)
    gone = earlier.shown.get(name, _NO_IDS) - own - later.shown.get(name, _NO_IDS)
    return frozenset(each for each in gone if each > max(newer, default=-1))


@dataclass(frozen=True, kw_only=True)
class JobDirectories:
    """The job directories that were seen, and the job of each.

    Attributes:
        keys: Job key by directory: the job id if one job alone is proven to have it, else the
            directory itself.
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
        return self.of_id(self.job_ids.get(key, "")).get(key, ())

    def of_id(self, job_id: str) -> Mapping[str, tuple[Location, ...]]:
        """Return the directories of each job with an id."""
        return self._of_ids.get(job_id, {})

    @cached_property
    def _of_ids(self) -> Mapping[str, Mapping[str, tuple[Location, ...]]]:
        found: dict[str, dict[str, tuple[Location, ...]]] = {}
        for place, key in sorted(self.keys.items(), key=lambda each: str(each[0])):
            own = found.setdefault(self.job_ids[key], {})
            own[key] = (*own.get(key, ()), place)
        return found


def job_directories(
    owners: Mapping[Location, str],
    *,
    holding: Collection[Location],
    configured: Collection[Location],
    checkpoints: Iterable[Checkpoint],
    working: Collection[Location] = (),
    elsewhere: Collection[str] = (),
) -> JobDirectories:
    """Return which job each directory belongs to.

    Args:
        owners: Job id by directory, "" where it is unknown.
        holding: Directories that contain checkpoints.
        configured: Directories that some cluster is configured to write into.
        working: Directories that contain nothing but working files of ForSt, which no checkpoint
            names: an id that does not come back shows whose they are.
        elsewhere: Ids that some cluster runs in none of these directories.
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
        is_apart = not job_id or (job_id in elsewhere and len(places) > 1)
        is_one = not is_apart and _is_one_job(own, found)
        keys |= {place: job_id if is_one else str(place) for place in places}
    left = {place for place in keys if not (place in holding or place in configured)}
    return JobDirectories(
        keys=keys,
        job_ids={key: JobId(owners[place]) for place, key in keys.items()},
        unclaimed=frozenset(str(e) for e in left if owners[e] and keys[e] == str(e)),
        with_checkpoints=frozenset(key for place, key in keys.items() if place in holding),
    )


def _is_one_job(own: Sequence[Location], claimers: Mapping[Location, Sequence[Location]]) -> bool:
    """Return whether all directories of an id are surely of one job; else each stands alone.

    A change log that checkpoints of one job name may be written by another one of the id, too,
    whose next checkpoint names files that wait there unnamed.
    """
    others = (place for place in claimers if place not in own)
    return not own or (len(own) == 1 and all(claimers[each] for each in others))


def _named_from(checkpoints: Iterable[Checkpoint]) -> dict[Location, set[Location]]:
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
    return any(map(place.contains, known)) or is_spread_over(owner, known, place)
