"""What an exporter must answer before its registry is believed: each violation, its own words."""

from dataclasses import replace
from datetime import timedelta

import pytest

from orphangc.core.decision.evidence import JobEvidence, mode_of
from orphangc.core.decision.judge import judge, judge_all
from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE, Exported, order_unproven
from orphangc.core.exporter.registry_snapshot import RetainedCheckpoint
from orphangc.core.model.codes import Condition, Guard
from orphangc.core.model.types import Mode
from support.builders import (
    JOB,
    OTHER_JOB,
    T0,
    a_cycle,
    a_job,
    a_root,
    a_snapshot,
    ago,
    ahead,
    an_ended_job,
    job_directory,
    some_facts,
)

E1 = a_snapshot(sequence=17, taken_at=ago("1m"), nonce="old")
E2 = a_snapshot(sequence=19, taken_at=ahead("10m"), nonce="N")


def answered(**changes: object) -> Exported:
    """Return what a living exporter answers after a listing of ten minutes."""
    exported = Exported(
        job_id=JOB,
        baseline=E1,
        response=E2,
        nonce="N",
        waited=timedelta(seconds=12),
        asked_at=ahead("9m"),
        heard_at=ahead("11m"),
        directories=frozenset({job_directory()}),
    )
    return replace(exported, **changes)


def a_job_with(exported: Exported | None = None, make=a_job, **changes: object) -> JobEvidence:
    """Return a job with what its exporter answered."""
    exported = exported or answered()
    return make(exported=exported, snapshots=exported.snapshots, **changes)


def refused(job: JobEvidence) -> str | None:
    """Return why the registry voids a job, which nothing else must do."""
    refusal = judge(job, a_cycle(is_registry_mode=True)).refused
    assert refusal is None or refusal.guard is Guard.REGISTRY
    return None if refusal is None else refusal.message


def blocks(job: JobEvidence) -> list[Condition]:
    return [each.condition for each in judge(job, a_cycle()).blocked]


def test_the_proven_order_lets_a_running_job_be_judged() -> None:
    """R14: nothing refuses and nothing blocks, with four checkpoints at once."""
    many = (some_facts(max_concurrent=4),)
    job = a_job_with(before=many, after=many)
    assert mode_of(job) is Mode.REGISTRY
    assert refused(job) is None
    assert blocks(job) == []
    assert blocks(a_job_with(before=(), after=())) == [Condition.GATE_NOT_SEEN], "R2: its backend"


def response(**changes: object) -> Exported:
    return answered(response=replace(E2, **changes))


@pytest.mark.parametrize(
    ("exported", "words"),
    [
        (
            answered(baseline=None, response=None),
            "its exporter has written no registry snapshot yet",
        ),
        (answered(unread="s3://x: at line 9: no JSON"), "cannot be read: s3://x: at line 9"),
        (
            answered(response=None),
            (
                "no registry snapshot repeated the nonce within 12 s: is the JobManager dead, its"
                " exporter off, or registry_wait too short?"
            ),
        ),
        (answered(response=E1), "repeated the nonce within 12 s"),
        (response(nonce="another collector's"), "repeated the nonce within 12 s"),
        (response(jm_epoch="epoch-2"), "was started again between the snapshots"),
        (
            replace(response(jm_epoch="epoch-2"), rival="epoch-2"),
            f"at once, epochs {E1.jm_epoch} and epoch-2: do two clusters run it",
        ),
        (
            answered(response=None, successor="epoch-2"),
            f"was replaced: epoch epoch-2 began after the last sign of epoch {E1.jm_epoch}",
        ),
        (
            replace(response(jm_epoch="epoch-2"), successor="epoch-2"),
            "was started again between the snapshots",
        ),
        (answered(successor="epoch-2"), "its JobManager was replaced"),
        (response(job_id=OTHER_JOB), "are of two jobs"),
        (response(checkpoint_dir="s3://b/else"), "checkpoint directory of job"),
        (response(sequence=16), "sequence 16 does not follow 17"),
        (response(sequence=17), "sequence 17 does not follow 17"),
        (response(taken_at=ago("2m")), "was taken before snapshot 17"),
        (response(retained=()), "oldest retained checkpoint went back from 42 to None"),
        (
            response(taken_at=ahead("27m")),
            (
                "registry snapshot 19 is dated 2026-11-21T14:27:00+00:00, in the future: the"
                " JobManager's clock is ahead"
            ),
        ),
        (
            answered(asked_at=ahead("26m"), heard_at=ahead("27m")),
            (
                "registry snapshot 19 is dated 2026-11-21T14:10:00+00:00, long before the nonce"
                " that it repeats: the JobManager's clock is behind"
            ),
        ),
        (
            answered(baseline=replace(E1, taken_at=T0 - REGISTRY_MAX_AGE - timedelta(seconds=1))),
            "is older than 1:00:00: has the exporter stopped?",
        ),
        (
            answered(
                baseline=replace(E1, taken_at=ahead("25m")),
                response=replace(E2, taken_at=ahead("26m")),
            ),
            "17 of 2026-11-21T14:25:00+00:00 is dated in the future",
        ),
        (answered(nonce=""), "its exporter was not asked to repeat a nonce"),
        (
            answered(directories=frozenset({job_directory(OTHER_JOB)})),
            "which is none of its directories here",
        ),
    ],
)
def test_each_violation_voids_in_its_own_words(exported: Exported, words: str) -> None:
    """R15 **T:** each; and never a silent fall back to derived mode."""
    job = a_job_with(exported)
    assert words in (refused(job) or "")
    assert mode_of(job) is Mode.REGISTRY


