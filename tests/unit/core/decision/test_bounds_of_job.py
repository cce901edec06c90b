"""What the rules of areas are told of a job, from its evidence (R31, R45, R46)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orphangc.core.decision.bounds_of_job import area_facts_of
from orphangc.core.model.types import AreaName, DirectoryLayout
from support.builders import a_checkpoint, a_cycle, a_job, a_root, a_survey, ago, some_facts, span

ON_FILES = a_cycle(is_file_system=True)
STATED = a_job(is_declared_merged_within=True)


def shown(**changes: object):
    """Return REST's answer before and after the listing."""
    return {"before": (some_facts(**changes),), "after": (some_facts(**changes),)}


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


def test_two_clusters_that_run_the_job_show_no_completed_checkpoint() -> None:
    """R31: which of them is the run that goes on?"""
    twice = {"before": (some_facts(), some_facts()), "after": (some_facts(), some_facts())}
    facts = area_facts_of(a_job(**twice), a_cycle())
    assert (facts.completed_id, facts.newest_trigger) == (None, None)
    assert area_facts_of(a_job(), a_cycle()).completed_id == 43
    assert ago("1m") > area_facts_of(a_job(), a_cycle()).newest_trigger
