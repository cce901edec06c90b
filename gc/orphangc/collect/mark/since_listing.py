"""What is known of job directories since a listing that is older than its cycle, or beside it.

The scans for checkpoints are always of this cycle: they show each job directory, and what is in
its ``chk-<n>`` folders. No scan enters ``shared/``: of that, only what sorts behind all names of
files is listed, which shows the layouts that R2 refuses. A job that is only stated to be over may
write on into the other areas, where silence alone proves nothing (R34): those are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter

import pyarrow.compute as pc

from flinkstate.files.paths import resolved
from flinkstate.places.locations import Location
from orphangc.collect.mark.survey import Surveyed
from orphangc.collect.observe.observation import Environment, Observation
from orphangc.core.decision.evidence import JobEvidence, Survey
from orphangc.core.model.job_folders import FOLDERS, SHARED, scopes_where
from orphangc.core.model.naming import job_directory_of
from orphangc.core.model.types import Scope
from orphangc.core.times.instants import shifted
from orphangc.errors import OrphanGcError
from orphangc.ports import Storage
from orphangc.ports.engine import MAX_RESUMED_AGE

_WRITTEN = scopes_where(lambda each: not each.is_entered) - {Scope.SHARED}
"""Areas that no scan enters; of ``shared/`` its sub-folders alone are listed."""
_AFTER_ALL_FILES = "g"
"""Sorts after every UUID and every checkpoint id, and before ``job_`` and ``op_``, with which the
names of folders begin that Flink makes for layouts without a proof (R2)."""


def listed_at(seen: Observation, storage: Storage) -> datetime | None:
    """Return the start of a listing that is older than its cycle, ``None`` if no part of it is."""
    earlier = storage.earlier
    if seen.listed.is_resumed:
        return shifted(seen.time.now or seen.time.local, -MAX_RESUMED_AGE)
    return None if earlier is None else earlier.begun_at


@dataclass(frozen=True, slots=True, kw_only=True)
class SinceListing:
    """Job directories as the cycle's own scans show them.

    Attributes:
        known: URIs of the job directories that were known when the listing was made.
        changed_at: Newest store time of what the scans show, by job directory.
        sub_folders: Names of folders in ``shared/``, by job directory.
        written: Keys of the folders of areas in which silence proves no end, by job directory.
    """

    now: datetime
    known: frozenset[str]
    changed_at: Mapping[Location, datetime]
    sub_folders: Mapping[Location, Sequence[str]]
    written: Mapping[Location, Sequence[str]]
    storage: Storage

    @classmethod
    def of(cls, seen: Observation, storage: Storage) -> SinceListing | None:
        """Return what the scans show, ``None`` if the whole listing is of this cycle."""
        if listed_at(seen, storage) is None:
            return None
        earlier = storage.earlier
        scans = (seen.first[0].scan, seen.second[0].scan)
        times = [item for scan in scans for item in scan.changed_at.items()]
        shared = {
            key: storage.later_folders(_below(key, SHARED), _AFTER_ALL_FILES)
            for key, areas in scans[1].areas.items()
            if Scope.SHARED in areas
        }
        return cls(
            now=seen.time.now or seen.time.local,
            known=frozenset() if earlier is None else earlier.directories,
            changed_at={
                storage.location.child(key): at for key, at in sorted(times, key=itemgetter(1))
            },
            sub_folders={storage.location.child(key): names for key, names in shared.items()},
            written={
                storage.location.child(key): (
                    *(_below(key, FOLDERS[each]) for each in sorted(areas & _WRITTEN)),
                    *(_below(key, SHARED, name) for name in shared.get(key, ())),
                    *([key] if Scope.FORST in areas else []),
                )
                for key, areas in scans[1].areas.items()
            },
            storage=storage,
        )

    def added_to(self, surveyed: Surveyed, jobs: Mapping[str, JobEvidence]) -> Surveyed:
        """Return the survey with what has changed since.

        A directory that the listing does not show, and its maker did not know, has appeared: what
        it holds is unknown, so it counts as changed now.
        """
        newer = {
            key: self._of_job(job, surveyed.jobs.get(key))
            for key, job in jobs.items()
            if job.is_collected
        }
        return replace(surveyed, jobs=surveyed.jobs | newer)

    def _of_job(self, job: JobEvidence, shown: Survey | None) -> Survey:
        times = [self._changed_at(job, is_listed=shown is not None)]
        survey = Survey() if shown is None else shown
        folders = (name for each in job.directories for name in self.sub_folders.get(each, ()))
        times.append(survey.newest_modified_at)
        return replace(
            survey,
            newest_modified_at=max((at for at in times if at is not None), default=None),
            sub_folders=survey.sub_folders.union(folders),
        )

    def _changed_at(self, job: JobEvidence, *, is_listed: bool) -> datetime | None:
        if not is_listed and not any(str(each) in self.known for each in job.directories):
            return self.now
        times = [self.changed_at.get(each) for each in job.directories]
        if job.is_declared_ended and not job.is_proven_ended:
            keys = (key for each in job.directories for key in self.written.get(each, ()))
            times += [at for key in keys for at in _times_in(key, self.storage)]
        return max((at for at in times if at is not None), default=None)


def _below(key: str, *names: str) -> str:
    return "/".join(filter(None, (key, *names)))


def _times_in(folder: str, storage: Storage) -> Iterator[datetime]:
    listed = storage.folder(folder)
    yield from (each.modified_at for each in listed.objects if each.modified_at is not None)
    for name in listed.folders:
        yield from _times_in(_below(folder, name), storage)


def with_changes_elsewhere(
    job: JobEvidence, environment: Environment, listed: Mapping[Location, datetime]
) -> JobEvidence:
    """Return a job with the newest store time of what it has outside the storage root (R13).

    One that is said to be over, and whose silence is to show it, must be silent there, too: the log
    of a changelog has a base of its own, and a job of another place may need files here. What
    cannot be listed counts as changed now.
    """
    if not (job.is_declared_ended or job.ends) or job.is_proven_ended:
        return job
    base = environment.storage.location
    named = {job_directory_of(folder) for each in job.own_checkpoints for folder in each.files}
    own = {each for each in named if each is not None and each.name == job.job_id}
    times = (
        listed[each] if each in listed else _newest_in(each, environment)
        for each in {*job.directories, *own}
        if not base.contains(each)
    )
    known = (job.changed_elsewhere_at, *times)
    newest = max((at for at in known if at is not None), default=None)
    return replace(job, changed_elsewhere_at=newest)


def _newest_in(place: Location, environment: Environment) -> datetime | None:
    """Return the newest store time in a folder of any storage, ``None`` if it holds nothing.

    Where it cannot be listed, a statement that lets its storage go unsearched is about it, too.
    """
    here, search = resolved(place), environment.search
    try:
        batches = environment.open_storage(here.top).objects(here.path[1:])
        times = [pc.max(each["modified_at"]).as_py() for each in batches]
    except OrphanGcError:
        left_out = () if search is None else search.left_out
        if any(each.contains(here) for each in left_out):
            return None
        time = environment.storage.now()
        return time.now or time.local
    return max((at for at in times if at is not None), default=None)
