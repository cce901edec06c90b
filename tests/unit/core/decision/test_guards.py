"""Every guard objects to exactly its own case, and without it that case would be let through."""

from dataclasses import replace

import pytest

from flinkstate.places.locations import canonical
from orphangc.core.cluster.job_facts import RestoredFacts
from orphangc.core.decision.evidence import JobEvidence, Survey, UnreadableCheckpoint, mode_of
from orphangc.core.decision.guards import GUARDS
from orphangc.core.decision.judge import Judgement, judge, judge_all
from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE, Exported
from orphangc.core.exporter.registry_snapshot import (
    EntryKind,
    JobSettings,
    RegistryEntries,
    RegistryEntry,
    RetainedCheckpoint,
)
from orphangc.core.model.bounds import SafetyMargins
from orphangc.core.model.codes import Guard
from orphangc.core.model.types import JobState, Mode
from support.builders import (
    JOB,
    NAME,
    OTHER_JOB,
    T0,
    a_broken_root,
    a_checkpoint,
    a_cycle,
    a_hold,
    a_job,
    a_root,
    a_snapshot,
    a_survey,
    ago,
    ahead,
    an_ended_job,
    job_directory,
    some_facts,
)

NO_IDS = frozenset()
ROOTLESS = {
    "own_checkpoints": (),
    **dict.fromkeys(("ids_at_start", "ids_before", "ids_after"), NO_IDS),
}
SEGMENT = RegistryEntry("shared/x", EntryKind.SEGMENT, 1, 1, 1)


def refusal(job=None, cycle=None, guards=GUARDS) -> Guard | None:
    found = judge(job or a_job(), cycle or a_cycle(), guards=guards).refused
    return None if found is None else found.guard


def without(guard: Guard) -> dict:
    return {name: check for name, check in GUARDS.items() if name is not guard}


CASES = {
    Guard.UNREADABLE_ROOT: (a_job(), a_cycle(unreadable=(a_broken_root(OTHER_JOB),))),
    Guard.ACKNOWLEDGED_ROOT: (
        a_job(),
        a_cycle(unreadable=(a_broken_root(JOB, is_acknowledged=True),)),
    ),
    Guard.CLOCK_SKEW: (a_job(), a_cycle(skew_seconds=3600.0)),
    Guard.FUTURE_TIME: (a_job(survey=a_survey(newest_modified_at=ahead("1h"))), a_cycle()),
    Guard.COPIED_TREE: (
        a_job(survey=a_survey(oldest_modified_at=ago("9d"), newest_modified_at=ago("9d"))),
        a_cycle(),
    ),
    Guard.PARSER_DISAGREEMENT: (
        a_job(survey=a_survey(only_in_raw_bytes=[f"{JOB}/shared/{NAME}"])),
        a_cycle(),
    ),
    Guard.UNPROVEN_LAYOUT: (a_job(survey=a_survey(sub_folders={"op_x_attempt_0"})), a_cycle()),
    Guard.RESTARTING: (a_job(after=(some_facts(state_backend="Unknown"),)), a_cycle()),
    Guard.UNKNOWN_OWNER: (a_job(job_id=""), a_cycle()),
    Guard.TWO_OWNERS: (
        a_job(
            before=(some_facts(), some_facts()),
            after=(some_facts(), some_facts()),
            clusters=("http://a:8081", "http://a.ns:8081"),
        ),
        a_cycle(),
    ),
    Guard.ENDED_JOB_IS_RUNNING: (a_job(is_declared_ended=True), a_cycle()),
    Guard.NO_ROOTS: (a_job(**ROOTLESS), a_cycle()),
    Guard.RETAINED_ROOT_MISSING: (
        a_job(held_before=(a_hold(41, 42, 43),), held_after=(a_hold(41, 42, 43),)),
        a_cycle(),
    ),
    Guard.MISPLACED_ROOT: (
        a_job(own_checkpoints=(a_root(43, folder=job_directory(JOB).child("chk-7")),)),
        a_cycle(),
    ),
    Guard.DAMAGED_LATEST_ROOT: (
        a_job(survey=a_survey(missing_of_latest=[f"{JOB}/shared/{NAME}"])),
        a_cycle(),
    ),
    Guard.UNSTABLE_ROOT: (a_job(ids_after=frozenset({44, 45})), a_cycle()),
    Guard.GATE: (
        a_job(before=(some_facts(max_concurrent=2),), after=(some_facts(max_concurrent=2),)),
        a_cycle(),
    ),
    Guard.REGISTRY: (
        a_job(snapshots=(a_snapshot(source=Mode.DERIVED, max_concurrent=4),)),
        a_cycle(),
    ),
}
"""One case a guard; the rule and its further cases stand in the tests below."""


def test_what_the_builders_say_by_default_is_let_through() -> None:
    """Otherwise no test below would show anything."""
    assert judge(a_job(), a_cycle()) == Judgement()
    assert judge(an_ended_job(), a_cycle()) == Judgement()


def test_every_guard_but_the_one_of_judge_all_is_in_the_table() -> None:
    """A guard that is named and never asked guards nothing."""
    assert set(GUARDS) == set(Guard) - {Guard.DEPENDENT_JOB}
    assert set(CASES) == set(GUARDS)


@pytest.mark.parametrize("guard", GUARDS)
def test_each_guard_refuses_its_case_and_no_other_guard_does(guard: Guard) -> None:
    """Liveness cannot be known, so the job keeps everything."""
    job, cycle = CASES[guard]
    assert refusal(job, cycle) is guard
    assert [name for name, check in GUARDS.items() if check(job, cycle) is not None] == [guard]


@pytest.mark.parametrize("guard", GUARDS)
def test_without_its_guard_each_case_would_be_let_through(guard: Guard) -> None:
    """Each guard is needed: no other guard and no condition stands behind it."""
    job, cycle = CASES[guard]
    assert judge(job, cycle, guards=without(guard)) == Judgement()
    assert judge_all([job], cycle, guards=without(guard)) == {job.key: Judgement()}
    assert judge_all([job], cycle)[job.key].refused.guard is guard


