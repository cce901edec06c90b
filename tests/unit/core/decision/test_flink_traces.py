"""What shows that Flink wrote a directory, and what does not."""

import pytest

from orphangc.core.decision.flink_traces import (
    has_run_before,
    has_trace_of_flink,
    with_remembered_traces,
)
from orphangc.core.memory.remembered import (
    RememberedCheckpoint,
    RememberedDirectory,
    RememberedJob,
    WorldMemory,
)
from orphangc.core.model.types import Scope
from support.builders import JOB, OTHER_JOB, T0, a_job, ago, job_directory, some_facts


@pytest.mark.parametrize("area", Scope)
def test_only_folders_that_only_flink_makes_are_a_trace(area) -> None:
    """``shared/`` is a word that anybody uses, and ``dstl`` a name of any length of life."""
    assert has_trace_of_flink({area}) is (area in {Scope.TASKOWNED, Scope.EXCLUSIVE, Scope.FORST})


@pytest.mark.parametrize("place", range(3))
def test_anything_that_knows_the_job_is_a_trace(place) -> None:
    """A checkpoint, a cluster, HA metadata, a registry snapshot."""
    known = [[], (), set()]
    assert not has_trace_of_flink({Scope.SHARED}, *known)
    known[place] = ["something"]
    assert has_trace_of_flink({Scope.SHARED}, *known)


def memory_of(job: str, *, checkpoints: int = 1, resolved: bool = False) -> WorldMemory:
    """Return what is left of a cycle that found checkpoints in a job's directory."""
    place = job_directory(job)
    found = RememberedCheckpoint(uri=str(place.child("chk-7")), checkpoint_id=7, seen_at=T0)
    directory = RememberedDirectory(
        uri=str(place),
        place=str(place.parent),
        checkpoints=(found,) * checkpoints,
        resolved_at=T0 if resolved else None,
    )
    return WorldMemory(directories=(directory,))


@pytest.mark.parametrize(
    ("memory", "changes", "is_covered"),
    [
        (memory_of(JOB), {}, True),
        (memory_of(JOB, checkpoints=0), {}, False),
        (memory_of(JOB, checkpoints=0, resolved=True), {}, True),
        (memory_of(OTHER_JOB), {}, False),
        (WorldMemory(), {}, False),
        (memory_of(JOB), {"is_not_in_all": False}, False),
        (memory_of(JOB), {"is_collected": False}, False),
    ],
)
def test_a_checkpoint_that_an_earlier_cycle_saw_is_a_trace(memory, changes, is_covered) -> None:
    """Of the directory that it lay in, and only where all jobs were stated to be over."""
    job = a_job(
        **{"before": (), "after": (), "own_checkpoints": (), "is_not_in_all": True, **changes}
    )
    after = with_remembered_traces({JOB: job}, memory)[JOB]
    assert after.is_declared_ended is is_covered
    assert (after != job) is is_covered


@pytest.mark.parametrize(
    ("shown", "remembered", "is_one"),
    [
        ([("RUNNING", "9d")], [], False),
        ([("FAILED", "99d")], [], False),
        ([("RUNNING", "9d"), ("FAILED", "99d")], [], True),
        ([("RUNNING", "9d"), ("FAILED", "9d")], [], False),
        ([("RUNNING", "9d")], [("99d", True)], True),
        ([("RUNNING", "9d")], [("99d", False)], False),
        ([("RUNNING", "9d")], [("9d", True)], False),
        ([("FAILED", "9d")], [("99d", True)], False),
    ],
)
def test_an_id_of_which_a_run_is_over_and_another_one_lives_was_chosen(
    shown, remembered, is_one
) -> None:
    """R34: it comes back. Two answers with one start are of one run, asked by two addresses."""
    job = a_job(after=tuple(some_facts(status=word, started_at=ago(at)) for word, at in shown))
    place = str(job_directory(JOB))
    known = [
        RememberedJob(
            job_id=JOB,
            by="http://former",
            directories=(place,),
            started_at=ago(at),
            alive_at=ago("50d"),
            ended_at=ago("49d") if is_over else ago("51d"),
        )
        for at, is_over in remembered
    ]
    assert has_run_before(job, known) is is_one
    elsewhere = [each.model_copy(update={"directories": ("s3://b/x",)}) for each in known]
    assert has_run_before(job, elsewhere) is (is_one and not known)
