"""What to do about each guard that refused and each condition that is unmet; one sentence each."""

from __future__ import annotations

from collections.abc import Mapping

from orphangc.core.model.codes import Condition, Guard

GUARD_ADVICE: Mapping[str, str] = {
    Guard.UNREADABLE_ROOT: (
        "Repair the broken checkpoint (bring an archived object back), or remove it; if it must"
        " stay, name its exact bytes with --unsafe-acknowledge-root URI=SHA256. A file of another"
        " program that is called _metadata: leave its folder out with --search-except."
    ),
    Guard.ACKNOWLEDGED_ROOT: (
        "Nothing to do: the acknowledged checkpoint protects this directory; remove the"
        " checkpoint when no job needs it any more, and this job can be judged."
    ),
    Guard.CLOCK_SKEW: (
        "Synchronise this machine's clock (NTP) and plan again; raise --clock-skew only if the"
        " difference is known and constant."
    ),
    Guard.FUTURE_TIME: (
        "Find out who wrote a store time in the future; the job can be judged once that time"
        " has passed."
    ),
    Guard.COPIED_TREE: (
        "This directory was copied or restored from a backup, so its times say nothing of age."
        " Of a running job: plan again a grace period after its next checkpoint. Of a job that is"
        " over nothing lifts it: where orphangc users-of shows that nothing needs its checkpoints,"
        " delete the directory by hand."
    ),
    Guard.PARSER_DISAGREEMENT: (
        "Report this to the authors of orphangc together with the _metadata file; until it is"
        " understood nothing can be planned."
    ),
    Guard.UNPROVEN_LAYOUT: (
        "Nothing to do: with file merging, changelog or ForSt only Flink knows what"
        " is live; let Flink clean up this job itself."
    ),
    Guard.RESTARTING: (
        "Nothing to do: the job is starting or restarting, and the first plan that sees it run"
        " judges it; if it never runs again, find out why it gets no resources."
    ),
    Guard.UNKNOWN_OWNER: (
        "Name the job that writes to this directory with --owner, if it is one job only."
    ),
    Guard.TWO_OWNERS: (
        "Stop the job on one of the clusters, or move the older directory of checkpoints away"
        " and name it with --extra-root."
    ),
    Guard.ENDED_JOB_IS_RUNNING: (
        "Take the job out of --ended-job: it still runs, or another job writes its checkpoints."
        " In place of 'all', name each ended job by its id."
    ),
    Guard.NO_ROOTS: (
        "Wait for the job's first checkpoint; if the job is over for good, declare it with"
        " --ended-job."
    ),
    Guard.RETAINED_ROOT_MISSING: (
        "Find the checkpoint that the HA metadata names: give the storage that holds it with"
        " --extra-root; if it is lost, the job cannot be resumed from it, and its stale metadata"
        " must go before anything is deleted here."
    ),
    Guard.MISPLACED_ROOT: (
        "A checkpoint folder was copied or renamed: move it out of the job's directory and"
        " name it with --extra-root."
    ),
    Guard.DAMAGED_LATEST_ROOT: (
        "Look for the missing files first: check the aliases (--alias), --extra-root and what"
        " else deletes in this bucket; for a job that is over, --ended-job accepts the damage."
    ),
    Guard.UNSTABLE_ROOT: (
        "Raise state.checkpoints.num-retained, or the checkpoint interval, so that one checkpoint"
        " stays for as long as the listing takes; add with --extra-root a directory that is"
        " elsewhere."
    ),
    Guard.GATE: (
        "Without a registry snapshot a running job can be judged only with one concurrent"
        " checkpoint on plain RocksDB or heap state: change the job, or export its registry"
        " and pass --registry."
    ),
    Guard.REGISTRY: (
        "Check that the JobManager runs, and that its exporter still writes snapshots and repeats"
        " nonces (its log says why not); raise --registry-wait if it is only slow; for a job that"
        " is over, say so with --ended-job or remove its folder there."
    ),
    Guard.DEPENDENT_JOB: (
        "Resolve what stops the other job first: it was restored from this directory and still"
        " needs files in it."
    ),
}
"""Advice for each guard. A refused job keeps every file."""

LIFT_HALT = (
    "Where the cause is known and gone, or an undelete was the cause, run: orphangc sweep DIR"
    " --unsafe-clear-halt; DIR holds a new plan, and one sweep suffices."
)
"""What lifts a halt, wherever one is spoken of."""

