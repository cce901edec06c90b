"""A retention policy over random chains of jobs: doubt never lets more go (R41, R43)."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orphangc.core.lineage.checkpoint_fates import is_meant_to_be_deleted
from orphangc.core.lineage.continuation import Continuation, ContinuationSource
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, LineageJob, lineages_of
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.types import JobState
from unit.core.lineage.lineage_builders import (
    DAY,
    NOW,
    RETAINED,
    a_checkpoint,
    a_hidden_origin,
    a_job,
    an_edge,
    expired,
)

NAMES = ["a", "b", "c", "d", "e"]
ALL_ENDS = RETAINED | {"CANCELED", "FAILED"}
SMALL = settings(max_examples=60, deadline=None)

World = tuple[list[LineageJob], list[LineageCheckpoint], list[Continuation]]


POINTS = st.one_of(
    st.just({}),
    st.just({"source": ContinuationSource.REFERENCE, "checkpoint": ""}),
    st.builds(
        lambda number, age: {"checkpoint_id": number, "restored_at": NOW - age * DAY},
        st.integers(0, 9),
        st.integers(0, 100),
    ),
)
"""Points from which a job goes on: the last one, an unknown one, or any."""


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw jobs that end or run, with checkpoints of any age, and edges between any of them."""
    ends = st.sampled_from([frozenset[str](), frozenset({"FINISHED"}), frozenset({"FAILED"})])
    jobs = [
        a_job(name, is_running=is_running, ended_as=frozenset() if is_running else draw(ends))
        for name in NAMES
        for is_running in (draw(st.booleans()),)
    ]
    checkpoints, taken = [], []
    for number in range(draw(st.integers(1, 9))):
        job, is_savepoint = draw(st.sampled_from(NAMES)), draw(st.booleans())
        place = f"sp-{number}" if is_savepoint else job
        taken += [an_edge(job, place)] if is_savepoint else []
        checkpoints.append(
            a_checkpoint(
                place,
                number,
                age=draw(st.integers(0, 100)),
                is_restorable=draw(st.booleans()),
                is_savepoint=is_savepoint,
                deleted_on=draw(st.sampled_from([None, RETAINED, ALL_ENDS])),
                is_collectable=draw(st.booleans()) or not is_savepoint,
            )
        )
    pairs = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=8))
    edges = [an_edge(*pair, **draw(POINTS)) for pair in pairs]
    return jobs, checkpoints, [*edges, *taken]


@st.composite
def policies(draw: st.DrawFn) -> RetentionPolicy:
    """Draw numbers of checkpoints to keep, and maybe a lineage that is declared dead."""
    dead = draw(st.lists(st.sampled_from(NAMES), max_size=1))
    counts = st.integers(0, 2)
    return RetentionPolicy(
        keep_last=draw(st.integers(1, 3)), keep_daily=draw(counts), dead=tuple(dead)
    )


@SMALL
@given(worlds(), policies(), st.data())
def test_a_pin_never_lets_more_go(world: World, policy: RetentionPolicy, data: Any) -> None:
    jobs, checkpoints, edges = world
    number = data.draw(st.integers(0, len(checkpoints) - 1))
    pinned = replace(checkpoints[number], holds=(("pin", "by hand"),))
    now = expired(jobs, [*checkpoints[:number], pinned, *checkpoints[number + 1 :]], edges, policy)
    assert now <= expired(*world, policy) - {pinned.uri}


@SMALL
@given(worlds(), policies(), st.data())
def test_a_claimer_never_lets_more_go(world: World, policy: RetentionPolicy, data: Any) -> None:
    """A job that was restored from some checkpoint, and still needs its files."""
    jobs, checkpoints, edges = world
    claimer = a_job("claimer", is_running=True, is_self_sustained=False)
    edge = an_edge(data.draw(st.sampled_from(NAMES)), "claimer")
    more = [*checkpoints, a_checkpoint("claimer", 99, age=data.draw(st.integers(0, 100)))]
    named = {name for each in lineages_of(jobs, checkpoints, edges) for name in each.names}
    assert named.isdisjoint({"claimer"})
    assert expired([*jobs, claimer], more, [*edges, edge], policy) <= expired(*world, policy)


