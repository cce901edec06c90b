"""The tests that hold each promise of ``gc/SAFETY.md``, by the name of the promise."""

from collections.abc import Mapping

PROMISES: Mapping[str, tuple[str, ...]] = {
    "names": ("properties/test_deciding.py::test_only_files_of_an_area_are_ever_removed",),
    "expiry": ("unit/core/lineage/test_checkpoint_fates.py::test_every_doubt_keeps",),
    "expiry-origin": (
        "safety/incidents/test_expiry_of_branches.py::test_r43_what_a_clone_began_with_stays_where_nothing_shows_it",
        "safety/incidents/test_storages.py::test_r43_what_a_clone_beside_the_storage_root_began_with_stays",
        "cli/test_lineage.py::test_a_job_holds_what_is_older_until_its_origin_was_seen",
        "cli/test_lineage.py::test_a_job_without_a_checkpoint_may_begin_with_what_is_older",
    ),
    "expiry-marker": (
        "safety/incidents/test_expiry.py::test_r44_a_state_location_that_is_lost_in_a_quarantine_blocks",
        "safety/incidents/test_expiry.py::test_r44_an_expiry_with_another_state_location_leaves_the_markers_of_the_first",
        "safety/incidents/test_expiry.py::test_r44_an_expiry_removes_no_marker_that_another_one_left_since",
        "safety/incidents/test_expiry.py::test_r44_an_expiry_of_the_same_folder_by_another_name_leaves_the_markers",
        "safety/incidents/test_storages.py::test_r44_a_storage_root_in_another_one_sees_the_markers_beside_it",
        "safety/incidents/test_expiry.py::test_r44_a_savepoint_in_quarantine_is_none_that_was_never_completed",
        "safety/incidents/test_expiry_of_branches.py::test_r44_a_state_location_that_was_set_back_remembers_no_quarantine_and_blocks",
        "safety/incidents/test_expiry_of_branches.py::test_r44_a_state_that_was_set_back_to_an_earlier_quarantine_blocks",
        "safety/incidents/test_expiry_of_branches.py::test_r44_an_acknowledged_loss_of_a_state_covers_no_later_one",
        "cli/test_expire.py::test_a_marker_stays_while_another_checkpoint_of_its_path_is_in_quarantine",
        "cli/test_expire.py::test_where_no_marker_can_be_written_nothing_expires",
        "cli/test_inventory_plan.py::test_a_quarantine_that_the_inventory_does_not_show_keeps_what_it_names",
    ),
    "whole-successor": (
        "safety/incidents/test_expiry_of_branches.py::test_r41_what_lost_the_bytes_of_a_file_stands_for_nothing",
        "cli/test_inventory_plan.py::test_a_checkpoint_that_lost_a_file_since_the_inventory_stands_for_nothing",
    ),
    "lineage": (
        "safety/model_checking/test_lineages.py::test_only_what_a_proven_job_continued_expires",
        "safety/incidents/test_expiry_of_branches.py::test_r41_a_rollback_to_an_old_savepoint_leaves_the_newest_state",
        "safety/incidents/test_expiry.py::test_r44_what_is_in_quarantine_can_be_put_back_whole",
    ),
    "reference": ("properties/test_deciding.py::test_a_referenced_artifact_is_never_harmed",),
    "unreadable": ("unit/core/decision/test_guards.py::test_an_unreadable_root_anywhere_refuses",),
    "raw-bytes": ("unit/core/decision/test_decide.py::test_what_either_oracle_names_is_kept",),
    "age": ("properties/test_deciding.py::test_what_has_no_credible_time_is_never_removed",),
    "running": (
        "safety/model_checking/test_safety.py::test_no_way_leads_to_a_loss",
        "unit/core/exporter/test_exporter_answer.py::test_each_violation_voids_in_its_own_words",
    ),
    "not-shown": (
        "properties/test_holding.py::test_a_job_that_is_held_and_not_shown_alive_is_never_deleted_from",
    ),
    "exclusive": (
        "unit/core/areas/test_areas.py::test_only_a_checkpoint_below_the_completed_one_is_over",
        "safety/incidents/test_areas.py::test_r31_a_leftover_of_an_earlier_run_says_nothing_of_what_is_pending",
    ),
    "ended-areas": (
        "safety/incidents/test_areas.py::test_r34_a_job_that_was_merely_quiet_may_still_name_its_files",
    ),
    "chains": (
        "properties/test_judging.py::test_what_stops_a_living_job_stops_whatever_it_needs_and_nothing_else",
    ),
    "siblings": (
        "safety/incidents/test_world.py::test_l1_storage_roots_of_one_file_see_each_other",
        "safety/incidents/test_world.py::test_l1_storage_roots_of_one_state_location_see_each_other",
        "safety/incidents/test_world.py::test_l4_a_job_directory_as_storage_root_is_as_safe_as_the_folder_around_it",
        "safety/incidents/test_world.py::test_l1_a_storage_root_that_cannot_be_searched_blocks",
        "safety/incidents/test_world_storages.py",
    ),
    "empty-place": (
        "safety/incidents/test_world.py::test_l2_a_place_without_a_checkpoint_does_not_count_as_searched",
        "safety/incidents/test_world.py::test_a_checkpoint_that_names_a_directory_nobody_searches_shows_a_larger_world",
    ),
    "discovery": (
        "unit/core/discovery/test_expected_worlds.py::test_resources_describe_exactly_the_expected_world",
        "unit/core/discovery/test_expected_worlds.py::test_a_field_of_another_type_blocks_or_changes_nothing",
        "unit/core/discovery/test_expected_worlds.py::test_removing_resources_never_takes_anything_out_of_the_world",
        "safety/incidents/test_discovery.py",
        "cli/test_hidden_writers.py",
    ),
    "folders": (
        "safety/incidents/test_world.py::test_a_folder_elsewhere_that_is_called_like_an_area_is_searched",
    ),
    "hiding": (
        "properties/test_monotonicity.py::test_hiding_deletes_nothing_more",
        "properties/test_monotonicity.py::test_without_its_condition_something_hidden_is_lost",
        "safety/incidents/test_memory.py::test_l3_a_claiming_job_that_rest_forgets_after_an_hour_keeps_its_files",
    ),
    "absence": (
        "unit/core/memory/test_doubted_explanations.py",
        "safety/incidents/test_expiry.py::test_r44_a_quarantine_that_is_over_explains_no_loss_of_what_was_stored_again",
        "safety/incidents/test_expiry.py::test_r44_an_expiry_that_was_killed_explains_no_later_loss",
    ),
    "snapshots-gone": (
        "safety/incidents/test_memory.py::test_registry_snapshots_that_are_gone_keep_what_they_named",
    ),
    "memory": (
        "safety/incidents/test_memory.py::test_a_memory_that_was_removed_beside_its_tombstones_is_lost",
        "safety/incidents/test_memory.py::test_a_memory_that_is_damaged_is_not_an_empty_one",
        "safety/incidents/test_memory.py::test_a_state_location_that_was_emptied_is_not_a_new_one",
    ),
    "acknowledgement": (
        "unit/core/memory/test_lost_facts.py::test_an_acknowledgement_covers_exactly_one_fact",
        "safety/incidents/test_memory.py::test_a_person_can_say_that_a_directory_is_gone_for_good",
        "safety/incidents/test_memory.py::test_a_word_on_a_state_that_was_not_mounted_covers_no_later_time",
        "safety/incidents/test_memory.py::test_a_word_on_a_reported_checkpoint_covers_no_later_one_at_its_path",
    ),
    "normal-course": (
        "safety/fleets/test_month.py::test_two_hundred_jobs_ask_nothing_in_a_month_and_their_memory_stays_small",
        "safety/fleets/test_month.py::test_a_claim_by_a_job_that_is_not_searched_asks_until_the_end",
    ),
    "identity": (
        "safety/incidents/test_identity.py::test_l6_prod_is_not_judged_by_what_staging_says_of_the_same_job_id",
        "safety/incidents/test_identity.py::test_l6_a_checkpoint_that_the_answering_jobmanager_does_not_know_refuses",
        "safety/fleets/test_identity.py::test_u1_six_clusters_of_one_job_id_below_a_common_root",
    ),
    "tombstone": (
        "properties/test_deciding.py::test_a_deletion_needs_an_older_tombstone_of_the_identical_object",
    ),
    "revalidation": (
        "unit/collect/revalidate/test_revalidation.py::test_whatever_the_evidence_rested_on_is_looked_at_each_time",
    ),
    "old-listing": (
        "cli/test_sweep.py::test_a_job_directory_that_the_plan_did_not_know_blocks",
        "cli/test_sweep.py::test_a_listed_file_that_the_latest_checkpoint_lost_since_the_plan_refuses",
        "cli/test_run.py::test_a_job_that_claims_a_checkpoint_after_the_cycle_protects",
        "flink_fixtures/test_fixtures.py::test_a_sweep_by_the_plans_listing_does_what_one_that_lists_does",
    ),
    "exact-key": (
        "contracts/storage/test_empty_folders.py::test_a_writer_at_the_same_time_loses_no_file",
        "cli/test_empty_folders.py::test_a_file_that_comes_in_between_keeps_its_folder",
        "cli/test_empty_folders.py::test_of_a_running_job_only_folders_of_checkpoints_that_are_over_go",
        "contracts/storage/test_deleter.py::test_any_difference_from_the_judged_facts_keeps_the_object",
        "contracts/storage/test_deleter.py::test_a_key_that_looks_like_a_glob_deletes_only_itself",
    ),
    "listing": (
        "contracts/s3/test_s3_answers.py",
        "contracts/s3/test_s3_requests.py::test_what_a_store_of_folders_lists_before_a_cut_is_not_lost_behind_it",
    ),
    "lock": (
        "unit/collect/state/test_lock.py::test_in_every_order_of_steps_at_most_one_living_run_holds_the_lock",
    ),
    "crash": (
        "cli/test_crash.py::test_a_sweep_killed_before_any_step_of_its_deletions_is_finished_by_the_next",
    ),
    "halt": (
        "unit/collect/delete/test_deletion.py::test_a_root_that_names_what_was_just_deleted_halts_everything",
        "unit/collect/delete/test_deletion.py::test_what_is_gone_when_it_is_asked_for_may_have_been_ours",
    ),
    "engines": (
        "properties/test_kernel.py::test_the_kernel_says_what_decide_says",
        "integration/spark/test_same_rows.py",
    ),
    "flink": (
        "unit/core/cluster/test_job_facts.py::test_only_releases_of_tested_lines_are_tested",
    ),
    "layouts": (
        "unit/core/decision/test_guards.py::test_any_sub_folder_of_shared_refuses_a_job_that_may_run",
    ),
    "clocks": (
        "unit/core/decision/test_guards.py::test_a_store_clock_off_by_more_than_the_slack_refuses",
    ),
    "storages": ("contracts/storage/test_lister.py", "contracts/storage/test_deleter.py"),
    "uuids": (
        "unit/core/decision/test_decide.py::test_a_reference_covers_the_name_with_and_without_an_id",
    ),
    "state-location": (
        "safety/incidents/test_memory.py::test_a_plan_that_cannot_remember_says_so",
        "safety/incidents/test_memory.py::test_a_new_state_location_says_so",
    ),
    "statements": (
        "unit/core/decision/test_guards.py::test_a_declared_end_that_rest_contradicts_refuses",
        "unit/core/decision/test_conditions.py::test_no_statement_that_all_roots_are_known_blocks_every_job",
    ),
}