@pytest.mark.parametrize(
    "exported", [answered(nonce=""), answered(baseline=None), answered(response=None)]
)
def test_without_question_or_answer_the_order_is_unproven(exported: Exported) -> None:
    """R14: asked on its own, this says so too; nothing leans on who was asked first."""
    assert order_unproven(exported) == "its exporter was not asked to repeat a nonce"


@pytest.mark.parametrize(
    "exported",
    [
        response(taken_at=ahead("26m")),
        answered(asked_at=ahead("25m"), heard_at=ahead("26m")),
        answered(baseline=replace(E1, taken_at=T0 - REGISTRY_MAX_AGE)),
        answered(baseline=replace(E1, taken_at=ahead("9m"))),
        answered(
            baseline=replace(E1, taken_at=ahead("24m")), response=replace(E2, taken_at=ahead("24m"))
        ),
        answered(baseline=replace(E1, nonce=None)),
    ],
)
def test_what_is_just_within_the_limits_is_believed(exported: Exported) -> None:
    """The slack is the operator's, and includes its end."""
    assert refused(a_job_with(exported)) is None


def test_where_no_nonce_can_be_written_the_plan_is_a_report() -> None:
    """R14: blocked, since nothing contradicts the snapshots, and nothing proves their order."""
    for seen in (None, replace(E2, nonce=None)):
        job = a_job_with(answered(response=seen, unwritten="permission denied"))
        assert refused(job) is None
        assert blocks(job) == [Condition.REGISTRY_ORDER_UNPROVEN]
        assert "permission denied" in (order_unproven(job.exported) or "")


def test_an_ended_job_needs_no_answer_but_must_be_silent() -> None:
    """What a dead JobManager left lies there for ever; what goes on is not over."""
    old = replace(E1, taken_at=ago("30d"))
    silent = answered(baseline=old, response=None, nonce="")
    assert refused(a_job_with(silent, an_ended_job)) is None
    assert blocks(a_job_with(silent, an_ended_job)) == []
    torn = answered(baseline=old, response=None, nonce="", unread="half written")
    assert "half written" in (refused(a_job_with(torn, an_ended_job)) or "")
    talking = answered(baseline=old, response=replace(E2, taken_at=ago("29d")), nonce="")
    assert refused(a_job_with(talking, an_ended_job)) == (
        "the job is over, as is said, but its exporter goes on writing registry snapshots"
    )
    recent = answered(response=None, nonce="")
    assert blocks(a_job_with(recent, an_ended_job)) == [Condition.NOT_QUIET]


