"""What stops one job stops the jobs whose files it needs, along every chain of restores."""

from dataclasses import replace
from itertools import pairwise, permutations

import pytest

from orphangc.core.cluster.ha_facts import Hold
from orphangc.core.cluster.job_facts import RestoredFacts
from orphangc.core.decision.guards import GUARDS
from orphangc.core.decision.judge import Judgement, Refusal, judge, judge_all
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import AreaName, EvidenceSource
from support.builders import (
    JOB,
    OTHER_JOB,
    THIRD_JOB,
    a_broken_root,
    a_cycle,
    a_hold,
    a_job,
    a_root,
    a_snapshot,
    a_survey,
    ago,
    ahead,
    an_ended_job,
    some_facts,
)

FUTURE = a_survey(newest_modified_at=ahead("1d"))
"""Makes one job, and no other, refused."""
STRANGE = a_survey(sub_folders={"strange"}, newest_modified_at=ago("30d"))
"""Makes one job, and no other, refused, though it has been still for long."""
NOT_SEEN = a_survey(live_in_shared=0)
"""Makes one job, and no other, blocked."""
A, B, C = JOB, OTHER_JOB, THIRD_JOB


def feeding(job: str, *whom: str, **changes: object):
    """Return a running job whose state lies in the directories of others as well."""
    return a_job(job, depends_on=frozenset(whom), **changes)


def refusals(jobs, cycle=None, **tables: object) -> dict[str, Guard | None]:
    judged = judge_all(jobs, cycle or a_cycle(), **tables)
    return {key: j.refused.guard if j.refused else None for key, j in judged.items()}


def blocks(jobs, cycle=None) -> dict[str, list[Condition]]:
    judged = judge_all(jobs, cycle or a_cycle())
    return {key: [each.condition for each in j.blocked] for key, j in judged.items()}


def lasting(jobs, cycle=None) -> dict[str, list[str]]:
    """Return what stops each job until somebody acts."""
    judged = judge_all(jobs, cycle or a_cycle())
    return {
        key: [
            *([j.refused.guard] if j.refused and not j.refused.may_pass else []),
            *(each.condition for each in j.blocked if not each.may_pass),
        ]
        for key, j in judged.items()
    }


@pytest.mark.parametrize(
    ("guards", "spared"),
    [
        ((), set()),
        ((Guard.UNPROVEN_LAYOUT,), {AreaName.EXCLUSIVE, AreaName.CHANGELOG, AreaName.MERGED}),
        ((Guard.UNPROVEN_LAYOUT, Guard.GATE), {AreaName.EXCLUSIVE, AreaName.CHANGELOG}),
        ((Guard.GATE, Guard.UNSTABLE_ROOT), set()),
        ((Guard.UNREADABLE_ROOT,), set()),
        ((Guard.DAMAGED_LATEST_ROOT, Guard.UNPROVEN_LAYOUT), set()),
    ],
)
def test_an_area_is_spared_only_if_it_withstands_every_refusal(guards, spared) -> None:
    """R56: a guard behind the first one may ask for what the area's rule needs."""
    table = {guard: lambda *_: "it objects" for guard in guards}
    judged = judge(a_job(), a_cycle(), guards=table)
    assert judged.spared == spared
    assert judged.is_wholly_refused is (bool(guards) and not spared)
    assert judged.stops(AreaName.SHARED) is bool(guards)


def test_of_a_job_that_is_over_a_refusal_spares_no_area() -> None:
    """R35, R56: a layout that is none of Flink's own says nothing of what names its files."""
    assert judge(a_job(survey=STRANGE), a_cycle()).spared
    judged = judge(an_ended_job(survey=STRANGE), a_cycle())
    assert judged.refused.guard is Guard.UNPROVEN_LAYOUT
    assert judged.is_wholly_refused


def test_what_a_living_job_needs_is_refused_in_every_area() -> None:
    """R12, R38: its own areas may be spared, those that it claimed are not."""
    job = feeding(
        A, B, before=(some_facts(max_concurrent=4),), after=(some_facts(max_concurrent=4),)
    )
    judged = judge_all([job, a_job(B)], a_cycle())
    assert judged[A].spared
    assert judged[B].refused.guard is Guard.DEPENDENT_JOB
    assert judged[B].is_wholly_refused


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_refused_job_spares_no_area_that_a_refused_living_job_needs(order: tuple) -> None:
    """R12, R31: what an unread job claimed of an earlier run of the id, the present one forgot."""
    four = (some_facts(max_concurrent=4),)
    jobs = [a_job(A, before=four, after=four), feeding(B, A, survey=FUTURE), a_job(C)]
    judged = judge_all([jobs[each] for each in order], a_cycle())
    assert judged[A].refused.guard is Guard.GATE, "the nearest cause"
    assert judged[A].is_wholly_refused
    assert judged[C] == Judgement()