def test_what_cannot_be_read_is_named_once() -> None:
    """A store's own sentence names it already."""
    uri = "/cp/chk-9/_metadata"
    reasons = ("Permission denied", f"cannot read {uri}: Permission denied")
    said = {UnreadableCheckpoint(uri=uri, reason=reason, sha256="").problem for reason in reasons}
    assert said == {f"cannot read {uri}: Permission denied"}


DIRECTORY = str(job_directory())
SENTENCES = {
    Guard.UNREADABLE_ROOT: (
        f"cannot read {job_directory(OTHER_JOB)}/chk-9: unknown handle type 99 at byte 12; nothing"
        " will be planned for removal"
    ),
    Guard.ACKNOWLEDGED_ROOT: (
        f"{DIRECTORY}/chk-9 is acknowledged as broken: its whole directory is kept"
    ),
    Guard.CLOCK_SKEW: "the store's clock differs from this machine's by 3600 s",
    Guard.FUTURE_TIME: (
        "something in the directory is dated 2026-11-21T15:00:00+00:00, in the future"
    ),
    Guard.COPIED_TREE: "all 100 objects have one store time: this tree was copied",
    Guard.PARSER_DISAGREEMENT: (
        f"raw bytes of a checkpoint name {JOB}/shared/{NAME}, the parser does not: please report"
        " this"
    ),
    Guard.UNPROVEN_LAYOUT: "shared/ has sub-directories (op_x_attempt_0)",
    Guard.RESTARTING: (
        f"job {JOB} starts or restarts (RUNNING): until it runs, Flink does not show its state"
        " backend and checkpoint storage; plan again once it runs"
    ),
    Guard.UNKNOWN_OWNER: (
        "the directory's name is no job id (create-subdir=false?): name its owner with --owner"
    ),
    Guard.TWO_OWNERS: (
        "2 clusters say that they run the job (http://a:8081, http://a.ns:8081): if these are"
        " addresses of one, ask it by one of them alone; else stop the job on one of them"
    ),
    Guard.ENDED_JOB_IS_RUNNING: ("the job is declared ended, but Flink's REST API shows it alive"),
    Guard.NO_ROOTS: "no checkpoint of the job can be seen: its first one may be pending; if the job"
    f" is over, --ended-job {JOB} states it",
    Guard.RETAINED_ROOT_MISSING: (
        f"{a_hold(41).uri} retains checkpoint 41 of job {JOB}, and no checkpoint of that id"
        " can be seen: add the place of its checkpoints with --extra-root"
    ),
    Guard.MISPLACED_ROOT: f"{DIRECTORY}/chk-7 holds the metadata of checkpoint 43",
    Guard.DAMAGED_LATEST_ROOT: (
        f"the latest checkpoint refers to files that cannot be seen ({JOB}/shared/{NAME}): already"
        " damaged?"
    ),
    Guard.UNSTABLE_ROOT: "checkpoints come and go faster than the listing: raise num-retained",
    Guard.GATE: (
        f"job {JOB} may have 2 checkpoints pending at once; without its registry only one is safe"
    ),
    Guard.REGISTRY: "the derived snapshot says 4 concurrent checkpoints",
}
"""What an operator reads of each case above."""


@pytest.mark.parametrize("guard", GUARDS)
def test_a_refusal_says_what_is_wrong_and_what_to_do(guard: Guard) -> None:
    """Design, section 3: the refused jobs stand in the plan and on stderr."""
    assert judge(*CASES[guard]).refused.message == SENTENCES[guard]


ELSEWHERE = canonical(f"s3://bucket/elsewhere/{JOB}")
OTHERS_HOLD = a_hold(43, cluster="kubernetes:flink/others", uri="kubernetes:flink/configmaps/o")
E1 = a_snapshot(retained=(RetainedCheckpoint(id=41, is_savepoint=False, path="chk-41"),))
E2 = replace(E1, sequence=18, taken_at=T0, nonce="N")
ANSWERED = Exported(job_id=JOB, baseline=E1, response=E2, nonce="N")


KEPT_ANSWER = (
    "Flink's second answer is no later than its first: something before it keeps answers; ask the"
    " JobManager itself"
)


def answered_at(before: int, after: int) -> JobEvidence:
    """Return a job whose JobManager said at which minutes it answered."""
    first, second = (some_facts(answered_at=ago(f"{30 - each}m")) for each in (before, after))
    return a_job(before=(first,), after=(second,))