CONDITION_ADVICE: Mapping[str, str] = {
    Condition.CLOSED_WORLD: (
        "Give every savepoint folder and every other storage whose checkpoints may refer here"
        " with --extra-root, then state with --closed-world that this is all there is."
    ),
    Condition.PLACE_UNREACHABLE: (
        "Make every storage root of the same configuration file and state location reachable: its"
        " jobs may need files here; if one is gone for good, take it out of the file, or state"
        " that with --empty-root."
    ),
    Condition.DISCOVERY_UNCLEAR: (
        "Correct the resource or file that is named, or say with discovery.alias what its path"
        " means; where nothing can be corrected any more, acknowledge it as the message says."
    ),
    Condition.PLACE_WITHOUT_CHECKPOINTS: (
        "Mount the place or correct its name; if it holds no checkpoint for good reason, state"
        " that with --empty-root."
    ),
    Condition.OUTSIDE_PATH: (
        "Search the place that is named with --extra-root, or say with --alias what the path"
        " means; if the place is gone or holds no checkpoint, state that with --empty-root."
    ),
    Condition.JOB_STATE_UNKNOWN: (
        "Name the cluster that runs the job with --flink-rest, or declare with --ended-job that"
        " the job is over."
    ),
    Condition.HELD_BY_HA: (
        "Resume the job and name its cluster with --flink-rest; if it is over for good, delete its"
        " Flink resource or its HA metadata first: a statement alone does not outweigh them."
    ),
    Condition.GATE_NOT_SEEN: (
        "Make sure that every --flink-rest endpoint, --kubernetes-ha namespace and --zookeeper-ha"
        " answers for the whole time of the listing, and plan again."
    ),
    Condition.NOT_QUIET: (
        "Wait until nothing has changed in the directory for the quiet period; if something keeps"
        " changing it, the job is not over."
    ),
    Condition.UNTESTED_FLINK_VERSION: (
        "Read the plan as a report only: this Flink release has not been tested with orphangc."
        " If a vendor built it from a tested release, and you know that its checkpoints work as"
        " the original's, name the exact version with --accept-flink-version."
    ),
    Condition.UNTESTED_STORAGE: (
        "Deletion has not been tested on this kind of storage: read the plan as a report, or prove"
        " the storage with orphangc doctor --prove."
    ),
    Condition.STORE_CLOCK_UNKNOWN: (
        "Reach the storage by an endpoint that reports its time (a Date header), or put the state"
        " location (--state) on the mounted file system, beside the storage root; without it no"
        " object has a known age."
    ),
    Condition.REGISTRY_ORDER_UNPROVEN: (
        "Give with --registry the folder that the exporter inside the JobManager writes into, and"
        " the right to write the nonces there; a snapshot alone does not prove that it is newer"
        " than the listing."
    ),
    Condition.NOTHING_PROTECTED: (
        "Check --alias and --extra-root: a running job whose checkpoints use nothing of shared/"
        " usually means that its paths are spelled otherwise."
    ),
    Condition.DEPENDENT_JOB: (
        "Resolve what blocks the other job, as the message says: in the settings of the storage"
        " root that holds it, where a statement about a job counts for the whole file."
    ),
    Condition.PLACE_LOST: (
        "Mount the place, or give it again with --extra-root; if its checkpoints are gone for"
        " good, say so with orphangc world acknowledge."
    ),
    Condition.PLACE_REPLACED: (
        "Mount again what was mounted there; if the place has moved for good, say so with orphangc"
        " world acknowledge."
    ),
    Condition.JOB_DIRECTORY_EMPTIED: (
        "Find out what removed the checkpoints, and restore them if a job may need them; if they"
        " are gone for good, say so with orphangc world acknowledge."
    ),
    Condition.CHECKPOINT_NOT_FOUND: (
        "Add the place of the checkpoint with --extra-root, or say with --alias what its path"
        " means; if it is gone for good, say so with orphangc world acknowledge."
    ),
    Condition.CLUSTER_SILENT: (
        "Ask the cluster again with --flink-rest, --kubernetes-ha or --zookeeper-ha; if its jobs"
        " are over, declare each with --ended-job and its id."
    ),
    Condition.STATE_LOST: (
        "Give the state location of the earlier cycles with --state, or restore what is missing in"
        " it; if that is lost for good, say so with orphangc world acknowledge."
    ),
    Condition.MEMORY_UNREADABLE: (
        "Restore the file of the state location that the message names; if it is lost for good,"
        " say so with orphangc world acknowledge."
    ),
    Condition.HALTED: (
        "An earlier run found that something in use had been judged an orphan: find out why"
        f" before anything else. {LIFT_HALT}"
    ),
    Condition.REVIVED: (
        "Something that had a tombstone is in use again: find out which checkpoint brought it"
        f" back before anything is deleted here. {LIFT_HALT}"
    ),
    Condition.MAX_DELETE_SHARE: (
        "Look at the orphans; if the share is right, give --max-delete-share JOB=SHARE for this job"
        " alone."
    ),
    Condition.MAX_DELETES: (
        "Look at the orphans; if the number is right, raise --max-deletes for this one plan."
    ),
}
"""Advice for each condition. The plan of a blocked job is a report; ``sweep`` deletes nothing of
it.
"""

_ELSE = "See the message; another version of orphangc made this plan."


def guard_advice(guard: str) -> str:
    """Return the advice about a guard, by its name in the plan."""
    return GUARD_ADVICE.get(guard, _ELSE)


def condition_advice(condition: str) -> str:
    """Return the advice about an unmet condition, by its name in the plan."""
    return CONDITION_ADVICE.get(condition, _ELSE)
