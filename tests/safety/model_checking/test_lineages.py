"""Every small lineage: a checkpoint goes only if a proven job was restored at or after it (R41).

Up to three jobs with five checkpoints each; each job begins from nothing, or from any checkpoint of
a job before it, which may go on meanwhile. Of each restore the cycles may have seen everything,
whenever they ran and whatever they forgot: the restored checkpoint while it was stored, or its id
alone, with the time of the restore or without; files that the job names; nothing. Each job is over,
runs and is proven, or runs and fails again and again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

import pytest

from orphangc.core.lineage import lineage_graph
from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, LineageJob
from orphangc.core.lineage.retention_policy import RetentionPolicy
from unit.core.lineage.lineage_builders import DAY, NOW, a_checkpoint, a_job, expired

CHECKPOINTS = 5
POLICY = RetentionPolicy(ended_for=10 * DAY)
AGE = 400

Origin = tuple[int, int] | None
"""Job and number of the checkpoint that a job began from; ``None``: from nothing."""


class Life(Enum):
    """What becomes of a job."""

    OVER = 0
    PROVEN = 1
    FAILING = 2


class Sight(Enum):
    """What cycles saw of a restore."""

    WHOLE = 0
    """The restored checkpoint was stored, and is."""
    GONE = 1
    """It was gone before any cycle; Flink stated its id, and when it was restored."""
    GONE_SINCE = 2
    """A cycle saw it stored, and it is gone."""
    TIMELESS = 3
    """A memory of an earlier release has its place alone, and it is gone."""
    REFERENCE = 4
    """The newer job named files of the older one."""
    NOTHING = 5


@dataclass(frozen=True)
class World:
    """One lineage."""

    origins: tuple[Origin, ...]  # what each job began from
    sights: tuple[Sight, ...]  # what cycles saw of that
    lives: tuple[Life, ...]  # what became of each job

    def age(self, job: int, number: int) -> float:
        """Return the age of a checkpoint in days: branches go on beside each other."""
        return AGE - 10 * self.id(job, number) - job

    def id(self, job: int, number: int) -> int:
        """Return the id of a checkpoint: the counter goes on from the restored one."""
        origin = self.origins[job]
        return number + (0 if origin is None else self.id(*origin))

    def descends(self, job: int, older: int, number: int) -> bool:
        """Return whether a job has the state of a checkpoint in its past."""
        origin = self.origins[job]
        if origin is None:
            return False
        return (origin[0] == older and origin[1] >= number) or self.descends(
            origin[0], older, number
        )

    @property
    def jobs(self) -> list[LineageJob]:
        return [
            a_job(
                f"j{at}",
                is_running=life is not Life.OVER,
                is_running_throughout=life is Life.PROVEN,
                started_at=NOW - AGE * DAY,
            )
            for at, life in enumerate(self.lives)
        ]

    @property
    def checkpoints(self) -> list[LineageCheckpoint]:
        gone = {Sight.GONE, Sight.GONE_SINCE, Sight.TIMELESS}
        pairs = zip(self.origins, self.sights, strict=True)
        taken = {origin for origin, sight in pairs if sight in gone}
        return [
            a_checkpoint(f"j{job}", self.id(job, number), age=self.age(job, number))
            for job in range(len(self.origins))
            for number in range(1, CHECKPOINTS + 1)
            if (job, number) not in taken
        ]

    @property
    def edges(self) -> Iterator[Continuation]:
        """Yield what cycles remember of the restores."""
        for job, (origin, sight) in enumerate(zip(self.origins, self.sights, strict=True)):
            if origin is None or sight is Sight.NOTHING:
                continue
            older, newer = f"j{origin[0]}", f"j{job}"
            if sight is Sight.REFERENCE:
                source = ContinuationSource.REFERENCE
                yield Continuation(older=older, newer=newer, source=source, seen_at=NOW)
                continue
            number, stored_at = self.id(*origin), NOW - self.age(*origin) * DAY
            is_seen = sight in {Sight.WHOLE, Sight.GONE_SINCE}
            yield Continuation(
                older=older,
                newer=newer,
                source=ContinuationSource.REST,
                checkpoint=f"{older}/chk-{number}",
                checkpoint_id=None if sight is Sight.TIMELESS else number,
                stored_at=stored_at if is_seen else None,
                restored_at=stored_at + DAY if sight in {Sight.GONE, Sight.WHOLE} else None,
                seen_at=NOW,
            )

    @property
    def gone(self) -> frozenset[str]:
        return _gone(self)

    def forgetting(self) -> Iterator[World]:
        """Yield this world with one fact less: a restore, or that a job runs as it should."""
        for at, (sight, life) in enumerate(zip(self.sights, self.lives, strict=True)):
            if sight in {Sight.WHOLE, Sight.REFERENCE}:
                less = (*self.sights[:at], Sight.NOTHING, *self.sights[at + 1 :])
                yield replace(self, sights=less)
            if life is Life.PROVEN:
                yield replace(self, lives=(*self.lives[:at], Life.FAILING, *self.lives[at + 1 :]))

    def lost(self) -> list[str]:
        """Return what expires although no proven job has its state in its past."""
        gone = self.gone
        return [
            f"{uri} in {self}"
            for job, number in itertools.product(range(len(self.lives)), range(1, CHECKPOINTS + 1))
            if (uri := f"j{job}/chk-{self.id(job, number)}") in gone
            and not any(
                life is Life.PROVEN and self.descends(heir, job, number)
                for heir, life in enumerate(self.lives)
            )
        ]


@cache
def _gone(world: World) -> frozenset[str]:
    return frozenset(expired(world.jobs, world.checkpoints, [*world.edges], POLICY))


def worlds(jobs: int) -> Iterator[World]:
    points = [
        [None, *itertools.product(range(job), range(1, CHECKPOINTS + 1))] for job in range(jobs)
    ]
    for origins in itertools.product(*points):
        sights = [[Sight.NOTHING] if each is None else [*Sight] for each in origins]
        for seen in itertools.product(*sights):
            for lives in itertools.product(Life, repeat=jobs):
                yield World(origins, seen, lives)


@pytest.mark.parametrize("jobs", [2, pytest.param(3, marks=pytest.mark.ci)])
def test_only_what_a_proven_job_continued_expires(jobs) -> None:
    lost = [story for world in worlds(jobs) for story in world.lost()]
    assert lost == []


@pytest.mark.parametrize("jobs", [2, pytest.param(3, marks=pytest.mark.ci)])
def test_a_fact_that_is_forgotten_never_lets_more_go(jobs) -> None:
    more = [
        world
        for world in worlds(jobs)
        for less in world.forgetting()
        if not less.gone <= world.gone
    ]
    assert more == []


def test_something_expires_in_every_way_that_a_restore_is_seen() -> None:
    """Else the model would find nothing whatever the rule."""
    freed = {
        world.sights[1]: world.origins[1]
        for world in worlds(2)
        if world.lives == (Life.OVER, Life.PROVEN) and world.gone
    }
    assert freed.keys() == {Sight.WHOLE, Sight.GONE, Sight.GONE_SINCE}


def test_without_the_point_of_a_restore_branches_are_lost(monkeypatch) -> None:
    """A job that was rolled back to an old point, and one that was forked and ran on."""

    def covers(self, edge, checkpoint):
        return self._runs[edge.older] == self._runs[checkpoint.place]

    monkeypatch.setattr(lineage_graph.Lineage, "_covers", covers)
    _gone.cache_clear()
    lost = {
        world.origins[1]
        for world in worlds(2)
        if world.lives == (Life.OVER, Life.PROVEN) and world.lost()
    }
    _gone.cache_clear()
    assert lost == {(0, number) for number in range(1, CHECKPOINTS)}
