"""Headlines of problems; ``advice.py`` holds the advice about guards and conditions."""

from __future__ import annotations

from collections.abc import Mapping

from orphangc.core.model.codes import Condition, Guard

STOP_TITLES: Mapping[str, str] = {
    Guard.UNREADABLE_ROOT: "A checkpoint cannot be read",
    Guard.ACKNOWLEDGED_ROOT: "Kept because of a checkpoint known to be broken",
    Guard.CLOCK_SKEW: "Two clocks disagree",
    Guard.FUTURE_TIME: "Something is dated in the future",
    Guard.COPIED_TREE: "A directory was copied, so that ages say nothing",
    Guard.PARSER_DISAGREEMENT: "A checkpoint names files that orphangc did not understand",
    Guard.UNPROVEN_LAYOUT: "A layout that only Flink can judge",
    Guard.RESTARTING: "A job is starting or restarting",
    Guard.UNKNOWN_OWNER: "A directory without a known owner",
    Guard.TWO_OWNERS: "Two owners of one directory",
    Guard.ENDED_JOB_IS_RUNNING: "A job declared ended is alive",
    Guard.NO_ROOTS: "A job without any checkpoint yet",
    Guard.MISPLACED_ROOT: "A checkpoint is in another one's folder",
    Guard.DAMAGED_LATEST_ROOT: "A job's latest checkpoint is damaged",
    Guard.UNSTABLE_ROOT: "Checkpoints come and go faster than they can be listed",
    Guard.RETAINED_ROOT_MISSING: "A checkpoint that a job would resume from is not to be found",
    Guard.GATE: "A running job cannot be judged without its registry",
    Guard.REGISTRY: "Registry snapshots are missing, stale or contradict each other",
    Guard.DEPENDENT_JOB: "Kept because another job may need it",
    Condition.CLOSED_WORLD: "It is not yet stated that all checkpoints are known",
    Condition.DISCOVERY_UNCLEAR: "A Flink deployment is not understood",
    Condition.PLACE_UNREACHABLE: "A place that must be searched cannot be reached",
    Condition.PLACE_WITHOUT_CHECKPOINTS: "A searched place holds no checkpoint",
    Condition.OUTSIDE_PATH: "A checkpoint is in no searched place",
    Condition.JOB_STATE_UNKNOWN: "Unknown whether jobs run or have ended",
    Condition.HELD_BY_HA: "A job is suspended, not over",
    Condition.GATE_NOT_SEEN: "Flink or its metadata did not answer during the whole listing",
    Condition.NOT_QUIET: "An ended job's directory still changes",
    Condition.UNTESTED_FLINK_VERSION: "A Flink release that is not tested yet",
    Condition.UNTESTED_STORAGE: "A kind of storage that is not tested yet",
    Condition.STORE_CLOCK_UNKNOWN: "The storage does not report its time",
    Condition.REGISTRY_ORDER_UNPROVEN: "Registry snapshots do not prove their order",
    Condition.NOTHING_PROTECTED: "A running job seems to use nothing that is stored",
    Condition.PLACE_LOST: "A place that held checkpoints holds none any more",
    Condition.PLACE_REPLACED: "A place is on another file system or bucket than before",
    Condition.JOB_DIRECTORY_EMPTIED: "A job's checkpoints have disappeared",
    Condition.CHECKPOINT_NOT_FOUND: "A checkpoint that was reported or seen is not to be found",
    Condition.CLUSTER_SILENT: "A cluster with living jobs is not heard any more",
    Condition.STATE_LOST: "The state location does not hold what earlier cycles left",
    Condition.MEMORY_UNREADABLE: "The memory of earlier cycles cannot be read",
    Condition.HALTED: "Deletion was halted: something in use had been judged an orphan",
    Condition.REVIVED: "Something that had a tombstone is in use again",
    Condition.MAX_DELETE_SHARE: "Suspiciously large part of a job would go",
    Condition.MAX_DELETES: "More would go than is allowed at once",
}
"""Headline of each guard and condition; ``dependent_job`` is both and has one headline."""

TROUBLES: Mapping[str, tuple[str, str]] = {
    "not_ready": (
        "The daemon is not ready",
        "Look at the log of the daemon; /readyz says the same as this.",
    ),
    "undiscovered": (
        "Discovery failed: new storage roots are not found",
        (
            "Lift what the message names; orphangc discover, with the same configuration, shows"
            " what is read. Storage roots that are known already go on as their own runs say."
        ),
    ),
    "missing": (
        "Files that checkpoints refer to are missing",
        (
            "See in the run which jobs are damaged. Check the aliases (--alias), --extra-root, and"
            " what else deletes in this bucket; orphangc undelete brings back what a run deleted"
            " from a versioned bucket."
        ),
    ),
    "old": (
        "There is no recent plan",
        (
            "Look at why newer runs made none; until one does, the numbers here are old, and nobody"
            " looks for orphans."
        ),
    ),
    "doubt": (
        "There is a doubt about a plan",
        "Check whether that is meant; if it is, nothing is to do.",
    ),
    "stopped": (
        "A sweep ended early",
        "If the reason has passed nothing is to do: the next run goes on with what is left.",
    ),
}
"""Headline and advice of other problems, by a name of their own."""
