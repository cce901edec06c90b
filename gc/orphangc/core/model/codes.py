"""The names of guards and conditions in plan, log and metric."""

from __future__ import annotations

from enum import StrEnum

NOT_FOLLOWED = "is not followed"
"""Words of every message about a symbolic link in the place of a checkpoint."""


class Guard(StrEnum):
    """Guard that refused a job's work."""

    UNREADABLE_ROOT = "unreadable_root"
    ACKNOWLEDGED_ROOT = "acknowledged_root"
    CLOCK_SKEW = "clock_skew"
    FUTURE_TIME = "future_time"
    COPIED_TREE = "copied_tree"
    PARSER_DISAGREEMENT = "parser_disagreement"
    UNPROVEN_LAYOUT = "unproven_layout"
    RESTARTING = "restarting"
    UNKNOWN_OWNER = "unknown_owner"
    TWO_OWNERS = "two_owners"
    ENDED_JOB_IS_RUNNING = "ended_job_is_running"
    NO_ROOTS = "no_roots"
    RETAINED_ROOT_MISSING = "retained_root_missing"
    MISPLACED_ROOT = "misplaced_root"
    DAMAGED_LATEST_ROOT = "damaged_latest_root"
    UNSTABLE_ROOT = "unstable_root"
    GATE = "gate"
    REGISTRY = "registry"
    DEPENDENT_JOB = "dependent_job"


class Condition(StrEnum):
    """Which condition of deletion is unmet."""

    CLOSED_WORLD = "closed_world"
    DISCOVERY_UNCLEAR = "discovery_unclear"
    PLACE_UNREACHABLE = "place_unreachable"
    PLACE_WITHOUT_CHECKPOINTS = "place_without_checkpoints"
    OUTSIDE_PATH = "outside_path"
    JOB_STATE_UNKNOWN = "job_state_unknown"
    HELD_BY_HA = "held_by_ha"
    GATE_NOT_SEEN = "gate_not_seen"
    NOT_QUIET = "not_quiet"
    UNTESTED_FLINK_VERSION = "untested_flink_version"
    UNTESTED_STORAGE = "untested_storage"
    STORE_CLOCK_UNKNOWN = "store_clock_unknown"
    REGISTRY_ORDER_UNPROVEN = "registry_order_unproven"
    NOTHING_PROTECTED = "nothing_protected"
    DEPENDENT_JOB = "dependent_job"
    PLACE_LOST = "place_lost"
    PLACE_REPLACED = "place_replaced"
    JOB_DIRECTORY_EMPTIED = "job_directory_emptied"
    CHECKPOINT_NOT_FOUND = "checkpoint_not_found"
    CLUSTER_SILENT = "cluster_silent"
    STATE_LOST = "state_lost"
    MEMORY_UNREADABLE = "memory_unreadable"
    HALTED = "halted"
    REVIVED = "revived"
    MAX_DELETE_SHARE = "max_delete_share"
    MAX_DELETES = "max_deletes"


MEMORY_CONDITIONS = frozenset(
    {
        Condition.PLACE_LOST,
        Condition.PLACE_REPLACED,
        Condition.JOB_DIRECTORY_EMPTIED,
        Condition.CHECKPOINT_NOT_FOUND,
        Condition.CLUSTER_SILENT,
        Condition.STATE_LOST,
        Condition.MEMORY_UNREADABLE,
    }
)
"""Conditions about facts of earlier cycles that have disappeared."""

WORLD_CONDITIONS = MEMORY_CONDITIONS | {
    Condition.DISCOVERY_UNCLEAR,
    Condition.PLACE_UNREACHABLE,
    Condition.PLACE_WITHOUT_CHECKPOINTS,
    Condition.OUTSIDE_PATH,
}
"""Conditions about places that were not searched: while one is unmet, no tombstone is laid.

An orphan of such a cycle may be in use elsewhere. A tombstone for it would halt all collection as
soon as the missing place is searched, and its quarantine would have begun too early.
"""

GLOBAL_GUARDS = frozenset(
    {
        Guard.UNREADABLE_ROOT,
        Guard.CLOCK_SKEW,
        Guard.PARSER_DISAGREEMENT,
        Guard.RETAINED_ROOT_MISSING,
    }
)
"""Guards whose objection for one job refuses all jobs: the cause is not the job's own."""

OTHERS_UNKNOWN = WORLD_CONDITIONS | {Condition.GATE_NOT_SEEN, Condition.CLOSED_WORLD}
"""Conditions under which some job may need files of any place, unseen: one of a cluster that does
not answer may have been restored from anything."""

NEED_UNKNOWN = frozenset(map(str, (*GLOBAL_GUARDS, *OTHERS_UNKNOWN, Guard.DEPENDENT_JOB)))
"""Names of all that stops a job while a checkpoint that is not known may need its files."""
