"""Guards that refuse a job's work: its liveness cannot be known, so every object is kept.

Each guard is one function from evidence to a sentence, or ``None`` where it is content; the
table at the end lists all guards of one job; ``judge`` adds ``dependent_job``.

The rules that they name stand, with their reasons, in ``gc/RULES.md``.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from itertools import chain

from flinkstate.text.shown_text import some
from orphangc.core.areas.table import is_known_sub_folder
from orphangc.core.cluster.job_facts import (
    JobFacts,
    eligibility_problem,
    exported_layout_problem,
    is_kept_answer,
    is_not_subsumed,
    is_same_incarnation,
    latest_known_id,
    layout_problem,
    restarting_problem,
    unknown_layout_problem,
)
from orphangc.core.cluster.known_checkpoints import completed_by, is_anothers, out_of_order
from orphangc.core.decision.entropy_injection import entropy_in_listing
from orphangc.core.decision.evidence import Check, Checkpoint, CycleEvidence, JobEvidence, mode_of
from orphangc.core.exporter.exporter_answer import REGISTRY_MAX_AGE, Exported, exported_problem
from orphangc.core.exporter.registry_snapshot import EntryKind, check_successor
from orphangc.core.model.codes import Guard
from orphangc.core.model.job_folders import CHECKPOINT
from orphangc.core.model.types import JobState, Mode
from orphangc.core.times.instants import shifted

BOTH = 2
_ONE_CHECKPOINT = timedelta(days=1)
"""Time within which the files of one checkpoint and its ``_metadata`` are stored."""


def _unreadable_root(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R6: a checkpoint that cannot be read may name any file of any directory."""
    for checkpoint in cycle.unreadable:
        if not checkpoint.is_acknowledged:
            return f"{checkpoint.problem}; nothing will be planned for removal"
    return None


