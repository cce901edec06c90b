"""Jobs and runs among the records that the daemon has in memory.

Several storage roots may hold files of one job.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus

from pydantic import BaseModel, Field

from flinkstate.places.checkpoint_names import is_job_id
from flinkstate.text.shown_text import visible
from orphangc.app.console.text import duration
from orphangc.app.render.shown_names import JobNames
from orphangc.app.status.status_store import RootStatus, Status
from orphangc.app.web.problem_documents import problem
from orphangc.core.documents.run_record import JobRecord, RunRecord
from orphangc.core.documents.self_sustained_record import NamedPart
from orphangc.core.groups import grouped
from orphangc.core.model.types import ForeignKind

_GRAVITY = {True: 0, None: 1, False: 2}

UNKNOWN_JOB = "No plan of a configured storage root knows this job."
"""Detail of the answer about an unknown job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJob:
    """A job in the newest plan of one storage root."""

    root: RootStatus
    run: RunRecord
    record: JobRecord


class RestoredAnswer(BaseModel):
    """A snapshot or directory that a job was restored from, or still names files of."""

    place: str = Field(description="URI of the snapshot or directory.")
    kind: ForeignKind = Field(description="Whether it is a snapshot, or another job's directory.")
    safe_to_delete: bool | None = Field(
        description="Whether neither this job needs it, nor anybody else that was seen; null: it"
        " cannot be known, or no second check has confirmed it yet."
    )
    reason: str = Field(description="Reason, as text.")
    since: datetime | None = Field(description="Time since which that is so.")
    references: int = Field(description="Files of it that the job's checkpoints still name.")
    sample: tuple[str, ...] = Field(description="Some of them.")
    named_by: tuple[NamedPart, ...] = Field(description="Checkpoints that name them.")
    also_named_by: tuple[str, ...] = Field(description="Other jobs that name files of a snapshot.")


@dataclass(frozen=True, slots=True)
class Sustained:
    """Whether a job's state is self-sustained, and why it is (not) known.

    Attributes:
        value: Answer; ``None`` if it cannot be known, or not yet.
    """

    value: bool | None
    why: str
    since: datetime | None = None
    places: tuple[RestoredAnswer, ...] = ()

    @property
    def is_safe(self) -> bool | None:
        """Return whether every snapshot that the job was restored from may be deleted."""
        answers = [each.safe_to_delete for each in self.places]
        if False in answers:
            return False
        return None if None in answers else True

    @property
    def is_safe_since(self) -> datetime | None:
        """Return the time since which that answer holds."""
        times = [
            each.since
            for each in self.places
            if each.safe_to_delete is self.is_safe and each.since is not None
        ]
        return max(times, default=None)


def known_jobs(status: Status) -> dict[str, list[KnownJob]]:
    """Return the storage roots that know each job, by job id, without files of unknown jobs."""
    found = (
        KnownJob(root=root, run=run, record=record)
        for root in status.roots
        if (run := root.newest_plan) is not None
        for record in run.jobs
        if is_job_id(record.job_id)
    )
    return grouped(found, lambda known: known.record.job_id)


def job_names(status: Status) -> JobNames:
    """Return the names of the jobs of all storage roots: a message may mention any of them."""
    return JobNames.of(job for root in status.roots for job in root.jobs)


def sightings(status: Status, job_id: str) -> list[KnownJob]:
    """Return the storage roots that know a job, or raise the problem: unknown, or unread yet."""
    seen = known_jobs(status).get(job_id, []) if is_job_id(job_id) else []
    if not seen:
        unread = next((each for each in status.roots if each.unread is not None), None)
        if unread is None or not is_job_id(job_id):
            raise problem(HTTPStatus.NOT_FOUND, UNKNOWN_JOB)
        why = f"{unread.settings.root}: {unread.unread}"
        said = f"Whether the job is known cannot be said yet: {why}."
        raise problem(HTTPStatus.SERVICE_UNAVAILABLE, said)
    return seen


def self_sustained(status: Status, seen: Sequence[KnownJob]) -> Sustained:
    """Return whether a job needs no file of the snapshot that it was restored from.

    The reader of a yes may delete that snapshot. So the no of one storage root makes a no, and a
    yes needs every storage root: each must have a plan, as the job may have checkpoints there, and
    no plan may be so old that a sweep would refuse it.
    """
    answer = _answer(status, seen)
    if not any(check.kind for known in seen for check in known.record.looks):
        return answer
    return replace(answer, places=_places(seen, doubt=_doubt(status, seen)))


