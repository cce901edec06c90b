"""Every story here names what answers it, or why nothing can be taken away from it."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.helpers import Ran
from orphangc.core.areas.recognise import recognise
from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.guards import GUARDS
from orphangc.core.model.naming import place_of_folder
from safety.incidents.essential import must_be_there, why_no_loss
from safety.incidents.removals import REMOVALS
from support.builders import JOB
from support.leaks import SECRETS

HERE = Path(__file__).parent


def stories() -> dict[str, set[str]]:
    """Return the names of what answers each test."""
    found: dict[str, set[str]] = {}
    for file in sorted(HERE.glob("test_*.py")):
        if file == Path(__file__):
            continue
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
                continue
            marks = [
                mark
                for mark in node.decorator_list
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("answered_by")
            ]
            found[node.name] = {ast.literal_eval(each) for mark in marks for each in mark.args}
    return found


def test_every_story_is_answered_or_says_why_nothing_can_be_taken_away() -> None:
    """The table of README.md has the others, and nothing else."""
    unanswered = {name for name, answers in stories().items() if not answers}
    page = (HERE / "README.md").read_text().partition("## Without an answer to take away")[2]
    assert set(re.findall(r"`(test_\w+)`", page)) == unanswered


@pytest.mark.parametrize("removal", REMOVALS)
def test_each_answer_is_where_its_removal_looks_for_it(
    removal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stories run again without it in CI only: what was renamed shows here."""
    with monkeypatch.context() as patch:
        REMOVALS[removal](patch)


MUST_FAIL = {
    "R31 with the largest chk-*": (
        "test_r31_a_leftover_of_an_earlier_run_says_nothing_of_what_is_pending",
        "largest_chk_n_is_the_newest",
    ),
    "R31 without id": (
        "test_r31_a_pending_checkpoint_keeps_its_files_whatever_their_age",
        "rule_of_chk_n",
    ),
    "R45 with the bound of R9 and one retained": (
        "test_r45_a_checkpoint_that_was_held_does_not_bound_the_log",
        "trigger_bounds_the_log",
    ),
    "R46 with 4 concurrent": (
        "test_r46_a_merged_file_of_one_of_four_checkpoints_is_older_than_the_newest",
        "gate_of_merged_files",
    ),
    "R35 on a job merely quiet": (
        "test_r34_a_job_that_was_merely_quiet_may_still_name_its_files",
        "quiet_is_an_end",
    ),
    "R35 with an unlisted claimer": (
        "test_r35_a_claimer_that_nobody_listed_keeps_files_of_every_area",
        "condition:closed_world",
    ),
    "R42 whatever others name": (
        "test_r42_a_savepoint_that_a_checkpoint_was_restored_from_in_place_stays",
        "namers_of_savepoints",
    ),
    "R42 with a savepoint taken for self-contained": (
        "test_r42_a_savepoint_is_not_taken_for_self_contained",
        "self_contained_savepoints",
    ),
    "R44 with files first": (
        "test_r44_what_is_in_quarantine_can_be_put_back_whole",
        (
            "references_in_quarantine + condition:checkpoint_not_found"
            " + condition:job_directory_emptied"
        ),
    ),
    "R44 by directory": (
        "test_r44_what_a_claimer_names_stays_when_its_maker_expires",
        "metadata_alone",
    ),
    "R41 with the last K of each directory": (
        "test_r41_the_newest_of_a_directory_may_not_be_restorable",
        "rules_of_a_lineage",
    ),
    "R41 without an edge": (
        "test_r41_a_lineage_that_is_declared_dead_and_goes_on_keeps_all",
        "edges_of_lineages",
    ),
    "R50 aborting chk-<pending>/_metadata": (
        "test_r50_a_checkpoint_that_is_being_completed_is_an_upload",
        "rule_of_chk_n",
    ),
    "R33 without the counter of pending savepoints": (
        "test_r33_a_pending_savepoint_is_older_than_the_newest_checkpoint",
        "pending_savepoints",
    ),
}
"""Each control of a rule from R31 on, which must fail: its story, and the condition taken."""


@pytest.mark.parametrize("control", MUST_FAIL)
def test_each_must_fail_control_is_a_story_that_loses_without_its_condition(control: str) -> None:
    """Conftest runs it once more without the condition, where it must fail by a loss."""
    story, condition = MUST_FAIL[control]
    assert condition in stories()[story]


def test_no_metadata_is_ever_a_candidate() -> None:
    """So no control is needed of its deletion, whatever rule allows what is beside it."""
    for folder in ("chk-7", "savepoint-4ae4a2-0123456789ab"):
        place = place_of_folder(f"{JOB}/{folder}" if folder == "chk-7" else folder)
        assert recognise("_metadata", place).uuid is None


def taken_away() -> set[str]:
    """Return all that some test takes away, and fails without."""
    return {
        each for answers in stories().values() for name in answers for each in name.split(" + ")
    }


def test_every_removal_is_of_use() -> None:
    known = {f"guard:{each}" for each in GUARDS} | {f"condition:{each}" for each in CONDITIONS}
    assert taken_away() <= known | set(REMOVALS)
    assert set(REMOVALS) <= taken_away()


@pytest.mark.parametrize(
    "name", [*(f"guard:{each}" for each in GUARDS), *(f"condition:{each}" for each in CONDITIONS)]
)
def test_a_loss_is_told_for_every_guard_and_condition(name) -> None:
    """One that is added without a loss of its own fails here."""
    assert name in taken_away()


def a_failure(check: Callable[[], object]) -> str | None:
    with pytest.raises(AssertionError) as caught:
        check()
    return why_no_loss(caught.value, Path(__file__))


def test_only_the_fate_of_files_is_a_loss() -> None:
    """What a helper asserts is none, nor what a test asks besides."""

    def of_a_file() -> None:
        assert Path("/no such file").exists()

    def of_something_else() -> None:
        assert not str(HERE)

    assert a_failure(of_a_file) is None
    assert a_failure(lambda: must_be_there(HERE / "no such file")) is None
    assert "asks for no fate" in (a_failure(of_something_else) or "")
    assert "fails in helpers.py" in (a_failure(lambda: Ran(0, SECRETS[0], "")) or "")