def test_an_answer_that_is_later_than_the_first_is_one() -> None:
    """And one whose time is unknown proves nothing against it."""
    assert judge(answered_at(5, 6), a_cycle()).refused is None


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (
            a_job(own_checkpoints=(a_root(43, unproven_layout="changelog state"),)),
            f"{DIRECTORY}/chk-43 holds changelog state",
        ),
        (
            a_job(snapshots=(a_snapshot(entries=RegistryEntries([SEGMENT])),)),
            "registry snapshot 17 holds entries of kind segment",
        ),
        (
            a_job(held_before=(OTHERS_HOLD,), held_after=(a_hold(43),)),
            (
                "HA metadata of kubernetes:flink/orders, kubernetes:flink/others holds the job: two"
                " clusters may run it"
            ),
        ),
        (
            a_job(strangers=frozenset({OTHER_JOB})),
            f"job {OTHER_JOB} writes its checkpoints here too",
        ),
        (
            a_job(own_checkpoints=(a_root(42), a_root(43, directory=ELSEWHERE))),
            "2 directories of this job id hold checkpoints",
        ),
        (
            a_job(survey=a_survey(shared_directories={job_directory(), ELSEWHERE})),
            f"{ELSEWHERE} bears the same job id, and no checkpoint of the job names a file in it",
        ),
        (
            an_ended_job(ids_after=frozenset({43})),
            "the job is said to be over, but its checkpoints changed during the listing",
        ),
        (
            a_job(snapshots=ANSWERED.snapshots, exported=ANSWERED),
            (
                "the registry snapshots retain checkpoint 41, and no checkpoint of that id can be"
                " seen: add the place of its checkpoints with --extra-root, or say it with --alias"
            ),
        ),
        (
            a_job(directories=()),
            "its checkpoint directory lies outside the given roots: add it with --extra-root",
        ),
        (
            a_job(is_origin_unread=True, own_checkpoints=(a_root(1),)),
            (
                "what it was restored from was not read, and no checkpoint that it completed since"
                " was: add the place of its origin with --extra-root, or wait until it has"
                " completed one"
            ),
        ),
        (
            a_job(before=(some_facts(latest_completed_id=44),)),
            "Flink completed checkpoint 44, the storage shows 43",
        ),
        (
            a_job(after=(some_facts(latest_completed_id=44, checkpoints=()),)),
            "checkpoint 43 may have been subsumed during the listing",
        ),
        (a_job(before=()), "the job appeared or vanished during the listing"),
        (answered_at(5, 5), KEPT_ANSWER),
        (answered_at(5, 4), KEPT_ANSWER),
        (
            a_job(after=(some_facts(incarnation=None),)),
            "the job was started again during the listing",
        ),
        (a_job(snapshots=(a_snapshot(taken_at=ago("2h")),)), "registry snapshot 17 is 2:00:00 old"),
        (
            a_job(snapshots=(a_snapshot(taken_at=ahead("2h")),)),
            "the registry snapshot is dated in the future",
        ),
    ],
)
def test_each_further_case_has_its_own_sentence(job, sentence: str) -> None:
    """It tells this cause from the others of its guard."""
    assert judge(job, a_cycle()).refused.message == sentence


def test_a_living_job_without_a_snapshot_is_told_apart_in_registry_mode() -> None:
    """R15: what is missing is an exporter of this job."""
    message = judge(a_job(), a_cycle(is_registry_mode=True)).refused.message
    assert message == "registry snapshots were given, and this living job has none"


def test_a_gate_without_an_answer_says_so() -> None:
    """R13: a job that cannot checkpoint, or that Flink tells too little of."""
    silent = (some_facts(max_concurrent=None),)
    message = judge(a_job(before=silent, after=silent), a_cycle()).refused.message
    assert message == f"job {JOB} (RUNNING) reports no checkpoint configuration"


def test_a_derived_snapshot_that_does_not_tell_leaves_concurrency_to_the_gate() -> None:
    """R13: Flink's REST API is asked all the same."""
    silent = (a_snapshot(source=Mode.DERIVED, max_concurrent=None),)
    assert refusal(a_job(snapshots=silent)) is None


@pytest.mark.parametrize("directory", [job_directory(JOB), job_directory(OTHER_JOB), None])
def test_an_unreadable_root_anywhere_refuses(directory) -> None:
    """R6: a root may name any file of any directory."""
    cycle = a_cycle(unreadable=(a_broken_root(directory=directory),))
    assert refusal(cycle=cycle) is Guard.UNREADABLE_ROOT


def test_an_acknowledged_root_refuses_its_own_directory_only() -> None:
    """R6: it protects its whole directory; elsewhere its bytes' UUIDs are in the live set."""
    cycle = a_cycle(unreadable=(a_broken_root(OTHER_JOB, is_acknowledged=True),))
    assert refusal(a_job(), cycle) is None
    assert refusal(a_job(OTHER_JOB), cycle) is Guard.ACKNOWLEDGED_ROOT
    outside = replace(cycle.unreadable[0], directory=None)
    assert refusal(a_job(OTHER_JOB), replace(cycle, unreadable=(outside,))) is None


@pytest.mark.parametrize("order", [1, -1])
def test_an_acknowledged_root_does_not_excuse_another_one(order: int) -> None:
    """R6: one root by path and hash, not all of them."""
    broken = (a_broken_root(JOB, is_acknowledged=True), a_broken_root(OTHER_JOB))[::order]
    assert refusal(a_job(), a_cycle(unreadable=broken)) is Guard.UNREADABLE_ROOT


@pytest.mark.parametrize(
    ("skew", "expected"),
    [
        (0.0, None),
        (902.0, None),
        (-902.0, None),
        (902.1, Guard.CLOCK_SKEW),
        (-902.1, Guard.CLOCK_SKEW),
        (float("nan"), Guard.CLOCK_SKEW),
        (float("inf"), Guard.CLOCK_SKEW),
    ],
)
def test_a_store_clock_off_by_more_than_the_slack_refuses(skew: float, expected) -> None:
    """R10 **T:** skewed clocks, in either direction; two seconds are a Date header's own error."""
    assert refusal(cycle=a_cycle(skew_seconds=skew)) is expected


@pytest.mark.parametrize(("when", "expected"), [("15m", None), ("16m", Guard.FUTURE_TIME)])
def test_an_object_or_root_from_the_future_refuses(when: str, expected: Guard | None) -> None:
    """R10: a file or root dated in the future, beyond the slack."""
    by_object = a_job(survey=a_survey(newest_modified_at=ahead(when)))
    by_root = a_job(own_checkpoints=(a_root(42), replace(a_root(43), modified_at=ahead(when))))
    by_clock = a_job(after=(some_facts(answered_at=ahead(when)),))
    assert refusal(by_object) is expected
    assert refusal(by_root) is expected
    assert refusal(by_clock) is expected


def test_the_future_begins_where_the_cycle_stopped_looking() -> None:
    """R10: a running job goes on writing during a listing of hours."""
    job = a_job(survey=a_survey(newest_modified_at=ahead("2h")))
    assert refusal(job, a_cycle(observed_until=ahead("105m"))) is None
    assert refusal(job, a_cycle(observed_until=ahead("104m"))) is Guard.FUTURE_TIME


def test_a_directory_without_anything_that_has_a_time_is_not_from_the_future() -> None:
    """R10: an ended job may have left nothing."""
    assert refusal(an_ended_job(**ROOTLESS, survey=Survey())) is None


