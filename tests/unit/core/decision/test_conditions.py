"""Every condition of deletion blocks exactly its own case, and the plan stays sound as a report."""

from dataclasses import replace

import pytest

from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.evidence import Survey
from orphangc.core.decision.judge import Judgement, judge, judge_all
from orphangc.core.memory.seen_cycles import LostFact
from orphangc.core.model.codes import Condition
from orphangc.core.model.types import JobState, Mode
from orphangc.core.world.known_world import OutsidePath
from support.builders import (
    T0,
    a_cycle,
    a_hold,
    a_job,
    a_root,
    a_snapshot,
    a_survey,
    ago,
    an_ended_job,
    some_facts,
    span,
)

OVER = (some_facts(status="FINISHED"),)


def blocks(job=None, cycle=None, conditions=CONDITIONS) -> list[Condition]:
    judgement = judge(job or a_job(), cycle or a_cycle(), conditions=conditions)
    return [each.condition for each in judgement.blocked]


def without(condition: Condition) -> dict:
    return {name: check for name, check in CONDITIONS.items() if name is not condition}


def of_version(version: str):
    facts = (some_facts(flink_version=version),)
    return a_job(before=facts, after=facts)


LOST = (
    Condition.PLACE_LOST,
    Condition.PLACE_REPLACED,
    Condition.JOB_DIRECTORY_EMPTIED,
    Condition.CHECKPOINT_NOT_FOUND,
    Condition.CLUSTER_SILENT,
)
"""What the memory shows; its rules stand in ``tests/unit/core/world``."""


def a_lost_fact(condition: Condition, **changes) -> LostFact:
    values = {"what": "s3://other", "since": ago("1d"), "message": "s3://other is gone"}
    return LostFact(condition=condition, **(values | changes))


CASES = {
    Condition.CLOSED_WORLD: (a_job(), a_cycle(is_closed_world=False)),
    Condition.DISCOVERY_UNCLEAR: (a_job(), a_cycle(unclear=("orders: ${DIR}",))),
    Condition.JOB_STATE_UNKNOWN: (a_job(before=(), after=()), a_cycle()),
    Condition.PLACE_UNREACHABLE: (
        a_job(),
        a_cycle(unreached_places={"s3://second": "no credentials"}),
    ),
    Condition.PLACE_WITHOUT_CHECKPOINTS: (a_job(), a_cycle(empty_places=("/mnt/sp", "/mnt/b"))),
    Condition.OUTSIDE_PATH: (
        a_job(outside_paths=(OutsidePath(uri="s3://old/ck/a", named_by=("s3://b/a/chk-1",)),)),
        a_cycle(),
    ),
    Condition.HELD_BY_HA: (an_ended_job(held_after=(a_hold(43),)), a_cycle()),
    Condition.GATE_NOT_SEEN: (a_job(), a_cycle(source_errors=("http://flink:8081: timeout",))),
    Condition.NOT_QUIET: (an_ended_job(survey=a_survey(newest_modified_at=ago("6d"))), a_cycle()),
    Condition.UNTESTED_FLINK_VERSION: (of_version("2.9.0"), a_cycle()),
    Condition.UNTESTED_STORAGE: (a_job(), a_cycle(is_tested_storage=False)),
    Condition.STORE_CLOCK_UNKNOWN: (a_job(), a_cycle(is_store_time=False)),
    Condition.REGISTRY_ORDER_UNPROVEN: (a_job(snapshots=(a_snapshot(),)), a_cycle()),
    Condition.NOTHING_PROTECTED: (a_job(survey=a_survey(live_in_shared=0)), a_cycle()),
    **{each: (a_job(), a_cycle(lost=(a_lost_fact(each),))) for each in LOST},
    Condition.STATE_LOST: (a_job(), a_cycle(state_problem="plan 1 used state 1f")),
    Condition.MEMORY_UNREADABLE: (a_job(), a_cycle(memory_problem="world/1.json is damaged")),
    Condition.HALTED: (a_job(), a_cycle(halted="halted at noon: a proof failed")),
}
"""One case a condition; the rule and its further cases stand in the tests below."""

