"""Losses by checkpoints and writers that were not looked at, though they could be known of."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.helpers import AT_ONCE, DAY, ENDED, Bed, Job, metadata, write
from cli.scheduled import Configured, settings_of
from cli.stories import Story
from safety.incidents.essential import must_be_there


def claimer(story: Story, base: Path, number: int = 2) -> Job:
    """Return a job elsewhere that claimed a checkpoint which Flink has removed since."""
    job = story.bed.job(number, below=base)
    job.checkpoint(9, *story.live, story.orphans[0], job.shared(), age=10 * DAY)
    return job


def ended(*jobs: Job) -> dict[str, Any]:
    return {"ended_job": [job.id for job in jobs]}


def run_three_times(configured: Configured) -> None:
    """Run every storage root: a report, tombstones, deletions."""
    for _ in range(3):
        configured.run()


@pytest.mark.answered_by("siblings")
def test_l1_storage_roots_of_one_file_see_each_other(story) -> None:
    """README's own YAML shape: the second root's job claimed a checkpoint of the first."""
    second = story.bed.folder / "second"
    other = claimer(story, second)
    both = ended(story.job, other)
    first = settings_of(story, **both)
    run_three_times(Configured.of(story, first, {**first, "root": str(second)}))
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("reported_roots")
def test_l1_a_pin_of_one_storage_root_keeps_files_of_every_other(story) -> None:
    """A checkpoint that claimed files of the first is pinned where the second is configured."""
    second = story.bed.job(3, below=story.bed.folder / "second")
    second.checkpoint(4, second.shared())
    other = story.bed.job(2, below=story.bed.folder / "elsewhere")
    pinned = other.checkpoint(9, *story.live, story.orphans[0], age=10 * DAY).parent
    first = settings_of(story, **ended(story.job, second, other))
    pinning = {"root": str(second.folder.parent), "pin": [str(pinned)]}
    run_three_times(Configured.of(story, first, {**first, **pinning}))
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("siblings")
@pytest.mark.parametrize("was_seen_by", [Bed.cycle, Bed.plan])
def test_l1_storage_roots_of_one_state_location_see_each_other(story, was_seen_by) -> None:
    """The second one was swept by hand, or only planned: no file names both."""
    second = Bed(story.bed.folder, (*ENDED, *AT_ONCE))
    second.root, second.plans = story.bed.folder / "second", 10
    other = claimer(story, second.root)
    was_seen_by(second)
    by_id = ("--closed-world", "--ended-job", story.job.id, "--ended-job", other.id, *AT_ONCE)
    first = Bed(story.bed.folder, by_id)
    first.cycle()
    first.cycle()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("dependents")
def test_l1_all_ended_jobs_are_those_of_the_storage_root_itself(story) -> None:
    """``ended_job: all`` of one root says nothing of a job that runs in another."""
    second = story.bed.folder / "second"
    claimer(story, second)
    first = settings_of(story)
    run_three_times(Configured.of(story, first, {**first, "root": str(second), "ended_job": []}))
    assert story.orphans[1].exists()


@pytest.mark.answered_by("condition:place_unreachable + looking_again")
def test_l1_a_storage_root_that_cannot_be_searched_blocks(story) -> None:
    """Its jobs may need files here; its absence ends no run and deletes nothing."""
    second = story.bed.folder / "second"
    claimer(story, second)
    moved = second.rename(story.bed.folder / "not-mounted")
    first = settings_of(story)
    configured = Configured.of(story, first, {**first, "root": str(second)})
    run_three_times(configured)
    moved.rename(second)
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("siblings")
def test_l4_a_job_directory_as_storage_root_is_as_safe_as_the_folder_around_it(story) -> None:
    """The jobs beside it may have claimed its checkpoints."""
    other = claimer(story, story.bed.root)
    by_id = ("--closed-world", "--ended-job", story.job.id, "--ended-job", other.id, *AT_ONCE)
    narrow = Bed(story.bed.folder, by_id)
    narrow.root = story.job.folder
    narrow.cycle()
    narrow.cycle()
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("siblings")
def test_l4_a_job_directory_of_any_name_as_storage_root_is_as_safe_as_that(story) -> None:
    """With ``create-subdir=false`` its name is no job id, and what it holds tells what it is."""
    claiming = story.bed.job(2)
    ended_ones = ("--ended-job", story.job.id, "--ended-job", claiming.id)
    named = story.bed.root / "orders"
    story.job.folder.rename(named)
    mine = Job(story.job.id, named)
    moved = {each: named / "shared" / each.name for each in (*story.live, *story.orphans)}
    mine.checkpoint(7, *(moved[each] for each in story.live[:2]))
    mine.checkpoint(8, *(moved[each] for each in story.live[1:]), age=19 * DAY)
    claiming.checkpoint(9, *[moved[each] for each in (*story.live, story.orphans[0])], age=10 * DAY)
    options = ("--closed-world", "--owner", mine.id, *ended_ones, *AT_ONCE)
    narrow = Bed(story.bed.folder, options)
    narrow.root = named
    narrow.cycle()
    narrow.cycle()
    must_be_there(moved[story.orphans[0]])
    assert not moved[story.orphans[1]].exists()


@pytest.mark.answered_by("condition:outside_path")
def test_a_checkpoint_that_names_a_directory_nobody_searches_shows_a_larger_world(story) -> None:
    """Another job there claimed a checkpoint from here, though a closed world is stated."""
    second = story.bed.folder / "second"
    origin = story.bed.job(3, below=second)
    story.job.checkpoint(9, *story.live, origin.shared(), age=18 * DAY)
    claimer(story, second)
    for _ in range(2):
        plan, ran = story.bed.cycle()
    must_be_there(story.orphans[0])
    assert (plan.blocks(story.job), ran.code) == (["outside_path"], 4)
    for _ in range(2):
        assert story.bed.cycle("--extra-roots", second)[1].code == 0
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


def pointed_outside(story: Story) -> Job:
    """Return a claimer that nothing searches; a checkpoint of the story's job names its file."""
    other = claimer(story, story.bed.folder / "second")
    story.job.checkpoint(8, *story.live[1:], other.shared(), age=19 * DAY)
    return other


