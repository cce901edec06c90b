"""Empty folders on a file system: which of them a sweep removes, and what keeps them (R53)."""

import json
import os
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, flink, run, write
from cli.stories import Story
from orphangc.adapters.files.local_storage import LocalStorage
from support.rest_server import RestServer

ALL = ("--max-delete-share", "1")


def folders(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir()}


def orphan(folder: Path) -> Path:
    return write(folder / str(uuid.uuid4()), b"state", 30 * DAY)


def empty(*folders: Path) -> None:
    for each in folders:
        each.mkdir(parents=True, exist_ok=True)


def swept(story: Story, *options: object, delete: bool = True, times: int = 2) -> dict:
    """Lay tombstones and sweep; return the last outcome, with the folders of all sweeps."""
    numbers: Counter[str] = Counter()
    for _ in range(times):
        plan = story.bed.plan(*ALL, *options)
        assert plan.ran.code == 0, plan.ran.err
        ran = story.bed.sweep(plan, "--output", "json", *(["--delete"] if delete else []))
        assert ran.code == 0, ran.err
        numbers.update(ran.json["folders"])
    return {**ran.json, "folders": dict(numbers)}


def swept_while_it_runs(story: Story, completed: int, *options: object) -> dict:
    """Sweep twice while Flink shows the job; a checkpoint completes in between."""
    numbers: Counter[str] = Counter()
    for number in (completed, completed + 1):
        if number != completed:
            story.job.checkpoint(number, *story.live, age=0 * DAY)
        with RestServer(flink(story.job, completed=number)) as server:
            plan = story.bed.plan("--closed-world", "--flink-rest", server.url, *ALL, *options)
            ran = story.bed.sweep(plan, "--delete", "--output", "json")
            assert ran.code == 0, ran.err
            numbers.update(ran.json["folders"])
    return dict(numbers)


def test_of_an_ended_job_every_folder_of_flinks_goes_that_holds_nothing(story: Story) -> None:
    """Inner ones first; what shows a directory of Flink's stays, and what Flink made none of."""
    job, root = story.job.folder, story.bed.root
    for folder in ("chk-6", "dstl", "shared/op_x/db", f"taskowned/job_{story.job.id}_tm_x"):
        orphan(job / folder)
    empty(job / "chk-5", job / "shared" / "op_y" / "db", job / "mine")
    outcome = swept(story)
    kept = {"", "/chk-7", "/chk-8", "/shared", "/taskowned", "/mine"}
    assert folders(root) == {f"{story.job.id}{each}" for each in kept}
    assert all(path.exists() for path in story.live)
    assert outcome["folders"] == {"done": 8}
    plan, after = story.bed.cycle(*ALL)
    assert (plan.ran.code, after.code) == (0, 0), after.err


def test_a_job_of_which_nothing_is_left_hides_no_other_one(story: Story) -> None:
    """Its directory stays, empty, and the next cycles say nothing new of it."""
    other = story.bed.job(2)
    orphan(other.folder / "shared")
    empty(other.folder / "taskowned", other.folder / "chk-5")
    outcome = swept(story)
    assert outcome["folders"] == {"done": 3}
    assert folders(story.bed.root) >= {other.id}
    assert not list(other.folder.iterdir())
    plan = story.bed.plan(*ALL)
    assert plan.ran.code == 0, plan.ran.err
    assert not any(job["refused"] or job["blocked"] for job in plan.document["jobs"])


@pytest.mark.parametrize("trace", ["taskowned", "chk-5"])
def test_the_last_trace_of_flink_stays_beside_a_file_that_may_go_later(story, trace) -> None:
    """``--ended-job all`` covers no directory without one, so the file would stay for ever."""
    other = story.bed.job(2)
    empty(other.folder / trace)
    young = write(other.folder / "shared" / str(uuid.uuid4()), b"state", 8 * DAY)
    swept(story, "--grace-period", "10d")
    assert young.exists()
    swept(story)
    assert not list(other.folder.iterdir())


