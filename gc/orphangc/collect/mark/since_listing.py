"""What is known of job directories since a listing that is older than its cycle.

The scans for checkpoints are always of this cycle: they show each job directory, and what lies in
its ``chk-<n>`` folders, without a listing of ``shared/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from orphangc.collect.mark.missing_check import earlier_of
from orphangc.collect.mark.survey import Surveyed
from orphangc.collect.observe.observation import Observation
from orphangc.core.decision.evidence import JobEvidence, Survey
from orphangc.core.model.locations import Location
from orphangc.core.times.instants import shifted
from orphangc.ports import Storage
from orphangc.ports.engine import MAX_RESUMED_AGE


def listed_at(seen: Observation, storage: Storage) -> datetime | None:
    """Return the start of a listing that is older than its cycle, ``None`` if no part of it is."""
    earlier = earlier_of(storage)
    if seen.listed.is_resumed:
        return shifted(seen.time.now or seen.time.local, -MAX_RESUMED_AGE)
    return None if earlier is None else earlier.begun_at


@dataclass(frozen=True, slots=True, kw_only=True)
class SinceListing:
    """Job directories as the cycle's own scans show them.

    Attributes:
        now: Start of the cycle.
        known: URIs of the job directories that were known when the listing was made.
        changed_at: Newest store time of what the scans show, by job directory.

    """

    now: datetime
    known: frozenset[str]
    changed_at: Mapping[Location, datetime]

    @classmethod
    def of(cls, seen: Observation, storage: Storage) -> SinceListing | None:
        """Return what the scans show, ``None`` if the whole listing is of this cycle."""
        if listed_at(seen, storage) is None:
            return None
        earlier = earlier_of(storage)
        scans = (seen.first[0].scan, seen.second[0].scan)
        times = [item for scan in scans for item in scan.changed_at.items()]
        return cls(
            now=seen.time.now or seen.time.local,
            known=frozenset() if earlier is None else earlier.directories,
            changed_at={storage.location.child(key): at for key, at in sorted(times, key=_at)},
        )

    def added_to(self, surveyed: Surveyed, jobs: Mapping[str, JobEvidence]) -> Surveyed:
        """Return the survey with what has changed since.

        A directory that the listing does not show, and its maker did not know, has appeared: what
        it holds is unknown, so it counts as changed now.
        """
        changed = {
            key: at
            for key, job in jobs.items()
            if job.is_collected and (at := self._changed_at(job, key in surveyed.jobs)) is not None
        }
        newer = {key: _changed(surveyed.jobs.get(key, Survey()), at) for key, at in changed.items()}
        return replace(surveyed, jobs=surveyed.jobs | newer)

    def _changed_at(self, job: JobEvidence, is_listed: bool) -> datetime | None:  # noqa: FBT001
        if not is_listed and not any(str(each) in self.known for each in job.directories):
            return self.now
        times = (self.changed_at.get(each) for each in job.directories)
        return max((at for at in times if at is not None), default=None)


def _at(item: tuple[str, datetime]) -> datetime:
    return item[1]


def _changed(shown: Survey, at: datetime) -> Survey:
    newest = shown.newest_modified_at
    return replace(shown, newest_modified_at=at if newest is None else max(newest, at))
