"""The rules of a safe collector, and what holds each: the tables of ``gc/SAFETY.md``.

    PYTHONPATH=tests python -m safety.rules.rules      # writes the tables anew

Guards, conditions and losses are found in the code: by the rules that the docstring of a guard,
of a condition or of a removal names, and by what answers each loss.

Their reasons stand in ``gc/RULES.md``.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from orphangc.core.decision.conditions import CONDITIONS
from orphangc.core.decision.guards import GUARDS
from safety.incidents.removals import REMOVALS
from safety.incidents.test_answers import stories
from safety.rules.promises import PROMISES
from support.generated import with_part

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "gc" / "SAFETY.md"
_RULE = re.compile(r"\bR\d+a?\b")
_RULES_MARKS = "<!-- generated: rules -->", "<!-- end -->"
_PROMISES_MARKS = "<!-- generated: promises -->", "<!-- end of promises -->"

RULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "R1": (
        "only names that Flink gives, at the depth where it gives them",
        (
            "properties/test_deciding.py::test_only_files_of_an_area_are_ever_removed",
            "flink_fixtures/test_fixtures.py::test_only_orphans_are_planned_for_removal",
        ),
    ),
    "R2": (
        "a job is refused whose layout shows no proof of what is live",
        (
            "unit/core/decision/test_guards.py::test_any_sub_folder_of_shared_refuses_a_job_that_may_run",
            "unit/core/cluster/test_job_facts.py::test_any_other_backend_shuts_the_gate",
            "unit/core/cluster/test_job_facts.py::test_a_job_without_a_graph_restarts_whatever_its_layout",
        ),
    ),
    "R3": (
        "one owner a directory",
        (
            "unit/core/decision/test_guards.py::test_a_stranger_that_writes_its_checkpoints_here_refuses",
            "unit/core/decision/test_guards.py::test_two_directories_with_roots_under_one_job_id_refuse",
        ),
    ),
    "R3a": (
        "nothing is deleted before the operator states that all checkpoints are searched",
        (
            "unit/core/decision/test_conditions.py::test_no_statement_that_all_roots_are_known_blocks_every_job",
            "integration/flink/test_collect.py::test_without_a_closed_world_orphans_are_shown_and_stay",
            "unit/core/discovery/test_expected_worlds.py::test_removing_resources_never_takes_anything_out_of_the_world",
        ),
    ),
    "R4": (
        "every checkpoint and savepoint that anything names protects its files",
        (
            "flink_fixtures/test_fixtures.py::test_every_checkpoint_that_flink_reads_is_a_root",
            "integration/flink/test_collect.py::test_files_that_only_a_claiming_job_elsewhere_names_stay",
        ),
    ),
    "R5": (
        "a reference protects by path, base name and UUID",
        (
            "unit/core/decision/test_decide.py::test_a_reference_covers_the_name_with_and_without_an_id",
            "properties/test_deciding.py::test_a_referenced_artifact_is_never_harmed",
        ),
    ),
    "R6": (
        "a checkpoint that cannot be read refuses every job",
        (
            "unit/core/decision/test_guards.py::test_an_unreadable_root_anywhere_refuses",
            "unit/collect/revalidate/test_revalidation.py::test_a_root_that_cannot_be_read_is_no_check_at_all",
        ),
    ),
    "R7": (
        "the raw bytes of checkpoints are a second oracle",
        (
            "unit/core/decision/test_decide.py::test_what_either_oracle_names_is_kept",
            "unit/flinkstate/metadata/test_references.py",
        ),
    ),
    "R8": (
        "no checkpoint, or a damaged latest one, proves nothing",
        (
            "unit/core/decision/test_guards.py::test_no_root_is_everything_is_garbage_only_for_a_declared_end",
            "unit/core/decision/test_guards.py::test_only_a_declared_end_accepts_a_damaged_latest_checkpoint",
        ),
    ),
    "R9": (
        "old by time and by id; neither makes up for the other",
        (
            "unit/core/decision/test_decide.py::test_an_old_id_does_not_make_up_for_a_young_time_nor_the_reverse",
            "properties/test_deciding.py::test_nothing_at_or_after_the_cutoff_is_ever_removed",
        ),
    ),
    "R10": (
        "one clock, the store's; a time that is not credible keeps",
        (
            "unit/core/decision/test_guards.py::test_a_store_clock_off_by_more_than_the_slack_refuses",
            "properties/test_deciding.py::test_what_has_no_credible_time_is_never_removed",
        ),
    ),
    "R11": (
        "REST is asked, and checkpoints are read, before and after the listing",
        (
            "unit/core/decision/test_conditions.py::test_a_running_job_must_be_seen_twice",
            "unit/core/cluster/test_job_facts.py::test_answers_are_as_old_as_the_longest_cache",
        ),
    ),
    "R12": (
        "one checkpoint is there through all listings, in each job that needs the files",
        (
            "unit/core/decision/test_guards.py::test_the_newest_root_of_the_start_must_stand_through_all_listings",
            "properties/test_judging.py::test_what_stops_a_living_job_stops_whatever_it_needs_and_nothing_else",
        ),
    ),
    "R13": (
        "checkpoints alone prove what is live only with one at a time, under one JobManager",
        (
            "unit/core/decision/test_guards.py::test_more_than_one_checkpoint_at_once_refuses_whenever_it_is_seen",
            "safety/model_checking/test_safety.py::test_no_way_leads_to_a_loss",
        ),
    ),
    "R14": (
        "registry mode: oldest id, listing, nonce, registry, checkpoints",
        ("safety/model_checking/test_safety.py::test_no_way_leads_to_a_loss",),
    ),
    "R15": (
        "snapshots of one JobManager, in order, whole and young; never a silent fall back",
        (
            "unit/core/exporter/test_exporter_answer.py::test_each_violation_voids_in_its_own_words",
            "unit/core/decision/test_guards.py::test_a_living_job_without_a_snapshot_is_never_judged_by_its_roots_instead",
        ),
    ),
    "R16": (
        "times of the JobManager get twice the slack",
        (
            "unit/core/model/test_bounds.py::test_registry_times_get_twice_the_slack",
            "safety/model_checking/test_safety.py::test_no_way_leads_to_a_loss",
        ),
    ),
    "R17": (
        "two cycles, and a newer checkpoint between them",
        (
            "unit/core/decision/test_decide.py::test_a_newer_checkpoint_must_have_completed_since_the_tombstone",
            "cli/test_sweep.py::test_a_referenced_object_with_a_tombstone_is_revived_and_halts_all",
        ),
    ),
    "R18": (
        "all evidence is checked again before each batch",
        (
            "unit/collect/revalidate/test_revalidation.py::test_whatever_the_evidence_rested_on_is_looked_at_each_time",
            "unit/collect/delete/test_deletion.py::test_every_batch_is_looked_at_before_and_after",
        ),
    ),
    "R19": (
        "nothing is deleted unless it is asked for; quarantine first; the same object or none",
        (
            "cli/test_sweep.py::test_nothing_is_deleted_without_delete",
            "contracts/storage/test_deleter.py::test_any_difference_from_the_judged_facts_keeps_the_object",
            "cli/test_undelete.py::test_deleted_objects_come_back_from_a_versioned_bucket",
        ),
    ),
    "R20": (
        "no more than a share of a job is deleted, and nothing of a job that seems to need nothing",
        (
            "unit/core/decision/test_conditions.py::test_a_living_job_that_needs_nothing_of_shared_blocks",
            "cli/test_sweep.py::test_a_limit_of_deletions_is_kept",
        ),
    ),
    "R21": (
        "exact keys only; no folder that holds anything, no pattern; one run at a time",
        (
            "contracts/storage/test_empty_folders.py::test_only_what_holds_nothing_is_removed",
            "contracts/storage/test_deleter.py::test_a_key_that_looks_like_a_glob_deletes_only_itself",
            "contracts/storage/test_deleter.py::test_a_folder_is_never_deleted",
            "unit/collect/state/test_lock.py::test_in_every_order_of_steps_at_most_one_living_run_holds_the_lock",
        ),
    ),
    "R22": (
        "a proof that failed stops all collection",
        (
            "unit/collect/delete/test_deletion.py::test_a_root_that_names_what_was_just_deleted_halts_everything",
            "cli/test_sweep.py::test_a_halt_is_lifted_by_a_person_alone",
            "cli/test_sweep.py::test_a_signal_waits_for_the_check_after_a_batch",
        ),
    ),
    "R23": (
        "each batch is journaled before it is deleted",
        (
            "unit/collect/delete/test_deletion.py::test_each_batch_is_written_down_before_it_is_deleted",
            "cli/test_crash.py::test_a_sweep_killed_before_any_step_of_its_deletions_is_finished_by_the_next",
        ),
    ),
    "R24": (
        "an id in a name only keeps more",
        (
            "unit/core/decision/test_decide.py::test_an_id_not_below_the_oldest_retained_less_the_margin_is_young",
        ),
    ),
    "R25": (
        "`chk-N` without `_metadata` goes by R31 and R35 alone",
        ("unit/core/areas/test_areas.py::test_only_a_checkpoint_below_the_completed_one_is_over",),
    ),
    "R26": (
        "directories of dead jobs: what no checkpoint names, by R35; `_metadata` never",
        (
            "unit/core/areas/test_areas.py::test_what_is_nearly_a_file_of_an_area_is_no_candidate",
            "flink_fixtures/test_fixtures.py::test_every_orphan_of_every_area_is_found_once_all_jobs_are_declared_ended",
        ),
    ),
    "R27": (
        "an untested release or storage is reported only",
        (
            "unit/core/decision/test_conditions.py::test_an_untested_flink_blocks_whenever_it_is_seen",
            "unit/core/decision/test_conditions.py::test_a_metadata_version_that_no_release_wrote_blocks_ended_jobs_too",
            "cli/test_prove.py::test_orphans_on_an_untested_kind_go_only_after_a_proof_of_that_storage",
        ),
    ),
    "R28": (
        "unfinished uploads and old versions are reported; old versions are never touched",
        (
            "contracts/storage/test_extras.py::test_an_unfinished_upload_is_told_with_the_bytes_of_its_parts",
            "contracts/storage/test_extras.py::test_noncurrent_versions_and_delete_markers_are_told",
        ),
    ),
    "R29": (
        "a setting can only make it more careful",
        (
            "properties/test_deciding.py::test_wider_margins_and_older_roots_never_move_the_cutoff_forward",
        ),
    ),
    "R30": (
        "state self-sustained is advice, never a deletion",
        ("unit/core/dependencies/test_self_sustained_rule.py",),
    ),
    "R31": (
        "`chk-N` of a running job: only below a checkpoint that its run completed",
        ("unit/core/areas/test_areas.py::test_only_a_checkpoint_below_the_completed_one_is_over",),
    ),
    "R34": (
        "files that a process may name later need positive evidence of the job's end",
        (
            "unit/core/areas/test_areas.py::test_files_that_a_process_may_still_name_need_a_proven_end",
            "unit/core/decision/test_guards.py::test_an_id_that_comes_back_needs_the_operators_statement",
        ),
    ),
    "R35": (
        "of a job that surely ended, what no checkpoint names, in every area",
        (
            "flink_fixtures/test_fixtures.py::test_every_orphan_of_every_area_is_found_once_all_jobs_are_declared_ended",
            "unit/core/areas/test_areas.py::test_each_file_belongs_to_one_area",
        ),
    ),
    "R33": (
        "a savepoint without `_metadata`: only while no job of the world is stopped or writes one",
        (
            "unit/core/cluster/test_pending_savepoints.py::test_only_what_the_counter_and_the_history_agree_on_is_no_savepoint",
            "cli/test_savepoint_folders.py::test_a_doubt_keeps_every_file_of_a_savepoint",
        ),
    ),
    "R45": (
        "of a running job's log only what was stored before a completed checkpoint was triggered",
        (
            "unit/core/areas/test_areas.py::test_the_log_of_a_running_job_is_judged_by_the_trigger_of_a_checkpoint",
            "unit/core/decision/test_bounds_of_job.py::test_a_clock_by_which_a_checkpoint_was_stored_before_it_was_complete_dates_no_trigger",
        ),
    ),
    "R46": (
        "merged files of a running job: merged within checkpoints, one at a time, on file systems",
        (
            "unit/core/areas/test_areas.py::test_merged_files_of_a_running_job_need_the_word_that_they_are_merged_within",
            "unit/core/decision/test_bounds_of_job.py::test_what_keeps_merged_files_is_named",
            "unit/core/decision/test_bounds_of_job.py::test_the_configuration_is_never_stronger_than_the_statement",
        ),
    ),
    "R50": (
        "unfinished uploads are aborted by the rules of their keys, if asked, after a quarantine",
        (
            "unit/collect/decide/test_judge_uploads.py::test_an_upload_of_a_running_job_is_dead_only_by_the_rule_of_its_key",
            "unit/collect/sweep/test_upload_abortion.py::test_the_sweep_that_finds_an_upload_only_marks_it",
        ),
    ),
    "R51": (
        "what is gone and may come back is shown with the command",
        (
            "unit/collect/decide/test_lost_checkpoints.py::test_each_checkpoint_that_lacks_a_file_is_named_with_the_command",
        ),
    ),
    "R56": (
        "a refusal stops an area unless its rule needs nothing that the guard asks for",
        (
            "unit/core/areas/test_areas.py::test_only_rules_that_need_neither_layout_nor_gate_withstand_a_refusal",
            "unit/core/decision/test_judge.py::test_an_area_is_spared_only_if_it_withstands_every_refusal",
        ),
    ),
    "R37": (
        "`taskowned/` stays while a checkpoint has the state of a write-ahead sink",
        (
            "unit/core/areas/test_areas.py::test_a_write_ahead_sink_keeps_what_it_names_in_state_bytes",
        ),
    ),
    "R39": (
        "HA metadata that retains a checkpoint which cannot be read refuses every job",
        (
            "unit/core/decision/test_judge.py::test_a_job_that_no_look_showed_may_need_the_files_of_any",
        ),
    ),
}


def _rules_of(check: Any) -> set[str]:
    return set(_RULE.findall((check.__doc__ or "").splitlines()[0]))


def guards_of(rule: str) -> list[str]:
    """Return the guards and conditions whose docstrings name a rule."""
    every = [*GUARDS.items(), *CONDITIONS.items()]
    return [str(name) for name, check in every if rule in _rules_of(check)]


_stories = cache(stories)


def losses_of(rule: str) -> list[str]:
    """Return the losses that the answers of a rule stand against."""
    answers = {name for name, removal in REMOVALS.items() if rule in _rules_of(removal)}
    answers |= {f"guard:{each}" for each in guards_of(rule)}
    answers |= {f"condition:{each}" for each in guards_of(rule)}
    return [
        name.removeprefix("test_")
        for name, by in _stories().items()
        if answers & {each for one in by for each in one.split(" + ")}
    ]


def _listed(words: Iterable[str]) -> str:
    return "<br>".join(f"`{word}`" for word in words) or " "


def table() -> str:
    lines = [
        "| rule | what | guards, conditions | tests, below `tests/` | losses that it answers |",
        "|---|---|---|---|---|",
    ]
    for rule, (what, tests) in RULES.items():
        columns = (rule, what, *map(_listed, (guards_of(rule), tests, losses_of(rule))))
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines)


def promises_table() -> str:
    """Return the tests of each promise as Markdown."""
    rows = [f"| {promise} | {_listed(tests)} |" for promise, tests in PROMISES.items()]
    return "\n".join(["| promise | tests, below `tests/` |", "|---|---|", *rows])


def page_with_tables(page: str) -> str:
    """Return the page with its tables as they are now."""
    return with_part(with_part(page, _PROMISES_MARKS, promises_table()), _RULES_MARKS, table())


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text()))
