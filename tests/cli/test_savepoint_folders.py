"""Folders of savepoints that were never completed: what keeps their files, and what shows it."""

import os
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.helpers import DAY, metadata, run, write
from cli.stories import Story


@dataclass(frozen=True)
class Savepoints:
    """A folder of savepoints of an ended job: one is whole, one was never completed."""

    story: Story  # the ended job
    folder: Path  # folder of all savepoints
    left: Path  # file of the one that was never completed
    whole: Path  # savepoint that is whole

    def plan(self, *options: object):
        return self.story.bed.plan("--extra-roots", self.folder, *options)

    def action(self, plan, path: Path | None = None) -> str:
        return plan.rows[str((path or self.left).relative_to(self.story.bed.root))]["action"]


@pytest.fixture
def savepoints(story: Story) -> Savepoints:
    folder = story.bed.root / "savepoints"
    whole = folder / "savepoint-aaaaaa-0123456789ab"
    named = [write(whole / str(uuid.uuid4()), b"state", 30 * DAY) for _ in range(4)]
    write(whole / "_metadata", metadata(5, named), 30 * DAY)
    left = write(folder / "savepoint-bbbbbb-0123456789ab" / str(uuid.uuid4()), b"s", 30 * DAY)
    return Savepoints(story, folder, left, whole)


def test_what_a_savepoint_that_was_never_completed_left_goes(savepoints: Savepoints) -> None:
    """R33, R53: so does the folder; every file of the savepoint that is whole stays."""
    before = set(savepoints.whole.iterdir())
    for _ in range(2):
        plan = savepoints.plan()
        savepoints.story.bed.sweep(plan, "--delete")
    assert savepoints.action(plan) == "delete"
    assert not savepoints.left.exists()
    assert not savepoints.left.parent.exists()
    assert set(savepoints.whole.iterdir()) == before


def test_a_savepoints_folder_that_was_found_empty_stays_and_the_plan_says_so(savepoints) -> None:
    """R53: nothing shows its age, so a savepoint may just begin there."""
    empty = savepoints.folder / "savepoint-cccccc-0123456789ab"
    empty.mkdir()
    os.utime(empty, (0, 0))
    for _ in range(2):
        plan = savepoints.plan()
        savepoints.story.bed.sweep(plan, "--delete")
        (warning,) = [each for each in plan.document["warnings"] if "hold no file" in each]
        assert "1 folders of savepoints" in warning
        assert str(empty.relative_to(savepoints.story.bed.root)) in warning
    assert empty.is_dir()
    empty.rmdir()
    assert not any("hold no file" in each for each in savepoints.plan().document["warnings"])


def keeps_a_young_file(savepoints: Savepoints) -> None:
    write(savepoints.left.parent / str(uuid.uuid4()), b"state", DAY / 24)


def keeps_what_is_named(savepoints: Savepoints) -> None:
    savepoints.story.job.checkpoint(9, *savepoints.story.live, savepoints.left)


def keeps_what_a_metadata_stands_beside(savepoints: Savepoints) -> None:
    write(savepoints.left.parent / "_metadata", metadata(6, []), 30 * DAY)


KEPT = (keeps_a_young_file, keeps_what_is_named, keeps_what_a_metadata_stands_beside)


@pytest.mark.parametrize("happens", KEPT)
def test_a_doubt_keeps_every_file_of_a_savepoint(savepoints: Savepoints, happens) -> None:
    """All files must be old; none is named; and no ``_metadata`` is there."""
    happens(savepoints)
    assert savepoints.action(savepoints.plan()) == "keep"


def test_a_folder_outside_every_configured_place_of_savepoints_stays(savepoints) -> None:
    """Its name alone proves nothing."""
    assert savepoints.action(savepoints.story.bed.plan()) == "keep"


def test_while_any_job_is_stopped_no_savepoint_is_judged_and_the_plan_says_so(savepoints) -> None:
    """It may be the one that is writing the savepoint: here it writes, and is said to be over."""
    other = savepoints.story.bed.job(2)
    other.checkpoint(3, other.shared(), age=0 * DAY)
    plan = savepoints.plan()
    assert savepoints.action(plan) == "keep"
    (warning,) = [each for each in plan.document["warnings"] if "savepoints" in each]
    assert "1 folders of savepoints without _metadata are kept" in warning
    assert f"job {other.id}" in warning


def test_more_than_the_share_of_all_savepoints_goes_only_if_it_is_allowed(savepoints) -> None:
    """R20: the tombstone may be laid, and nothing is deleted."""
    for path in savepoints.whole.iterdir():
        path.unlink()
    write(savepoints.whole / "_metadata", metadata(5, []), 30 * DAY)
    more = [write(savepoints.left.with_name(str(uuid.uuid4())), b"s", 30 * DAY) for _ in range(3)]
    for _ in range(2):
        plan = savepoints.plan()
        savepoints.story.bed.sweep(plan, "--delete")
    assert all(path.exists() for path in [savepoints.left, *more])
    assert any("would go" in each for each in plan.document["warnings"])
    for _ in range(2):
        savepoints.story.bed.sweep(savepoints.plan("--max-delete-share", "1"), "--delete")
    assert not any(path.exists() for path in [savepoints.left, *more])


def test_why_a_file_of_a_savepoint_goes_is_explained(savepoints: Savepoints) -> None:
    """It has no job, and a verdict all the same."""
    plan = savepoints.plan()
    key = savepoints.left.relative_to(savepoints.story.bed.root)
    ran = run("explain", key, "--plan", plan.path, "--output", "json")
    assert ran.code == 0, ran.err
    assert ran.json["verdict"] == {"action": "tombstone", "reason": "orphan"}
    assert ran.json["scheme"]["area"] == "savepoint"