ASKED_ELSEWHERE = {
    Condition.DEPENDENT_JOB,
    Condition.REVIVED,
    Condition.MAX_DELETE_SHARE,
    Condition.MAX_DELETES,
}
"""By ``judge_all``, and by a cycle when it has all its verdicts."""


def test_every_condition_that_evidence_alone_can_show_is_in_the_table() -> None:
    """A condition that is named and never asked blocks nothing."""
    assert set(CONDITIONS) == set(Condition) - ASKED_ELSEWHERE
    assert set(CASES) == set(CONDITIONS)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_condition_blocks_its_case_and_refuses_nothing(condition: Condition) -> None:
    """The plan shows its orphans, the sweep deletes none."""
    judgement = judge(*CASES[condition])
    assert [each.condition for each in judgement.blocked] == [condition]
    assert judgement.refused is None


@pytest.mark.parametrize("condition", CONDITIONS)
def test_without_its_condition_each_case_would_be_let_through(condition: Condition) -> None:
    """Each condition is needed: nothing else stands behind it."""
    job, cycle = CASES[condition]
    assert judge(job, cycle, conditions=without(condition)) == Judgement()
    assert judge_all([job], cycle, conditions=without(condition)) == {job.key: Judgement()}
    assert judge_all([job], cycle)[job.key].blocked != ()


SENTENCES = {
    Condition.CLOSED_WORLD: (
        "it is not stated that no checkpoint outside the searched storages refers to files in this"
        " one (closed_world, --closed-world)"
    ),
    Condition.DISCOVERY_UNCLEAR: (
        "cannot be read: orders: ${DIR}; orphangc discover shows all of it"
    ),
    Condition.PLACE_UNREACHABLE: (
        "s3://second is another storage root, whose jobs may need files here, and it cannot be"
        " searched: no"
        " credentials; if it is gone for good, state it with --empty-root s3://second"
    ),
    Condition.PLACE_WITHOUT_CHECKPOINTS: (
        "no checkpoint was found in /mnt/sp, /mnt/b, so it does not count as searched: is it"
        " mounted and spelled right? What is to be mounted there holds checkpoints all the same;"
        " only if it holds none, as when its jobs went on elsewhere, state it with --empty-root"
        " /mnt/sp"
    ),
    Condition.OUTSIDE_PATH: (
        "s3://old/ck/a, named by s3://b/a/chk-1, lies in no searched place: search it with"
        " --extra-root s3://old/ck, say with --alias what it means, or state with --empty-root"
        " s3://old/ck/a that it holds no checkpoint"
    ),
    Condition.JOB_STATE_UNKNOWN: (
        "the job is neither seen running (--flink-rest) nor declared ended (--ended-job)"
    ),
    Condition.HELD_BY_HA: (
        f"{a_hold(43).uri} holds the job, and no cluster shows it running: suspended, not over"
    ),
    Condition.GATE_NOT_SEEN: "no usable answer: http://flink:8081: timeout",
    Condition.NOT_QUIET: (
        "the ended job's directory changed at 2026-11-15T14:00:00+00:00: not quiet for long enough"
        " before 2026-11-22T14:00:00+00:00"
    ),
    Condition.UNTESTED_FLINK_VERSION: "Flink 2.9.0 is not in the tested list",
    Condition.UNTESTED_STORAGE: (
        "this kind of storage is not in the tested list; to prove it, run: orphangc doctor --prove"
        " URI --state STATE"
    ),
    Condition.STORE_CLOCK_UNKNOWN: "the storage does not tell its time; a mounted file system tells"
    " it where the state location (--state) is on it too, beside the storage root",
    Condition.REGISTRY_ORDER_UNPROVEN: (
        "a file alone does not prove that it is newer than the listing (R14)"
    ),
    Condition.NOTHING_PROTECTED: "no file in shared/ is referred to, though the job may run",
    **dict.fromkeys(LOST, "s3://other is gone"),
    Condition.STATE_LOST: "plan 1 used state 1f",
    Condition.MEMORY_UNREADABLE: "world/1.json is damaged",
    Condition.HALTED: "halted at noon: a proof failed",
}
"""What an operator reads of each case above."""


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_block_says_what_is_missing_and_what_to_do(condition: Condition) -> None:
    """Design, section 4: ``blocked: [{condition, message}]``."""
    (blocked,) = judge(*CASES[condition]).blocked
    assert blocked.message == SENTENCES[condition]


