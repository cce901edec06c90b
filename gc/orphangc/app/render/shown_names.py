"""Names of jobs and of the kinds of searched places, as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orphangc.app.console.text import NO_JOB
from orphangc.core.world.known_world import PlaceKind

if TYPE_CHECKING:
    from orphangc.core.documents.lineage_report import LineageJobPart
    from orphangc.core.documents.plan import JobPart
    from orphangc.core.documents.run_record import JobRecord

    NamedJob = JobPart | JobRecord | LineageJobPart

PLACE_NAMES: Mapping[PlaceKind, str] = {
    PlaceKind.STORAGE_ROOT: "storage root",
    PlaceKind.EXTRA_ROOT: "extra root",
    PlaceKind.SIBLING: "sibling",
    PlaceKind.REPORTED: "reported",
}

_JOB_IN_TEXT = re.compile(r"(?<![\w-])job ([0-9a-f]{32})(?![\w@/=-])", re.ASCII)
"""A job in a sentence; in an option, a path or a key its id must stay as it is."""


def name_of(job: NamedJob) -> str:
    """Return the job's id, or its directory if its owner is unknown, and its resources' names."""
    name = job.job_id or (job.directories[0] if job.directories else NO_JOB)
    return _with_resources(name, job.resources)


@dataclass(frozen=True, slots=True)
class JobNames:
    """What people call the jobs of a storage root.

    Attributes:
        resources: Kubernetes resources that run each job, by job id.
    """

    resources: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, jobs: Iterable[NamedJob]) -> JobNames:
        """Return the names of some jobs; several directories may hold files of one id."""
        found: dict[str, dict[str, None]] = {}
        for job in jobs:
            if job.job_id and job.resources:
                found.setdefault(job.job_id, {}).update(dict.fromkeys(job.resources))
        return cls({job_id: tuple(names) for job_id, names in found.items()})

    def __call__(self, job_id: str) -> str:
        """Return the name of a job: its id, and the resources that run it."""
        return _with_resources(job_id, self.resources.get(job_id, ())) if job_id else NO_JOB

    def in_text(self, text: str) -> str:
        """Return a sentence with the resources beside the id of each job that it mentions."""
        return _JOB_IN_TEXT.sub(lambda match: f"job {self(match[1])}", text)


def _with_resources(name: str, resources: Sequence[str]) -> str:
    return f"{name} ({', '.join(resources)})" if resources else name
