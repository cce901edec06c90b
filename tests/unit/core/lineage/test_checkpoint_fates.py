"""One reason for every checkpoint that is kept, and for every one that expires (R40-R43)."""

from dataclasses import replace

import pytest

from orphangc.core.lineage.checkpoint_fates import RetentionFacts, fates_of
from orphangc.core.lineage.continuation import ContinuationSource
from orphangc.core.lineage.lineage_graph import LineageCheckpoint, lineages_of
from orphangc.core.lineage.retention_policy import KeepRules, RetentionPolicy
from orphangc.core.model.types import JobState
from unit.core.lineage.lineage_builders import (
    DAY,
    NOW,
    RETAINED,
    a_chain,
    a_checkpoint,
    a_hidden_origin,
    a_job,
    an_edge,
    expired,
    fates,
    reasons,
)

ONE = RetentionPolicy()


def test_what_a_running_job_has_superseded_expires() -> None:
    jobs, checkpoints, edges = a_chain()
    assert expired(jobs, checkpoints, edges, ONE) == {"j0/chk-5", "j1/chk-5", "j2/chk-5"}
    assert fates(jobs, checkpoints, edges, ONE)["j0/chk-5"].why == "j3/chk-5"


def test_without_a_policy_nothing_expires() -> None:
    assert set(reasons(*a_chain()).values()) == {"no_policy", "job_not_over"}


def test_the_newest_of_a_lineage_count_not_those_of_a_directory() -> None:
    jobs, checkpoints, edges = a_chain()
    kept = reasons(jobs, checkpoints, edges, RetentionPolicy(keep_last=3))
    assert kept == {
        "j0/chk-5": "superseded",
        "j1/chk-5": "keep_last",
        "j2/chk-5": "keep_last",
        "j3/chk-5": "job_not_over",
    }


def test_one_that_cannot_be_restored_stands_for_none() -> None:
    jobs, checkpoints, edges = a_chain(3)
    checkpoints[1] = a_checkpoint("j1", 5, age=80, is_restorable=False)
    kept = reasons(jobs, checkpoints, edges, RetentionPolicy(keep_last=2))
    assert (kept["j0/chk-5"], kept["j1/chk-5"]) == ("keep_last", "superseded")


def test_a_branch_that_no_running_job_continued_is_kept() -> None:
    """``fork`` began from a checkpoint of ``j0`` and ended; what is given up stands for none."""
    jobs, checkpoints, edges = a_chain(2)
    jobs.append(a_job("fork"))
    checkpoints.append(a_checkpoint("fork", 9, age=85))
    edges.append(an_edge("j0", "fork"))
    kept = reasons(jobs, checkpoints, edges, ONE)
    assert (kept["j0/chk-5"], kept["fork/chk-9"]) == ("superseded", "no_successor")
    kept = reasons(jobs, checkpoints, edges, RetentionPolicy(keep_last=2, dead=("fork",)))
    assert (kept["j0/chk-5"], kept["fork/chk-9"]) == ("keep_last", "lineage_dead")


