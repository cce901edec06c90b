"""Losses beside flat ``shared/``: each control of a rule from R31 on, which must fail.

Each story ends with a checkpoint that names a file which looked dead, or with a restore of one.
"""

import uuid
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, flink, metadata, now, write
from cli.stories import Story, a_snapshot_of, make_story
from orphangc.core.exporter.registry_format import write_snapshot
from orphangc.core.exporter.registry_snapshot import JobSettings, MergingSettings
from orphangc.core.model.types import Mode
from safety.incidents.essential import must_be_there
from support.rest_server import RestServer

EVERYTHING = ("--max-delete-share", "1")


def stored(folder: Path, *, age: int = 30) -> Path:
    return write(folder / str(uuid.uuid4()), b"state", age * DAY)


def collected_while_it_runs(story: Story, completed: int, **facts: Any) -> None:
    """Lay tombstones, let a checkpoint complete, and delete; Flink answers."""
    for number in (completed, completed + 10):
        if number != completed:
            story.job.checkpoint(number, *story.live, age=0 * DAY)
        with RestServer(flink(story.job, completed=number, **facts)) as server:
            options = ("--closed-world", "--flink-rest", server.url, *EVERYTHING)
            story.bed.sweep(story.bed.plan(*options), "--delete")


def collected_once_it_is_over(story: Story, *options: object) -> None:
    """Lay tombstones and delete, whatever refuses."""
    for _ in range(2):
        story.bed.sweep(story.bed.plan(*EVERYTHING, *options), "--delete")


ANY_LAYOUT = [
    {},
    {"max_concurrent": 4},
    {"state_backend": "HashMapStateBackend", "changelog": True},
]


@pytest.mark.parametrize("facts", ANY_LAYOUT, ids=["flat", "four", "changelog"])
@pytest.mark.answered_by("rule_of_chk_n")
def test_r31_a_pending_checkpoint_keeps_its_files_whatever_their_age(undeclared, facts) -> None:
    """It was triggered before the newest one completed, and completes after it."""
    pending = stored(undeclared.job.folder / "chk-30")
    dead = stored(undeclared.job.folder / "chk-6")
    collected_while_it_runs(undeclared, 8, **facts)
    undeclared.job.checkpoint(30, *undeclared.live, pending)
    must_be_there(pending)
    assert not dead.exists()


@pytest.mark.answered_by("refusals_of_spared_jobs")
def test_r31_what_a_claimer_of_chk_n_may_name_stays_though_both_are_refused(undeclared) -> None:
    """It claimed ``chk-6`` of an earlier run of the id, and has four checkpoints at once."""
    job, claimer = undeclared.job, undeclared.bed.job(2)
    claimed = stored(job.folder / "chk-6")
    own = claimer.shared()
    for number in (8, 18):
        job.checkpoint(number, *undeclared.live, age=19 * DAY if number == 8 else 0 * DAY)
        claimer.checkpoint(number, own, undeclared.live[0], age=DAY)
        with (
            RestServer(flink(job, completed=number, changelog=True)) as its,
            RestServer(flink(claimer, completed=number, max_concurrent=4)) as other,
        ):
            rest = ("--flink-rest", its.url, "--flink-rest", other.url)
            plan = undeclared.bed.plan("--closed-world", *rest, *EVERYTHING)
            undeclared.bed.sweep(plan, "--delete")
        assert plan.refusal(job) == "unproven_layout"
        assert plan.refusal(claimer) == "gate"
    claimer.checkpoint(19, own, claimed)
    must_be_there(claimed)


@pytest.mark.answered_by("largest_chk_n_is_the_newest")
def test_r31_a_leftover_of_an_earlier_run_says_nothing_of_what_is_pending(undeclared) -> None:
    """The job was started again without state: ``chk-3`` is pending beside ``chk-8``."""
    undeclared.job.checkpoint(2, *undeclared.live, age=1 * DAY)
    pending = stored(undeclared.job.folder / "chk-3")
    started_ms = int((now() - 5 * DAY).timestamp() * 1000)
    for _ in range(2):
        with RestServer(flink(undeclared.job, completed=2, started_ms=started_ms)) as server:
            options = ("--closed-world", "--flink-rest", server.url, *EVERYTHING)
            undeclared.bed.sweep(undeclared.bed.plan(*options), "--delete")
        undeclared.job.checkpoint(2, *undeclared.live, age=0 * DAY)  # progress (R17)
    undeclared.job.checkpoint(3, *undeclared.live, pending)
    must_be_there(pending)