def test_the_first_objection_is_the_refusal() -> None:
    """Design, section 4: one refusal a job."""
    job = a_job(job_id="", survey=FUTURE)
    assert judge(job, a_cycle()).refused.guard is Guard.FUTURE_TIME


def test_no_jobs_are_no_problem() -> None:
    """An empty storage is refused elsewhere."""
    assert judge_all([], a_cycle()) == {}


ALL = ([a_job(A, survey=a_survey(only_in_raw_bytes=["x"])), a_job(B)], a_cycle())


@pytest.mark.parametrize(
    ("guard", "jobs", "cycle"),
    [
        (Guard.PARSER_DISAGREEMENT, *ALL),
        (Guard.UNREADABLE_ROOT, [a_job(A), a_job(B)], a_cycle(unreadable=(a_broken_root(A),))),
        (Guard.CLOCK_SKEW, [a_job(A), a_job(B)], a_cycle(skew_seconds=-9999.0)),
    ],
)
def test_a_global_guard_voids_every_job(guard: Guard, jobs, cycle) -> None:
    """R6, R7, R10: the cause is not the job's own, so no job's liveness can be known."""
    assert guard.facts.is_global
    for order in (jobs, jobs[::-1], [*jobs, an_ended_job(C)]):
        assert set(refusals(order, cycle).values()) == {guard}


@pytest.mark.parametrize(
    "changes",
    [
        {"survey": FUTURE},
        {"job_id": ""},
        {"own_checkpoints": ()},
        {"strangers": frozenset({"f" * 32})},
    ],
)
def test_no_objection_of_the_jobs_own_hides_a_global_one(changes: dict) -> None:
    """R7: a parser that missed a name in one job may have missed others in every job."""
    survey = changes.get("survey", a_survey())
    survey.only_in_raw_bytes.append("x")
    try:
        jobs = [a_job(A, **{**changes, "survey": survey}), a_job(B)]
        assert refusals(jobs) == {A: Guard.PARSER_DISAGREEMENT, B: Guard.PARSER_DISAGREEMENT}
    finally:
        survey.only_in_raw_bytes.clear()


def test_global_guards_are_asked_before_all_others() -> None:
    """One refusal a job is kept: the one that concerns all must not come second."""
    are_global = [each.facts.is_global for each in GUARDS]
    assert are_global == sorted(are_global, reverse=True)
    assert sum(are_global) == sum(each.facts.is_global for each in Guard)


def test_an_acknowledged_root_voids_one_job_and_not_all() -> None:
    """R6: otherwise acknowledging it would be of no use."""
    cycle = a_cycle(unreadable=(a_broken_root(A, is_acknowledged=True),))
    assert refusals([a_job(A), a_job(B)], cycle) == {A: Guard.ACKNOWLEDGED_ROOT, B: None}


def test_conditions_stay_beside_a_global_refusal() -> None:
    """Design, section 4: refused and blocked stand side by side."""
    cycle = a_cycle(skew_seconds=9999.0, is_closed_world=False)
    assert blocks([a_job(A), a_job(B)], cycle) == {
        A: [Condition.CLOSED_WORLD],
        B: [Condition.CLOSED_WORLD],
    }


def test_a_living_dependent_that_is_refused_refuses_the_directory_it_needs() -> None:
    """R12: the same must hold for every running job whose roots name files of this directory."""
    jobs = [an_ended_job(A), feeding(B, A, survey=FUTURE)]
    assert refusals(jobs) == {A: Guard.DEPENDENT_JOB, B: Guard.FUTURE_TIME}
    message = judge_all(jobs, a_cycle())[A].refused.message
    assert B in message
    assert "in the future" in message


def test_a_dependent_of_unknown_state_counts_as_living() -> None:
    """R13: a job that no cluster reports may be suspended, and alive."""
    jobs = [a_job(A), feeding(B, A, survey=FUTURE, before=(), after=())]
    assert refusals(jobs)[A] is Guard.DEPENDENT_JOB


