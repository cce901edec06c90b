"""A checkpoint that a cycle has seen may be hidden at any time: no cycle deletes its files.

And a job that is redeployed as usual asks a person nothing, whenever cycles run.
"""

import pytest

from safety.model_checking.forgetting import Course, explored, redeployed


def test_hiding_a_checkpoint_that_a_cycle_has_seen_loses_nothing() -> None:
    """Whatever its job does before and after."""
    found = explored()
    print(found.story())
    assert found.wrong is None, found.story()
    assert found.states > 1_000


def test_a_loss_is_found_without_the_memory() -> None:
    """A checkpoint, a cycle that sees it, the hiding, another cycle."""
    found = explored(remembers=False)
    print(found.story())
    assert found.wrong is not None
    assert len(found.trace) == 4


@pytest.mark.parametrize("course", Course)
def test_a_job_that_is_redeployed_asks_nothing(course) -> None:
    """Once a cycle has seen each run; JobManagers may restart."""
    found = redeployed(course)
    assert found.wrong is None, found.story()
    assert found.states > 1_000


@pytest.mark.parametrize("course", [Course.SAVEPOINT, Course.SAVEPOINT_CLAIM, Course.CLAIM])
def test_a_redeploy_that_nothing_shows_asks(course) -> None:
    """Its directory is empty, and nothing says why."""
    assert "job_directory_emptied" in (redeployed(course, is_shown=False).wrong or "")