@SMALL
@given(worlds(), policies(), st.data())
def test_a_root_beside_what_is_there_never_frees_more_of_what_it_names(
    world: World, policy: RetentionPolicy, data: Any
) -> None:
    """A savepoint that some checkpoint names files of, or that cannot be listed, is kept."""
    jobs, checkpoints, edges = world
    number = data.draw(st.integers(0, len(checkpoints) - 1))
    named = replace(checkpoints[number], is_collectable=False, obstacle="named by another")
    now = expired(jobs, [*checkpoints[:number], named, *checkpoints[number + 1 :]], edges, policy)
    assert now <= expired(*world, policy) - {named.uri}


@SMALL
@given(worlds(), policies(), st.data())
def test_doubt_about_a_job_never_lets_more_go(
    world: World, policy: RetentionPolicy, data: Any
) -> None:
    jobs, checkpoints, edges = world
    number = data.draw(st.integers(0, len(jobs) - 1))
    doubt = data.draw(
        st.sampled_from(
            [
                {"state": JobState.UNKNOWN, "is_over": False},
                {"state": JobState.SUSPENDED, "is_over": False},
                {"problem": "closed_world"},
                {"is_self_sustained": None},
                {"last_life_at": None},
                {"started_at": None},
                {"started_at": NOW - DAY},
                {"is_running_throughout": False},
                {"may_recur": True},
            ]
        )
    )
    doubted = [*jobs[:number], replace(jobs[number], **doubt), *jobs[number + 1 :]]
    assert expired(doubted, checkpoints, edges, policy) <= expired(*world, policy)


@SMALL
@given(worlds(), policies(), st.integers(0, 100))
def test_a_hidden_origin_holds_all_that_is_older_and_lets_nothing_more_go(
    world: World, policy: RetentionPolicy, age: int
) -> None:
    hidden = a_hidden_origin(age=age)
    stored = {each.uri: each.stored_at for each in world[1]}
    now, before = expired(*world, policy, hidden=(hidden,)), expired(*world, policy)
    assert now == {uri for uri in before if (at := stored[uri]) is not None and at > hidden.until}


@SMALL
@given(worlds(), st.integers(1, 3), st.data())
def test_a_lost_edge_never_lets_more_of_a_living_lineage_go(
    world: World, keep_last: int, data: Any
) -> None:
    """Of one that is declared dead it may: ``tests/unit/core/lineage`` shows that loss."""
    jobs, checkpoints, edges = world
    policy = RetentionPolicy(keep_last=keep_last)
    left = [each for each in edges if data.draw(st.booleans())]
    assert expired(jobs, checkpoints, left, policy) <= expired(*world, policy)


@SMALL
@given(worlds(), policies(), st.data())
def test_a_new_checkpoint_takes_the_place_of_older_ones_only(
    world: World, policy: RetentionPolicy, data: Any
) -> None:
    jobs, checkpoints, edges = world
    place, age = data.draw(st.sampled_from(NAMES)), data.draw(st.integers(0, 100))
    new = a_checkpoint(place, 99, age=age)
    policy = policy.model_copy(update={"keep_daily": 0})
    before = expired(*world, policy)
    after = expired(jobs, [*checkpoints, new], edges, policy)
    by_uri = {each.uri: each for each in checkpoints}
    is_now_a_successor = place in {job.key for job in jobs if not job.is_over}
    if not is_now_a_successor:
        assert all(by_uri[uri].order < new.order for uri in after - before - {new.uri})


@SMALL
@given(worlds(), st.integers(1, 3))
def test_what_stays_of_a_lineage_can_be_restored(world: World, keep_last: int) -> None:
    """As many restorable checkpoints stay as the policy says, or all; and when jobs have failed.

    Flink deletes what it does not retain then; what it was to delete before goes whatever the
    policy says (R40).
    """
    gone = expired(*world, RetentionPolicy(keep_last=keep_last))
    for lineage in lineages_of(*world):
        makers = {each.uri: lineage.job_at(each.place) for each in lineage.checkpoints}
        own = [
            each
            for each in lineage.checkpoints
            if each.is_restorable
            and not ((job := makers[each.uri]) and is_meant_to_be_deleted(each, job))
        ]
        living = {place for job in lineage.jobs if not job.is_over for place in job.places}
        lasting = [e for e in own if e.place not in living or e.deleted_on == RETAINED]
        for each in (own, lasting):
            left = [one for one in each if one.uri not in gone]
            assert len(left) >= min(keep_last, len(each))
