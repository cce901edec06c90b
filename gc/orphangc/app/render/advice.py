"""What each problem is called, and what to do about it: one sentence each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orphangc.app.console.text import entries
from orphangc.core.model.codes import NOT_FOLLOWED, Condition, Guard


@dataclass(frozen=True, slots=True)
class Advice:
    """What a problem is called, and what to do about it.

    Attributes:
        waits: Whether time resolves it, or nothing does: no person has to act.
    """

    title: str
    text: str
    waits: bool = False


def _advice(table: str, codes: Iterable[str] = ()) -> Mapping[str, Advice]:
    """Return the advice in a table; it has each of some codes, and no other, if they are given."""
    found = {e.code: Advice(e.title, e.text, waits=e.mark == "waits") for e in entries(table)}
    wrong = {*codes} ^ found.keys() if codes else ()
    if wrong:
        raise ValueError(f"advice is there for what is no code, or lacks: {sorted(wrong)}")
    return found


GUARDS = _advice(
    """\
unreadable_root: A checkpoint cannot be read
    Give this program the right to read it, if it may be whole. Repair a broken checkpoint (bring an
    archived object back), or remove it; if it must stay, name its exact bytes with
    --unsafe-acknowledge-root URI=SHA256. A file of another program that is called _metadata: leave
    its folder out with --search-except.
acknowledged_root (waits): Kept because of a checkpoint known to be broken
    Nothing to do: the acknowledged checkpoint protects this directory; remove the checkpoint when
    no job needs it any more, and this job can be judged.
clock_skew: Two clocks disagree
    Synchronise this machine's clock (NTP) and plan again; raise --clock-skew only if the difference
    is known and constant.
future_time: Something is dated in the future
    Find out who wrote a store time in the future; the job can be judged once that time has passed.
copied_tree (waits): A directory was copied, so that ages say nothing
    This directory was copied or restored from a backup, so its times say nothing of age. Of a
    running job: plan again a grace period after its next checkpoint. Of a job that is over nothing
    lifts it: where orphangc users-of shows that nothing needs its checkpoints, delete the directory
    by hand.
parser_disagreement: A checkpoint names files that orphangc did not understand
    Report this to the authors of orphangc together with the _metadata file; until it is understood
    nothing can be planned.
unproven_layout (waits): A layout whose files a running job may use again
    Nothing to do: with file merging, changelog or ForSt, a running job may use a file again that no
    checkpoint names. What areas of it can be proven is collected all the same; the rest stays until
    the job is surely over.
restarting (waits): A job is starting or restarting
    Nothing to do: the job is starting or restarting, and the first plan that sees it run judges it;
    if it never runs again, find out why it gets no resources.
unknown_owner: A directory without a known owner
    Name the job that writes to this directory with --owner, if it is one job only.
two_owners: Two owners of one directory
    Ask one cluster by one address alone; stop the job on one of two clusters; or move the older
    directory of checkpoints away and name it with --extra-root.
ended_job_is_running: A job declared ended is alive
    Take the job out of --ended-job: it still runs, or another job writes its checkpoints. In place
    of 'all', name each ended job by its id.
no_roots (waits): No checkpoint is to be seen
    Of a job that runs, wait for the first checkpoint; a job that is over for good, declare with
    --ended-job and its id, also where Flink discarded its checkpoints. Where no job at all is
    found, correct the storage root.
retained_root_missing: A checkpoint that a job would resume from is not to be found
    Find the checkpoint that the HA metadata names: give the storage that holds it with
    --extra-root. One in another place that the job was restored from is named until the job has
    completed enough of its own: resume the job. If it is lost, the job cannot be resumed from it,
    and its stale metadata must go before anything is deleted here.
misplaced_root: A checkpoint is in another one's folder
    A checkpoint folder was copied or renamed: move it out of the job's directory and name it with
    --extra-root.
damaged_latest_root: A job's latest checkpoint is damaged
    Look for the missing files first: check the aliases (--alias), --extra-root and what else
    deletes in this bucket; for a job that is over, --ended-job accepts the damage.
