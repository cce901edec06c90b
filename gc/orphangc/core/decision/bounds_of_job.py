"""What the objects of a job are compared with: its bounds, from its evidence and judgement."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from orphangc.core.areas.area import AreaFacts
from orphangc.core.areas.table import AREAS
from orphangc.core.cluster.job_facts import is_not_subsumed, latest_known_id
from orphangc.core.decision.conditions import NEWEST_TESTED_FORMAT
from orphangc.core.decision.evidence import CycleEvidence, JobEvidence, mode_of
from orphangc.core.decision.guards import configured_layout, unknown_layout, written_at
from orphangc.core.decision.judge import Judgement
from orphangc.core.exporter.registry_snapshot import oldest_retained
from orphangc.core.model.bounds import NEVER, Bound, BoundName, JobBounds, job_bounds
from orphangc.core.model.types import AreaName, DirectoryLayout, JobState, Mode
from orphangc.core.times.instants import shifted


def bounds_of_job(
    job: JobEvidence, judgement: Judgement, cycle: CycleEvidence, listed_at: datetime | None
) -> JobBounds:
    """Return what the objects of one job are compared with."""
    is_ended = job.state is JobState.ENDED
    newest = [written_at(checkpoint, cycle) or NEVER for checkpoint in job.own_checkpoints]
    return JobBounds(
        is_refused=judgement.refused is not None,
        is_ended=is_ended,
        bounds=job_bounds(
            cycle.now,
            cycle.margins,
            is_ended=is_ended,
            own_checkpoint_times=[
                written_at(checkpoint, cycle) for checkpoint in job.bounding_checkpoints
            ],
            registry_times=_registry_times(job),
            listed_at=listed_at,
        ),
        oldest_retained_checkpoint_id=_oldest_retained(job),
        checkpoint_id_margin=cycle.margins.checkpoint_id_margin,
        quarantine_start=shifted(cycle.now, -cycle.margins.quarantine_period),
        newest_completed_at=None if is_ended else max(newest, default=NEVER),
    )


def bounds_outside_jobs(judged: Iterable[Judgement], cycle: CycleEvidence) -> JobBounds:
    """Return the bounds of objects in no job directory: refused if all work is refused."""
    refusals = [each.refused for each in judged]
    is_refused = bool(refusals) and all(r is not None and r.guard.facts.is_global for r in refusals)
    return JobBounds(
        is_refused=is_refused,
        is_ended=False,
        bounds=(),
        oldest_retained_checkpoint_id=None,
        checkpoint_id_margin=0,
        quarantine_start=cycle.now,
        newest_completed_at=NEVER,
    )


def area_facts_of(job: JobEvidence, cycle: CycleEvidence) -> AreaFacts:
    """Return what the rules of areas ask of one job."""
    return AreaFacts(
        state=job.state,
        is_end_proven=job.is_end_proven,
        completed_id=_completed_id(job),
        newest_trigger=_newest_trigger(job, cycle),
        unknown_layout=unknown_layout(job),
        not_merged_within=_not_merged_within(job, cycle),
        has_write_ahead_sink=cycle.has_write_ahead_sink,
        is_known_by_fixed_id_alone=job.is_id_fixed and _is_primary_directory(job),
    )


def _is_primary_directory(job: JobEvidence) -> bool:
    """Return whether files of ForSt are all that is known of a job, and none is in ``shared/``."""
    is_bare = not job.own_checkpoints and not job.survey.shared_directories
    return is_bare and AreaName.FORST in job.survey.areas


def _completed_id(job: JobEvidence) -> int | None:
    """Return the newest checkpoint that surely ended all older pending ones, ``None`` if unknown.

    R31: Flink's word before the listing, of the one run that goes on, and a stable newest
    checkpoint (R12), so that what later checkpoints may name was read.
    """
    living = [[each for each in side if not each.is_globally_terminal] for side in job.sides]
    if any(len(side) != 1 for side in living):
        return None
    (before,), (after,) = living
    newest, stable = latest_known_id(before), job.stable_id
    if newest is None or stable is None or stable < newest:
        return None
    is_behind = before.restored is not None and newest < before.restored.id
    is_read = stable in job.ids_before and stable in job.ids_after
    formats = {checkpoint.format_version for checkpoint in job.own_checkpoints}
    if is_behind or not is_read or max(formats, default=0) > NEWEST_TESTED_FORMAT:
        return None
    return newest if is_not_subsumed(stable, before, after) else None


def _newest_trigger(job: JobEvidence, cycle: CycleEvidence) -> datetime | None:
    """Return when the newest own checkpoint was triggered, less twice the slack (R45, R16).

    It is one that Flink shows completed and retained, and that stood all the time (R12); ``None``
    if it is unknown, or the JobManager's clock was ahead.
    """
    if _completed_id(job) is None or _was_clock_ahead(job, cycle.margins.clock_skew):
        return None
    shown = [each for facts in job.before for each in facts.checkpoints]
    times = [
        each.triggered_at
        for each in shown
        if each.id == job.stable_id
        and each.is_completed
        and not each.is_savepoint
        and each.discarded is False
    ]
    return shifted(min(times), -2 * cycle.margins.clock_skew) if times else None


def _was_clock_ahead(job: JobEvidence, clock_skew: timedelta) -> bool:
    """Return whether a checkpoint was complete, by Flink's clock, after it had been stored.

    Source: Flink 1.14-2.3, ``CheckpointCoordinator.completePendingCheckpoint``: ``_metadata`` is
    written once the last acknowledgement is there.
    """
    stored = {each.checkpoint_id: each.modified_at for each in job.own_checkpoints}
    return any(
        max(each.triggered_at, each.acknowledged_at or each.triggered_at) > at + clock_skew
        for facts in job.facts
        for each in facts.checkpoints
        if each.is_completed and (at := stored.get(each.id)) is not None
    )


_ACROSS = "execution.checkpointing.file-merging.across-checkpoint-boundary"
_BESIDE_MERGED = {name for name, area in AREAS.items() if area.is_stricter_than_merged}


def _not_merged_within(job: JobEvidence, cycle: CycleEvidence) -> str | None:
    """Return why the job's files may not be merged within each checkpoint alone (R46, R47, R56)."""
    problem = _merging_problem(job)
    if problem is not None:
        return problem
    if not cycle.is_file_system:
        return (
            "the rule for files that are merged within checkpoints is proven on file systems alone:"
            " an object store shows no merged file before it is closed"
        )
    layouts = frozenset[DirectoryLayout]().union(*(r.layouts for r in job.own_checkpoints))
    if layouts - {DirectoryLayout.MERGED} or job.survey.areas & _BESIDE_MERGED:
        return "the job also has files of the changelog or of ForSt, whose rules are stricter"
    return unknown_layout(job) or configured_layout(job) or _concurrency_problem(job)


