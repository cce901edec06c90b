"""A savepoint is pending only in a JobManager that counts it (R33)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orphangc.core.cluster.pending_savepoints import (
    longest_checkpoint_timeout,
    pending_savepoint_problem,
)
from support.builders import a_checkpoint, a_cluster, some_facts

CHECKPOINT = replace(a_checkpoint(44), status="IN_PROGRESS", discarded=None)
SAVEPOINT = replace(CHECKPOINT, id=45, is_savepoint=True)


@pytest.mark.parametrize(
    ("facts", "is_pending"),
    [
        ({"checkpoints": (), "in_progress_count": 0}, False),
        ({"checkpoints": (CHECKPOINT,), "in_progress_count": 1}, False),
        ({"checkpoints": (CHECKPOINT, SAVEPOINT), "in_progress_count": 2}, True),
        ({"checkpoints": (SAVEPOINT,), "in_progress_count": 1}, True),
        ({"checkpoints": (SAVEPOINT,), "in_progress_count": 0}, True),
        ({"checkpoints": (CHECKPOINT,), "in_progress_count": 2}, True),
        ({"checkpoints": (), "in_progress_count": 1}, True),
        ({"checkpoints": (CHECKPOINT,), "in_progress_count": 0}, True),
        ({"checkpoints": (SAVEPOINT,), "in_progress_count": 1, "status": "CANCELED"}, False),
    ],
)
def test_only_what_the_counter_and_the_history_agree_on_is_no_savepoint(facts, is_pending) -> None:
    """The history holds ten entries; the counter holds all."""
    problem = pending_savepoint_problem([a_cluster(some_facts()), a_cluster(some_facts(**facts))])
    assert (problem is not None) is is_pending


@pytest.mark.parametrize(
    ("facts", "timeout"),
    [
        ({"checkpoint_timeout_ms": 60_000}, timedelta(minutes=1)),
        ({"checkpoint_timeout_ms": None}, None),
        ({"checkpoint_timeout_ms": None, "max_concurrent": None}, timedelta(0)),
        ({"checkpoint_timeout_ms": None, "status": "FINISHED"}, timedelta(0)),
    ],
)
def test_the_longest_timeout_is_unknown_where_one_job_hides_it(facts, timeout) -> None:
    """A job that cannot checkpoint, or is over, has none."""
    assert longest_checkpoint_timeout([a_cluster(some_facts(**facts))]) == timeout
