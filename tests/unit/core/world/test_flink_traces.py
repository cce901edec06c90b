"""What shows that Flink wrote a directory, and what does not."""

import pytest

from orphangc.core.model import Scope
from orphangc.core.world.flink_traces import has_trace_of_flink


@pytest.mark.parametrize("area", Scope)
def test_only_folders_that_only_flink_makes_are_a_trace(area) -> None:
    """``shared/`` is a word that anybody uses, and ``dstl`` a name of any length of life."""
    assert has_trace_of_flink({area}) is (area in {Scope.TASKOWNED, Scope.EXCLUSIVE})


@pytest.mark.parametrize("place", range(3))
def test_anything_that_knows_the_job_is_a_trace(place) -> None:
    """A checkpoint, a cluster, HA metadata, a registry snapshot."""
    known = [[], (), set()]
    assert not has_trace_of_flink({Scope.SHARED}, *known)
    known[place] = ["something"]
    assert has_trace_of_flink({Scope.SHARED}, *known)