def _acknowledged_root(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R6: a checkpoint that the operator acknowledges as broken protects its whole directory."""
    for checkpoint in cycle.unreadable:
        if checkpoint.is_acknowledged and checkpoint.directory in job.directories:
            return f"{checkpoint.uri} is acknowledged as broken: its whole directory is kept"
    return None


def _clock_skew(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R10: times of two clocks that disagree cannot be compared."""
    resolution = 2.0  # an HTTP Date header has whole seconds, and travels
    allowed = cycle.margins.clock_skew.total_seconds() + resolution
    if abs(cycle.skew_seconds) <= allowed:
        return None
    return f"the store's clock differs from this machine's by {cycle.skew_seconds:.0f} s"


def _future_time(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R10: a time in the future was written by a wrong clock, or by hand.

    A JobManager's clock that is ahead dates the trigger of a checkpoint too late (R45), and the
    start of its run.

    The future begins at the end of the observation: a running job writes during a listing.
    """
    latest = [
        checkpoint.modified_at
        for checkpoint in job.own_checkpoints
        if checkpoint.modified_at is not None
    ]
    if job.survey.newest_modified_at is not None:
        latest.append(job.survey.newest_modified_at)
    newest = max(latest, default=None)
    present = (cycle.observed_until or cycle.now) + cycle.margins.clock_skew
    if newest is not None and newest > present:
        return f"something in the directory is dated {newest.isoformat()}, in the future"
    answered = max((at for each in job.facts if (at := each.answered_at)), default=present)
    if answered <= present:
        return None
    return f"a JobManager of the job says that it is {answered.isoformat()}: its clock is ahead"


def _copied_tree(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R10: one time for all was made by a copy, and says nothing about age.

    S3 shows whole seconds. The files of a small checkpoint are stored within one, its ``_metadata``
    in the next: that time still counts when it has expired.
    """
    survey, only = job.survey, job.survey.newest_modified_at
    if survey.objects < 2 or survey.oldest_modified_at != only:  # noqa: PLR2004
        return None
    own = {str(each) for each in job.directories}
    written = [at for (uri, _), at in cycle.written_at.items() if uri.rpartition("/")[0] in own]
    if only is not None and any(only < at <= shifted(only, _ONE_CHECKPOINT) for at in written):
        return None
    return f"all {survey.objects} objects have one store time: this tree was copied"


def _parser_disagreement(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R7: a name in raw bytes that the parser did not find is a bug of ours."""
    if not job.survey.only_in_raw_bytes:
        return None
    names = some(job.survey.only_in_raw_bytes)
    return f"raw bytes of a checkpoint name {names}, the parser does not: please report this"


def _unproven_layout(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R2: file merging, changelog and ForSt re-use old files that no checkpoint names.

    They no longer do once the job's processes are surely gone (T7, R35).
    """
    if job.is_end_proven:
        return unknown_layout(job)
    if job.survey.sub_folders:
        return f"shared/ has sub-directories ({some(sorted(job.survey.sub_folders))})"
    for checkpoint in job.own_checkpoints:
        if checkpoint.unproven_layout is not None:
            return f"{checkpoint.folder} holds {checkpoint.unproven_layout}"
    unproven = {EntryKind.SEGMENT, EntryKind.DIRECTORY}
    for snapshot in job.snapshots:
        kind = next((each for each in snapshot.entries.counts if each in unproven), None)
        if kind is not None:
            return f"registry snapshot {snapshot.sequence} holds entries of kind {kind}"
    return configured_layout(job)


def configured_layout(job: JobEvidence) -> str | None:
    """Return why the settings that REST or its exporter shows are of no proven layout (R2, R55)."""
    for snapshot in job.snapshots:
        settings = snapshot.settings
        problem = exported_layout_problem(settings.state_backend, changelog=settings.changelog)
        if problem is not None:
            return f"registry snapshot {snapshot.sequence} says that the job uses {problem}"
    problems = (layout_problem(facts) for facts in (*job.before, *job.after))
    return next((problem for problem in problems if problem is not None), None)


def unknown_layout(job: JobEvidence) -> str | None:
    """Return why a layout may be none of Flink's own: what names its files is unknown (R35)."""
    strange = sorted(each for each in job.survey.sub_folders if not is_known_sub_folder(each))
    if strange:
        return f"shared/ has sub-directories ({some(strange)})"
    problems = (unknown_layout_problem(facts) for facts in (*job.before, *job.after))
    return next((problem for problem in problems if problem is not None), None)


def _restarting(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R2: in both modes; the state backend of a job that does not run yet is unknown."""
    problems = (restarting_problem(facts) for facts in (*job.before, *job.after))
    return next((problem for problem in problems if problem is not None), None)


def _unknown_owner(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R3: ids and checkpoints of different jobs must not be mixed."""
    if job.job_id:
        return None
    return "the directory's name is no job id (create-subdir=false?): name its owner with --owner"


def _two_owners(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R3: two clusters run the job, or its id owns checkpoints in two directories."""
    running = [facts for facts in job.after if not facts.is_globally_terminal]
    if len(running) > 1:
        return (
            f"{len(running)} clusters say that they run the job ({some(job.clusters)}): if these"
            " are addresses of one, ask it by one of them alone; else stop the job on one of them"
        )
    if len(job.ha_clusters) > 1:
        clusters = some(sorted(job.ha_clusters))
        return f"HA metadata of {clusters} holds the job: two clusters may run it"
    if job.strangers:
        return f"job {some(sorted(job.strangers))} writes its checkpoints here too"
    unknown = _written_by_another(job, cycle)
    if unknown is not None:
        return (
            f"{unknown.folder} was stored after the start of the JobManager that answers, which"
            " does not know it, or counts otherwise: another one writes here too"
        )
    entropy = entropy_in_listing(job, job.survey.shared_directories)
    if entropy is not None:
        return (
            f"{entropy.words}: one that holds orphans alone looks like another job's, so none is"
            f" collected; remove s3.entropy.key from Flink's configuration, which S3 needs no more,"
            f" and give {entropy.directory.parent} as storage root, with --extra-root"
            f" {entropy.above}"
        )
    with_checkpoints = job.directories_with_checkpoints
    if len(with_checkpoints) > 1:
        return f"{len(with_checkpoints)} directories of this job id hold checkpoints"
    named = {folder for checkpoint in job.own_checkpoints for folder in checkpoint.files}
    alone = [
        directory
        for directory in sorted(job.survey.shared_directories - with_checkpoints, key=str)
        if not any(directory.contains(folder) for folder in named)
    ]
    if alone and len(job.survey.shared_directories) > 1:
        return f"{alone[0]} bears the same job id, and no checkpoint of the job names a file in it"
    return None


def _written_by_another(job: JobEvidence, cycle: CycleEvidence) -> Checkpoint | None:
    """Return a checkpoint in the job's directory that no cluster knows which shows it living.

    One that contradicts the order in which such a cluster counts is none of its either. What
    ``undelete`` put back counts by the time at which it was written.
    """
    own = [checkpoint for checkpoint in job.own_checkpoints if checkpoint.directory is not None]
    slack = cycle.margins.clock_skew
    after = [facts for facts in job.after if not facts.is_globally_terminal] or job.after
    stored = {each.checkpoint_id: written_at(each, cycle) for each in own}
    contradicting = {out_of_order(stored, facts, slack) for facts in after}
    unknown = (
        checkpoint
        for checkpoint in own
        if after
        and all(
            is_anothers(checkpoint.checkpoint_id, written_at(checkpoint, cycle), facts, slack)
            for facts in after
        )
    )
    late = (checkpoint for checkpoint in own if checkpoint.checkpoint_id in contradicting)
    return next(chain(unknown, late), None)


def written_at(checkpoint: Checkpoint, cycle: CycleEvidence) -> datetime | None:
    """Return when a checkpoint was written: ``undelete`` stores the same bytes later (R44)."""
    known = cycle.written_at.get((str(checkpoint.folder), checkpoint.sha256))
    return known or checkpoint.modified_at


def _ended_job_is_running(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R13: a statement, or an answer, that the job is over, contradicted by other facts.

    A job that claimed a checkpoint of a job that is over deletes it one day: a change too.
    """
    if job.is_declared_ended and job.state is JobState.RUNNING:
        return "the job is declared ended, but Flink's REST API shows it alive"
    is_over = job.is_declared_ended or job.state is JobState.ENDED
    if is_over and not job.ids_at_start == job.ids_before == job.ids_after:
        return "the job is said to be over, but its checkpoints changed during the listing"
    return None


def _no_roots(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R8, R9: a job without a checkpoint may still need its files while it may run."""
    completed = any(latest_known_id(facts) is not None for facts in (*job.before, *job.after))
    if job.own_checkpoints or (job.state is JobState.ENDED and not completed):
        return None
    if job.state is JobState.ENDED and job.is_declared_ended:
        return None
    if job.is_not_in_all:
        return _not_in_all(job)
    said = "no checkpoint of the job can be seen: its first one may be pending"
    if job.state is JobState.ENDED:
        said = (
            "the job is over and none of its checkpoints can be seen, though it completed some:"
            " Flink discarded them, they expired, or they are in a place that was not searched"
        )
        return f"{said}; --ended-job {job.job_id} states that all of it may go"
    if job.holds:
        lift = "add the place of its checkpoints with --extra-root, show it with --flink-rest"
        return f"{said}; {lift}, or remove {job.holds[-1].uri} if the job is over"
    return f"{said}; if the job is over, --ended-job {job.job_id} states it"


def _not_in_all(job: JobEvidence) -> str:
    """R13: what ``--ended-job all`` does not cover, and what the operator gives instead."""
    return (
        "nothing shows that Flink wrote this directory (no checkpoint, no chk-<n>/ or taskowned/,"
        " no cluster, HA metadata or registry snapshot knows the job), so --ended-job all does not"
        f" cover it; if it is a job of Flink's that is over, --ended-job {job.job_id} states it"
    )


def _retained_root_missing(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R4, R8, R39: every checkpoint that a completed store always retains must have been read.

    A recovery needs no ``_metadata``: HA metadata contains the handles, of files in any directory.
    """
    for checkpoint_id, uri in job.unread_retained.items():
        seen, lift = "no checkpoint of that id", ""
        if checkpoint_id in job.ids_seen:
            seen = f"fewer directories than clusters that hold it ({some(sorted(job.ha_clusters))})"
            lift = ", show each with --flink-rest, or remove the HA metadata of one that is gone"
        return (
            f"{uri} retains checkpoint {checkpoint_id} of job {job.job_id}, and {seen} can be seen:"
            f" add the place of its checkpoints with --extra-root{lift}"
        )
    return _exported_root_missing(job, job.ids_seen | job.ids_before)


def _exported_root_missing(job: JobEvidence, seen: Collection[int]) -> str | None:
    """What E1 and E2 retain was there when S1 was read, which is between them."""
    if job.exported is None or job.state is JobState.ENDED or len(job.exported.snapshots) < BOTH:
        return None
    first, second = (
        {each.id for each in snapshot.retained if not each.is_savepoint}
        for snapshot in job.exported.snapshots
    )
    unseen = sorted((first & second).difference(seen))
    if not unseen:
        return None
    return (
        f"the registry snapshots retain checkpoint {unseen[0]}, and no checkpoint of that id can be"
        " seen: add the place of its checkpoints with --extra-root, or say it with --alias"
    )


def _misplaced_root(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R8: a checkpoint in another one's folder was put there by hand; ids prove nothing then."""
    for checkpoint in job.own_checkpoints:
        number = checkpoint.checkpoint_id
        if checkpoint.directory is not None and checkpoint.folder.name != f"{CHECKPOINT}{number}":
            return f"{checkpoint.folder} holds the metadata of checkpoint {number}"
    return None


def _damaged_latest_root(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R8: if the newest checkpoint is not whole, what we see is not what the job has."""
    if not job.survey.missing_of_latest or job.is_declared_ended:
        return None
    names = some(job.survey.missing_of_latest)
    return f"the latest checkpoint refers to files that cannot be seen ({names}): already damaged?"


def _unstable_root(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R12: between two listings a checkpoint can hide from both; one that stays proves not."""
    if job.state is JobState.ENDED or not job.own_checkpoints or mode_of(job) is Mode.REGISTRY:
        return None
    stable = job.stable_id
    if (unread := _unread_state(job)) is not None:
        return unread
    if stable is None and job.current_ids and job.ids_at_start:
        return (
            f"Flink completed checkpoint {max(job.current_ids)}, the storage shows"
            f" {max(job.ids_at_start)}"
        )
    if stable is None or stable not in job.ids_before or stable not in job.ids_after:
        return "checkpoints come and go faster than the listing: raise num-retained"
    for before, after in _pairs(job):
        newest = latest_known_id(before)
        if newest is not None and stable < newest:
            return f"Flink completed checkpoint {newest}, the storage shows {stable}"
        if not is_not_subsumed(stable, before, after):
            return f"checkpoint {stable} may have been subsumed during the listing"
    return None


def _unread_state(job: JobEvidence) -> str | None:
    """Return what a job surely needs and no look read; a leftover with its id is another one."""
    if not job.directories:
        return "its checkpoint directory lies outside the given roots: add it with --extra-root"
    if not job.is_origin_unread or is_present_run_read(job):
        return None
    return (
        "what it was restored from was not read, and no checkpoint that it completed since was:"
        " add the place of its origin with --extra-root, or wait until it has completed one"
    )


def is_present_run_read(job: JobEvidence) -> bool:
    """Return whether a checkpoint was read of each run that Flink shows alive last.

    A run that completed nothing needs what it was restored from, whatever else is here.
    """
    living = [each for each in job.after or job.before if not each.is_globally_terminal]
    read = {checkpoint.checkpoint_id for checkpoint in job.own_checkpoints}
    return all(read & completed_by((each,)) for each in living)


def _pairs(job: JobEvidence) -> list[tuple[JobFacts, JobFacts]]:
    return [
        (before, after)
        for before, after in zip(job.before, job.after, strict=False)
        if not (before.is_globally_terminal and after.is_globally_terminal)
    ]


def _gate(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R13: checkpoints prove liveness only with one at a time, under one JobManager."""
    if job.state is not JobState.RUNNING or mode_of(job) is Mode.REGISTRY:
        return None
    if len(job.before) != len(job.after):
        return "the job appeared or vanished during the listing"
    for before, after in zip(job.before, job.after, strict=True):
        if not is_same_incarnation(before, after):
            return "the job was started again during the listing"
        if is_kept_answer(before, after):
            return (
                "Flink's second answer is no later than its first: something before it keeps"
                " answers; ask the JobManager itself"
            )
    shown = [each for each in (*job.before, *job.after) if restarting_problem(each) is None]
    problems = (eligibility_problem(facts) for facts in shown)
    return next((problem for problem in problems if problem is not None), None)


def _registry(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R15: snapshots that contradict each other, or that no exporter writes any more."""
    if job.exported is not None:
        return _exported(job, job.exported, cycle)
    exported = [each for each in job.snapshots if each.source is Mode.REGISTRY]
    if not exported and cycle.is_registry_mode and job.state is not JobState.ENDED:
        return "registry snapshots were given, and this living job has none"
    if not exported:
        return _derived_snapshot(job)
    first, second = exported[0], exported[-1]
    margins = cycle.margins
    if first is not second:
        return check_successor(
            first, second, now=cycle.now, max_age=REGISTRY_MAX_AGE, clock_skew=margins.clock_skew
        )
    age = cycle.now - second.taken_at
    if age > REGISTRY_MAX_AGE and job.state is not JobState.ENDED:
        return f"registry snapshot {second.sequence} is {age} old"
    return "the registry snapshot is dated in the future" if -age > margins.clock_skew else None


def _exported(job: JobEvidence, exported: Exported, cycle: CycleEvidence) -> str | None:
    """R15: an exporter must prove that it lives, and that its registry is this job's."""
    if job.state is JobState.ENDED:
        if exported.unread is not None:
            return (
                f"the job is over, as is said, but the newest registry snapshot cannot be read:"
                f" {exported.unread}"
            )
        if not exported.has_gone_on:
            return None
        return "the job is over, as is said, but its exporter goes on writing registry snapshots"
    problem = exported_problem(exported, now=cycle.now, clock_skew=cycle.margins.clock_skew)
    elsewhere = sorted(exported.directories - set(job.directories), key=str)
    if problem is None and job.directories and elsewhere:
        return (
            f"its exporter says that its checkpoints lie in {elsewhere[0]}, which is none of its"
            " directories here: add it with --extra-root, or say with --alias what it means"
        )
    return problem


def _derived_snapshot(job: JobEvidence) -> str | None:
    """R13 for a derived snapshot: its concurrency counts as the one that REST reports."""
    for each in job.snapshots:
        if (each.max_concurrent or 1) > 1 and job.state is not JobState.ENDED:
            return f"the derived snapshot says {each.max_concurrent} concurrent checkpoints"
    return None


_CHECKS: Mapping[Guard, Check] = {
    Guard.UNREADABLE_ROOT: _unreadable_root,
    Guard.CLOCK_SKEW: _clock_skew,
    Guard.PARSER_DISAGREEMENT: _parser_disagreement,
    Guard.RETAINED_ROOT_MISSING: _retained_root_missing,
    Guard.ACKNOWLEDGED_ROOT: _acknowledged_root,
    Guard.FUTURE_TIME: _future_time,
    Guard.UNKNOWN_OWNER: _unknown_owner,
    Guard.TWO_OWNERS: _two_owners,
    Guard.ENDED_JOB_IS_RUNNING: _ended_job_is_running,
    Guard.UNPROVEN_LAYOUT: _unproven_layout,
    Guard.RESTARTING: _restarting,
    Guard.NO_ROOTS: _no_roots,
    Guard.MISPLACED_ROOT: _misplaced_root,
    Guard.DAMAGED_LATEST_ROOT: _damaged_latest_root,
    Guard.COPIED_TREE: _copied_tree,
    Guard.GATE: _gate,
    Guard.UNSTABLE_ROOT: _unstable_root,
    Guard.REGISTRY: _registry,
}
GUARDS: Mapping[Guard, Check] = dict(
    sorted(_CHECKS.items(), key=lambda row: not row[0].facts.is_global)
)
"""Checked in this order; the first guard that objects refuses the job.

Guards that refuse all jobs come first: each job keeps one refusal, and none may hide theirs.
"""
