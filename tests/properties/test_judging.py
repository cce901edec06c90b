"""What stops a living job stops every job whose files it needs, and nothing else does."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.decision.judge import judge, judge_all
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import JobState
from support.builders import T0, a_cycle, a_job, a_survey, ago, ahead, an_ended_job

KEYS = tuple(f"{number:032x}" for number in range(6))


@st.composite
def families(draw: st.DrawFn) -> list[JobEvidence]:
    """Return jobs restored from each other at random, some ended, some refused, some blocked."""
    jobs = []
    for key in draw(st.permutations(KEYS)):
        is_ended = draw(st.booleans())
        survey = a_survey(
            newest_modified_at=draw(st.sampled_from([ahead("1d"), *[ago("30d")] * 3])),
            live_in_shared=draw(st.sampled_from([0, 50, 50])),
            sub_folders=draw(st.sampled_from([(), (), {"strange"}])),  # refused, though still
        )
        depends_on = draw(st.frozensets(st.sampled_from([*KEYS, "a stranger"]), max_size=2))
        build = an_ended_job if is_ended else a_job
        jobs.append(build(key, depends_on=depends_on, survey=survey))
    return jobs


def reached(jobs: list[JobEvidence]) -> set[tuple[str, str]]:
    """Return who needs whose files, directly or not: the transitive closure, the slow way."""
    needs = {(job.key, key) for job in jobs for key in job.depends_on}
    for middle, one, other in product(KEYS, KEYS, KEYS):
        if (one, middle) in needs and (middle, other) in needs:
            needs.add((one, other))
    return {(one, other) for one, other in needs if one != other}


@given(families())
def test_what_stops_a_living_job_stops_whatever_it_needs_and_nothing_else(jobs) -> None:
    """R12: against a model that knows nothing but who needs whom."""
    cycle = a_cycle()
    alone = {job.key: judge(job, cycle) for job in jobs}
    restless = {job.key for job in jobs if (job.survey.newest_modified_at or T0) > ago("7d")}
    living = {job.key for job in jobs if job.state is not JobState.ENDED} | restless
    needs = reached(jobs)
    for key, found in judge_all(jobs, cycle).items():
        behind = [alone[one] for one, other in needs if other == key and one in living]
        is_refused = any(each.refused for each in behind)
        is_blocked = any(each.blocked for each in behind)
        if alone[key].refused:
            assert found.refused == alone[key].refused
        else:
            assert (found.refused is not None) is is_refused
            assert found.refused is None or found.refused.guard is Guard.DEPENDENT_JOB
        passed_on = [each for each in found.blocked if each not in alone[key].blocked]
        assert found.blocked[: len(alone[key].blocked)] == alone[key].blocked
        assert [each.condition for each in passed_on] == [Condition.DEPENDENT_JOB] * is_blocked


@given(families(), st.randoms(use_true_random=False))
def test_the_order_of_the_jobs_makes_no_difference_to_who_is_stopped(jobs, random) -> None:
    """R12: chains alike, whichever end the plan begins with."""
    shuffled = random.sample(jobs, len(jobs))
    one, other = judge_all(jobs, a_cycle()), judge_all(shuffled, a_cycle())
    assert one.keys() == other.keys()
    for key, found in one.items():
        assert (found.refused is None) is (other[key].refused is None)
        assert len(found.blocked) == len(other[key].blocked)
