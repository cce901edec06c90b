"""What the rules of areas are told of a job, from its evidence (R31, R45, R46)."""

from dataclasses import replace

import pytest

from orphangc.core.decision.bounds_of_job import area_facts_of, bounds_of_job
from orphangc.core.decision.judge import Judgement
from orphangc.core.exporter.exporter_answer import Exported
from orphangc.core.exporter.registry_snapshot import (
    IssuedCheckpoint,
    JobSettings,
    MergingSettings,
    RetainedCheckpoint,
)
from orphangc.core.model.bounds import NEVER, BoundName
from orphangc.core.model.types import AreaName, DirectoryLayout
from support.builders import (
    JOB,
    a_checkpoint,
    a_cycle,
    a_job,
    a_root,
    a_snapshot,
    a_survey,
    ago,
    some_facts,
    span,
)

ON_FILES = a_cycle(is_file_system=True)
STATED = a_job(is_declared_merged_within=True)


def shown(**changes: object):
    """Return REST's answer before and after the listing."""
    return {"before": (some_facts(**changes),), "after": (some_facts(**changes),)}


def test_a_checkpoint_that_was_put_back_is_no_newer_one_that_completed() -> None:
    """R17, R44: a job whose id comes back may run again in the directory of its earlier run."""
    back = replace(a_root(43), modified_at=ago("1h"))
    cycle = a_cycle(written_at={(str(back.folder), back.sha256): ago("9d")})
    job = replace(a_job(), own_checkpoints=(back,))
    bounds = bounds_of_job(job, Judgement(), cycle, None)
    assert bounds.newest_completed_at == ago("9d")
    assert bounds.cutoff <= ago("9d")


def test_a_job_without_a_checkpoint_shows_none_that_completed() -> None:
    """Nothing ends the quarantine but a checkpoint; only of an ended job is none needed."""
    bounds = bounds_of_job(replace(a_job(), own_checkpoints=()), Judgement(), a_cycle(), None)
    assert bounds.newest_completed_at == bounds.cutoff == NEVER


def test_the_first_snapshot_bounds_what_its_retained_and_pending_checkpoints_may_name() -> None:
    """R16, R4: ids issued before the oldest retained one are over; without one none is."""
    retained = RetainedCheckpoint(id=41, is_savepoint=False, path="chk-41")
    pending = tuple(IssuedCheckpoint(id=each, at=ago(f"{50 - each}h")) for each in (40, 42))
    job = a_job(snapshots=(a_snapshot(retained=(retained,), issued=pending),))
    bounds = bounds_of_job(job, Judgement(), a_cycle(), None)
    assert bounds.oldest_retained_checkpoint_id == 41
    (issued,) = (each.at for each in bounds.bounds if each.name is BoundName.OLDEST_ISSUED)
    assert ago("9h") < issued < ago("7h")


def test_files_are_merged_within_if_that_is_stated_and_nothing_else_is_seen() -> None:
    """R46."""
    assert area_facts_of(STATED, ON_FILES).not_merged_within is None
    merged = replace(a_root(43), layouts=frozenset({DirectoryLayout.MERGED}))
    assert (
        area_facts_of(replace(STATED, own_checkpoints=(merged,)), ON_FILES).not_merged_within
        is None
    )


@pytest.mark.parametrize(
    ("job", "cycle", "words"),
    [
        (a_job(), ON_FILES, "--merged-within"),
        (STATED, a_cycle(), "file systems alone"),
        (
            replace(
                STATED,
                own_checkpoints=(
                    replace(a_root(43), layouts=frozenset({DirectoryLayout.CHANGELOG})),
                ),
            ),
            ON_FILES,
            "stricter",
        ),
        (replace(STATED, survey=a_survey(areas={AreaName.FORST})), ON_FILES, "stricter"),
        (replace(STATED, survey=a_survey(areas={AreaName.CHANGELOG})), ON_FILES, "stricter"),
        (replace(STATED, survey=a_survey(sub_folders={"strange"})), ON_FILES, "strange"),
        (replace(STATED, **shown(changelog_enabled=True)), ON_FILES, "changelog"),
        (replace(STATED, **shown(state_backend="ForStStateBackend")), ON_FILES, "ForSt"),
    ],
)
def test_what_keeps_merged_files_is_named(job, cycle, words) -> None:
    """R46, R47, R56: the strictest rule of all layouts that are seen."""
    assert words in area_facts_of(job, cycle).not_merged_within