def _merging_problem(job: JobEvidence) -> str | None:
    """Return why nothing shows that files are merged within each checkpoint, ``None`` if it does.

    It is the operator's statement, or every snapshot of the JobManager that runs the job (R55). A
    snapshot that says otherwise outweighs a statement. An id or folder that comes back needs the
    statement: a TaskManager may still merge by the configuration of an earlier run.
    Source: Flink 1.20-2.3, ``TaskExecutorFileMergingManager``: one manager for each job id.
    """
    exported = [each.settings.merging for each in job.snapshots]
    if any(each is not None and each.across for each in exported):
        return (
            f"{_ACROSS} is true in the job's own configuration, as its exporter says: a TaskManager"
            " may append the next segment to such a file that nothing names"
        )
    if any(each is not None and each.enabled is False for each in exported):
        return (
            "the job's own configuration merges no files, as its exporter says, so nothing shows"
            " how those that are here were merged"
        )
    if job.is_declared_merged_within:
        return None
    shown = () if job.exported is None else job.exported.snapshots
    is_shown = bool(shown) and all(
        each.settings.merging is not None and each.settings.merging.across is False
        for each in shown
    )
    if is_shown and not job.is_id_fixed:
        return None
    states = f"--merged-within {job.job_id} states that they are merged within each checkpoint"
    if is_shown:
        return (
            "the job id is a fixed one, or its folder bears none, so a TaskManager may still merge"
            f" files by the configuration of an earlier run: {states}"
        )
    return (
        "Flink does not show whether files are merged across checkpoints, and a TaskManager"
        f" may append the next segment to such a file that nothing names: {states}; so does"
        f" {_ACROSS}: false in the job's own configuration, if an exporter shows it (--registry)"
    )


def _concurrency_problem(job: JobEvidence) -> str | None:
    """Return why several checkpoints may merge files at once, which only the gate asks else."""
    shown = [each.max_concurrent for each in job.facts]
    shown += [each.max_concurrent for each in job.snapshots if each.max_concurrent is not None]
    if mode_of(job) is Mode.DERIVED or (shown and set(shown) == {1}):
        return None
    return (
        "several checkpoints may be pending at once, and the rule for merged files is shown for one"
    )


def _oldest_retained(job: JobEvidence) -> int | None:
    """Return the least id that any checkpoint or snapshot of the job, or HA metadata, retains.

    Without checkpoints and snapshots it is unknown, whatever HA metadata says: unknown keeps more.
    """
    ids = [*job.retained_ids[:1]]
    ids += [o for each in job.snapshots if (o := oldest_retained(each)) is not None]
    held = [each for hold in job.holds for each in hold.retained_ids]
    return min([*ids, *held]) if ids else None


def _registry_times(job: JobEvidence) -> list[Bound]:
    """Return R16's bounds: the first snapshot, and ids that were issued and not yet retained."""
    if mode_of(job) is Mode.DERIVED:
        return []
    exported = [each for each in job.snapshots if each.source is Mode.REGISTRY]
    if not exported:
        return [Bound(BoundName.FIRST_SNAPSHOT, None)]
    bounds = [Bound(BoundName.FIRST_SNAPSHOT, exported[0].taken_at)]
    oldest = oldest_retained(exported[0])
    issued = [i.at for each in exported for i in each.issued if oldest is None or i.id > oldest]
    if issued:
        bounds.append(Bound(BoundName.OLDEST_ISSUED, min(issued)))
    return bounds