unstable_root: No checkpoint of the running job was there through all listings
    After a restore, wait until the job has completed a checkpoint. Else raise
    state.checkpoints.num-retained, or the checkpoint interval, so that one checkpoint stays for as
    long as the listing takes; add with --extra-root a directory that is elsewhere.
gate: A running job cannot be judged without its registry
    Without a registry snapshot a running job can be judged only with one concurrent checkpoint on
    plain RocksDB or heap state: change the job, or export its registry and pass --registry.
registry: Registry snapshots are missing, stale or contradict each other
    Check that the JobManager runs, and that its exporter still writes snapshots and repeats nonces
    (its log says why not); raise --registry-wait if it is only slow; for a job that is over, say so
    with --ended-job or remove its folder there.
dependent_job: Kept because another job may need it
    Resolve what stops the other job first: it was restored from this directory and still needs
    files in it.
""",
    Guard,
)
"""Advice for each guard. A refused job keeps every file."""

LINK = Advice(
    "A checkpoint is behind a symbolic link",
    "Links are not followed: name what the link leads to (--pin, --extra-root), or put the folder"
    " itself in its place, as a bind mount does.",
)
"""Advice for ``unreadable_root`` where nothing is broken."""

LIFT_HALT = (
    "Where the cause is known and gone, or an undelete was the cause, run: orphangc sweep DIR"
    " --unsafe-clear-halt; DIR holds a new plan, and one sweep suffices."
)
"""What lifts a halt, wherever one is spoken of."""

CONDITIONS = _advice(
    f"""\
closed_world: It is not yet stated that all checkpoints are known
    Give every savepoint folder and every other storage whose checkpoints may refer here with
    --extra-root, then state with --closed-world that this is all there is.
place_unreachable: A place that must be searched cannot be reached
    Make it reachable: its jobs may need files here. If it is another name of a place of these
    settings, say so with --alias; if it is gone for good, state that with --empty-root.
discovery_unclear: A Flink deployment is not understood
    Correct the resource or file that is named, or say with discovery.alias what its path means;
    where nothing can be corrected any more, acknowledge it as the message says.
place_without_checkpoints: A searched place holds no checkpoint
    Mount the place or correct its name; if it holds no checkpoint for good reason, state that with
    --empty-root.
outside_path: A checkpoint is in no searched place
    Search the place that is named with --extra-root, or say with --alias what the path means; if
    the place is gone or holds no checkpoint, state that with --empty-root.
job_state_unknown: Unknown whether jobs run or have ended
    Name the cluster that runs the job with --flink-rest, or declare with --ended-job that the job
    is over.
held_by_ha: A job is suspended, not over
    Resume the job and name its cluster with --flink-rest; if it is over for good, delete its Flink
    resource or its HA metadata first: a statement alone does not outweigh them.
gate_not_seen: Flink or its metadata did not answer during the whole listing
    Make sure that what the message names answers for the whole time of the listing, and plan
    again. A cluster that starts or failed may run any job: mend it or, if it is gone for good,
    delete its FlinkDeployment, or stop naming it.
not_quiet (waits): An ended job's directory still changes
    Wait until nothing has changed in the directory for the quiet period; if something keeps
    changing it, the job is not over.
untested_flink_version: A Flink release that is not tested yet
    Read the plan as a report only: this Flink release has not been tested with orphangc. If a
    vendor built it from a tested release, and you know that its checkpoints work as the original's,
    name the exact version with --accept-flink-version.
untested_storage: A kind of storage that is not tested yet
    Deletion has not been tested on this kind of storage: read the plan as a report, or prove the
    storage with orphangc doctor --prove.
store_clock_unknown: The storage does not report its time
    Reach the storage by an endpoint that reports its time (a Date header), or put the state
    location (--state) on the mounted file system, beside the storage root, and make each file
    system that is mounted below the storage root a storage root of its own; without it no object
    has a known age.
