"""The owner's retention policy for checkpoints of jobs that are over (R41, R42)."""

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from flinkstate.places.checkpoint_names import is_job_id
from orphangc.core.lineage.lineage_graph import Lineage, LineageCheckpoint, LineageJob
from orphangc.core.model.settings import Duration, Place, Whole
from orphangc.core.times.instants import shifted

_ENDED_FOR = timedelta(days=30)


class KeepRules(BaseModel):
    """How many restorable checkpoints of a lineage stay, in restic's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep_last: Whole = Field(default=1, ge=1)
    """The newest checkpoints and savepoints that stay."""
    keep_within: Duration | None = None
    """Age, counted from the newest one, up to which all stay."""
    keep_daily: Whole = Field(default=0, ge=0)
    """Days, in UTC, of which the newest savepoint stays."""
    keep_weekly: Whole = Field(default=0, ge=0)
    """Weeks, from Monday in UTC, of which the newest savepoint stays."""
    keep_monthly: Whole = Field(default=0, ge=0)
    """Months, in UTC, of which the newest savepoint stays."""


NOTHING = "nothing"
"""What a job is stated to have continued that began without a checkpoint."""


class StatedOrigin(NamedTuple):
    """What a job continued by its owner's word.

    Attributes:
        job_id: Job of the checkpoint, "" where a place is stated.
        checkpoint_id: Its id; ``None``: unknown, and nothing is covered.
        uri: Its place, "" where a job is stated.
    """

    job_id: str
    checkpoint_id: int | None
    uri: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Return what ``OLDER``, ``OLDER@ID``, ``URI`` or ``nothing`` states."""
        if text == NOTHING:
            return cls("", None, "")
        job_id, _, number = text.partition("@")
        if not is_job_id(job_id):
            return cls("", None, text)
        return cls(job_id, int(number) if number else None, "")


_ORIGIN = re.compile(
    rf"[0-9a-f]{{32}}(?:@[0-9]{{1,18}})?|(?:[a-z][a-z0-9+.-]*:/|/).+|{NOTHING}", re.ASCII
)


def _continued(value: object) -> object:
    if isinstance(value, list | tuple):
        parts = [str(each).partition("=") for each in value]
        if len({newer for newer, _, _ in parts}) < len(parts):
            raise ValueError("one job has two origins: state one of them")
        value = {newer: older for newer, _, older in parts}
    if isinstance(value, dict):
        for newer, origin in value.items():
            if not is_job_id(str(newer)):
                raise ValueError(f"{newer!r} is no job id of 32 lower-case hex digits")
            if StatedOrigin.of(str(origin)).job_id == newer:
                raise ValueError(f"job {newer} cannot have continued itself")
            if _ORIGIN.fullmatch(str(origin)) is None:
                raise ValueError(
                    f"{origin!r} is no job id of 32 lower-case hex digits, no JOB@ID, no URI, and"
                    f" not {NOTHING!r}"
                )
    return value


def _not_empty(value: object) -> object:
    if isinstance(value, list | tuple) and "" in value:
        raise ValueError("a name is empty")
    return value