def test_one_time_for_all_objects_refuses_but_one_object_alone_does_not() -> None:
    """R10: equal times for everything were made by a copy."""
    same = {"oldest_modified_at": ago("9d"), "newest_modified_at": ago("9d")}
    assert refusal(a_job(survey=a_survey(objects=2, **same))) is Guard.COPIED_TREE
    assert refusal(a_job(survey=a_survey(objects=1, **same))) is None
    nothing = {"oldest_modified_at": None, "newest_modified_at": None}
    assert refusal(a_job(survey=a_survey(objects=2, **nothing))) is Guard.COPIED_TREE


FLINKS_OWN = ("op_x_attempt_0", f"job_{JOB}_op_{'d' * 32}_0_4")


@pytest.mark.parametrize("folder", [*FLINKS_OWN, "sub", "/"])
def test_any_sub_folder_of_shared_refuses_a_job_that_may_run(folder: str) -> None:
    """R2 **T:** one ``op_x_attempt_0/`` voids."""
    job = a_job()
    job = replace(job, survey=replace(job.survey, sub_folders={folder}))
    assert refusal(job) is Guard.UNPROVEN_LAYOUT


@pytest.mark.parametrize("folder", [*FLINKS_OWN, "sub", "/"])
def test_only_an_unknown_sub_folder_refuses_a_job_that_is_over(folder: str) -> None:
    """R35: nothing names a file of Flink's own layouts but what was read; ``sub/`` is not its."""
    job = an_ended_job()
    job = replace(job, survey=replace(job.survey, sub_folders={folder}))
    assert refusal(job) is (None if folder in FLINKS_OWN else Guard.UNPROVEN_LAYOUT)


def test_an_id_that_comes_back_needs_the_operators_statement() -> None:
    """R34: Flink's answer about a fixed id may be of an earlier run."""
    survey = a_survey(sub_folders={"op_x_attempt_0"})
    over = (some_facts(status="CANCELED"),)
    facts = {"before": over, "after": over, "survey": survey}
    fixed = f"{'1' * 16}{'0' * 16}"
    assert refusal(a_job(**facts)) is None
    assert refusal(a_job(job_id=fixed, **facts)) is Guard.UNPROVEN_LAYOUT
    assert refusal(a_job(job_id=fixed, is_declared_ended=True, **facts)) is None


@pytest.mark.parametrize("kind", ["segments of merged files", "changelog state"])
def test_a_root_with_an_unproven_handle_refuses(kind: str) -> None:
    """R2: a segment, directory or changelog handle in any root of the job."""
    older = a_root(42, unproven_layout=kind)
    assert refusal(a_job(own_checkpoints=(older, a_root(43)))) is Guard.UNPROVEN_LAYOUT


@pytest.mark.parametrize(
    "change",
    [
        {"changelog_enabled": True},
        {"state_backend": "ForStStateBackend"},
        {"state_backend": "GeminiStateBackend"},
        {"state_backend": None},
        {"checkpoint_storage": "VendorStorage"},
    ],
)
@pytest.mark.parametrize("status", ["RUNNING", "CANCELED"])
@pytest.mark.parametrize("source", [None, Mode.REGISTRY, Mode.DERIVED])
def test_a_layout_that_flink_itself_reports_refuses_in_every_mode(
    change: dict, status: str, source: Mode | None
) -> None:
    """R2: void in **both** modes; R35: of an ended job, only what is not Flink's own."""
    is_flinks_own = change in ({"changelog_enabled": True}, {"state_backend": "ForStStateBackend"})
    expected = None if status == "CANCELED" and is_flinks_own else Guard.UNPROVEN_LAYOUT
    facts = (some_facts(status=status, **change),)
    snapshots = () if source is None else (a_snapshot(source=source),)
    job = a_job(before=facts, after=facts, snapshots=snapshots)
    assert refusal(job) is expected
    after_only = replace(job, before=(some_facts(status=status),))
    assert refusal(after_only) is expected


@pytest.mark.parametrize("source", [None, Mode.REGISTRY, Mode.DERIVED])
def test_a_job_that_restarts_refuses_in_every_mode_and_lifts_itself(source: Mode | None) -> None:
    """R2: the layout is not known yet; one that is found is named all the same."""
    starting = some_facts(status="CREATED", state_backend="Unknown", checkpoint_storage="Unknown")
    snapshots = () if source is None else (a_snapshot(source=source),)
    for before, after in ((starting, some_facts()), (some_facts(), starting), (starting, starting)):
        job = a_job(before=(before,), after=(after,), snapshots=snapshots)
        assert refusal(job) is Guard.RESTARTING
        forst = replace(job, survey=a_survey(sub_folders={"op_x_attempt_0"}))
        assert refusal(forst) is Guard.UNPROVEN_LAYOUT


def test_an_ended_job_may_have_had_many_checkpoints_at_once() -> None:
    """R13: nothing is pending; concurrency is the gate's question alone."""
    facts = (some_facts(status="CANCELED", max_concurrent=4),)
    job = an_ended_job(is_declared_ended=False, before=facts, after=facts)
    assert job.state is JobState.ENDED
    assert refusal(job) is None


def test_two_directories_with_roots_under_one_job_id_refuse() -> None:
    """R3 **T:** two configs on one path, or one id in two places."""
    elsewhere = canonical(f"s3://bucket/elsewhere/{JOB}")
    second = a_root(43, directory=elsewhere, folder=elsewhere.child("chk-43"))
    assert refusal(a_job(own_checkpoints=(a_root(42), second))) is Guard.TWO_OWNERS
    assert refusal(an_ended_job(own_checkpoints=(a_root(42), second))) is Guard.TWO_OWNERS


def test_a_stranger_that_writes_its_checkpoints_here_refuses() -> None:
    """R3: two running jobs claiming one directory, whatever it is called."""
    assert refusal(a_job(strangers=frozenset({OTHER_JOB}))) is Guard.TWO_OWNERS
    assert refusal(an_ended_job(strangers=frozenset({OTHER_JOB}))) is Guard.TWO_OWNERS