@pytest.mark.answered_by("trigger_bounds_the_log")
def test_r45_a_checkpoint_that_was_held_does_not_bound_the_log(undeclared) -> None:
    """Checkpoint 8 was triggered 24 days ago and took 5: what was appended since waits unnamed."""
    log = undeclared.job.folder / "dstl"
    waiting, dead = stored(log, age=22), stored(log, age=27)
    triggered_ms = int((now() - 24 * DAY).timestamp() * 1000)
    collected_while_it_runs(undeclared, 8, changelog=True, triggered_ms=triggered_ms)
    undeclared.job.checkpoint(28, *undeclared.live, waiting)
    must_be_there(waiting)
    assert not dead.exists()


@pytest.mark.parametrize("when", ["now", "then"])
@pytest.mark.answered_by("guard:future_time", not_for=["then"])
@pytest.mark.answered_by("clock_was_ahead", not_for=["now"])
def test_r45_a_jobmanager_whose_clock_is_ahead_dates_the_trigger_too_late(undeclared, when) -> None:
    """Four checkpoints at once: those that complete lack what was appended after their trigger.

    The clock may be right again. It is three days ahead; the checkpoint was triggered 24 days ago,
    and stored 19 days ago.
    """
    waiting = stored(undeclared.job.folder / "dstl", age=22)
    late = {"answered_ms": 3} if when == "now" else {"acknowledged_ms": -16}
    days = {"triggered_ms": -21, **late}
    times = {name: int((now() + each * DAY).timestamp() * 1000) for name, each in days.items()}
    collected_while_it_runs(undeclared, 8, changelog=True, max_concurrent=4, **times)
    undeclared.job.checkpoint(28, *undeclared.live, waiting)
    must_be_there(waiting)


def with_savepoints(story: Story) -> tuple[Story, Path]:
    """Return the same story with a folder of savepoints, one of which is whole."""
    folder = story.bed.root / "savepoints"
    whole = folder / "savepoint-aaaaaa-0123456789ab"
    named = [write(whole / str(uuid.uuid4()), b"state", 30 * DAY) for _ in range(4)]
    write(whole / "_metadata", metadata(5, named), 30 * DAY)
    bed = replace(story.bed, options=(*story.bed.options, "--extra-roots", folder))
    return replace(story, bed=bed), folder / "savepoint-bbbbbb-0123456789ab"


@pytest.mark.parametrize("savepoint", ["none", "shown", "hidden"])
@pytest.mark.answered_by("pending_savepoints", not_for=["none"])
def test_r33_a_pending_savepoint_is_older_than_the_newest_checkpoint(undeclared, savepoint) -> None:
    """Newer checkpoints do not abort it; the history of checkpoints may no longer show it."""
    story, folder = with_savepoints(undeclared)
    pending = stored(folder)
    collected_while_it_runs(story, 8, savepoint=savepoint)
    if savepoint == "none":
        assert not pending.exists()
        assert not folder.exists()
        return
    write(folder / "_metadata", metadata(9, [pending]), 0 * DAY)
    must_be_there(pending)


def a_second_savepoint(folder: Path) -> Path:
    """Write a second whole savepoint, and return a file of it."""
    named = stored(folder)
    write(folder / "_metadata", metadata(6, [named]), 30 * DAY)
    return named


@pytest.mark.answered_by("savepoints_of_earlier_cycles")
def test_r33_a_metadata_that_was_removed_by_hand_comes_back_from_a_backup(undeclared) -> None:
    """An earlier cycle saw the savepoint whole, so nothing shows that it was never completed."""
    story, folder = with_savepoints(undeclared)
    named = a_second_savepoint(folder)
    collected_while_it_runs(story, 8)
    (folder / "_metadata").unlink()
    for completed in (28, 48):
        collected_while_it_runs(story, completed)
    write(folder / "_metadata", metadata(6, [named]), 0 * DAY)
    must_be_there(named)


@pytest.mark.parametrize("name", ["set-aside", "set/aside"])
@pytest.mark.answered_by("strange_names_in_savepoints + metadata_of_another_name")
def test_r33_a_metadata_that_was_renamed_gets_its_name_again(undeclared, name) -> None:
    """Flink gives no file of a savepoint such a name: a person was there."""
    story, folder = with_savepoints(undeclared)
    named = a_second_savepoint(folder)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / "_metadata").rename(folder / name)
    collected_while_it_runs(story, 8)
    (folder / name).rename(folder / "_metadata")
    must_be_there(named)