class RetentionPolicy(KeepRules):
    """Retention policy of one storage root; none is in force unless its owner writes one."""

    ended_for: Duration = _ENDED_FOR
    """Time since the last sign of life of a job before its checkpoints may go."""
    jobs: dict[str, KeepRules] = Field(default_factory=dict)
    """Other numbers for single lineages, each by a Kubernetes resource or a job id of it."""
    dead: Annotated[tuple[str, ...], BeforeValidator(_not_empty)] = ()
    """Lineages, each by a Kubernetes resource or a job id of it, that are given up: even their
    last checkpoint may go. Of one that is over and has branches, the last job of each must be
    named. Of one that goes on, what its living jobs did not continue goes if its job is named. An
    id that comes back gives up nothing: it may be of an earlier run."""
    continued: Annotated[dict[str, str], BeforeValidator(_continued)] = Field(default_factory=dict)
    """Job id of a job, and what it continued, where no source shows it: ``OLDER@ID`` (job id and
    checkpoint id), a URI, or ``nothing``. ``OLDER`` alone joins both jobs, and lets nothing go.
    Nor does what is stated of an id that comes back: it may be of an earlier run."""
    savepoints: tuple[Place, ...] = ()
    """Extra roots, or folders in one, whose savepoints may go with all of their files; each must be
    self-contained. Without any, savepoints only stand for older checkpoints."""

    @model_validator(mode="after")
    def _check_dead(self) -> Self:
        both = sorted(set(self.dead) & self.jobs.keys())
        if both:
            raise ValueError(f"{both[0]} is declared dead and has rules of its own: remove one")
        return self

    def rules_of(self, lineage: Lineage, job: LineageJob | None) -> tuple[KeepRules, ...]:
        """Return the rules of a job: all that name its lineage, and else the general ones.

        A checkpoint stays if any of them keeps it. Rules of one resource alone, say of a test that
        began from a savepoint, do not take the place of the general ones for the jobs of another.
        """
        own = tuple(rules for name, rules in self.jobs.items() if name in lineage.names)
        named = [each for each in lineage.jobs if not each.names.isdisjoint(self.jobs)]
        resources = () if job is None else job.resources
        is_meant = any(
            not set(each.resources).isdisjoint(resources) or each.resources == resources
            for each in named
        )
        return own if own and is_meant else (*own, self)

    def unknown_names(self, known: Collection[str]) -> tuple[str, ...]:
        """Return the names in it that no lineage bears; a slip, or a job that left nothing."""
        stated = {StatedOrigin.of(each).job_id for each in self.continued.values()}
        written = {*self.jobs, *self.dead, *self.continued, *stated} - {""}
        return tuple(sorted(written - set(known)))

    def rules_of_unknown(self, known: Collection[str]) -> tuple[KeepRules, ...]:
        """Return the rules of names that no lineage bears: they may be meant for any lineage."""
        return tuple(rules for name, rules in self.jobs.items() if name not in known)

    def declares_dead(self, lineage: Lineage) -> bool:
        """Return whether the owner declared the lineage dead by one of its names."""
        return not lineage.names.isdisjoint(self.dead)


def kept_by(
    rules: KeepRules, checkpoints: Sequence[LineageCheckpoint], now: datetime
) -> dict[str, str]:
    """Return the rule that keeps each checkpoint of some, by its URI."""
    newest = sorted(checkpoints, key=lambda each: each.order, reverse=True)
    kept = {each.uri: "keep_last" for each in newest[: rules.keep_last]}
    if rules.keep_within is not None:
        latest = max((e.stored_at for e in newest if e.stored_at is not None), default=now)
        start = shifted(min(latest, now), -rules.keep_within)
        for each in newest:
            if each.stored_at is None or each.stored_at >= start:
                kept.setdefault(each.uri, "keep_within")
    savepoints = [each for each in newest if each.is_savepoint and each.stored_at is not None]
    for name, count, period in _periods(rules):
        for each in _newest_of_each(savepoints, count, period):
            kept.setdefault(each.uri, name)
    return kept


_Period = Callable[[datetime], Hashable]


def _periods(rules: KeepRules) -> Iterator[tuple[str, int, _Period]]:
    yield "keep_daily", rules.keep_daily, lambda at: at.date()
    yield "keep_weekly", rules.keep_weekly, lambda at: at.isocalendar()[:2]
    yield "keep_monthly", rules.keep_monthly, lambda at: (at.year, at.month)


def _newest_of_each(
    newest: Sequence[LineageCheckpoint], count: int, period: _Period
) -> list[LineageCheckpoint]:
    found: dict[Hashable, LineageCheckpoint] = {}
    for each in newest:
        if each.stored_at is not None:
            found.setdefault(period(each.stored_at), each)
    return list(found.values())[:count]
