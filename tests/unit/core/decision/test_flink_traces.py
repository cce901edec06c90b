"""What shows that Flink wrote a directory, and what does not."""

import pytest

from orphangc.core.decision.flink_traces import has_trace_of_flink, with_remembered_traces
from orphangc.core.memory.remembered import RememberedCheckpoint, RememberedDirectory, WorldMemory
from orphangc.core.model.types import Scope
from support.builders import JOB, OTHER_JOB, T0, a_job, job_directory


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