def test_of_a_running_job_only_folders_of_checkpoints_that_are_over_go(undeclared: Story) -> None:
    """``chk-N`` below what this run has completed (R31); Flink makes the others once."""
    job = undeclared.job.folder
    orphan(job / "chk-6")
    empty(job / "chk-5", job / "chk-30", job / "dstl", job / "taskowned", job / "chk-4" / "inner")
    numbers = swept_while_it_runs(undeclared, 8)
    names = {path.name for path in job.iterdir()}
    assert names == {"chk-4", "chk-7", "chk-8", "chk-9", "chk-30", "dstl", "shared", "taskowned"}
    assert numbers == {"done": 2}


def test_a_job_that_no_cluster_shows_keeps_its_folders(undeclared: Story) -> None:
    """It may be started again, and be about to write."""
    empty(undeclared.job.folder / "chk-5")
    before = folders(undeclared.bed.root)
    for _ in range(2):
        undeclared.bed.sweep(undeclared.bed.plan("--closed-world", *ALL), "--delete")
    assert folders(undeclared.bed.root) == before


def test_without_delete_they_are_counted_and_stay(story: Story) -> None:
    """A dry run says what would go."""
    empty(story.job.folder / "chk-5")
    before = folders(story.bed.root)
    outcome = swept(story, delete=False, times=1)
    assert outcome["folders"] == {"planned": 1}
    assert folders(story.bed.root) == before


@pytest.mark.parametrize("kept_by", ["scope", "pin", "pin by no link", "closed world"])
def test_what_is_not_to_be_collected_keeps_its_folders(story: Story, kept_by: str) -> None:
    """As it keeps files."""
    place = story.job.folder / "chk-5"
    empty(place)
    if kept_by == "pin by no link":
        (link := story.bed.folder / "link").symlink_to(story.bed.root)
        story.bed.root = link
    if kept_by == "closed world":
        unstated = replace(story, bed=Bed(story.bed.folder, ("--ended-job", "all", *AT_ONCE)))
        for _ in range(2):
            unstated.bed.sweep(unstated.bed.plan(*ALL), "--delete")
    else:
        options = ("--scope", "shared") if kept_by == "scope" else ("--pin", place)
        swept(story, *options)
    assert place.is_dir()


def test_a_file_that_comes_in_between_keeps_its_folder(story: Story, monkeypatch) -> None:
    """Flink made the folder and now makes the file: the call fails on a folder that holds one."""
    place = story.job.folder / "chk-5"
    empty(place)
    removing = LocalStorage.remove_empty

    def after_flink(self, folder: str):
        if folder.endswith("chk-5"):
            write(place / "late", b"state", 0 * DAY)
        return removing(self, folder)

    monkeypatch.setattr(LocalStorage, "remove_empty", after_flink)
    outcome = swept(story, times=1)
    assert (place / "late").read_bytes() == b"state"
    assert outcome["folders"].get("changed", 0) == 1


def test_a_folder_that_cannot_be_removed_fails_no_sweep(story: Story, monkeypatch) -> None:
    """It costs nothing: the outcome and the journal show it."""
    empty(story.job.folder / "chk-5")
    removing = os.rmdir

    def refuse(path: str, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None:
            raise PermissionError(13, "Permission denied", path)
        removing(path)

    monkeypatch.setattr(os, "rmdir", refuse)
    outcome = swept(story, times=1)
    assert outcome["folders"] == {"failed": 1}
    run_folder = story.bed.state.rglob(f"{outcome['run_id']}/folders-*")
    lines = {
        each.name: [json.loads(line) for line in each.read_text().splitlines()]
        for each in run_folder
    }
    key = f"{story.job.id}/chk-5"
    error = "[Errno 13] Permission denied: 'chk-5'"
    assert lines == {
        "folders-000000.jsonl": [{"folder": key}],
        "folders-000000-outcomes.jsonl": [{"folder": key, "outcome": "failed", "error": error}],
    }


def test_a_person_sees_how_many_went(story: Story) -> None:
    empty(story.job.folder / "chk-5")
    plan = story.bed.plan(*ALL)
    ran = run("sweep", plan.path, "--delete", "--output", "table")
    assert "empty folders to remove, done: 1" in ran.out
