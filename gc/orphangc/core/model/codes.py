"""The names of guards and conditions in plan, log and metric."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from orphangc.core.model.types import JobState

NOT_FOLLOWED = "is not followed"
"""Words of every message about a symbolic link in the place of a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFacts:
    """What the name of a guard alone says of its objection.

    Attributes:
        is_global: Whether an objection for one job refuses all jobs: the cause is not the job's
            own.
        contradicts_end: Whether it finds of a job which is said to be over that it is not, whatever
            else refuses it.
        passes_while: States of the job in which the next cycle may find it lifted without a change
            of settings.
    """

    is_global: bool = False
    contradicts_end: bool = False
    passes_while: frozenset[JobState] = frozenset()


_OF_ITS_JOB = GuardFacts()
_OF_ALL = GuardFacts(is_global=True)
_CONTRADICTING = GuardFacts(contradicts_end=True)
_PASSING = GuardFacts(passes_while=frozenset(JobState))
_FIRST_TO_COME = GuardFacts(passes_while=frozenset({JobState.RUNNING}))
"""A running job completes its first checkpoint one day."""


class Guard(StrEnum):
    """Guard that refused a job's work; a name without its facts is no member."""

    facts: GuardFacts

    def __new__(cls, value: str, facts: GuardFacts) -> Self:
        """Return a member."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.facts = facts
        return member

    UNREADABLE_ROOT = "unreadable_root", _OF_ALL
    ACKNOWLEDGED_ROOT = "acknowledged_root", _OF_ITS_JOB
    CLOCK_SKEW = "clock_skew", _OF_ALL
    FUTURE_TIME = "future_time", _PASSING
    COPIED_TREE = "copied_tree", _OF_ITS_JOB
    PARSER_DISAGREEMENT = "parser_disagreement", _OF_ALL
    UNPROVEN_LAYOUT = "unproven_layout", _OF_ITS_JOB
    RESTARTING = "restarting", _OF_ITS_JOB
    UNKNOWN_OWNER = "unknown_owner", _OF_ITS_JOB
    TWO_OWNERS = "two_owners", _CONTRADICTING
    ENDED_JOB_IS_RUNNING = "ended_job_is_running", _CONTRADICTING
    NO_ROOTS = "no_roots", _FIRST_TO_COME
    RETAINED_ROOT_MISSING = "retained_root_missing", _OF_ALL
    MISPLACED_ROOT = "misplaced_root", _OF_ITS_JOB
    DAMAGED_LATEST_ROOT = "damaged_latest_root", _OF_ITS_JOB
    UNSTABLE_ROOT = "unstable_root", _PASSING
    GATE = "gate", _OF_ITS_JOB
    REGISTRY = "registry", _CONTRADICTING
    DEPENDENT_JOB = "dependent_job", _OF_ITS_JOB


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

OTHERS_UNKNOWN = WORLD_CONDITIONS | {Condition.GATE_NOT_SEEN, Condition.CLOSED_WORLD}
"""Conditions under which some job may need files of any place, unseen: one of a cluster that does
not answer may have been restored from anything."""

_REFUSE_ALL = (each for each in Guard if each.facts.is_global)
NEED_UNKNOWN = frozenset(map(str, (*_REFUSE_ALL, *OTHERS_UNKNOWN, Guard.DEPENDENT_JOB)))
"""Names of all that stops a job while a checkpoint that is not known may need its files."""
