"""Storages that several tests begin with."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, ENDED, Bed, Job, now
from orphangc.core.exporter.registry_snapshot import RegistrySnapshot, RetainedCheckpoint
from orphangc.core.model.types import JobId
from support.builders import a_snapshot


@dataclass(frozen=True)
class Story:
    """One ended job: three live files, two checkpoints, two orphans."""

    bed: Bed
    job: Job
    live: list[Path]
    orphans: list[Path]


def make_story(bed: Bed, number: int = 1, *, orphans: int = 2) -> Story:
    job = bed.job(number)
    (job.folder / "taskowned").mkdir(parents=True)  # Flink makes it when a job starts
    live = [job.shared() for _ in range(3)]
    job.checkpoint(7, *live[:2])
    job.checkpoint(8, *live[1:], age=19 * DAY)
    return Story(bed, job, live, [job.shared() for _ in range(orphans)])


def a_snapshot_of(job: Job, *retained: int, **changes: object) -> RegistrySnapshot:
    """Return a snapshot that an exporter inside a job's JobManager wrote just now."""
    own = {
        "flink_version": "2.3.0",
        "job_id": JobId(job.id),
        "taken_at": now(),
        "checkpoint_dir": str(job.folder),
        "retained": tuple(
            RetainedCheckpoint(id=each, is_savepoint=False, path=f"chk-{each}") for each in retained
        ),
    }
    return a_snapshot(**own | changes)


@pytest.fixture
def bed(tmp_path) -> Bed:
    """A storage root that is still empty; its jobs have ended."""
    return Bed(tmp_path, (*ENDED, *AT_ONCE))


@pytest.fixture
def story(bed) -> Story:
    return make_story(bed)


@pytest.fixture
def undeclared(tmp_path) -> Story:
    """The same job, without a statement that it has ended."""
    return make_story(Bed(tmp_path, AT_ONCE))
