"""Storages that several tests begin with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, ENDED, Bed, Job


@dataclass(frozen=True)
class Story:
    """One ended job: three live files, two checkpoints, two orphans."""

    bed: Bed
    job: Job
    live: list[Path]
    orphans: list[Path]


def make_story(bed: Bed, number: int = 1, *, orphans: int = 2) -> Story:
    """Write the job of a story."""
    job = bed.job(number)
    (job.folder / "taskowned").mkdir(parents=True)  # Flink makes it when a job starts
    live = [job.shared() for _ in range(3)]
    job.checkpoint(7, *live[:2])
    job.checkpoint(8, *live[1:], age=19 * DAY)
    return Story(bed, job, live, [job.shared() for _ in range(orphans)])


@pytest.fixture
def bed(tmp_path) -> Bed:
    """A storage root that is still empty; its jobs have ended."""
    return Bed(tmp_path, (*ENDED, *AT_ONCE))


@pytest.fixture
def story(bed) -> Story:
    """The ended job."""
    return make_story(bed)


@pytest.fixture
def undeclared(tmp_path) -> Story:
    """The same job, without a statement that it has ended."""
    return make_story(Bed(tmp_path, AT_ONCE))