def test_a_long_chain_is_followed_in_the_worst_order() -> None:
    """R12: one hop a round is enough rounds."""
    names = [f"{number:032x}" for number in range(40)]
    jobs = [a_job(names[0], survey=FUTURE, depends_on=frozenset({names[1]}))]
    jobs += [feeding(own, fed) for own, fed in pairwise(names[1:])]
    jobs.append(an_ended_job(names[-1]))
    for order in (jobs, jobs[::-1]):
        assert refusals(order) == {
            **dict.fromkeys(names[1:], Guard.DEPENDENT_JOB),
            names[0]: Guard.FUTURE_TIME,
        }


def test_a_directory_of_unknown_owner_in_the_middle_is_followed_too() -> None:
    """R3, R12: that we do not know whose it is makes nothing behind it less needed."""
    place = "s3://bucket/checkpoints/my-job"
    middle = an_ended_job(place, job_id="", depends_on=frozenset({A}))
    assert refusals([a_job(A), middle, feeding(C, place, survey=FUTURE)]) == {
        A: Guard.DEPENDENT_JOB,
        place: Guard.UNKNOWN_OWNER,
        C: Guard.FUTURE_TIME,
    }


def test_a_block_that_is_passed_on_says_whose_it_is_and_why() -> None:
    """An operator must find the job that has to be mended first."""
    judged = judge_all([an_ended_job(A), feeding(B, A, survey=NOT_SEEN)], a_cycle())
    (own,), (passed_on,) = judged[B].blocked, judged[A].blocked
    assert passed_on.message == (
        f"job {B}, whose state refers to files here, is blocked: {own.message}"
    )


def test_a_proven_ends_block_is_not_passed_on() -> None:
    """As with refusals: Flink itself says that it is over, so nothing can be pending."""
    over = (some_facts(B, status="CANCELED"),)
    restless = an_ended_job(
        B, depends_on=frozenset({A}), survey=a_survey(), before=over, after=over
    )
    assert blocks([a_job(A), restless]) == {A: [], B: [Condition.NOT_QUIET]}


def test_a_directory_that_is_only_declared_ended_and_still_written_blocks_the_others() -> None:
    """L7: no checkpoint of it was seen, so any file may be needed."""
    changing = {"own_checkpoints": (), **NO_IDS, "survey": a_survey()}
    assert blocks([an_ended_job(B, **changing), an_ended_job(A)])[A] == [Condition.DEPENDENT_JOB]
    (block,) = judge_all([an_ended_job(B, **changing), an_ended_job(A)], a_cycle())[A].blocked
    assert "declare it ended" not in block.message


UNSEEN = {"own_checkpoints": (), "before": (), "after": ()}
NO_IDS = dict.fromkeys(("ids_at_start", "ids_before", "ids_after"), frozenset())
STILL = a_survey(newest_modified_at=ago("8d"))
KNOWN = (some_facts(B),)
WAITING = (some_facts(B, incarnation=None, latest_completed_id=None, checkpoints=()),)
HELD = (Hold(job_id=B, source=EvidenceSource.KUBERNETES, uri="a", retained_ids=frozenset({7})),)
STALE = Exported(job_id=B, unread="half written")
E1 = a_snapshot(job_id=B, taken_at=ago("1m"))
E2 = a_snapshot(job_id=B, sequence=18, taken_at=ahead("1m"), nonce="N")
TOLD = {"exported": Exported(job_id=B, baseline=E1, response=E2, nonce="N"), "snapshots": (E1, E2)}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param({}, id="its checkpoints came and went between the looks"),
        pytest.param({"survey": STILL}, id="they did, and the listing missed them too"),
        pytest.param(
            {"before": KNOWN, "after": KNOWN, "is_origin_unread": True},
            id="REST tells of a restored checkpoint that was gone before anybody read it",
        ),
        pytest.param({"before": KNOWN}, id="REST showed it once"),
        pytest.param(
            {**NO_IDS, "before": WAITING, "after": WAITING},
            id="it waits for resources, and REST shows no origin before it has a graph",
        ),
        pytest.param({**NO_IDS, "before": WAITING}, id="it waited, and then nothing showed it"),
        pytest.param(
            {**NO_IDS, "survey": STILL, "held_before": HELD, "held_after": HELD},
            id="HA metadata retains what lies nowhere here",
        ),
        pytest.param({"exported": STALE}, id="its exporter says nothing new"),
    ],
)
def test_a_job_that_no_look_showed_may_need_the_files_of_any(seen: dict) -> None:
    """R12: it claimed a checkpoint of another one, which is gone, and no source reports it."""
    jobs = [a_job(B, **{**UNSEEN, **seen}), an_ended_job(A), a_job(C)]
    found = refusals(jobs)
    own = found.pop(B)
    assert own in {Guard.NO_ROOTS, Guard.RETAINED_ROOT_MISSING, Guard.REGISTRY}
    passed_on = own if own is Guard.RETAINED_ROOT_MISSING else Guard.DEPENDENT_JOB
    assert found == {A: passed_on, C: passed_on}