@pytest.mark.parametrize(
    ("job", "condition", "sentence"),
    [
        (
            a_job(after=()),
            Condition.GATE_NOT_SEEN,
            "Flink's REST API did not show the job both before and after the listing",
        ),
        (
            a_job(before=(), after=(), snapshots=(a_snapshot(),)),
            Condition.GATE_NOT_SEEN,
            (
                "Flink's REST API (--flink-rest) did not show the job, so nobody knows its state"
                " backend: a registry proves nothing of one that uses files in place (R2)"
            ),
        ),
        (
            a_job(own_checkpoints=(a_root(43, format_version=7),)),
            Condition.UNTESTED_FLINK_VERSION,
            "metadata format version 7 was never seen from a released Flink",
        ),
    ],
)
def test_each_further_case_has_its_own_sentence(job, condition: Condition, sentence: str) -> None:
    """It tells this cause from the others of its condition."""
    found = {each.condition: each.message for each in judge(job, a_cycle()).blocked}
    assert found[condition] == sentence


def test_of_many_clusters_that_did_not_answer_one_is_named() -> None:
    """The others are counted: their errors may be long."""
    (blocked,) = judge(a_job(), a_cycle(source_errors=("http://a: 500", "http://b: 500"))).blocked
    assert blocked.message == "no usable answer: http://a: 500 and 1 more"


def test_all_unmet_conditions_are_reported_at_once() -> None:
    """An operator should not have to find them one by one."""
    cycle = a_cycle(is_closed_world=False, is_tested_storage=False, is_store_time=False)
    assert blocks(cycle=cycle) == [
        Condition.CLOSED_WORLD,
        Condition.UNTESTED_STORAGE,
        Condition.STORE_CLOCK_UNKNOWN,
    ]


@pytest.mark.parametrize("job", [a_job(), an_ended_job()])
def test_no_statement_that_all_roots_are_known_blocks_every_job(job) -> None:
    """R3a **T:** without the statement only dry run."""
    assert blocks(job, a_cycle(is_closed_world=False)) == [Condition.CLOSED_WORLD]


@pytest.mark.parametrize(("before", "after"), [((), ()), (OVER, ()), ((), OVER)])
def test_a_job_that_nobody_saw_end_or_run_blocks(before: tuple, after: tuple) -> None:
    """R13 **T:** missing job; absence from REST proves nothing."""
    job = a_job(before=before, after=after)
    assert job.state is JobState.UNKNOWN
    assert Condition.JOB_STATE_UNKNOWN in blocks(job)


def test_an_end_before_something_was_stored_leaves_a_job_unknown() -> None:
    """R34: of a later run, which no cluster shows."""
    shown = (replace(OVER[0], ended_at=ago("2m")),)
    job = a_job(before=shown, after=shown, clusters=("http://first",))
    assert blocks(job) == [Condition.JOB_STATE_UNKNOWN]
    assert "http://first shows an end, and something of the job was stored later" in (
        CONDITIONS[Condition.JOB_STATE_UNKNOWN](job, a_cycle()) or ""
    )
    assert blocks(replace(job, slack=span("1m"))) == [Condition.NOT_QUIET]


def test_gate_errors_block_ended_jobs_too() -> None:
    """R11: the cluster that did not answer may be the one that runs the job."""
    errors = a_cycle(source_errors=("http://a: 500", "http://b: 500"))
    assert blocks(an_ended_job(), errors) == [Condition.GATE_NOT_SEEN]
    assert blocks(a_job(), errors) == [Condition.GATE_NOT_SEEN]


@pytest.mark.parametrize("seen", [{"before": ()}, {"after": ()}])
def test_a_running_job_must_be_seen_twice(seen: dict) -> None:
    """R11: gate before and after the listings."""
    assert Condition.GATE_NOT_SEEN in blocks(a_job(**seen))


