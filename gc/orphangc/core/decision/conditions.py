"""Conditions of deletion: while one is unmet, the plan is a sound report and deletes nothing.

The rules that they name stand, with their reasons, in ``gc/RULES.md``.
"""

import math
from collections.abc import Mapping

from flinkstate.places.locations import canonical
from flinkstate.text.shown_text import some
from orphangc.core.decision.evidence import Check, CycleEvidence, JobEvidence, is_quiet, mode_of
from orphangc.core.exporter.exporter_answer import order_unproven
from orphangc.core.model.codes import Condition
from orphangc.core.model.flink_versions import is_build_of_tested_line, is_tested_version
from orphangc.core.model.types import JobState, Mode
from orphangc.core.times.instants import shifted

NEWEST_TESTED_FORMAT = 6
"""Version 7 is read, from Flink's sources only: no release has written one yet (R27)."""


CLOSED_WORLD = "no checkpoint outside the searched storages refers to files in this one"
"""What ``closed_world`` states, wherever it is given."""


def _closed_world(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R3a: a job with an unlisted base is invisible, and its state would be destroyed."""
    if cycle.is_closed_world:
        facts = (each for each in cycle.lost if each.condition is Condition.CLOSED_WORLD)
        return next((each.message for each in facts if not each.is_acknowledged), None)
    return f"it is not stated that {CLOSED_WORLD} (closed_world, --closed-world)"


def _discovery_unclear(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R3a: a configuration that cannot be read may keep state in any place."""
    if not cycle.unclear:
        return None
    rest = len(cycle.unclear) - 1
    more = f" (and {rest} more such parts)" if rest else ""
    return f"cannot be read: {cycle.unclear[0]}{more}; orphangc discover shows all of it"


def _place_unreachable(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R4: a job in another place may need files here, and its checkpoints are unknown."""
    for storage, reason in cycle.unsearched_storages.items():
        return f"{storage} could not be searched to its end: {reason}"
    for place, reason in cycle.unreached_places.items():
        return (
            f"{place} is another storage root, whose jobs may need files here, and it cannot be"
            f" searched: {reason}; if it is gone for good, state it with --empty-root {place}"
        )
    return None


def _place_without_checkpoints(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R3a: an unmounted folder, a mistyped prefix and a text file all look searched and empty."""
    if not cycle.empty_places:
        return None
    first = cycle.empty_places[0]
    return (
        f"no checkpoint was found in {some(cycle.empty_places)}, so it does not count as searched:"
        " is it mounted and spelled right? What is to be mounted there holds checkpoints all the"
        f" same; only if it holds none, as when its jobs went on elsewhere, state it with"
        f" --empty-root {first}"
    )


def _outside_path(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R3a: what a checkpoint or a cluster names outside shows that not everything was searched."""
    if not job.outside_paths:
        return None
    first = job.outside_paths[0]
    more = len(job.outside_paths) - 1
    others = f" (and {more} more such places)" if more else ""
    return (
        f"{first.uri}, named by {some(first.named_by, 1)}, lies in no searched place{others}:"
        f" search it with --extra-root {canonical(first.uri).parent}, say with --alias what it"
        f" means, or state with --empty-root {first.uri} that it holds no checkpoint"
    )


def _lost(condition: Condition) -> Check:
    def check(job: JobEvidence, cycle: CycleEvidence) -> str | None:
        """R4: a fact that disappears without explanation may still be true.

        A job of which only the listing shows files has no known directory: all concerns it.
        """
        directories = {str(each) for each in (*job.directories, *job.survey.shared_directories)}
        return next(
            (
                fact.message
                for fact in cycle.lost
                if fact.condition is condition
                and not fact.is_acknowledged
                and (not directories or fact.concerns(directories))
            ),
            None,
        )

    return check


def _memory_unreadable(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R4: what earlier cycles saw is unknown, so nothing shows what is missing now."""
    return cycle.memory_problem


def _state_lost(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R4: earlier cycles left tombstones and a memory that this state location does not contain."""
    return cycle.state_problem


def _job_state_unknown(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R13: a job that no cluster reports may be suspended, and alive."""
    if job.state is not JobState.UNKNOWN or mode_of(job) is Mode.REGISTRY:
        return None
    if job.unplaced:
        return (
            f"{some(job.unplaced)} runs a job of this id, and reports no checkpoint in this"
            " directory: name the directory that it writes into with --extra-root, or say with"
            " --alias what its paths mean"
        )
    if job.other_runs:
        return (
            f"{some(job.other_runs)} showed another run of the job alive in an earlier plan, and no"
            " end of that run since: ask it again with --flink-rest, or declare the job ended with"
            " --ended-job"
        )
    if job.after and job.has_changed_since:
        return (
            f"{some(job.clusters)} shows an end, and something of the job was stored later, by"
            " undelete or another run: ask that one's cluster with --flink-rest, or declare the job"
            " ended with --ended-job"
        )
    return "the job is neither seen running (--flink-rest) nor declared ended (--ended-job)"


def _held_by_ha(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R13: a suspended job is not over, whatever the operator states.

    One that was seen running only at the beginning is no better known than one never seen.
    """
    if not job.holds or any(not facts.is_globally_terminal for facts in job.after):
        return None
    hold = job.holds[-1]
    said = f" ({some(hold.states)})" if hold.states else ""
    return f"{hold.uri} holds the job{said}, and no cluster shows it running: suspended, not over"


def _gate_not_seen(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R11: REST must answer before and after the listings."""
    if cycle.source_errors:
        return f"no usable answer: {some(cycle.source_errors, 1)}"
    if job.state is JobState.RUNNING and not (job.before and job.after):
        return "Flink's REST API did not show the job both before and after the listing"
    if mode_of(job) is Mode.REGISTRY and job.state is JobState.UNKNOWN:
        return (
            "Flink's REST API (--flink-rest) did not show the job, so nobody knows its state"
            " backend: a registry proves nothing of one that uses files in place (R2)"
        )
    return None


def _not_quiet(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R13: an ended job whose directory still changes has not ended."""
    changed_at = job.changed_at
    if job.state is not JobState.ENDED or changed_at is None:
        return None
    if is_quiet(changed_at, cycle.now, cycle.margins.quiet_period):
        return None
    return (
        f"the ended job's directory changed at {changed_at.isoformat()}: not quiet for long"
        f" enough before {shifted(changed_at, cycle.margins.quiet_period).isoformat()}"
    )


def _untested_flink_version(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R27: the code of that release was not read."""
    formats = {checkpoint.format_version for checkpoint in job.own_checkpoints}
    unseen = sorted(each for each in formats if each > NEWEST_TESTED_FORMAT)
    if unseen:
        return f"metadata format version {some(unseen)} was never seen from a released Flink"
    untested = sorted(
        version
        for version in job.flink_versions - cycle.accepted_versions
        if not is_tested_version(version)
    )
    if not untested:
        return None
    builds = [each for each in untested if is_build_of_tested_line(each)]
    lift = f"; --accept-flink-version {builds[0]} vouches for that build" if builds else ""
    return f"Flink {some(untested)} is not in the tested list{lift}"


def _untested_storage(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R27: deletion was not tested on that kind of storage."""
    if cycle.is_tested_storage:
        return None
    return f"this kind of storage is not in the tested list; to prove it, run: {cycle.prove_with}"


def _store_clock_unknown(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R10: without the store's clock no age is known."""
    if cycle.is_store_time:
        return None
    return (
        "the storage does not tell its time; a mounted file system tells it where the state"
        " location (--state) is on it too, beside the storage root"
    )


def _registry_order_unproven(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R14: its place; only a nonce that was repeated proves the order of reads."""
    if mode_of(job) is Mode.DERIVED:
        return None
    if job.exported is None:
        return "a file alone does not prove that it is newer than the listing (R14)"
    return None if job.state is JobState.ENDED else order_unproven(job.exported)


def _nothing_protected(job: JobEvidence, _: CycleEvidence) -> str | None:
    """R20: a live job that needs nothing of shared/ is more likely a misunderstanding."""
    survey = job.survey
    if job.state is JobState.ENDED or survey.live_in_shared or not survey.objects:
        return None
    if survey.live_artifacts and not survey.flat_artifacts:
        return None  # heap state and full snapshots have no file in shared/
    return "no file in shared/ is referred to, though the job may run"


def _halted(_: JobEvidence, cycle: CycleEvidence) -> str | None:
    """R17, R22: an earlier run saw a proof fail, and stopped all collection."""
    return cycle.halted


CONDITIONS: Mapping[Condition, Check] = {
    Condition.CLOSED_WORLD: _closed_world,
    Condition.DISCOVERY_UNCLEAR: _discovery_unclear,
    Condition.PLACE_UNREACHABLE: _place_unreachable,
    Condition.PLACE_WITHOUT_CHECKPOINTS: _place_without_checkpoints,
    Condition.OUTSIDE_PATH: _outside_path,
    Condition.GATE_NOT_SEEN: _gate_not_seen,
    Condition.JOB_STATE_UNKNOWN: _job_state_unknown,
    Condition.HELD_BY_HA: _held_by_ha,
    Condition.NOT_QUIET: _not_quiet,
    Condition.UNTESTED_FLINK_VERSION: _untested_flink_version,
    Condition.UNTESTED_STORAGE: _untested_storage,
    Condition.STORE_CLOCK_UNKNOWN: _store_clock_unknown,
    Condition.REGISTRY_ORDER_UNPROVEN: _registry_order_unproven,
    Condition.NOTHING_PROTECTED: _nothing_protected,
    Condition.PLACE_LOST: _lost(Condition.PLACE_LOST),
    Condition.PLACE_REPLACED: _lost(Condition.PLACE_REPLACED),
    Condition.JOB_DIRECTORY_EMPTIED: _lost(Condition.JOB_DIRECTORY_EMPTIED),
    Condition.CHECKPOINT_NOT_FOUND: _lost(Condition.CHECKPOINT_NOT_FOUND),
    Condition.CLUSTER_SILENT: _lost(Condition.CLUSTER_SILENT),
    Condition.STATE_LOST: _state_lost,
    Condition.MEMORY_UNREADABLE: _memory_unreadable,
    Condition.HALTED: _halted,
}
"""Every unmet one is reported."""


def share_problem(
    job_id: str, *, removals: int, artifacts: int, share: float, what: str = "files in shared/"
) -> str | None:
    """Return why too large a part of a job's files would go, ``None`` if it would not.

    Args:
        artifacts: Number of objects that could go at all: the files of areas with a proven rule.
            Other objects, which never go, must not make the part look small.
        share: The largest part that may go, from 0 to 1.
    """
    if removals <= share * artifacts:
        return None
    needed = math.ceil(100 * removals / artifacts) / 100 if artifacts else 1
    return (
        f"{removals} of {artifacts} {what} would go, more than {share:.0%}: look at them"
        f" in the plan, then --max-delete-share {job_id}={needed:g} allows it for this job alone"
    )