CHANGES = {
    "pinned": (0, {"holds": (("pin", "by hand"),)}, {}, "held"),
    "of another root": (0, {}, {"is_of_root": False}, "not_collectable"),
    "no place": (0, {"is_collectable": False}, {}, "not_collectable"),
    "no store time": (0, {"stored_at": None}, {}, "store_time_unknown"),
    "young": (0, {"stored_at": NOW - 2 * DAY}, {}, "too_young"),
    "age at the bound": (0, {"stored_at": NOW - 3 * DAY + DAY / 86400}, {}, "too_young"),
    "end unproven": (0, {}, {"is_over": False, "state": JobState.UNKNOWN}, "job_not_over"),
    "stopped": (0, {}, {"problem": "closed_world"}, "stopped"),
    "a cluster that is silent": (0, {}, {"problem": "gate_not_seen"}, "origin_unknown"),
    "a place that is not searched": (0, {}, {"problem": "place_unreachable"}, "origin_unknown"),
    "ended lately": (0, {}, {"last_life_at": NOW - 29 * DAY}, "ended_recently"),
    "life unknown": (0, {}, {"last_life_at": None}, "ended_recently"),
    "successor needs it": (1, {}, {"is_self_sustained": False}, "successor_needs_files"),
    "successor unknown": (1, {}, {"is_self_sustained": None}, "successor_needs_files"),
    "successor ended": (1, {}, {"is_over": True, "state": JobState.ENDED}, "no_successor"),
    "successor held": (1, {}, {"state": JobState.SUSPENDED}, "no_successor"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_every_doubt_keeps(case) -> None:
    number, of_checkpoint, of_job, reason = CHANGES[case]
    names = ("j0", "j1")
    jobs = [a_job(name, is_running=name == "j1") for name in names]
    jobs[number] = a_job(names[number], is_running=number == 1, **of_job)
    checkpoints = [a_checkpoint("j0", 5, **of_checkpoint), a_checkpoint("j1", 6, age=1)]
    assert reasons(jobs, checkpoints, [an_edge(*names)], ONE)["j0/chk-5"] == reason


def test_a_successor_without_a_checkpoint_is_none() -> None:
    jobs, checkpoints, edges = a_chain(2)
    assert reasons(jobs, checkpoints[:1], edges, ONE) == {"j0/chk-5": "no_successor"}


def test_a_second_heir_that_may_need_files_keeps_them() -> None:
    jobs, checkpoints, edges = a_chain(2)
    jobs.append(a_job("other", is_over=False, state=JobState.UNKNOWN))
    edges.append(an_edge("j0", "other"))
    assert reasons(jobs, checkpoints, edges, ONE)["j0/chk-5"] == "successor_needs_files"


@pytest.mark.parametrize("name", ["j0", "j1", "prod/orders"])
def test_only_a_lineage_that_is_declared_dead_loses_its_last_checkpoint(name) -> None:
    jobs = [a_job("j0"), a_job("j1", resources=("prod/orders",))]
    checkpoints = [a_checkpoint("j0", 5), a_checkpoint("j1", 5, age=80)]
    edges = [an_edge("j0", "j1")]
    assert not expired(jobs, checkpoints, edges, ONE)
    dead = RetentionPolicy(dead=(name,))
    assert expired(jobs, checkpoints, edges, dead) == {"j0/chk-5", "j1/chk-5"}
    assert not expired(jobs, checkpoints, edges, RetentionPolicy(dead=("prod",)))


def test_a_lineage_with_a_living_job_is_not_dead() -> None:
    """Without the edge, ``j0`` would be a lineage of its own, and its last checkpoint would go."""
    jobs, checkpoints, edges = a_chain(2)
    jobs[1] = a_job("j1", is_running=True, is_self_sustained=False)
    dead = RetentionPolicy(dead=("j0",))
    assert reasons(jobs, checkpoints, edges, dead)["j0/chk-5"] == "lineage_lives"
    assert expired(jobs, checkpoints, [], dead) == {"j0/chk-5"}


def test_a_savepoint_belongs_to_the_job_that_it_is_named_after() -> None:
    jobs, checkpoints, edges = a_chain(2)
    checkpoints.append(a_checkpoint("sp", 4, is_savepoint=True, uri="sp"))
    assert reasons(jobs, checkpoints, edges, ONE)["sp"] == "unknown_job"
    edges.append(an_edge("j0", "sp"))
    assert reasons(jobs, checkpoints, edges, ONE)["sp"] == "superseded"
    edges.append(an_edge("j1", "sp"))
    assert reasons(jobs, checkpoints, edges, ONE)["sp"] == "unknown_job"


def test_a_savepoint_that_a_resource_owns_is_left_to_its_operator() -> None:
    jobs, checkpoints, edges = a_chain(2)
    held = (("resource", "prod/FlinkStateSnapshot/nightly"),)
    checkpoints.append(a_checkpoint("sp", 4, is_savepoint=True, uri="sp", holds=held))
    fate = fates(jobs, checkpoints, [*edges, an_edge("j0", "sp")], ONE)["sp"]
    assert (fate.action, fate.reason) == ("keep", "held")
    assert fate.why == (
        "resource prod/FlinkStateSnapshot/nightly: the operator that owns it disposes of it"
    )


def test_what_flink_was_to_delete_goes_under_any_policy_and_without_one_stays() -> None:
    def kept(meant: set[str], ended: set[str], **changes: object) -> str:
        job = a_job("j0", ended_as=frozenset(ended), last_life_at=NOW)
        checkpoint = a_checkpoint("j0", 5, deleted_on=frozenset(meant), **changes)
        assert reasons([job], [checkpoint], [])["j0/chk-5"] in {"no_policy", "held"}
        return reasons([job], [checkpoint], [], ONE)["j0/chk-5"]

    assert kept({"CANCELED", "FINISHED"}, {"CANCELED"}) == "meant_to_be_deleted"
    assert kept({"FINISHED"}, {"CANCELED"}) == "ended_recently"
    assert kept({"FINISHED"}, {"CANCELED", "FINISHED"}) == "ended_recently"
    assert kept({"CANCELED"}, set()) == "ended_recently"
    assert kept({"CANCELED"}, {"CANCELED"}, is_savepoint=True) == "ended_recently"
    assert kept({"CANCELED"}, {"CANCELED"}, holds=(("pin", ""),)) == "held"


def test_rules_of_a_named_lineage_stand_in_for_the_general_ones() -> None:
    policy = RetentionPolicy(keep_last=1, jobs={"j0": KeepRules(keep_last=4)})
    assert not expired(*a_chain(), policy)


def test_a_name_is_either_dead_or_has_rules() -> None:
    with pytest.raises(ValueError, match="declared dead and has rules"):
        RetentionPolicy(dead=("j0",), jobs={"j0": KeepRules()})


def test_periods_keep_the_newest_savepoint_of_each() -> None:
    jobs, checkpoints, edges = a_chain(2)
    for number, age in enumerate([60.2, 60, 50, 49, 48]):
        place = f"sp-{number}"
        changes = {"is_savepoint": True, "uri": place}
        checkpoints.append(a_checkpoint(place, number, age=age, **changes))
        edges.append(an_edge("j0", place))
    checkpoints[1] = a_checkpoint("j1", 5, age=1)
    policy = RetentionPolicy(keep_daily=2, keep_monthly=3)
    kept = reasons(jobs, checkpoints, edges, policy)
    assert {uri: why for uri, why in kept.items() if uri.startswith("sp")} == {
        "sp-0": "superseded",
        "sp-1": "keep_monthly",
        "sp-2": "superseded",
        "sp-3": "keep_daily",
        "sp-4": "keep_daily",
    }


def test_keep_within_counts_from_the_newest() -> None:
    jobs, checkpoints, edges = a_chain()
    policy = RetentionPolicy(keep_within=25 * DAY)
    assert expired(jobs, checkpoints, edges, policy) == {"j0/chk-5"}


BRANCH = [a_job("j0"), a_job("branch", is_running=True)]
POINTS = {
    "a gone checkpoint": {"checkpoint": "j0/chk-6", "restored_at": NOW - 70 * DAY},
    "one that was seen": {"checkpoint": "j0/chk-6", "stored_at": NOW - 75 * DAY},
    "a stored one": {"checkpoint": "j0/chk-4", "restored_at": None},
    "an owner's word": {"checkpoint": "", "checkpoint_id": 6, "restored_at": NOW - 70 * DAY}
    | {"source": ContinuationSource.STATEMENT},
}


@pytest.mark.parametrize("point", POINTS)
def test_a_job_continued_what_it_was_restored_from_and_what_came_before(point) -> None:
    """A test job was started from ``j0``, which went on, and then ended: that is a branch."""
    checkpoints = [a_checkpoint("j0", 4), a_checkpoint("j0", 9, age=60)]
    checkpoints += [a_checkpoint("branch", 8, age=1)]
    edge = an_edge("j0", "branch", **POINTS[point])
    kept = reasons(BRANCH, checkpoints, [edge], ONE)
    assert (kept["j0/chk-4"], kept["j0/chk-9"]) == ("superseded", "no_successor")
    declared = reasons(BRANCH, checkpoints, [edge], RetentionPolicy(dead=("j0",)))
    assert (declared["j0/chk-4"], declared["j0/chk-9"]) == ("lineage_lives", "lineage_dead")


DOUBTS = {
    "no id": {"checkpoint": "sp-x", "restored_at": NOW},
    "another id at its place": {"checkpoint": "j0/chk-4", "checkpoint_id": 7},
    "stored after the restore": {"checkpoint": "j0/chk-4", "restored_at": NOW - 91 * DAY},
    "another one stood there": {"checkpoint": "j0/chk-4", "stored_at": NOW - 91 * DAY},
    "no time of a gone one": {"checkpoint": "j0/chk-6", "restored_at": None},
    "id and time disagree": {"checkpoint": "j0/chk-6", "stored_at": NOW - 95 * DAY},
    "a reference": {"source": ContinuationSource.REFERENCE, "checkpoint": ""},
    "a resource": {"source": ContinuationSource.RESOURCE, "checkpoint": ""},
}


@pytest.mark.parametrize("doubt", DOUBTS)
def test_an_edge_whose_point_is_in_doubt_covers_nothing(doubt) -> None:
    checkpoints = [a_checkpoint("j0", 4), a_checkpoint("branch", 8, age=1)]
    edge = an_edge("j0", "branch", **DOUBTS[doubt])
    assert reasons(BRANCH, checkpoints, [edge], ONE)["j0/chk-4"] == "no_successor"
    dead = RetentionPolicy(dead=("j0",))
    assert reasons(BRANCH, checkpoints, [edge], dead)["j0/chk-4"] == "lineage_lives"


def test_of_an_id_that_comes_back_only_what_was_restored_is_covered() -> None:
    """Which run wrote the others, and which run continued what, is not known."""
    jobs = [a_job("j0", may_recur=True), BRANCH[1]]
    checkpoints = [a_checkpoint("j0", 3, age=91), a_checkpoint("j0", 4)]
    checkpoints += [a_checkpoint("branch", 8, age=1)]
    edge = an_edge("j0", "branch", checkpoint="j0/chk-4")
    kept = reasons(jobs, checkpoints, [edge], ONE)
    assert (kept["j0/chk-3"], kept["j0/chk-4"]) == ("no_successor", "superseded")
    unknown = an_edge("j0", "branch", checkpoint="j0/chk-4", restored_at=None)
    assert reasons(jobs, checkpoints, [unknown], ONE)["j0/chk-4"] == "no_successor"
    chain, checkpoints, edges = a_chain(3)
    assert reasons(chain, checkpoints, edges, ONE)["j0/chk-5"] == "superseded"
    chain[1] = replace(chain[1], may_recur=True)
    assert reasons(chain, checkpoints, edges, ONE)["j0/chk-5"] == "no_successor"
    chain[1] = replace(chain[1], has_one_origin=True)
    assert reasons(chain, checkpoints, edges, ONE)["j0/chk-5"] == "superseded"


def test_where_all_runs_of_an_id_began_with_one_state_only_its_own_may_be_of_another() -> None:
    """A JobManager that lost its HA metadata begins again: two runs wrote below one folder."""
    jobs, checkpoints, edges = a_chain(3)
    checkpoints += [a_checkpoint("j1", 3, age=81)]
    assert reasons(jobs, checkpoints, edges, ONE)["j1/chk-3"] == "superseded"
    jobs = [replace(job, may_recur=True, has_one_origin=True) for job in jobs]
    kept = fates(jobs, checkpoints, edges, ONE)["j1/chk-3"]
    assert (kept.reason, "folder of job j1" in kept.why) == ("no_successor", True)


def test_a_job_whose_id_two_runs_had_continued_nothing() -> None:
    """Which run lives is not known; a second sight of one origin shows no second run."""
    checkpoints = [a_checkpoint("j0", 4), a_checkpoint("branch", 8, age=1)]
    edge = an_edge("j0", "branch")
    again = an_edge("j0", "branch", source=ContinuationSource.REGISTRY)
    assert reasons(BRANCH, checkpoints, [edge, again], ONE)["j0/chk-4"] == "superseded"
    other = an_edge("sp-x", "branch", checkpoint_id=2)
    assert reasons(BRANCH, checkpoints, [edge, other], ONE)["j0/chk-4"] == "no_successor"
    recurs = [BRANCH[0], replace(BRANCH[1], may_recur=True)]
    assert reasons(recurs, checkpoints, [edge], ONE)["j0/chk-4"] == "no_successor"
    before = an_edge("j0", "branch", checkpoint="j0/chk-3", restored_at=NOW - 95 * DAY)
    dead = RetentionPolicy(dead=("j0",))
    assert reasons(BRANCH, checkpoints, [before], dead)["j0/chk-4"] == "lineage_dead"
    assert reasons(recurs, checkpoints, [before], dead)["j0/chk-4"] == "lineage_lives"


UNPROVEN = {
    "it was not RUNNING both before and after the listing": {"is_running_throughout": False},
    "its own work is stopped (unproven_layout)": {"is_blocked": True, "problem": "unproven_layout"},
    "what it has stored since its start is not known": {"started_at": None},
    "it has not run for ended_for since": {"started_at": NOW - 30 * DAY},
    "branch/chk-8, its newest checkpoint, lacks a file": {"is_restorable": False},
    "branch/chk-8, its newest checkpoint, has files elsewhere, which were not looked for": {
        "is_restorable": None
    },
}


@pytest.mark.parametrize("doubt", UNPROVEN)
def test_a_successor_is_proven(doubt) -> None:
    """Its newest checkpoint of a day ago is restorable, and later than its start by 30 days."""
    of_job = {"started_at": NOW - 31 * DAY} | UNPROVEN[doubt]
    is_whole = of_job.pop("is_restorable", True)
    jobs = [a_job("j0"), a_job("branch", is_running=True, **of_job)]
    newest = replace(a_checkpoint("branch", 8, age=1), is_restorable=is_whole)
    checkpoints = [a_checkpoint("j0", 4), newest]
    edge = an_edge("j0", "branch")
    fate = fates(jobs, checkpoints, [edge], ONE)["j0/chk-4"]
    assert fate.reason == "no_successor"
    assert fate.why == f"job branch continued it, but {doubt}"
    checkpoints[1] = replace(newest, is_restorable=True)
    jobs = [jobs[0], a_job("branch", is_running=True, started_at=NOW - 31 * DAY)]
    assert reasons(jobs, checkpoints, [edge], ONE)["j0/chk-4"] == "superseded", "a tie"
    checkpoints[1] = replace(checkpoints[1], is_restorable=False)
    assert reasons(jobs, checkpoints, [edge], ONE)["j0/chk-4"] != "superseded"


def test_an_end_says_nothing_of_what_was_stored_before_its_run_or_after_it() -> None:
    """Another run of the id may have written that, and it may be the last state (R40)."""
    checkpoints = [a_checkpoint("j0", 4, deleted_on=frozenset({"FAILED"}))]
    long_ago, stored_at = NOW - 95 * DAY, NOW - 90 * DAY
    others = ((long_ago, stored_at), (stored_at, NOW), None)
    reason = {(long_ago, NOW): "meant_to_be_deleted"} | dict.fromkeys(others, "no_successor")
    for between, said in reason.items():
        job = a_job("j0", ended_as=frozenset({"FAILED"}), ended_between=between)
        assert reasons([job], checkpoints, [], ONE)["j0/chk-4"] == said


def test_that_an_id_was_chosen_is_known_of_a_job_without_a_directory() -> None:
    """The middle job of a chain is gone, and its cluster: two runs may have had its id."""
    jobs, checkpoints, edges = a_chain(3)
    del jobs[1], checkpoints[1]
    for fixed, gone in (((), {"j0/chk-5"}), (("j1",), set())):
        facts = RetentionFacts(now=NOW, min_age=3 * DAY, quarantine=DAY, policy=ONE)
        found = fates_of(lineages_of(jobs, checkpoints, edges, fixed), facts)
        assert {e.checkpoint.uri for e in found if e.action == "expire"} == gone


def test_a_job_stands_on_its_origin_until_it_has_a_checkpoint_that_needs_nothing_else() -> None:
    """Whatever Flink was to delete, and whatever the owner gave up."""
    jobs = [a_job("j0", ended_as=frozenset({"FINISHED"})), a_job("branch", is_running=True)]
    checkpoints = [a_checkpoint("j0", 4), a_checkpoint("branch", 8, age=1)]
    edge = an_edge("j0", "branch", checkpoint="j0/chk-4")
    assert reasons(jobs, checkpoints, [edge], ONE)["j0/chk-4"] == "meant_to_be_deleted"
    assert reasons(jobs, checkpoints[:1], [edge], ONE)["j0/chk-4"] == "held"
    for doubt in (None, False):
        jobs[1] = a_job("branch", is_running=True, is_self_sustained=doubt)
        assert reasons(jobs, checkpoints, [edge], ONE)["j0/chk-4"] == "held"


def test_a_job_whose_origin_is_hidden_holds_what_was_stored_before_it_in_every_lineage() -> None:
    """Whatever Flink was to delete, and whatever the owner gave up; its own are its own."""
    jobs, checkpoints, edges = a_chain()
    jobs += [a_job("gone", ended_as=frozenset({"FINISHED"})), a_job("clone", is_running=True)]
    jobs += [a_job("given-up")]
    checkpoints += [a_checkpoint("gone", 4), a_checkpoint("clone", 7, age=80)]
    checkpoints += [a_checkpoint("given-up", 4)]
    policy = RetentionPolicy(dead=("given-up",))
    world = (jobs, checkpoints, edges, policy)
    young = {"j1/chk-5", "j2/chk-5"}
    assert expired(*world) == {"j0/chk-5", "gone/chk-4", "given-up/chk-4"} | young
    assert expired(*world, hidden=(a_hidden_origin(age=81),)) == young
    same = expired(*world, hidden=(a_hidden_origin(age=80),))
    assert same == {"j2/chk-5"}, "at the same time is not after it"
    both = fates(*world, hidden=(a_hidden_origin(age=80), a_hidden_origin("other", age=85)))
    said = "job clone (one of 2 such jobs) may begin with it again"
    assert (both["j0/chk-5"].reason, both["j0/chk-5"].why) == ("origin_unknown", said)
    assert both["j0/chk-5"].is_needed
    assert both["clone/chk-7"].reason == "job_not_over"
    untimed = [replace(checkpoints[0], stored_at=None)]
    assert reasons(jobs, untimed, edges, policy, hidden=(a_hidden_origin(age=95),)) == {
        "j0/chk-5": "origin_unknown"
    }


@pytest.mark.parametrize("problem", [None, "not_quiet", "two_owners"])
@pytest.mark.parametrize("is_over", [True, False])
def test_what_a_job_made_whose_end_is_not_proven_may_be_needed(problem, is_over) -> None:
    """Whatever reason is told: people read what nothing living needs, and act."""
    job = replace(a_job("j0"), is_over=is_over, problem=problem)
    fate = fates([job], [a_checkpoint("j0", 5)], [], ONE)["j0/chk-5"]
    assert fate.is_needed is not is_over


def test_a_stated_origin_is_held_without_ha_metadata() -> None:
    old, new = "a" * 32, "b" * 32
    jobs = [a_job(old), a_job(new, is_running=True)]
    checkpoints = [a_checkpoint(old, 4, age=91), a_checkpoint(old, 9)]
    checkpoints += [a_checkpoint(new, 8, age=1)]
    edge = an_edge(old, new, source=ContinuationSource.STATEMENT, checkpoint=f"{old}/chk-4")
    stated = RetentionPolicy(continued={new: f"{old}@4"})
    kept = reasons(jobs, checkpoints, [edge], stated)
    assert (kept[f"{old}/chk-4"], kept[f"{old}/chk-9"]) == ("superseded", "no_successor")
    jobs[1] = replace(jobs[1], recovers_from_its_own=False)
    assert reasons(jobs, checkpoints, [edge], stated)[f"{old}/chk-4"] == "held"
    shown = an_edge(old, new, checkpoint=f"{old}/chk-4")  # ``CheckpointHolds`` asks that
    assert reasons(jobs, checkpoints, [shown], stated)[f"{old}/chk-4"] == "superseded"


def test_two_jobs_that_a_savepoint_may_be_named_after_did_not_continue_one_another() -> None:
    """Its folder bears the first six digits of both; only ``next`` was restored from it."""
    jobs = [a_job("one"), a_job("other"), a_job("next", is_running=True)]
    checkpoints = [a_checkpoint("one", 5), a_checkpoint("next", 9, age=1)]
    name = {"source": ContinuationSource.SAVEPOINT_NAME}
    contents = {"source": ContinuationSource.SAVEPOINT_CONTENTS}
    restored = an_edge("sp", "next", checkpoint_id=7)
    edges = [an_edge("one", "sp", **contents), restored]
    assert expired(jobs, checkpoints, edges, ONE) == {"one/chk-5"}
    edges.append(an_edge("other", "sp", **name))
    assert reasons(jobs, checkpoints, edges, ONE)["one/chk-5"] == "no_successor"
    edges.append(an_edge("other", "sp"))
    assert reasons(jobs, checkpoints, edges, ONE)["one/chk-5"] == "no_successor"


def test_six_digits_of_a_name_prove_no_job_and_no_continuation() -> None:
    """The savepoint may be the last state of a job that no searched place shows."""
    jobs = [a_job("one"), a_job("next", is_running=True)]
    checkpoints = [a_checkpoint("one", 5), a_checkpoint("next", 9, age=1)]
    checkpoints.append(a_checkpoint("sp", 7, age=89, is_savepoint=True, uri="sp"))
    edges = [an_edge("one", "sp", source=ContinuationSource.SAVEPOINT_NAME), an_edge("sp", "next")]
    kept = reasons(jobs, checkpoints, edges, ONE)
    assert (kept["one/chk-5"], kept["sp"]) == ("no_successor", "maker_unproven")
    assert reasons(jobs, checkpoints, [*edges, an_edge("gone", "sp")], ONE)["sp"] == (
        "maker_unproven"
    )
    proven = [*edges, an_edge("one", "sp", source=ContinuationSource.SAVEPOINT_CONTENTS)]
    assert expired(jobs, checkpoints, proven, ONE) == {"one/chk-5", "sp"}
    running = [a_job("one", is_over=False), jobs[1]]
    assert reasons(running, checkpoints, edges, ONE)["sp"] == "job_not_over"


def test_another_resource_is_no_successor_unless_the_owner_says_so() -> None:
    """A test job began from the last savepoint of the real one, which was stopped."""
    orders = a_job("orders", resources=("prod/orders",))
    checkpoints = [a_checkpoint("orders", 5), a_checkpoint("next", 9, age=1)]
    edges = [an_edge("orders", "next")]
    for names in ((), ("test/orders",)):
        jobs = [orders, a_job("next", is_running=True, resources=names)]
        fate = fates(jobs, checkpoints, edges, ONE)["orders/chk-5"]
        assert (fate.reason, fate.why[-11:]) == ("no_successor", "prod/orders")
        stated = [*edges, an_edge("orders", "next", source=ContinuationSource.STATEMENT)]
        assert expired(jobs, checkpoints, stated, ONE) == {"orders/chk-5"}
    jobs = [orders, a_job("next", is_running=True, resources=("prod/orders",))]
    assert expired(jobs, checkpoints, edges, ONE) == {"orders/chk-5"}


def test_each_resource_of_a_lineage_must_be_declared_dead() -> None:
    jobs = [a_job("orders", resources=("prod/orders",)), a_job("next", resources=("test/orders",))]
    checkpoints = [a_checkpoint("orders", 5), a_checkpoint("next", 9, age=80)]
    edges = [an_edge("orders", "next")]
    for dead in (("next",), ("test/orders",)):
        found = fates(jobs, checkpoints, edges, RetentionPolicy(dead=dead))
        assert {each.reason for each in found.values()} == {"lineage_lives"}
        assert "prod/orders" in found["orders/chk-5"].why
    both = RetentionPolicy(dead=("orders", "test/orders"))
    assert expired(jobs, checkpoints, edges, both) == {"orders/chk-5", "next/chk-9"}


def test_each_branch_of_a_lineage_must_be_declared_dead() -> None:
    """A test job that is given up began from a savepoint of the job whose last state is wanted."""
    jobs = [a_job("j0"), a_job("orders"), a_job("test")]
    checkpoints = [a_checkpoint("orders", 9), a_checkpoint("test", 8)]
    edges = [an_edge("j0", "orders"), an_edge("j0", "test")]
    for dead in (("test",), ("j0",), ("j0", "test")):
        found = fates(jobs, checkpoints, edges, RetentionPolicy(dead=dead))
        assert {each.reason for each in found.values()} == {"lineage_lives"}
        assert "orders" in found["test/chk-8"].why
    both = RetentionPolicy(dead=("orders", "test"))
    assert expired(jobs, checkpoints, edges, both) == {"orders/chk-9", "test/chk-8"}
    around = [*edges, an_edge("orders", "j0"), an_edge("test", "j0")]
    assert not expired(jobs, checkpoints, around, both), "no job of it is the last"


def test_rules_of_a_name_that_no_lineage_bears_count_for_every_lineage() -> None:
    """The owner mistyped it, and the general rules would let go what was to stay."""
    jobs, checkpoints, edges = a_chain()
    rules = {"jO": KeepRules(keep_last=4), "other": KeepRules(keep_last=2)}
    policy = RetentionPolicy(jobs=rules, continued={"a" * 32: "b" * 32}, dead=("j9",))
    assert not expired(jobs, checkpoints, edges, policy)
    assert policy.unknown_names({"j0", "other"}) == ("a" * 32, "b" * 32, "j9", "jO")


@pytest.mark.parametrize("told", [None, {"CANCELED"}, {"FAILED", "CANCELED"}])
def test_what_goes_with_its_job_stands_for_none(told) -> None:
    """By default Flink deletes the checkpoints of a job that fails: then nothing would be left."""
    jobs, checkpoints, edges = a_chain(3)
    told = None if told is None else RETAINED | told
    checkpoints[-1] = replace(checkpoints[-1], deleted_on=told)
    found = fates(jobs, checkpoints, edges, RetentionPolicy())
    assert found["j0/chk-5"].reason == "superseded"
    assert found["j0/chk-5"].why == "j1/chk-5"
    assert found["j1/chk-5"].reason == "keep_last"
    savepoint = a_checkpoint("sp", 7, age=1, is_savepoint=True, deleted_on=told)
    more = [*edges, an_edge("j2", "sp")]
    assert "j1/chk-5" in expired(jobs, [*checkpoints, savepoint], more, RetentionPolicy())


def test_a_name_that_a_living_job_bears_declares_no_other_lineage_dead() -> None:
    """The resource was deleted, and made again; its first jobs have ids of their own."""
    checkpoints = [a_checkpoint("j0", 5)]
    jobs = [
        a_job("j0", resources=("ns/shop",)),
        a_job("j9", is_running=True, resources=("ns/shop",)),
    ]
    by_name = fates(jobs, checkpoints, [], RetentionPolicy(dead=("ns/shop",)))
    assert by_name["j0/chk-5"].reason == "lineage_lives"
    assert expired(jobs, checkpoints, [], RetentionPolicy(dead=("j0",))) == {"j0/chk-5"}


def test_rules_of_a_test_job_are_not_those_of_the_job_that_it_began_from() -> None:
    """Its owner thinks of the test alone, which is of the same lineage."""
    jobs, checkpoints, edges = a_chain(3)
    shop = [replace(each, resources=("ns/shop",)) for each in jobs]
    test = a_job("t", is_running=True, resources=("ns/test",))
    more = [*edges, an_edge("j1", "t")]
    few = {"ns/test": KeepRules(keep_last=1)}
    policy = RetentionPolicy(keep_last=3, jobs=few)
    own = [*checkpoints, a_checkpoint("t", 9, age=1)]
    assert expired([*shop, test], own, more, policy) == {"j0/chk-5"}
    everywhere = RetentionPolicy(keep_last=3, jobs={"ns/shop": KeepRules(keep_last=1)})
    assert expired([*shop, test], own, more, everywhere) == {"j0/chk-5", "j1/chk-5"}


def test_what_flink_was_told_to_delete_stands_for_none() -> None:
    """It expires whatever the policy says, so it is none of those that the policy keeps."""
    jobs, checkpoints, edges = a_chain(3)
    jobs[1] = replace(jobs[1], ended_as=frozenset({"FINISHED"}))
    found = reasons(jobs, checkpoints, edges, RetentionPolicy(keep_last=2))
    assert found["j1/chk-5"] == "meant_to_be_deleted"
    assert found["j0/chk-5"] == "keep_last"


def with_state(checkpoint: LineageCheckpoint, *operators: str) -> LineageCheckpoint:
    return replace(checkpoint, operators=frozenset(operators), stateful=frozenset(operators))


@pytest.mark.parametrize(
    ("middle", "is_stored", "gone"),
    [
        (("map", "sink"), True, {"j0/chk-5", "j1/chk-5"}),
        (("map",), True, {"j1/chk-5"}),
        ((), True, {"j1/chk-5"}),
        (("map",), False, {"j0/chk-5"}),
    ],
)
def test_an_operator_that_comes_back_has_not_the_state_that_a_job_between_was_without(
    middle, is_stored, gone
) -> None:
    """A slip in an id, and its mend: both went on with ``allowNonRestoredState``.

    Of a job that left no checkpoint nothing is known: then the newest one's operators count.
    """
    jobs, checkpoints, edges = a_chain(3)
    first, second, third = checkpoints
    stored = [with_state(second, *middle)] if is_stored else []
    known = [with_state(first, "map", "sink"), *stored, with_state(third, "map", "sink")]
    assert expired(jobs, known, edges, ONE) == gone


@pytest.mark.parametrize(("operators", "gone"), [(("map", "sink"), True), (("map",), False)])
def test_a_job_that_was_upgraded_under_its_id_may_have_dropped_an_operator(operators, gone) -> None:
    jobs, (first, last), _ = a_chain(2)
    newer = a_checkpoint("j0", 9, age=85)
    known = [with_state(each, "map", "sink") for each in (first, last)]
    edges = [an_edge("j0", "j1", checkpoint="j0/chk-9")]
    left = expired(jobs, [*known, with_state(newer, *operators)], edges, ONE)
    assert ("j0/chk-5" in left) is gone