def test_a_second_shared_folder_counts_as_the_jobs_own_only_if_a_root_names_it() -> None:
    """R3: with entropy roots name files under every prefix; a copied tree is not named."""
    own, second = job_directory(), canonical(f"s3://bucket/copy/{JOB}")
    named = a_root(43, files={second.child("shared"): frozenset({NAME})})
    both = a_survey(shared_directories={own, second})
    assert refusal(a_job(survey=both)) is Guard.TWO_OWNERS
    assert refusal(a_job(survey=both, own_checkpoints=(a_root(42), named))) is None
    assert refusal(a_job(survey=a_survey(shared_directories={own}))) is None
    several = {own, *(canonical(f"s3://bucket/{name}/{JOB}") for name in "dbace")}
    message = judge(a_job(survey=a_survey(shared_directories=several)), a_cycle()).refused.message
    assert message.startswith(f"s3://bucket/a/{JOB} bears the same job id"), "always the same one"
    only_elsewhere = a_survey(shared_directories={second})
    assert refusal(a_job(survey=only_elsewhere)) is None


def test_an_ended_job_in_a_second_cluster_is_no_second_owner() -> None:
    """R3: two *running* jobs claiming it; a history server that remembers is none."""
    over = some_facts(status="CANCELED")
    assert refusal(a_job(before=(some_facts(), over), after=(some_facts(), over))) is None


@pytest.mark.parametrize("status", ["RUNNING", "SUSPENDED", "RESTARTING", "CANCELLING", "WHATEVER"])
def test_a_declared_end_that_rest_contradicts_refuses(status: str) -> None:
    """R13: only a globally terminal status agrees; SUSPENDED is alive, an unknown word too."""
    facts = (some_facts(status=status),)
    assert refusal(an_ended_job(before=facts)) is Guard.ENDED_JOB_IS_RUNNING
    assert refusal(an_ended_job(after=facts)) is Guard.ENDED_JOB_IS_RUNNING


@pytest.mark.parametrize("which", ["ids_at_start", "ids_before", "ids_after"])
@pytest.mark.parametrize("ids", [NO_IDS, frozenset({43}), frozenset({42, 43, 44})])
def test_a_declared_end_while_checkpoints_come_or_go_refuses(which: str, ids: frozenset) -> None:
    """R13: some process writes or deletes there."""
    assert refusal(an_ended_job(**{which: ids})) is Guard.ENDED_JOB_IS_RUNNING


@pytest.mark.parametrize("which", ["ids_at_start", "ids_before", "ids_after"])
def test_an_end_that_rest_proves_while_checkpoints_come_or_go_refuses(which: str) -> None:
    """An unknown job has claimed one of them, and deletes it: what it needs is unseen."""
    over = (some_facts(status="FINISHED"),)
    still = {"is_declared_ended": False, "before": over, "after": over}
    assert refusal(an_ended_job(**still)) is None
    assert refusal(an_ended_job(**still, **{which: frozenset({43})})) is Guard.ENDED_JOB_IS_RUNNING


@pytest.mark.parametrize("status", ["FINISHED", "CANCELED", "FAILED"])
def test_rest_proves_an_end_only_if_it_says_so_twice(status: str) -> None:
    """R11: the gate is asked before and after."""
    over = (some_facts(status=status),)
    assert a_job(before=over, after=over).state is JobState.ENDED
    assert a_job(before=over, after=()).state is JobState.UNKNOWN
    assert a_job(before=(), after=over).state is JobState.UNKNOWN
    assert a_job(before=(), after=()).state is JobState.UNKNOWN
    assert a_job(before=over, after=(*over, some_facts())).state is JobState.RUNNING


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (a_job(**ROOTLESS), Guard.NO_ROOTS),
        (a_job(**ROOTLESS, before=(), after=()), Guard.NO_ROOTS),
        (an_ended_job(**ROOTLESS), None),
    ],
)
def test_no_root_is_everything_is_garbage_only_for_a_declared_end(job, expected) -> None:
    """R8, R9 **T:** remove all roots; its first checkpoint may be pending."""
    assert refusal(job) is expected


def test_an_end_that_rest_proves_needs_roots_if_it_had_checkpoints() -> None:
    """R8: zero roots for a job that REST says has completed checkpoints."""
    some = (some_facts(status="FINISHED"),)
    none = (some_facts(status="FINISHED", latest_completed_id=None, checkpoints=()),)
    restored = RestoredFacts(id=7, external_path=None, is_savepoint=False)
    continued = (replace(none[0], restored=restored),)
    assert refusal(a_job(**ROOTLESS, before=some, after=some)) is Guard.NO_ROOTS
    assert refusal(a_job(**ROOTLESS, before=none, after=some)) is Guard.NO_ROOTS
    assert refusal(a_job(**ROOTLESS, before=continued, after=continued)) is Guard.NO_ROOTS
    assert refusal(a_job(**ROOTLESS, before=none, after=none)) is None


def test_a_job_that_is_over_and_lost_its_checkpoints_need_not_wait_for_one() -> None:
    """Flink discards them all at the end of a job that is canceled."""
    over = (some_facts(status="CANCELED", checkpoints=()),)
    message = judge(a_job(**ROOTLESS, before=over, after=over), a_cycle()).refused.message
    assert "pending" not in message
    assert "Flink discarded them" in message
    assert f"--ended-job {JOB}" in message


def test_only_a_declared_end_accepts_a_damaged_latest_checkpoint() -> None:
    """R8 **T:** remove one SST; a CLAIM may have caused it in an ended job's directory."""
    over = (some_facts(status="CANCELED"),)
    missing = a_survey(missing_of_latest=["x"], newest_modified_at=ago("30d"))
    assert refusal(an_ended_job(survey=missing)) is None
    proven = a_job(before=over, after=over, survey=missing)
    assert refusal(proven) is Guard.DAMAGED_LATEST_ROOT
    unknown = a_job(before=(), after=(), survey=missing)
    assert refusal(unknown) is Guard.DAMAGED_LATEST_ROOT


