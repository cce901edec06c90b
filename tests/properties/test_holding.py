"""What HA metadata says can only keep more."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.decision.bounds_of_job import bounds_of_job
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import judge
from orphangc.core.model.types import JobState
from support.builders import a_cycle, a_hold, a_job, a_root, a_survey, ago, an_ended_job, some_facts

holds = st.lists(
    st.builds(
        lambda ids, cluster, uri: a_hold(*ids, cluster=cluster, uri=uri),
        st.frozensets(st.integers(38, 46), max_size=4),
        st.sampled_from(["", "kubernetes:flink/orders", "kubernetes:flink/others"]),
        st.sampled_from(["kubernetes:flink/configmaps/a", "kubernetes:flink/FlinkDeployment/b"]),
    ),
    max_size=3,
).map(tuple)
answers = st.lists(
    st.sampled_from(["RUNNING", "CANCELED", "FAILED", "SUSPENDED"]).map(
        lambda status: some_facts(status=status)
    ),
    max_size=2,
).map(tuple)


@st.composite
def unheld_jobs(draw: st.DrawFn) -> JobEvidence:
    """Return jobs in every state that REST and an operator can put them in."""
    build = draw(st.sampled_from([a_job, an_ended_job]))
    ids = draw(st.frozensets(st.integers(38, 46), max_size=4))
    return build(
        is_declared_ended=draw(st.booleans()),
        before=draw(answers),
        after=draw(answers),
        own_checkpoints=tuple(a_root(each, age="30d") for each in sorted(ids)),
        ids_at_start=ids,
        ids_before=ids,
        ids_after=draw(st.sampled_from([ids, ids | {47}])),
        survey=a_survey(newest_modified_at=ago("30d")),
    )


@given(unheld_jobs(), holds, holds)
def test_a_job_that_is_held_and_not_shown_alive_is_never_deleted_from(job, before, after) -> None:
    """R13: whatever is stated, and whatever REST says of its end."""
    held = replace(job, held_before=before, held_after=after)
    is_shown = any(not facts.is_globally_terminal for facts in held.after)
    if held.holds and not is_shown:
        found = judge(held, a_cycle())
        assert found.refused or found.blocked
        assert held.state is not JobState.ENDED


@given(unheld_jobs(), holds, holds)
def test_holding_a_job_frees_nothing(job, before, after) -> None:
    """What stopped a job without HA metadata stops it with it, or something else does."""
    held = replace(job, held_before=before, held_after=after)
    without, with_it = judge(job, a_cycle()), judge(held, a_cycle())
    if without.refused or without.blocked:
        assert with_it.refused or with_it.blocked


@given(unheld_jobs(), holds, holds)
def test_holding_a_job_makes_no_bound_later(job, before, after) -> None:
    """Neither the cutoff nor the oldest retained id rises; an unknown one stays unknown."""
    held = replace(job, held_before=before, held_after=after)
    cycle = a_cycle()
    one = bounds_of_job(job, judge(job, cycle), cycle, None)
    other = bounds_of_job(held, judge(held, cycle), cycle, None)
    if not one.is_ended:
        assert other.cutoff == one.cutoff
    if one.oldest_retained_checkpoint_id is None:
        assert other.oldest_retained_checkpoint_id is None
    else:
        assert other.oldest_retained_checkpoint_id <= one.oldest_retained_checkpoint_id