def test_a_job_that_its_resource_alone_shows_may_need_files_of_any() -> None:
    """R12, R39: where its checkpoints lie is unknown, unless nothing says that it has one."""
    resource = a_hold(job=B, cluster="", states=("job FAILED",))
    held = {"held_before": (resource,), "held_after": (resource,), "survey": STILL}
    unseen = a_job(B, **UNSEEN, **NO_IDS, **held)
    assert refusals([unseen, an_ended_job(A)])[A] is Guard.DEPENDENT_JOB
    failed = some_facts(B, status="FAILED", checkpoints=(), latest_completed_id=None)
    shown = replace(unseen, before=(failed,), after=(failed,))
    assert refusals([shown, an_ended_job(A)])[A] is None
    stopped = (replace(resource, states=("suspended",)),)
    suspended = replace(unseen, held_before=stopped, held_after=stopped)
    assert refusals([suspended, an_ended_job(A)])[A] is None


@pytest.mark.parametrize("restored_id", [9, 4711])
def test_a_leftover_of_an_earlier_run_does_not_stand_for_an_origin_that_was_not_read(
    restored_id: int,
) -> None:
    """R12: the run completed nothing, so it needs what it was restored from, which is unknown."""
    origin = RestoredFacts(id=restored_id, external_path="file:/away/chk-9", is_savepoint=False)
    fresh = some_facts(B, checkpoints=(), latest_completed_id=None, restored=origin)
    leftover = {"own_checkpoints": (a_root(4711, job=B),), "before": (fresh,), "after": (fresh,)}
    ids = dict.fromkeys(NO_IDS, frozenset({4711}))
    jobs = [a_job(B, **{**ids, **leftover}, is_origin_unread=True), an_ended_job(A)]
    own = Guard.UNSTABLE_ROOT if restored_id == 4711 else Guard.TWO_OWNERS
    assert refusals(jobs) == {B: own, A: Guard.DEPENDENT_JOB}


def test_a_checkpoint_of_the_present_run_tells_what_it_needs_of_its_origin() -> None:
    """R12: what the first checkpoint after a restore does not name, no later one does."""
    job = a_job(B, is_origin_unread=True)
    assert refusals([job, an_ended_job(A)])[A] is None
    assert blocks([job, an_ended_job(A)])[A] == []


@pytest.mark.parametrize("which", sorted(NO_IDS))
def test_a_checkpoint_that_a_single_look_showed_is_enough_to_stop_others(which: str) -> None:
    """It came and went faster than the other looks, and with it what it said of its origin."""
    job = a_job(B, **{**UNSEEN, **NO_IDS, "survey": STILL, which: frozenset({42})})
    judged = judge_all([job, an_ended_job(A)], a_cycle())
    assert judged[A].refused == Refusal(
        Guard.DEPENDENT_JOB,
        f"job {B}, whose checkpoints nobody read, may need files here, and is refused:"
        f" {judged[B].refused.message}",
    )


def test_a_job_that_is_said_to_be_over_and_is_not_stops_others_too() -> None:
    """Its checkpoints change, so the statement that it is over was wrong."""
    changing = {"own_checkpoints": (), "ids_at_start": frozenset({42})}
    found = refusals([an_ended_job(B, **changing), an_ended_job(A)])
    assert found == {B: Guard.ENDED_JOB_IS_RUNNING, A: Guard.DEPENDENT_JOB}


@pytest.mark.parametrize("survey", [STILL, STRANGE], ids=["alone", "behind another refusal"])
def test_what_contradicts_an_end_stops_others_whatever_else_refuses_the_job(survey) -> None:
    """R12, R15: its registry cannot be read, so it may be alive, and need files of any."""
    jobs = [an_ended_job(B, depends_on=frozenset({A}), exported=STALE, survey=survey)]
    found = refusals([*jobs, an_ended_job(A)])
    assert found[B] is (Guard.REGISTRY if survey is STILL else Guard.UNPROVEN_LAYOUT)
    assert found[A] is Guard.DEPENDENT_JOB