@pytest.mark.parametrize(
    ("start", "before", "after", "expected"),
    [
        ({42, 43}, {42, 43}, {42, 43}, None),
        ({42, 43}, {43}, {43, 44}, None),
        ({43}, {44}, {43, 44}, Guard.UNSTABLE_ROOT),
        ({43}, {43}, {44}, Guard.UNSTABLE_ROOT),
        ({42, 43}, {42, 43}, {42, 44}, Guard.UNSTABLE_ROOT),
        ({98}, {98}, {101}, Guard.UNSTABLE_ROOT),
        (set(), {43}, {43}, Guard.UNSTABLE_ROOT),
        ({43}, set(), set(), Guard.UNSTABLE_ROOT),
    ],
)
def test_the_newest_root_of_the_start_must_stand_through_all_listings(
    start: set, before: set, after: set, expected: Guard | None
) -> None:
    """R12 **T:** a listing that sees neither ``chk-99`` nor ``chk-100``."""
    ids = zip(("ids_at_start", "ids_before", "ids_after"), (start, before, after), strict=True)
    assert refusal(a_job(**{name: frozenset(found) for name, found in ids})) is expected


def test_a_root_older_than_what_flink_completed_proves_nothing() -> None:
    """R12 **T:** a stale undeletable ``chk-5``."""
    stale = frozenset({5})
    job = a_job(own_checkpoints=(a_root(5),), ids_at_start=stale, ids_before=stale, ids_after=stale)
    assert refusal(job) is Guard.UNSTABLE_ROOT


@pytest.mark.parametrize(("id_", "expected"), [(43, None), (40, Guard.UNSTABLE_ROOT)])
def test_an_earlier_runs_checkpoint_is_never_the_stable_one(
    id_: int, expected: Guard | None
) -> None:
    """R12, 2.7: ids begin anew after a start without state, so ``chk-4711`` says nothing."""
    old = a_root(4711, age="100d")
    ids = frozenset({4711, id_})
    seen = {"ids_at_start": ids, "ids_before": ids, "ids_after": ids}
    job = a_job(own_checkpoints=(old, a_root(id_, age="1m")), **seen)
    assert refusal(job) is expected
    assert job.stable_id == (43 if expected is None else None)
    assert expected is not None or job.latest.checkpoint_id == id_


def test_a_checkpoint_that_the_answering_jobmanager_does_not_know_is_anothers() -> None:
    """R3, L6: a split brain, or the answer of another cluster."""
    roots = (a_root(42), a_root(43, age="1m"), a_root(44, age="1h"))
    job = a_job(own_checkpoints=roots)
    assert refusal(job) is Guard.TWO_OWNERS
    assert "chk-44 was stored after the start" in judge(job, a_cycle()).refused.message
    over = (some_facts(status="CANCELED"),)
    assert refusal(replace(job, before=over, after=over)) is Guard.TWO_OWNERS
    earlier = (some_facts(started_at=ago("30m")),)
    assert refusal(replace(job, before=earlier, after=earlier)) is None
    assert refusal(an_ended_job(own_checkpoints=roots)) is None
    former = some_facts(status="FAILED", checkpoints=(a_checkpoint(44),), latest_completed_id=44)
    both = (some_facts(), replace(former, started_at=ago("99d"), ended_at=ago("91d")))
    roots = (a_root(42), a_root(43, age="1h"), a_root(44, age="1m"))
    assert refusal(a_job(own_checkpoints=roots, before=both, after=both)) is Guard.TWO_OWNERS


def test_what_undelete_put_back_counts_by_the_time_at_which_it_was_written() -> None:
    """R3, R44: its bytes are those that the job wrote, and only its store time is new."""
    older, newer = a_root(42, age="1m"), a_root(43, age="1h")
    ended = (some_facts(status="CANCELED", started_at=ago("1d")),)
    job = replace(a_job(own_checkpoints=(older, newer)), before=ended, after=ended)
    assert "chk-42 was stored after" in judge(job, a_cycle()).refused.message
    back = {(str(older.folder), older.sha256): ago("2h")}
    assert refusal(job, a_cycle(written_at=back)) is not Guard.TWO_OWNERS
    other = {(str(older.folder), newer.sha256): ago("2h")}
    assert refusal(job, a_cycle(written_at=other)) is Guard.TWO_OWNERS


@pytest.mark.parametrize("discarded", [True, None])
def test_a_root_that_may_have_been_subsumed_meanwhile_proves_nothing(discarded) -> None:
    """R12: presence alone is no evidence; its deletion may lag."""
    history = (a_checkpoint(44), a_checkpoint(43, discarded=discarded))
    later = some_facts(latest_completed_id=44, checkpoints=history)
    assert refusal(a_job(after=(later,))) is Guard.UNSTABLE_ROOT
    kept = replace(later, checkpoints=(a_checkpoint(44), a_checkpoint(43)))
    assert refusal(a_job(after=(kept,))) is None


@pytest.mark.parametrize("status", ["RUNNING", "CANCELED", "FINISHED"])
def test_a_job_that_ends_during_the_listing_must_prove_its_root_like_any_other(status: str) -> None:
    """R12: it ran while the listings were made, so checkpoints may have hidden from both."""
    later = some_facts(
        status=status, latest_completed_id=99, checkpoints=(a_checkpoint(99), a_checkpoint(98))
    )
    assert refusal(a_job(after=(later,))) is Guard.UNSTABLE_ROOT
    assert refusal(a_job(after=(some_facts(status=status),))) is None


def test_a_cluster_where_the_job_ended_long_ago_has_no_say_in_subsumption() -> None:
    """R12: its history is about another life of the job; both of its answers are terminal."""
    over = some_facts(status="CANCELED", latest_completed_id=70, checkpoints=(a_checkpoint(70),))
    assert refusal(a_job(before=(some_facts(), over), after=(some_facts(), over))) is None


