"""What shows that Flink wrote a directory: ``--ended-job all`` covers no other (issue 13, L5).

A directory ``<32 hex digits>/shared/<uuid>`` may belong to another product: the names alone prove
nothing. An object store has no empty directories, so there a job that wrote nothing but shared
files leaves no trace, and needs its own id in ``--ended-job``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sized
from dataclasses import replace

from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.memory.remembered import WorldMemory
from orphangc.core.model.types import Scope

_AREAS_OF_FLINK = frozenset({Scope.TASKOWNED, Scope.EXCLUSIVE})
"""``taskowned/`` and ``chk-<n>/``: no other product gives these names to directories.

Source: Flink 1.13-2.3, ``FsCheckpointStorageAccess``: the JobManager makes ``taskowned/`` when the
job starts and never removes it, and ``chk-<n>/`` when a checkpoint is triggered.
"""


def has_trace_of_flink(areas: Collection[Scope], *known: Sized) -> bool:
    """Return whether anything shows that Flink wrote a job directory.

    Args:
        areas: The areas that the directory has folders of.
        known: What else may know the job: its checkpoints, REST's facts, HA metadata and
            resources, registry snapshots, checkpoints elsewhere that name its files, what earlier
            cycles remember. One that is not empty suffices.

    """
    return not _AREAS_OF_FLINK.isdisjoint(areas) or any(len(each) > 0 for each in known)


def with_remembered_traces(
    jobs: Mapping[str, JobEvidence], memory: WorldMemory
) -> dict[str, JobEvidence]:
    """Return the evidence, ``--ended-job all`` covering directories that held checkpoints before.

    A job whose checkpoints Flink deleted at its end leaves no other trace in an object store.
    """
    held = {
        each.uri
        for each in memory.directories
        if each.checkpoints or each.resolved_at is not None  # they were there, and were explained
    }
    return {
        key: replace(job, is_declared_ended=True, is_not_in_all=False)
        if job.is_not_in_all
        and job.is_collected
        and any(str(directory) in held for directory in job.directories)
        else job
        for key, job in jobs.items()
    }
