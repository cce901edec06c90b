"""Losses by taking one job for another, or a job that goes on for one that has ended (issue 13)."""

from __future__ import annotations

import pytest

from commands.helpers import DAY
from commands.stories import bed, story

__all__ = ["bed", "story"]


# --------------------------------------------------------------------------- declared, and writing


@pytest.mark.answered_by("dependents")
def test_l7_a_job_that_is_declared_ended_and_still_writes_keeps_what_it_claimed(story) -> None:
    """It blocked itself alone: the files of the job that it claimed from went."""
    claimer = story.bed.job(2)
    own = claimer.shared(age=DAY)
    story.bed.cycle()
    claimer.checkpoint(9, story.live[0], own, age=DAY)
    plan, _ = story.bed.cycle()
    assert plan.blocks(claimer) == ["not_quiet"]
    assert plan.blocks(story.job) == ["dependent_job"]
    assert all(path.exists() for path in story.orphans)


@pytest.mark.answered_by("dependents")
def test_l7_a_declared_end_without_a_checkpoint_is_no_end_while_files_are_written(story) -> None:
    """It may have claimed from any job, and complete a checkpoint that names any file."""
    story.bed.cycle()
    writing = story.bed.job(2)
    writing.shared(age=DAY)
    plan, _ = story.bed.cycle()
    assert plan.blocks(story.job) == ["dependent_job"]
    assert all(path.exists() for path in story.orphans)
