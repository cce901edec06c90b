"""Changelog state: which folders of changes are a job's own, and what its layout leaves unknown."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from flinkstate.places.locations import Location
from orphangc.core.decision.evidence import Checkpoint, CycleEvidence, JobEvidence
from orphangc.core.decision.judge import Judgement, judge
from orphangc.core.model.codes import Guard
from orphangc.core.model.job_folders import CHANGES
from orphangc.core.model.types import may_recur

_CHANGELOG = "changelog state"


def own_changelog_folders(
    job: JobEvidence, *, named_by_others: Collection[Location], is_restored: bool
) -> tuple[Location, ...]:
    """Return the folders of a job's own changes, wherever the base path of the changelog is.

    They are ``<base>/<job id>/dstl``. A job id may occur twice (``may_recur``). Such a
    folder may be that of an earlier job, whose checkpoint this one claimed. So a folder that a
    checkpoint of another job names is foreign, and so is each folder of such an id unless Flink
    says that the job was not restored.

    Source: Flink 1.15-2.3, ``StateChangeFsUploader``.
    """
    if is_restored and may_recur(job.job_id):
        return ()
    named = {folder for checkpoint in job.own_checkpoints for folder in checkpoint.files}
    return tuple(
        folder
        for folder in sorted(named - set(named_by_others), key=str)
        if folder.name == CHANGES and folder.parent.name == job.job_id
    )


def is_folder_of_changes(folder: Location) -> bool:
    """Return whether a folder is called as those of a changelog."""
    return folder.name == CHANGES


def change_logs_of(checkpoints: Iterable[Checkpoint]) -> set[Location]:
    """Return the folders ``<base>/<job id>`` of changes that checkpoints of that job id name."""
    return {
        folder.parent
        for each in checkpoints
        for folder in each.files
        if is_folder_of_changes(folder) and folder.parent.name == each.job_id
    }


def judgement_of_references(
    job: JobEvidence, judgement: Judgement, changes: Sequence[Location], cycle: CycleEvidence
) -> Judgement:
    """Return what stops an answer about the foreign files that a job's checkpoints name.

    A changelog does not: it leaves unknown which of the job's own files are live, but a checkpoint
    names every file that it needs, and a later one adds only files that the job has uploaded
    itself since. So a refusal for the layout gives way to what else objects to the same job
    without a changelog.

    Args:
        changes: Folders of its own changes. Where no place that was searched contains them, their
            files cannot be seen, and are not missing.

    Source: Flink 1.15-2.3, ``ChangelogKeyedStateBackend.buildSnapshotResult``: what was restored
    stays in every handle until it is materialized, and never comes back.
    """
    if judgement.refused is None or judgement.refused.guard is not Guard.UNPROVEN_LAYOUT:
        return judgement
    unseen = [
        folder for folder in changes if not any(each.contains(folder) for each in job.directories)
    ]
    return replace(judgement, refused=judge(_without_changelog(job, unseen), cycle).refused)


def _without_changelog(job: JobEvidence, unseen: Sequence[Location]) -> JobEvidence:
    folders = tuple(f"{folder}/" for folder in unseen)
    lacking = [each for each in job.survey.missing_of_latest if not each.startswith(folders)]
    return replace(
        job,
        before=tuple(replace(each, changelog_enabled=False) for each in job.before),
        after=tuple(replace(each, changelog_enabled=False) for each in job.after),
        own_checkpoints=tuple(
            replace(each, unproven_layout=None) if each.unproven_layout == _CHANGELOG else each
            for each in job.own_checkpoints
        ),
        survey=replace(job.survey, missing_of_latest=lacking),
    )