def exported(*told: MergingSettings | None):
    """Return what an exporter wrote before the listing, and after it."""
    written = [
        a_snapshot(sequence=17 + number, settings=JobSettings(merging=each))
        for number, each in enumerate(told)
    ]
    answer = Exported(job_id=JOB, baseline=written[0], response=written[-1], nonce="N")
    return {"snapshots": tuple(written), "exported": answer}


def merging(*, across: bool | None, enabled: bool | None = True) -> MergingSettings:
    """Return what the job's own configuration says."""
    return MergingSettings(enabled=enabled, across=across)


WITHIN = merging(across=False)


@pytest.mark.parametrize(
    "told", [(WITHIN,), (WITHIN, WITHIN), (merging(across=False, enabled=None),)]
)
def test_the_jobs_own_configuration_shows_that_files_are_merged_within(told) -> None:
    """R46, R55: every snapshot of the JobManager says so; one more statement changes nothing."""
    for job in (a_job(**exported(*told)), replace(STATED, **exported(*told))):
        assert area_facts_of(job, ON_FILES).not_merged_within is None


@pytest.mark.parametrize(
    "told",
    [
        (None, None),
        (WITHIN, None),
        (None, WITHIN),
        (merging(across=None),),
        (WITHIN, merging(across=None)),
    ],
)
def test_a_snapshot_that_does_not_tell_is_no_evidence_and_no_contradiction(told) -> None:
    """R55: null is the worst case; each TaskManager may have settings of its own."""
    job = a_job(**exported(*told))
    assert "does not show" in area_facts_of(job, ON_FILES).not_merged_within
    stated = replace(job, is_declared_merged_within=True)
    assert area_facts_of(stated, ON_FILES).not_merged_within is None


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((merging(across=True),), "is true in the job's own configuration"),
        ((WITHIN, merging(across=True)), "is true in the job's own configuration"),
        ((merging(across=True, enabled=None), WITHIN), "is true in the job's own configuration"),
        ((merging(across=False, enabled=False),), "merges no files"),
        ((merging(across=None, enabled=False), WITHIN), "merges no files"),
    ],
)
def test_what_the_configuration_contradicts_is_kept_whatever_is_stated(told, words) -> None:
    """R46, R47: of a statement and a snapshot that disagree, neither shows anything."""
    for job in (a_job(**exported(*told)), replace(STATED, **exported(*told))):
        assert words in area_facts_of(job, ON_FILES).not_merged_within


@pytest.mark.parametrize(
    ("changes", "cycle", "words"),
    [
        ({"exported": None}, ON_FILES, "does not show"),
        (shown(is_id_fixed=True), ON_FILES, "a fixed one"),
        (shown(max_concurrent=4), ON_FILES, "several checkpoints"),
        (shown(max_concurrent=None), ON_FILES, "several checkpoints"),
        ({}, a_cycle(), "file systems alone"),
        (shown(state_backend="ForStStateBackend"), ON_FILES, "ForSt"),
        ({"survey": a_survey(areas={AreaName.CHANGELOG})}, ON_FILES, "stricter"),
    ],
)
def test_the_configuration_is_never_stronger_than_the_statement(changes, cycle, words) -> None:
    """R46: all other conditions stay; a copied snapshot shows no living JobManager's word."""
    job = replace(a_job(**exported(WITHIN, WITHIN)), **changes)
    assert words in area_facts_of(job, cycle).not_merged_within