def _answer(status: Status, seen: Sequence[KnownJob]) -> Sustained:
    no = next((known for known in seen if known.record.state_self_sustained is False), None)
    if no is not None:
        check = next((each for each in no.record.looks if each.answer is False), None)
        said = "a retained checkpoint still refers to files outside the job's own directories"
        return Sustained(
            value=False,
            why=f"Below {no.root.settings.root}: {said if check is None else check.why}.",
            since=None if check is None else check.since,
        )
    doubt = _doubt(status, seen)
    if doubt is not None:
        return Sustained(value=None, why=doubt)
    times = [known.record.looks[0].since for known in seen if known.record.looks]
    return Sustained(
        value=True,
        why="No retained checkpoint refers to files outside the job's own directories.",
        since=max(times, default=None),
    )


def _doubt(status: Status, seen: Sequence[KnownJob]) -> str | None:
    doubt = next((each for each in map(_doubt_about, seen) if each), None) or _unseen(status)
    if doubt is not None:
        return doubt
    old = next((known for known in seen if is_outdated(known.run, known.root, status)), None)
    if old is None:
        return None
    age = duration(status.now - old.run.started_at)
    return (
        f"The newest plan of {old.root.settings.root} is {age} old, more than the grace period: the"
        " job may have been restored since."
    )


def _doubt_about(known: KnownJob) -> str | None:
    if known.record.state_self_sustained is not None:
        return None
    refused = known.record.refused
    why = "none of its checkpoints could be judged" if refused is None else refused.message
    check = next((each for each in known.record.looks if each.answer is None), None)
    return f"Below {known.root.settings.root}: {why if check is None else check.reason}"


def _places(seen: Sequence[KnownJob], *, doubt: str | None) -> tuple[RestoredAnswer, ...]:
    """Return what the job was restored from; any doubt rules out a yes."""
    found: dict[str, RestoredAnswer] = {}
    for known in seen:
        for check in known.record.looks:
            if check.kind is None:
                continue
            is_safe = check.is_safe_to_delete
            is_doubted = is_safe is True and doubt is not None
            judged = {
                "safe_to_delete": None if is_doubted else is_safe,
                "reason": doubt if is_doubted else check.reason,
                "since": None if is_doubted else check.since,
            }
            place = RestoredAnswer.model_validate({**dict(check), **judged})
            before = found.get(check.place)
            if before is None or _GRAVITY[place.safe_to_delete] > _GRAVITY[before.safe_to_delete]:
                found[check.place] = place
    return tuple(found[place] for place in sorted(found))


def _unseen(status: Status) -> str | None:
    root = next((each for each in status.roots if each.newest_plan is None), None)
    if root is None:
        return None
    return f"There is no plan of {root.settings.root} yet: the job may have checkpoints there."


def is_outdated(plan: RunRecord, root: RootStatus, status: Status) -> bool:
    """Return whether a plan is so old that a sweep would refuse it."""
    return status.now - plan.started_at > root.settings.plan_life


UNKNOWN_RUN = "No record that is kept is of this run."


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """One run, with the runs before and after it of the same storage root."""

    root: RootStatus
    record: RunRecord
    earlier: RunRecord | None
    later: RunRecord | None

    @property
    def undo(self) -> str | None:
        """Return the command that brings back what the run deleted; ``None`` if it is nothing."""
        folder = self.record.plan_folder
        if folder is None or not self.record.has_deleted:
            return None
        return shown_command("undelete", folder)


def shown_command(*words: str) -> str | None:
    """Return a command of ours; ``None`` if a terminal does not show all of its words."""
    is_shown = all(visible(each) == each for each in words)
    return shlex.join(["orphangc", *words]) if is_shown else None


def all_runs(status: Status, root: str | None = None) -> list[RunRecord]:
    """Return the runs of all storage roots, or of one, newest first."""
    roots = (each for each in status.roots if root in {None, each.settings.root})
    found = [record for each in roots for record in each.records]
    return sorted(found, key=lambda record: (record.started_at, record.run_id), reverse=True)


def found_run(status: Status, run_id: str) -> FoundRun:
    """Return a run by its id, or raise the problem that no record that is kept is of it."""
    for root in status.roots:
        for place, record in enumerate(root.records):
            if record.run_id == run_id:
                return FoundRun(
                    root=root,
                    record=record,
                    earlier=root.records[place + 1] if place + 1 < len(root.records) else None,
                    later=root.records[place - 1] if place else None,
                )
    raise problem(HTTPStatus.NOT_FOUND, UNKNOWN_RUN)