@pytest.mark.answered_by("losses_that_concern_no_job_here")
def test_r33_what_a_lost_job_claimed_of_a_savepoint_stays(undeclared) -> None:
    """Flink deleted the metadata that the job claimed; its directory is gone from this machine."""
    story, folder = with_savepoints(undeclared)
    claimed, claimer = stored(folder), story.bed.job(5)
    data = claimer.checkpoint(9, claimed).read_bytes()
    with RestServer(flink(story.job, completed=8)) as server:
        story.bed.plan("--closed-world", "--flink-rest", server.url)
    rmtree(claimer.folder)
    for completed in (8, 28):
        collected_while_it_runs(story, completed)
    write(claimer.folder / "chk-9" / "_metadata", data, DAY)
    must_be_there(claimed)


def merged_folder(story: Story) -> Path:
    """Return where a subtask of the story's job merges files."""
    return story.job.folder / "shared" / f"job_{story.job.id}_op_{'d' * 32}_0_4"


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.answered_by("gate_of_merged_files", not_for=["1"])
def test_r46_a_merged_file_of_one_of_four_checkpoints_is_older_than_the_newest(
    undeclared, at_once
) -> None:
    """The pending one was triggered before checkpoint 8; with one at a time it would be dead."""
    pending = stored(merged_folder(undeclared))
    bed = undeclared.bed
    story = replace(undeclared, bed=replace(bed, options=(*bed.options, "--merged-within", "all")))
    collected_while_it_runs(story, 8, max_concurrent=at_once)
    if at_once == 1:
        assert not pending.exists()
        return
    undeclared.job.checkpoint(28, *undeclared.live, pending)
    must_be_there(pending)


@pytest.mark.answered_by("merging_within")
def test_r47_a_file_merged_across_checkpoints_waits_in_a_pool(undeclared) -> None:
    """It gets the next segment however old it is, and nothing shows how files are merged."""
    idle = stored(merged_folder(undeclared))
    collected_while_it_runs(undeclared, 8)
    undeclared.job.checkpoint(28, *undeclared.live, idle)
    must_be_there(idle)


@pytest.mark.answered_by("merging_within")
def test_r47_the_jobs_own_configuration_outweighs_a_wrong_statement(undeclared) -> None:
    """It is stated that files are merged within; by its exporter the job merges across."""
    idle = stored(merged_folder(undeclared))
    across = JobSettings(merging=MergingSettings(enabled=True, across=True))
    snapshot = a_snapshot_of(undeclared.job, source=Mode.DERIVED, settings=across)
    told = write(undeclared.bed.folder / "told.jsonl", write_snapshot(snapshot, ()), 0 * DAY)
    bed = undeclared.bed
    said = (*bed.options, "--merged-within", "all", "--registry", told)
    story = replace(undeclared, bed=replace(bed, options=said))
    collected_while_it_runs(story, 8)
    undeclared.job.checkpoint(28, *undeclared.live, idle)
    must_be_there(idle)


@pytest.mark.parametrize("folder", ["dstl", "taskowned", "shared/op_x__1_4__attempt_0/db"])
@pytest.mark.answered_by("quiet_is_an_end")
def test_r34_a_job_that_was_merely_quiet_may_still_name_its_files(undeclared, folder) -> None:
    """One checkpoint was held for days: nothing changed, and then it named them."""
    held = stored(undeclared.job.folder / folder)
    collected_once_it_is_over(undeclared, "--closed-world")
    undeclared.job.checkpoint(9, *undeclared.live, held)
    must_be_there(held)


@pytest.mark.answered_by("condition:closed_world")
def test_r35_a_claimer_that_nobody_listed_keeps_files_of_every_area(bed) -> None:
    """It runs on from a claimed checkpoint, in a storage that no option names."""
    story = make_story(Bed(bed.folder, ("--ended-job", "all", *AT_ONCE)))
    job = f"job_{story.job.id}_op_{'d' * 32}_0_4"
    named = [
        stored(story.job.folder / folder)
        for folder in ("chk-6", "dstl", "taskowned", f"shared/{job}", "shared/op_x/db")
    ]
    elsewhere = Bed(bed.folder).job(2, below=bed.folder / "unlisted")
    elsewhere.checkpoint(9, *story.live, *named)
    collected_once_it_is_over(story)
    must_be_there(*named)


@pytest.mark.answered_by("handles_in_state_bytes")
def test_r37_a_write_ahead_sink_names_its_log_in_state_bytes(story) -> None:
    """``pending-checkpoints`` is a list of serialised handles, which no oracle reads."""
    log = stored(story.job.folder / "taskowned")
    state = write(story.job.folder / "shared" / "pending-checkpoints", b"handles", 30 * DAY)
    story.job.checkpoint(9, *story.live, state, age=18 * DAY)  # stands for the state's name
    collected_once_it_is_over(story)
    must_be_there(log)