@pytest.mark.parametrize(
    ("age", "expected"), [("8d", []), ("7d", [Condition.NOT_QUIET]), ("1m", [Condition.NOT_QUIET])]
)
def test_an_ended_job_must_have_been_quiet_for_longer_than_the_period(age, expected) -> None:
    """R13: nothing under its directory changed for ``quiet``; a tie blocks."""
    still = a_survey(newest_modified_at=ago(age))
    roots = (a_root(42, age="30d"), a_root(43, age="30d"))
    assert blocks(an_ended_job(survey=still, own_checkpoints=roots)) == expected
    proven = {"is_declared_ended": False, "before": OVER, "after": OVER}
    assert blocks(an_ended_job(survey=still, own_checkpoints=roots, **proven)) == expected


def test_a_new_root_in_another_storage_is_no_quiet_either() -> None:
    """R13, R4: with entropy the ``_metadata`` lies elsewhere, and the listing does not show it."""
    roots = (a_root(42, age="30d"), a_root(43, age="1h"))
    assert blocks(an_ended_job(own_checkpoints=roots)) == [Condition.NOT_QUIET]
    timeless = (a_root(42, age="30d"), replace(a_root(43), modified_at=None))
    assert blocks(an_ended_job(own_checkpoints=timeless)) == []


def test_an_ended_job_without_anything_that_has_a_time_is_quiet() -> None:
    """R13: an empty directory does not change."""
    assert blocks(an_ended_job(own_checkpoints=(), survey=Survey())) == []


def test_a_running_job_need_not_be_quiet() -> None:
    """R13 is about jobs that are said to be over."""
    assert blocks(a_job(survey=a_survey(newest_modified_at=T0))) == []


@pytest.mark.parametrize("version", ["1.13.6", "2.4.0", "1.17.1-amzn-1", "1.20-SNAPSHOT", ""])
def test_an_untested_flink_blocks_whenever_it_is_seen(version: str) -> None:
    """R27: dry run only."""
    assert blocks(of_version(version)) == [Condition.UNTESTED_FLINK_VERSION]
    other = (some_facts(flink_version=version),)
    assert blocks(a_job(after=other)) == [Condition.UNTESTED_FLINK_VERSION]


def test_a_vendors_build_that_the_operator_vouches_for_does_not_block() -> None:
    """R27: exactly that version, and each that is seen; never an unnamed one."""
    build = "1.18.1-amzn-0"
    accepting = a_cycle(accepted_versions=frozenset({build}))
    assert blocks(of_version(build), accepting) == []
    for other in ("1.18.1-amzn-1", "1.18.1-amzn-0 ", "unknown"):
        assert blocks(of_version(other), accepting) == [Condition.UNTESTED_FLINK_VERSION]
    mixed = a_job(before=(some_facts(flink_version=build),), after=(some_facts(flink_version="x"),))
    assert blocks(mixed, accepting) == [Condition.UNTESTED_FLINK_VERSION]


@pytest.mark.parametrize(
    ("version", "lift"),
    [("1.18.1-amzn-0", "; --accept-flink-version 1.18.1-amzn-0 vouches"), ("9.9.0", "")],
)
def test_what_would_lift_it_is_said_where_something_would(version: str, lift: str) -> None:
    """The operator cannot vouch for a release line whose code was not read."""
    (blocked,) = judge(of_version(version), a_cycle()).blocked
    assert blocked.message.startswith(f"Flink {version} is not in the tested list{lift}")
    assert bool(lift) == ("--accept" in blocked.message)


@pytest.mark.parametrize(("version", "expected"), [(2, []), (6, []), (7, True), (99, True)])
@pytest.mark.parametrize("build", [a_job, an_ended_job])
def test_a_metadata_version_that_no_release_wrote_blocks_ended_jobs_too(
    build, version: int, expected
) -> None:
    """R27: unknown metadata version => dry run only."""
    roots = (a_root(42, age="30d", format_version=version), a_root(43, age="30d"))
    blocked = [Condition.UNTESTED_FLINK_VERSION] if expected else []
    assert blocks(build(own_checkpoints=roots)) == blocked


@pytest.mark.parametrize("version", ["1.14.0", "1.20.5", "2.3.0"])
def test_a_tested_flink_does_not_block(version: str) -> None:
    """R27: the tested list."""
    assert blocks(of_version(version)) == []


