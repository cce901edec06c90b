"""Edges and jobs of several memories as one, and how long a cycle remembers them."""

from datetime import timedelta
from functools import reduce

import pytest

from orphangc.core.lineage.continuation import (
    REMEMBERED_FOR,
    Continuation,
    ContinuationSource,
    LineageMemory,
    ResourceJob,
    remembered_lineage,
    resource_continuations,
    resources_by_job,
)
from orphangc.core.model.joined_facts import joined
from unit.core.lineage.lineage_builders import DAY, NOW, an_edge

OLD = NOW - 5 * DAY


def ran(job: str, *, first=OLD, seen=NOW, resource: str = "flink/orders") -> ResourceJob:
    return ResourceJob(
        resource=resource, job_id=job, identity="x/1", first_seen_at=first, seen_at=seen
    )


def both_ways(*memories: LineageMemory) -> LineageMemory:
    """Return the union, the same in either order of its writers."""
    found = reduce(joined, memories)
    assert reduce(joined, memories[::-1]) == found
    return found


@pytest.mark.parametrize(
    ("one", "other", "least"), [(None, None, None), (OLD, None, OLD), (OLD - DAY, OLD, OLD - DAY)]
)
@pytest.mark.parametrize("name", ["stored_at", "restored_at"])
def test_an_edge_that_two_writers_saw_is_one_that_covers_the_least(name, one, other, least) -> None:
    """A writer of an earlier release knows neither time of the restored checkpoint."""
    early = an_edge("a", "b", seen_at=OLD, **{name: one}, checkpoint_id=7)
    late = an_edge("a", "b", seen_at=NOW, **{name: other})
    found = both_ways(LineageMemory(continuations=(early,)), LineageMemory(continuations=(late,)))
    assert found.continuations == (
        an_edge("a", "b", seen_at=NOW, **{name: least}, checkpoint_id=7),
    )


def test_edges_with_other_evidence_or_of_another_checkpoint_stand_beside_each_other() -> None:
    """Each may be forgotten alone; their order is that of their places."""
    edges = (
        an_edge("a", "b", checkpoint="a/chk-1"),
        an_edge("a", "b", checkpoint="a/chk-2"),
        an_edge("a", "b", source=ContinuationSource.STATEMENT),
        an_edge("a", "c"),
        an_edge("b", "c"),
    )
    memories = [LineageMemory(continuations=(each,)) for each in edges]
    assert both_ways(*memories).continuations == edges


def test_a_job_that_two_writers_saw_is_one_per_resource() -> None:
    """From the first time to the last one that either saw it."""
    one = ran("a", first=OLD - DAY, seen=OLD)
    other, second = ran("a", first=OLD, seen=NOW), ran("a", resource="flink/z")
    found = both_ways(
        LineageMemory(resource_jobs=(second, one)), LineageMemory(resource_jobs=(other, ran("b")))
    )
    assert found.resource_jobs == (ran("a", first=OLD - DAY), ran("b"), second)


def test_what_was_last_seen_longest_ago_is_forgotten() -> None:
    """Exactly at the limit it is still remembered."""
    limit = NOW - REMEMBERED_FOR
    before = limit - timedelta(microseconds=1)
    known = LineageMemory(
        continuations=(an_edge("a", "b", seen_at=limit), an_edge("b", "c", seen_at=before)),
        resource_jobs=(
            ran("a", first=limit, seen=limit),
            ran("b", first=before, seen=before),
            ran("c", first=before, seen=before),
        ),
    )
    seen = LineageMemory(continuations=(an_edge("c", "d"),), resource_jobs=(ran("c"),))
    known = known.model_copy(update={"fixed_ids": ("a",)})
    seen = seen.model_copy(update={"fixed_ids": ("b",)})
    assert remembered_lineage(known, seen, NOW) == LineageMemory(
        continuations=(an_edge("a", "b", seen_at=limit), an_edge("c", "d")),
        resource_jobs=(ran("a", first=limit, seen=limit), ran("c", first=before)),
        fixed_ids=("a", "b"),
    )


def test_every_resource_that_ran_a_job_is_named_once() -> None:
    """In the order of their names."""
    found = resources_by_job([("a", "z"), ("b", "y"), ("a", "x"), ("a", "z")])
    assert found == {"a": ("x", "z"), "b": ("y",)}


def test_an_edge_of_a_resource_lasts_as_long_as_its_newer_job_is_seen() -> None:
    """No job skips the one between."""
    jobs = [ran(name, first=OLD + n * DAY, seen=NOW - n * DAY) for n, name in enumerate("abc")]
    places = {each: f"/ck/{each}" for each in "abc"}
    assert list(resource_continuations(jobs, places)) == [
        Continuation(
            older=f"/ck/{older}",
            newer=f"/ck/{newer}",
            source=ContinuationSource.RESOURCE,
            seen_at=NOW - n * DAY,
        )
        for n, (older, newer) in enumerate(["ab", "bc"], start=1)
    ]
