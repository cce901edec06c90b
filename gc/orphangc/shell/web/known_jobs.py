"""What is known of a job over all storage roots: its files may lie below several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orphangc.core.model import is_job_id
from orphangc.core.run_record import JobRecord, RunRecord
from orphangc.shell.render.words import duration
from orphangc.shell.status import RootStatus, Status

__all__ = [
    "UNKNOWN_JOB",
    "KnownJob",
    "Sustained",
    "is_outdated",
    "known_jobs",
    "self_sustained",
    "sightings",
]

UNKNOWN_JOB = "No plan of a configured storage root knows this job."
"""For a job id that is spelled well, and for one that is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJob:
    """A job as the newest plan of one storage root shows it."""

    root: RootStatus
    run: RunRecord
    record: JobRecord


@dataclass(frozen=True, slots=True)
class Sustained:
    """Whether a job's state is self-sustained, and why it is (not) known."""

    value: bool | None
    why: str


def known_jobs(status: Status) -> dict[str, list[KnownJob]]:
    """Return where each job is known, by id; what belongs to no known job is left out."""
    found: dict[str, list[KnownJob]] = {}
    for root in status.roots:
        run = root.newest_plan
        for record in () if run is None else run.jobs:
            if is_job_id(record.job_id):
                known = KnownJob(root=root, run=run, record=record)  # type: ignore[arg-type]
                found.setdefault(record.job_id, []).append(known)
    return found


def sightings(status: Status, job_id: str) -> list[KnownJob]:
    """Return where a job is known; nowhere if the id is none."""
    return known_jobs(status).get(job_id, []) if is_job_id(job_id) else []


def self_sustained(status: Status, seen: Sequence[KnownJob]) -> Sustained:
    """Return whether a job needs no file of the snapshot that it was restored from.

    Whoever hears "yes" may delete that snapshot. So one storage root that says no is enough for a
    no, and a yes needs every one: none may be without a plan, for the job may have checkpoints
    there, and no plan may be so old that a sweep would refuse it.
    """
    no = next((known for known in seen if known.record.state_self_sustained is False), None)
    if no is not None:
        return Sustained(
            value=False,
            why=f"A retained checkpoint below {no.root.settings.root} still refers to files"
            " outside the job's own directories.",
        )
    doubt = next((each for each in map(_doubt_about, seen) if each), None) or _unseen(status)
    if doubt is not None:
        return Sustained(value=None, why=doubt)
    old = next((known for known in seen if _is_old(status, known)), None)
    if old is not None:
        age = duration(status.now - old.run.started_at)
        return Sustained(
            value=None,
            why=f"The newest plan of {old.root.settings.root} is {age} old, more than the grace"
            " period: the job may have been restored since.",
        )
    return Sustained(
        value=True, why="No retained checkpoint refers to files outside the job's own directories."
    )


def _doubt_about(known: KnownJob) -> str | None:
    if known.record.state_self_sustained is not None:
        return None
    refused = known.record.refused
    why = "none of its checkpoints could be judged" if refused is None else refused.message
    return f"Below {known.root.settings.root}: {why}"


def _unseen(status: Status) -> str | None:
    root = next((each for each in status.roots if each.newest_plan is None), None)
    if root is None:
        return None
    return f"There is no plan of {root.settings.root} yet: the job may have checkpoints there."


def _is_old(status: Status, known: KnownJob) -> bool:
    return is_outdated(known.run, known.root, status)


def is_outdated(plan: RunRecord, root: RootStatus, status: Status) -> bool:
    """Return whether a plan is so old that a sweep would refuse it."""
    return status.now - plan.started_at > root.settings.plan_life
