"""Limits on how much of one job may go at once."""

import pytest

from orphangc.core.decision.conditions import share_problem
from support.builders import JOB


@pytest.mark.parametrize(
    ("removals", "artifacts", "share", "is_stopped"),
    [
        (50, 100, 0.5, False),
        (51, 100, 0.5, True),
        (100, 100, 1, False),
        (0, 0, 0.5, False),
        (0, 100, 0, False),
        (1, 100, 0, True),
        (1, 0, 1, True),
    ],
)
def test_no_larger_part_goes_than_is_allowed(removals, artifacts, share, is_stopped) -> None:
    """R20: exactly the part that is allowed may go."""
    problem = share_problem(JOB, removals=removals, artifacts=artifacts, share=share)
    assert (problem is not None) is is_stopped


@pytest.mark.parametrize(("removals", "needed"), [(51, "0.51"), (100, "1"), (999, "1")])
def test_the_sentence_gives_the_option_that_suffices(removals, needed) -> None:
    """And what it gives allows no more than this job needs."""
    artifacts = max(removals, 100)
    problem = share_problem(JOB, removals=removals, artifacts=artifacts, share=0.5)
    assert f"--max-delete-share {JOB}={needed} allows it for this job alone" in problem
    allowed = share_problem(JOB, removals=removals, artifacts=artifacts, share=float(needed))
    assert allowed is None
