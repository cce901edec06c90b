"""Fleets with leftovers collect what truth says, and lose nothing (issue 13: U2, U5, U6).

Truth is written down when a fleet is made: which files are orphans, and which are live.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, Job, Planned, flink
from cli.own_environment import own_surroundings
from support.rest_server import RestServer

__all__ = ["own_surroundings"]

ENOUGH = 0.95
MINUTE = timedelta(minutes=1)


@dataclass
class Fleet:
    """A storage root, and the truth about it."""

    bed: Bed
    orphans: list[Path] = field(default_factory=list)
    live: list[Path] = field(default_factory=list)

    def job(self, number: int = 1) -> Job:
        job = self.bed.job(number)
        (job.folder / "taskowned").mkdir(parents=True)
        return job

    def collect(self, *options: object) -> Planned:
        """Plan and sweep twice: lay tombstones, then delete."""
        self.bed.cycle(*options)
        plan, swept = self.bed.cycle(*options)
        assert swept.code == 0, swept.err
        return plan

    def check(self) -> None:
        """Make sure that orphans are gone, 95 of 100 at least, and that no live file is."""
        assert [path for path in self.live if not path.exists()] == []
        gone = [path for path in self.orphans if not path.exists()]
        assert len(gone) >= ENOUGH * len(self.orphans), f"{len(gone)} of {len(self.orphans)}"


@pytest.fixture
def fleet(tmp_path) -> Fleet:
    """An empty storage root, whose operator states a closed world."""
    return Fleet(Bed(tmp_path, ("--closed-world", *AT_ONCE)))


def running_with_a_leftover(fleet: Fleet) -> Job:
    """Write a running job whose chk-5 Flink could not delete a year ago."""
    job = fleet.job()
    kept_by_5 = [job.shared(age=400 * DAY) for _ in range(3)]
    job.checkpoint(5, *kept_by_5, age=365 * DAY)
    state = [job.shared(age=age * DAY) for age in (350, 200, 90, 20)]
    job.checkpoint(4711, *state, age=MINUTE)
    pending = job.shared(age=MINUTE / 2)
    fleet.live += [*kept_by_5, *state, pending]
    fleet.orphans += [job.shared(age=(10 + 3 * number) * DAY) for number in range(100)]
    return job


def test_u2_a_checkpoint_of_last_year_holds_nothing_back_by_its_age(fleet) -> None:
    """Before, the cutoff was a year ago, and not one of a hundred orphans went."""
    job = running_with_a_leftover(fleet)
    with RestServer(flink(job, completed=4711)) as server:
        options = ("--flink-rest", server.url, "--max-delete-share", f"{job.id}=1")
        fleet.bed.plan(*options)
        fleet.bed.cycle(*options)
        (job.folder / "chk-4711" / "_metadata").touch()  # the job has gone on since the tombstones
        plan, swept = fleet.bed.cycle(*options)
    assert swept.code == 0
    fleet.check()
    sizes = sum(path.stat().st_size for path in fleet.live[:3])
    assert plan.job(job)["held_back"] == {"checkpoint": 5, "objects": 3, "bytes": sizes}


def test_u2_what_a_checkpoint_holds_back_by_its_age_is_said(fleet) -> None:
    """Nothing shows the job running, so the oldest checkpoint bounds it: 103 orphans would go."""
    job = running_with_a_leftover(fleet)
    plan = fleet.bed.plan()
    held = plan.job(job)["held_back"]
    assert (held["checkpoint"], held["objects"]) == (5, 103)
    assert plan.removals() == set()


def cancelled(fleet: Fleet) -> Job:
    """Write what a job with DELETE_ON_CANCELLATION leaves when its JobManager dies half-way."""
    job = fleet.job()
    fleet.orphans += [job.shared(age=(10 + number) * DAY) for number in range(40)]
    other = fleet.job(2)
    fleet.live += [other.shared(age=100 * DAY) for _ in range(3)]
    other.checkpoint(7, *fleet.live, age=20 * DAY)
    return job


def test_u5_leftovers_of_a_cancelled_job_go_by_two_options_about_that_job(fleet) -> None:
    """Each refusal names the option that lifts it; none is a statement about all jobs."""
    job = cancelled(fleet)
    plan = fleet.bed.plan()
    assert plan.refusal(job) == "no_roots"
    assert f"--ended-job {job.id} states it" in plan.job(job)["refused"]["message"]
    ended = ("--ended-job", job.id)
    plan = fleet.bed.plan(*ended)
    assert plan.blocks(job) == ["max_delete_share"]
    (blocked,) = plan.job(job)["blocked"]
    assert f"--max-delete-share {job.id}=1 allows it for this job alone" in blocked["message"]
    options = (*ended, "--max-delete-share", f"{job.id}=1")
    for _ in range(2):
        plan = fleet.bed.plan(*options)
        assert (plan.refusal(job), plan.blocks(job)) == (None, [])
        fleet.bed.sweep(plan, "--delete")
    fleet.check()


def with_entropy(fleet: Fleet) -> Job:
    """Write a job each of whose files lies below random characters of its own."""
    job = fleet.job()
    for random in ("a1b2", "c3d4", "e5f6"):
        below = Bed(fleet.bed.folder)
        fleet.live.append(below.job(below=fleet.bed.root / random).shared())
    job.checkpoint(7, *fleet.live, age=20 * DAY)
    return job


def test_u6_entropy_injection_is_refused_in_words_before_any_orphan_exists(tmp_path) -> None:
    """Before, the first orphan made it "two owners", with no word of the cause."""
    fleet = Fleet(Bed(tmp_path, ("--closed-world", "--ended-job", "all", *AT_ONCE)))
    job = with_entropy(fleet)
    plan = fleet.bed.plan()
    assert plan.refusal(job) == "two_owners"
    assert "entropy injection (s3.entropy.key)" in plan.job(job)["refused"]["message"]
    fleet.check()


def test_u6_the_directory_without_random_characters_is_collected(tmp_path) -> None:
    """As the words say: entropy is off by now, and the narrower place is the storage root."""
    fleet = Fleet(Bed(tmp_path, ("--closed-world", "--ended-job", "all", *AT_ONCE)))
    outer = tmp_path / "bucket"
    fleet.bed.root = outer / "checkpoints"
    job = fleet.job()
    for random in ("a1b2", "c3d4", "e5f6"):
        below = Bed(fleet.bed.folder)
        fleet.live.append(below.job(below=outer / random / "checkpoints").shared())
    fleet.live += [job.shared() for _ in range(3)]
    job.checkpoint(7, *fleet.live, age=20 * DAY)
    fleet.orphans += [job.shared() for _ in range(3)]
    plan = fleet.collect("--extra-roots", outer)
    assert any("entropy injection" in each for each in plan.document["warnings"])
    fleet.check()