RETAINED = (RetainedCheckpoint(id=41, is_savepoint=False, path="chk-41"), *E1.retained)
BOTH = answered(baseline=replace(E1, retained=RETAINED), response=replace(E2, retained=RETAINED))


def test_a_checkpoint_that_both_snapshots_retain_must_be_a_root() -> None:
    """R8: S1 is read between them; otherwise no source names its private files."""
    refusal = judge(a_job_with(BOTH), a_cycle()).refused
    assert refusal is not None
    assert refusal.guard is Guard.RETAINED_ROOT_MISSING
    assert "checkpoint 41" in refusal.message
    for one in (
        answered(baseline=replace(E1, retained=RETAINED)),
        answered(response=replace(E2, retained=(replace(RETAINED[0], id=44), *E2.retained))),
    ):
        assert refused(a_job_with(one)) is None, "subsumed, or completed, meanwhile"


def test_what_both_snapshots_retain_may_be_seen_in_other_ways_than_by_both_listings() -> None:
    """R8: Flink's REST API tells where it is; or it was subsumed when E2 had been read."""
    assert refused(a_job_with(BOTH, reported_ids=frozenset({41}))) is None
    shown = frozenset({41, 42, 43})
    assert refused(a_job_with(BOTH, ids_before=shown, ids_after=frozenset({42, 43}))) is None


def test_of_an_ended_job_that_goes_on_that_is_said_and_not_what_a_listing_lacks() -> None:
    """Whoever reads it has to stop the job, not to look for a checkpoint."""
    assert refused(a_job_with(BOTH, an_ended_job)) == (
        "the job is over, as is said, but its exporter goes on writing registry snapshots"
    )


def test_directories_that_are_not_known_here_are_named_one_and_after_everything_else() -> None:
    """What the exporter itself does wrong comes first; a job without any has other guards."""
    elsewhere = frozenset(job_directory(each * 32) for each in "dbcae")
    sentence = (
        f"its exporter says that its checkpoints lie in {job_directory('a' * 32)}, which is none"
        " of its directories here: add it with --extra-root, or say with --alias what it means"
    )
    assert refused(a_job_with(answered(directories=elsewhere))) == sentence
    assert "is the JobManager dead" in (
        refused(a_job_with(answered(response=None, directories=elsewhere))) or ""
    )
    assert refused(a_job_with(answered(directories=elsewhere), directories=())) is None


def test_an_untested_release_only_reports() -> None:
    """R27: also where only the exporter tells the version."""
    for version in ("2.9.0", None):
        new = answered(response=replace(E2, flink_version=version))
        job = a_job_with(new, before=(), after=())
        assert blocks(job) == [Condition.GATE_NOT_SEEN, Condition.UNTESTED_FLINK_VERSION]
        message = judge(job, a_cycle()).blocked[1].message
        assert message == f"Flink {version or 'unknown'} is not in the tested list"


def test_an_untested_release_only_reports_whoever_tells_of_it() -> None:
    """R27: an exporter that was built for another release does not speak for the cluster."""
    facts = (some_facts(flink_version="2.9.0"),)
    job = a_job_with(answered(), before=facts, after=facts)
    assert blocks(job) == [Condition.UNTESTED_FLINK_VERSION]


def test_a_job_without_an_answer_stops_those_whose_files_it_needs() -> None:
    """R15: with several jobs referencing one directory each running one must answer."""
    own = a_job_with()
    silent = answered(job_id=OTHER_JOB, response=None)
    directory = job_directory(OTHER_JOB)
    other = a_job_with(
        silent,
        job=OTHER_JOB,
        depends_on=frozenset({JOB}),
        before=(),
        after=(),
        own_checkpoints=(a_root(42, job=OTHER_JOB),),
        directories=(directory,),
    )
    judged = judge_all([own, other], a_cycle(is_registry_mode=True))
    assert judged[OTHER_JOB].refused.guard is Guard.REGISTRY
    assert judged[JOB].refused.guard is Guard.DEPENDENT_JOB
    alone = judge_all([own, replace(other, depends_on=frozenset())], a_cycle(is_registry_mode=True))
    assert alone[JOB].refused is None