def test_registry_mode_only_reports_until_its_order_is_proven() -> None:
    """R14: no nonce, no proof that the snapshot is newer than the listing."""
    for job in (a_job(snapshots=(a_snapshot(),)), an_ended_job(snapshots=(a_snapshot(),))):
        assert blocks(job) == [Condition.REGISTRY_ORDER_UNPROVEN]
    assert blocks(a_job(snapshots=(a_snapshot(source=Mode.DERIVED),))) == []


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (a_job(survey=a_survey(live_in_shared=0)), [Condition.NOTHING_PROTECTED]),
        (a_job(survey=a_survey(live_in_shared=1)), []),
        (a_job(survey=a_survey(live_in_shared=0, objects=0)), []),
        (an_ended_job(survey=a_survey(live_in_shared=0, newest_modified_at=ago("30d"))), []),
    ],
)
def test_a_living_job_that_needs_nothing_of_shared_blocks(job, expected) -> None:
    """R20: never delete when the set of protected files is empty while the job is running."""
    assert blocks(job) == expected


def test_a_job_of_unknown_state_that_needs_nothing_blocks_as_if_it_ran() -> None:
    """R20: unknown is treated as running."""
    job = a_job(before=(), after=(), survey=a_survey(live_in_shared=0))
    assert Condition.NOTHING_PROTECTED in blocks(job)


def test_what_is_due_is_judged_even_where_a_guard_refuses() -> None:
    """Both are shown: the refusal first, and what else would stand in the way."""
    judgement = judge(a_job(job_id=""), a_cycle(is_closed_world=False))
    assert judgement.refused is not None
    assert [each.condition for each in judgement.blocked] == [Condition.CLOSED_WORLD]


@pytest.mark.parametrize("when", ["held_before", "held_after"])
@pytest.mark.parametrize("source", ["declared", "terminal", "neither"])
def test_a_job_that_something_holds_is_suspended_whatever_else_is_said(when, source) -> None:
    """R13: suspended is not dead, against a statement and against a terminal answer of REST."""
    rest = {"before": OVER, "after": OVER} if source == "terminal" else {}
    job = an_ended_job(
        is_declared_ended=source == "declared",
        **{"before": (), "after": (), **rest},
        **{when: (a_hold(43),)},
    )
    assert job.state is JobState.SUSPENDED
    assert blocks(job) == [Condition.HELD_BY_HA]


def test_a_job_that_is_held_and_shown_running_is_just_running() -> None:
    """HA metadata of a running job is as it should be."""
    job = a_job(held_before=(a_hold(43),), held_after=(a_hold(43),))
    assert (job.state, blocks(job)) == (JobState.RUNNING, [])


def test_a_job_that_ran_and_is_held_and_not_shown_any_more_is_blocked() -> None:
    """It was suspended during the listing, or its cluster is gone."""
    for after in ((), OVER):
        job = a_job(held_after=(a_hold(43),), after=after)
        assert Condition.HELD_BY_HA in blocks(job)


def test_a_resource_that_holds_a_job_is_named_with_its_words() -> None:
    """An operator has to know what to delete or resume."""
    hold = a_hold(
        cluster="", uri="kubernetes:flink/FlinkDeployment/orders", states=("suspended", "job X")
    )
    (blocked,) = judge(an_ended_job(held_after=(hold,)), a_cycle()).blocked
    assert "FlinkDeployment/orders holds the job (suspended, job X)" in blocked.message


@pytest.mark.parametrize("condition", LOST)
def test_a_lost_fact_blocks_the_jobs_that_it_reaches_until_a_person_acknowledges_it(
    condition,
) -> None:
    """The directories that it names; all where it names none, or where the job has none."""
    (own,) = a_job().directories
    here, elsewhere = frozenset({str(own)}), frozenset({"s3://bucket/checkpoints/other"})

    def of(job=None, **changes) -> list[Condition]:
        return blocks(job, a_cycle(lost=(a_lost_fact(condition, **changes),)))

    assert of() == of(reach=here) == [condition]
    assert of(reach=elsewhere) == []
    assert of(replace(a_job(), directories=(), survey=Survey()), reach=elsewhere) == [condition]
    assert of(is_acknowledged=True) == of(reach=here, is_acknowledged=True) == []