registry_order_unproven: Registry snapshots do not prove their order
    Give with --registry the folder that the exporter inside the JobManager writes into, and the
    right to write the nonces there; a snapshot alone does not prove that it is newer than the
    listing.
nothing_protected: A running job seems to use nothing that is stored
    Check --alias and --extra-root: a running job whose checkpoints use nothing of shared/ usually
    means that its paths are spelled otherwise.
dependent_job: Kept because another job may need it
    Resolve what blocks the other job, as the message says: in the settings of the storage root that
    holds it, where a statement about a job counts for the whole file.
place_lost: A place that held checkpoints holds none any more
    Mount the place, or give it again with --extra-root; if its checkpoints are gone for good, say
    so with orphangc world acknowledge.
place_replaced: A place is on another file system or bucket than before
    Mount again what was mounted there; if the place has moved for good, say so with orphangc world
    acknowledge.
job_directory_emptied: A job's checkpoints have disappeared
    Find out what removed the checkpoints, and restore them if a job may need them; if they are gone
    for good, say so with orphangc world acknowledge.
checkpoint_not_found: A checkpoint that was reported or seen is not to be found
    Add the place of the checkpoint with --extra-root, or say with --alias what its path means; if
    it is gone for good, say so with orphangc world acknowledge.
cluster_silent: A cluster with living jobs is not heard any more
    Ask the cluster again with --flink-rest, --kubernetes-ha or --zookeeper-ha; if its jobs are
    over, declare each with --ended-job and its id.
state_lost: The state location does not hold what earlier cycles left
    Give the state location of the earlier cycles with --state, or restore what is missing in it; if
    that is lost for good, say so with orphangc world acknowledge.
memory_unreadable: The memory of earlier cycles cannot be read
    Restore the file of the state location that the message names; if it is lost for good, say so
    with orphangc world acknowledge.
halted: Deletion was halted: something in use had been judged an orphan
    An earlier run found that something in use had been judged an orphan: find out why before
    anything else.
    {LIFT_HALT}
revived: Something that had a tombstone is in use again
    Something that had a tombstone is in use again: find out which checkpoint brought it back
    before anything is deleted here.
    {LIFT_HALT}
max_delete_share: Suspiciously large part of a job would go
    Look at the orphans; if the share is right, give --max-delete-share JOB=SHARE for this job
    alone.
max_deletes: More would go than is allowed at once
    Look at the orphans; if the number is right, raise --max-deletes for this one plan.
""",
    Condition,
)
"""Advice for each condition. The plan of a blocked job is a report; ``sweep`` deletes nothing of
it.
"""

TROUBLES = _advice(
    """\
not_ready: The daemon is not ready
    Look at the log of the daemon; /readyz says the same as this.
undiscovered: Discovery failed: new storage roots are not found
    Lift what the message names; orphangc discover, with the same configuration, shows what is read.
    Storage roots that are known already go on as their own runs say.
missing: Files that checkpoints refer to are missing
    See in the run which jobs are damaged. Check the aliases (--alias), --extra-root, and what else
    deletes in this bucket; orphangc undelete brings back what a run deleted from a versioned
    bucket.
old: There is no recent plan
    Look at why newer runs made none; until one does, the numbers here are old, and nobody looks for
    orphans.
doubt: There is a doubt about a plan
    Check whether that is meant; if it is, nothing is to do.
stopped: A sweep ended early
    If the reason has passed nothing is to do: the next run goes on with what is left.
"""
)
"""Headline and advice of other problems, by a name of their own."""


def guard_advice(guard: str, message: str) -> Advice:
    """Return the advice about a guard, by its name in the plan."""
    if guard == Guard.UNREADABLE_ROOT and NOT_FOLLOWED in message:
        return LINK
    return GUARDS.get(guard) or _unknown(guard)


def condition_advice(condition: str) -> Advice:
    """Return the advice about an unmet condition, by its name in the plan."""
    return CONDITIONS.get(condition) or _unknown(condition)


def _unknown(code: str) -> Advice:
    return Advice(code, "See the message; another version of orphangc made this plan.")