def test_an_ended_job_needs_no_stable_root() -> None:
    """R12: nothing changes between S0 and the end, and the proof is trivial."""
    over = (some_facts(status="CANCELED", latest_completed_id=99),)
    assert refusal(a_job(before=over, after=over)) is None


@pytest.mark.parametrize("count", [None, 0, 2, 3])
def test_more_than_one_checkpoint_at_once_refuses_whenever_it_is_seen(count: int | None) -> None:
    """R13 **T:** max_concurrent 2 voids; both times are asked."""
    many = (some_facts(max_concurrent=count),)
    assert refusal(a_job(before=many, after=many)) is Guard.GATE
    assert refusal(a_job(before=many)) is Guard.GATE
    assert refusal(a_job(after=many)) is Guard.GATE


@pytest.mark.parametrize("incarnation", ["1/3", "2/2", None])
def test_a_job_that_was_started_again_meanwhile_refuses(incarnation: str | None) -> None:
    """R13: same JM start."""
    again = (some_facts(incarnation=incarnation),)
    assert refusal(a_job(after=again)) is Guard.GATE


def exported(**changes: object):
    return a_job(snapshots=(a_snapshot(**changes),))


def test_an_exported_snapshot_makes_registry_mode() -> None:
    """Two modes of evidence; a derived snapshot knows no more than roots."""
    assert mode_of(exported()) is Mode.REGISTRY
    assert mode_of(exported(source=Mode.DERIVED)) is Mode.DERIVED
    assert mode_of(a_job()) is Mode.DERIVED
    assert refusal(exported()) is None
    assert refusal(exported(source=Mode.DERIVED)) is None


@pytest.mark.parametrize(
    ("taken_at", "expected"),
    [
        (T0 - REGISTRY_MAX_AGE, None),
        (ago("61m"), Guard.REGISTRY),
        (ago("1d"), Guard.REGISTRY),
        (ahead("15m"), None),
        (ahead("16m"), Guard.REGISTRY),
    ],
)
def test_a_snapshot_that_is_too_old_or_of_the_future_refuses(taken_at, expected) -> None:
    """R15: age below the limit."""
    assert refusal(exported(taken_at=taken_at)) is expected


@pytest.mark.parametrize(
    "change",
    [
        {"jm_epoch": "epoch-2"},
        {"sequence": 17},
        {"sequence": 16},
        {"taken_at": ago("6m")},
        {"retained": ()},
        {"checkpoint_dir": str(job_directory(OTHER_JOB))},
    ],
)
def test_two_snapshots_that_contradict_each_other_refuse(change: dict) -> None:
    """R15 **T:** each: same epoch and job, newer, oldest retained not back."""
    first = a_snapshot()
    second = a_snapshot(**{"sequence": 18, "taken_at": ago("1m"), **change})
    assert refusal(a_job(snapshots=(first, second))) is Guard.REGISTRY


def test_two_snapshots_that_follow_each_other_are_fine() -> None:
    """R15."""
    second = a_snapshot(sequence=18, taken_at=ago("1m"))
    assert refusal(a_job(snapshots=(a_snapshot(), second))) is None


def test_a_derived_snapshot_of_concurrent_checkpoints_refuses_unless_the_job_ended() -> None:
    """R13: the gate holds for derived evidence wherever it comes from."""
    many = (a_snapshot(source=Mode.DERIVED, max_concurrent=2),)
    assert refusal(a_job(snapshots=many)) is Guard.REGISTRY
    assert refusal(an_ended_job(snapshots=many)) is None


def test_concurrent_checkpoints_are_no_problem_for_a_true_registry() -> None:
    """T2: registry mode is safe at any concurrency."""
    many = (some_facts(max_concurrent=4),)
    job = a_job(before=many, after=many, snapshots=(a_snapshot(max_concurrent=4),))
    assert refusal(job) is None


@pytest.mark.parametrize("job", [a_job(), a_job(before=(), after=())])
def test_a_living_job_without_a_snapshot_is_never_judged_by_its_roots_instead(job) -> None:
    """R15: no snapshot => void, **never** fall back silently from registry to derived mode."""
    assert refusal(job, a_cycle(is_registry_mode=True)) is Guard.REGISTRY
    derived = replace(job, snapshots=(a_snapshot(source=Mode.DERIVED),))
    assert refusal(derived, a_cycle(is_registry_mode=True)) is Guard.REGISTRY
    own = replace(job, snapshots=(a_snapshot(),))
    assert refusal(own, a_cycle(is_registry_mode=True)) is None


def test_an_ended_job_needs_no_snapshot() -> None:
    """R15 asks each *running* job; an ended one has no JobManager to export anything."""
    assert refusal(an_ended_job(), a_cycle(is_registry_mode=True)) is None


@pytest.mark.parametrize("kind", [EntryKind.SEGMENT, EntryKind.DIRECTORY])
@pytest.mark.parametrize("source", [Mode.REGISTRY, Mode.DERIVED])
def test_a_registry_with_segments_or_directories_refuses(kind: EntryKind, source: Mode) -> None:
    """R2: file merging refuses the job in **both** modes, whatever source shows it."""
    entries = (RegistryEntry("shared/x", EntryKind.FILE, 1, 1, 1),)
    plain = a_snapshot(source=source, entries=RegistryEntries(entries))
    both = RegistryEntries([*entries, RegistryEntry("y", kind, 1, 1, 1)])
    merged = a_snapshot(source=source, entries=both)
    assert refusal(a_job(snapshots=(plain,))) is None
    assert refusal(a_job(snapshots=(merged,))) is Guard.UNPROVEN_LAYOUT
    assert refusal(an_ended_job(snapshots=(merged,))) is None  # R35


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (JobSettings(state_backend="ForStStateBackend"), "state backend ForStStateBackend"),
        (JobSettings(changelog=True), "the changelog state backend"),
        (JobSettings(state_backend="HashMapStateBackend", changelog=False), None),
        (JobSettings(), None),
    ],
)
def test_an_exporter_that_tells_of_an_unproven_layout_refuses(told, words) -> None:
    """R2, R55: also while REST says otherwise, or is not asked; silence refuses nothing."""
    snapshot = a_snapshot(settings=told)
    for job in (a_job(snapshots=(snapshot,)), a_job(before=(), after=(), snapshots=(snapshot,))):
        message = GUARDS[Guard.UNPROVEN_LAYOUT](job, a_cycle())
        assert message == (
            words
            and f"registry snapshot 17 says that the job uses {words}"
            + (", which is not known to be safe" if "ForSt" in words else "")
        )
    assert refusal(an_ended_job(snapshots=(snapshot,))) is None  # R35


