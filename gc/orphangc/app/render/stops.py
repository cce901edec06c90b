"""A job as every table and page shows it, and what stops it, with the advice about that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from orphangc.app.console.text import id_ranges
from orphangc.app.render.advice import Advice, condition_advice, guard_advice
from orphangc.app.render.reason_groups import STATE_TEXT, ByKind, by_kind
from orphangc.app.render.shown_names import JobNames, name_of
from orphangc.core.documents.plan import JobPart, Tally
from orphangc.core.documents.run_record import JobRecord
from orphangc.core.groups import grouped
from orphangc.core.model.codes import WORLD_CONDITIONS
from orphangc.core.model.tallies import Cell

if TYPE_CHECKING:  # the status page loads no Arrow
    from orphangc.core.decision.judge import Judgement


Judged = JobPart | JobRecord
"""A job in a plan, or in the record of a run."""


class Fate(StrEnum):
    """What a sweep may do to a job."""

    REFUSED = "refused"
    BLOCKED = "blocked"
    CLEAR = "clear"


MARKS: Mapping[Fate, str] = {Fate.REFUSED: "■", Fate.BLOCKED: "▲", Fate.CLEAR: "●"}
"""Mark of each fate: by its shape, never by colour alone."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A guard that refuses one job, or a condition of deletion that it does not meet.

    Attributes:
        may_pass: Whether waiting may lift it, as far as is known.
    """

    fate: Fate
    code: str
    message: str
    may_pass: bool = False

    @property
    def advice(self) -> Advice:
        """Return the advice about it."""
        is_guard = self.fate is Fate.REFUSED
        return guard_advice(self.code, self.message) if is_guard else condition_advice(self.code)

    def logged(self) -> Mapping[str, str]:
        """Return what logs say of it: the rule's name, and the advice."""
        rule = "guard" if self.fate is Fate.REFUSED else "condition"
        return {rule: self.code, "advice": self.advice.text}


def unmet_by(job: Judged | Judgement) -> Iterator[Unmet]:
    """Yield everything that stops a job, a refusal first; no document holds what may pass."""
    if (refused := job.refused) is not None:
        may_pass = getattr(refused, "may_pass", False)
        yield Unmet(Fate.REFUSED, str(refused.guard), refused.message, may_pass)
    for each in job.blocked:
        may_pass = getattr(each, "may_pass", False)
        yield Unmet(Fate.BLOCKED, str(each.condition), each.message, may_pass)


def fate_of(job: Judged | Judgement) -> Fate:
    """Return what a sweep may do to a job."""
    return next((each.fate for each in unmet_by(job)), Fate.CLEAR)


def stopping(job: Judged | Judgement) -> list[Unmet]:
    """Return the guard that refuses a job, or else its unmet conditions."""
    fate = fate_of(job)
    return [each for each in unmet_by(job) if each.fate is fate]


def is_deferred(job: Judged) -> bool:
    """Return whether a job gets no tombstone because its world was not searched completely."""
    return any(each.condition in WORLD_CONDITIONS for each in job.blocked)


@dataclass(frozen=True, slots=True)
class StoppedJob:
    """A job that a guard or condition stops; without an id if its owner is unknown."""

    job_id: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Stop:
    """One guard or condition with one advice, and all jobs that it stops."""

    fate: Fate
    code: str
    advice: Advice
    jobs: tuple[StoppedJob, ...]

    @property
    def by_message(self) -> Mapping[str, Sequence[StoppedJob]]:
        """Return the jobs by their message: what many share is shown once."""
        return grouped(self.jobs, lambda job: job.message)


def stops(jobs: Iterable[Judged], names: JobNames | None = None) -> tuple[Stop, ...]:
    """Return every guard and condition that stops a job, refusals first, then by jobs stopped.

    Args:
        names: Names of all jobs that messages may mention; by default those of ``jobs``.
    """
    judged = [*jobs]
    names = JobNames.of(judged) if names is None else names
    unmet = ((each, job) for job in judged for each in unmet_by(job))
    found = grouped(unmet, lambda it: (it[0].fate, it[0].code, it[0].advice))
    every = (
        Stop(
            *key,
            tuple(
                StoppedJob(job.job_id, name_of(job), names.in_text(each.message))
                for each, job in stopped
            ),
        )
        for key, stopped in found.items()
    )
    return tuple(sorted(every, key=lambda each: (each.fate is Fate.BLOCKED, -len(each.jobs))))


def widest(jobs: Iterable[Judged], names: JobNames | None = None) -> Stop:
    """Return what stops the most jobs, of which one is stopped at least."""
    return max(stops(jobs, names), key=lambda each: len(each.jobs))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJob(ByKind):
    """A job of a plan, or of the record of a run, with what is stored of it."""

    part: Judged
    name: str
    fate: Fate
    state: str
    retained: str

    @classmethod
    def of(cls, job: Judged, found: Iterable[Tally | Cell], **more: Any) -> Self:
        """Return the view of a job."""
        return cls(
            part=job,
            name=name_of(job),
            fate=fate_of(job),
            state="" if job.state is None else STATE_TEXT[job.state],
            retained=id_ranges(job.retained_checkpoint_ids),
            kinds=by_kind(found),
            **more,
        )