def test_a_directory_that_somebody_writes_into_blocks_the_others() -> None:
    """Nobody knows what its job needs; the plan stays sound as a report, and says what to do."""
    jobs = [a_job(B, **UNSEEN, **NO_IDS), an_ended_job(A)]
    assert refusals(jobs) == {B: Guard.NO_ROOTS, A: None}
    assert blocks(jobs)[A] == [Condition.DEPENDENT_JOB]
    (block,) = judge_all(jobs, a_cycle())[A].blocked
    assert block.message == (
        f"job {B} may run, and need files here: no checkpoint of it was seen, and its directory"
        f" changed at {ago('1m').isoformat()}; show it with --flink-rest, declare it ended with"
        " --ended-job, or wait until it has been still for the quiet period"
    )


def test_a_job_whose_checkpoint_came_and_went_unread_blocks_the_others() -> None:
    """A leftover of an earlier run was read; what Flink or its exporter says ends the doubt."""
    job = a_job(B, before=(), after=(), ids_passed=frozenset({41, 42}), survey=STILL)
    (block,) = judge_all([job, an_ended_job(A)], a_cycle())[A].blocked
    assert block.condition is Condition.DEPENDENT_JOB
    assert "chk-42 of it came and went before it was read" in block.message
    shown = a_job(B, ids_passed=frozenset({42}))
    assert blocks([shown, an_ended_job(A)])[A] == []


def test_a_directory_that_was_still_for_exactly_the_quiet_period_blocks_the_others() -> None:
    """A tie keeps."""
    job = a_job(B, **UNSEEN, **NO_IDS, survey=a_survey(newest_modified_at=ago("7d")))
    assert blocks([job, an_ended_job(A)])[A] == [Condition.DEPENDENT_JOB]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param({"before": (), "after": ()}, id="its checkpoints were read"),
        pytest.param({**UNSEEN, **NO_IDS, **TOLD}, id="its exporter told of its whole registry"),
    ],
)
def test_a_job_of_unknown_state_whose_needs_are_known_blocks_nobody_else(seen: dict) -> None:
    """Its files are protected by what it said, whether or not anybody has seen it running."""
    assert blocks([a_job(B, **seen), an_ended_job(A)])[A] == []


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(B, **UNSEEN, **NO_IDS, survey=STILL), id="still for the quiet period"),
        pytest.param(
            a_job(B, own_checkpoints=(), **NO_IDS), id="REST tells what it was restored from"
        ),
    ],
)
def test_a_job_without_roots_stops_no_other_if_it_is_known_or_quiet(job) -> None:
    """What it leaked needs no statement of everybody else's."""
    assert refusals([job, an_ended_job(A)]) == {B: Guard.NO_ROOTS, A: None}
    assert blocks([job, an_ended_job(A)])[A] == []


def test_what_another_job_blocks_lasts_only_if_all_of_its_causes_do() -> None:
    """A directory that is not quiet yet, a time in the future: each cycle may find it lifted."""
    jobs = [feeding(B, A, survey=FUTURE), an_ended_job(A)]
    assert refusals(jobs) == {B: Guard.FUTURE_TIME, A: Guard.DEPENDENT_JOB}
    assert lasting(jobs) == {B: [], A: []}
    jobs = [feeding(B, A, survey=STRANGE), an_ended_job(A)]
    assert lasting(jobs)[A] == [Guard.DEPENDENT_JOB]
    jobs = [feeding(B, A, survey=NOT_SEEN), an_ended_job(A)]
    assert blocks(jobs)[A] == lasting(jobs)[A] == [Condition.DEPENDENT_JOB]
    down = a_cycle(source_errors=("http://flink:8081: refused",))
    assert Condition.DEPENDENT_JOB in blocks(jobs, down)[A]
    assert lasting(jobs, down)[A] == []


def test_a_job_that_nothing_shows_may_be_shown_by_a_cluster_that_is_down() -> None:
    """Where all of them answer, only an operator can say more."""
    unseen = [a_job(A, before=(), after=())]
    down = a_cycle(source_errors=("http://flink:8081: refused",))
    assert blocks(unseen)[A] == lasting(unseen)[A]
    assert Condition.JOB_STATE_UNKNOWN in blocks(unseen, down)[A]
    assert Condition.JOB_STATE_UNKNOWN not in lasting(unseen, down)[A]