@pytest.mark.answered_by("siblings")
def test_a_place_that_is_stated_empty_is_searched_all_the_same(story) -> None:
    """The outside path is readable here, and its checkpoint names a file of this job."""
    other = pointed_outside(story)
    by_id = ("--ended-job", story.job.id, "--ended-job", other.id, *AT_ONCE)
    stating = Bed(story.bed.folder, ("--closed-world", *by_id))
    for _ in range(2):
        stating.cycle("--empty-root", other.folder)
    must_be_there(story.orphans[0])
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("condition:outside_path")
def test_a_folder_that_is_stated_empty_says_nothing_of_what_lies_in_it(story) -> None:
    """The folder is not mounted here; a statement of it covers no job directory unseen."""
    other = pointed_outside(story)
    second = other.folder.parent
    moved = second.rename(story.bed.folder / "not-mounted")
    for _ in range(2):
        plan, _ = story.bed.cycle("--empty-root", second)
    moved.rename(second)
    must_be_there(story.orphans[0])
    assert plan.blocks(story.job) == ["outside_path"]


@pytest.mark.parametrize(
    "folder",
    [
        "shared",
        "shared/savepoint-5b3311-000000000000",
        "shared/{job}/chk-5",
        "taskowned/nightly",
        "shared (a link)",
    ],
)
@pytest.mark.answered_by("areas_elsewhere", not_for=["shared (a link)"])  # a link refuses all
def test_a_folder_elsewhere_that_is_called_like_an_area_is_searched(story, folder) -> None:
    """Below the id of a tenant, which looks like a job's: no listing shows what it holds."""
    tenant = story.bed.folder / "savepoints" / story.bed.job(99).id
    place = tenant / folder.format(job=story.bed.job(5).id).removesuffix(" (a link)")
    write(tenant.parent / "savepoint-1" / "_metadata", metadata(1, []), 25 * DAY)
    if folder.endswith("link)"):
        place.parent.mkdir(parents=True)
        place.symlink_to(story.bed.folder / "aside")
        place = story.bed.folder / "aside" / "savepoint-2"
    write(place / "_metadata", metadata(5, [story.orphans[0]]), 25 * DAY)
    for _ in range(2):
        plan = story.bed.plan("--extra-roots", tenant.parent)
        ran = story.bed.sweep(plan, "--delete")
    must_be_there(story.orphans[0])
    assert (ran.code, story.orphans[1].exists()) in {(0, False), (4, True)}


@pytest.mark.parametrize("kind", ["an empty folder", "a text file"])
@pytest.mark.answered_by("condition:place_without_checkpoints")
def test_l2_a_place_without_a_checkpoint_does_not_count_as_searched(story, kind) -> None:
    """An unmounted folder looks like this; so does a mistyped one."""
    mounted = story.bed.folder / "savepoints"
    claimer(story, mounted)
    aside = mounted.rename(story.bed.folder / "aside")
    mounted.mkdir()
    if kind == "a text file":
        (mounted / "README").write_text("mount the savepoints here")
    for _ in range(2):
        story.bed.cycle("--extra-roots", mounted)
    shutil.rmtree(mounted)
    aside.rename(mounted)
    must_be_there(story.orphans[0])