@pytest.mark.parametrize(
    ("by_rest", "by_exporter", "is_kept"),
    [
        ((), (1, 1), False),
        ((), (1, 4), True),
        ((), (None, None), True),
        ((1,), (None, None), False),
        ((1,), (4, 1), True),
        ((1, 4), (1, 1), True),
        ((None,), (1, 1), True),
    ],
)
def test_one_checkpoint_at_a_time_must_be_shown_and_nothing_may_say_otherwise(
    by_rest, by_exporter, is_kept
) -> None:
    """R46: in registry mode no gate asks for it; silence of REST shows nothing."""
    written = exported(*[WITHIN] * len(by_exporter))
    snapshots = [
        replace(each, max_concurrent=number)
        for each, number in zip(written["snapshots"], by_exporter, strict=True)
    ]
    answer = replace(written["exported"], baseline=snapshots[0], response=snapshots[-1])
    facts = tuple(some_facts(max_concurrent=each) for each in by_rest)
    job = a_job(snapshots=tuple(snapshots), exported=answer, before=facts, after=())
    problem = area_facts_of(job, ON_FILES).not_merged_within
    assert (problem is not None and "several checkpoints" in problem) == is_kept


def test_an_exporter_that_tells_of_a_stricter_layout_keeps_merged_files() -> None:
    """R56, R55: though REST shows a plain backend."""
    told = JobSettings(changelog=True, merging=WITHIN)
    job = replace(STATED, snapshots=(a_snapshot(settings=told),))
    assert "changelog" in area_facts_of(job, ON_FILES).not_merged_within


def test_the_log_is_bounded_by_the_trigger_of_the_newest_standing_checkpoint() -> None:
    """R45, R16: a JobManager's time against the store's, so twice the slack."""
    at = a_checkpoint(43).triggered_at
    assert area_facts_of(a_job(), a_cycle()).newest_trigger == at - span("30m")


@pytest.mark.parametrize(
    "changes",
    [
        {"checkpoints": ()},
        {"checkpoints": (a_checkpoint(42),)},
        {"checkpoints": (replace(a_checkpoint(43), is_savepoint=True),)},
        {"checkpoints": (replace(a_checkpoint(43), status="IN_PROGRESS"),)},
        {"checkpoints": (replace(a_checkpoint(43), discarded=True),)},
        {"latest_completed_id": 44},
        {"incarnation": None},
        {"status": "CANCELED"},
    ],
)
def test_without_a_shown_trigger_the_log_is_kept(changes) -> None:
    """R45, R12: REST's history is bounded, and absence proves nothing."""
    assert area_facts_of(a_job(**shown(**changes)), a_cycle()).newest_trigger is None


@pytest.mark.parametrize("field", ["triggered_at", "acknowledged_at"])
@pytest.mark.parametrize(("late", "is_known"), [("15m", True), ("16m", False)])
def test_a_clock_by_which_a_checkpoint_was_stored_before_it_was_complete_dates_no_trigger(
    field, late, is_known
) -> None:
    """R45: it was ahead, whatever it shows now; the checkpoint need not be the newest."""
    at = a_root(42).modified_at
    ahead = replace(a_checkpoint(42), **{"triggered_at": at, field: at + span(late)})
    for older, is_bounded in ((ahead, is_known), (replace(ahead, status="IN_PROGRESS"), True)):
        job = a_job(**shown(checkpoints=(older, a_checkpoint(43))))
        assert (area_facts_of(job, a_cycle()).newest_trigger is not None) == is_bounded


def test_two_clusters_that_run_the_job_show_no_completed_checkpoint() -> None:
    """R31: which of them is the run that goes on?"""
    twice = {"before": (some_facts(), some_facts()), "after": (some_facts(), some_facts())}
    facts = area_facts_of(a_job(**twice), a_cycle())
    assert (facts.completed_id, facts.newest_trigger) == (None, None)
    assert area_facts_of(a_job(), a_cycle()).completed_id == 43
    assert ago("1m") > area_facts_of(a_job(), a_cycle()).newest_trigger