def test_a_checkpoint_in_the_folder_of_another_one_refuses() -> None:
    """R8: put there by hand; ids say nothing then. Outside job directories any name will do."""
    moved = a_root(43, folder=job_directory().child("chk-5"))
    assert refusal(an_ended_job(own_checkpoints=(a_root(42), moved))) is Guard.MISPLACED_ROOT
    elsewhere = a_root(43, folder=job_directory().child("copy"), directory=None)
    assert refusal(a_job(own_checkpoints=(a_root(42), elsewhere))) is None


def test_the_slack_is_the_operators() -> None:
    """R29: configuration moves the margins, never the rules."""
    cycle = a_cycle(skew_seconds=60.0, margins=SafetyMargins(clock_skew=ahead("10s") - T0))
    assert refusal(cycle=cycle) is Guard.CLOCK_SKEW


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((42, 43), (42, 43), None),
        ((42, 43), (43, 44), None),
        ((41, 42), (42, 43), None),
        ((41,), (44,), None),
        ((), (41,), None),
        ((41,), (), None),
        ((41, 42), (41, 42), Guard.RETAINED_ROOT_MISSING),
        ((41,), (41,), Guard.RETAINED_ROOT_MISSING),
        ((44, 43), (44, 43), Guard.RETAINED_ROOT_MISSING),
    ],
)
def test_an_id_that_was_retained_all_the_time_must_be_seen_as_a_root(
    before, after, expected
) -> None:
    """R4, R8: its metadata was there before its entry, and goes after it."""
    job = a_job(held_before=(a_hold(*before),), held_after=(a_hold(*after),))
    assert refusal(job) is expected


@pytest.mark.parametrize("gone_from", ["ids_before", "ids_after"])
def test_a_retained_root_that_one_listing_does_not_show_refuses(gone_from: str) -> None:
    """R11: seen once is not seen all the time: that listing may hide more."""
    hold = (a_hold(42, 43),)
    job = a_job(held_before=hold, held_after=hold, **{gone_from: frozenset({43})})
    assert refusal(job) is Guard.RETAINED_ROOT_MISSING


def test_the_same_id_of_two_clusters_is_not_the_same_entry() -> None:
    """Ids are numbers of one counter each."""
    other = a_hold(41, cluster="kubernetes:flink/others", uri="kubernetes:flink/configmaps/o")
    job = a_job(held_before=(a_hold(41),), held_after=(other,))
    assert refusal(job, guards={k: GUARDS[k] for k in [Guard.RETAINED_ROOT_MISSING]}) is None


def test_a_root_that_flink_reports_elsewhere_counts_as_seen() -> None:
    """Claimed checkpoints, and savepoints in the completed store of Flink before 1.15."""
    hold = (a_hold(41, 42, 43),)
    job = a_job(held_before=hold, held_after=hold, reported_ids=frozenset({41}))
    assert refusal(job) is None


def test_of_a_job_whose_directory_is_not_listed_every_root_that_was_read_counts_as_seen() -> None:
    """Nothing lists it, so nothing can show ids; it is refused for that, and in those words."""
    hold = (a_hold(41, 42, 43),)
    unlisted = {"directories": (), **dict.fromkeys(("ids_before", "ids_after"), NO_IDS)}
    job = a_job(held_before=hold, held_after=hold, **unlisted)
    assert refusal(job) is Guard.RETAINED_ROOT_MISSING
    assert refusal(replace(job, reported_ids=frozenset({41}))) is Guard.UNSTABLE_ROOT


def test_two_clusters_with_ha_metadata_of_one_job_refuse() -> None:
    """R3, R39: at most one of them is what REST shows, and the other one's may be nowhere here."""
    other = a_hold(43, cluster="kubernetes:flink/others", uri="kubernetes:flink/configmaps/o")
    both = (a_hold(43), other)
    assert refusal(a_job(held_before=both, held_after=both)) is Guard.RETAINED_ROOT_MISSING
    none = (replace(a_hold(43), retained_ids=frozenset()), replace(other, retained_ids=frozenset()))
    assert refusal(a_job(held_before=none, held_after=none)) is Guard.TWO_OWNERS
    assert refusal(a_job(held_before=(other,), held_after=(a_hold(43),))) is Guard.TWO_OWNERS
    resource = a_hold(cluster="", uri="kubernetes:flink/FlinkDeployment/orders")
    assert refusal(a_job(held_before=(a_hold(43),), held_after=(resource,))) is None


def test_a_suspended_job_without_any_root_refuses_though_it_is_declared_ended() -> None:
    """R8: what HA metadata holds has something to go on from."""
    assert refusal(an_ended_job(**ROOTLESS)) is None
    assert refusal(an_ended_job(held_after=(a_hold(),), **ROOTLESS)) is Guard.NO_ROOTS


def test_a_directory_that_the_statement_about_all_does_not_cover_says_what_to_give() -> None:
    """Issue 13, L5: another product's directory, or a job that left nothing but shared files."""
    job = a_job(own_checkpoints=(), before=(), after=(), is_not_in_all=True)
    message = judge(job, a_cycle()).refused.message
    assert "--ended-job all does not cover it" in message
    assert message.endswith(f"--ended-job {JOB} states it")
