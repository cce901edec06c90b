"""What earlier cycles add to the evidence of a job: traces of Flink, and runs without an end.

``--ended-job all`` covers only directories that Flink wrote (issue 13, L5).

A directory ``<32 hex digits>/shared/<uuid>`` may belong to another product: the names alone prove
nothing. An object store has no empty directories, so there a job that wrote nothing but shared
files leaves no trace, and needs its own id in ``--ended-job``.

Flink's answer that a job is over is of one run: another cluster may have started a job of the same
id since (R34). What it showed then counts until it shows an end, or a person states one.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from dataclasses import replace

from orphangc.core.decision.evidence import JobEvidence, is_of_last_run
from orphangc.core.groups import grouped
from orphangc.core.memory.job_lives import is_flink_rest, is_over, placed
from orphangc.core.memory.remembered import RememberedJob, WorldMemory
from orphangc.core.model.job_folders import scopes_where
from orphangc.core.model.types import Scope

_AREAS_OF_FLINK = scopes_where(lambda each: each.is_trace_of_flink)
"""``taskowned/``, ``chk-<n>/``, ``op_*__attempt_<k>/``: no other product has such directories.

Source: Flink 1.13-2.3, ``FsCheckpointStorageAccess``: the JobManager makes ``taskowned/`` when the
job starts and never removes it, and ``chk-<n>/`` when a checkpoint is triggered. Flink 2.0-2.3,
``ForStStateBackend``.
"""


def has_trace_of_flink(areas: Collection[Scope], *known: Sized) -> bool:
    """Return whether anything shows that Flink wrote a job directory.

    Args:
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


def with_other_runs(jobs: Mapping[str, JobEvidence], memory: WorldMemory) -> dict[str, JobEvidence]:
    """Return the evidence with the clusters that showed another run of each job."""
    alive = _runs_without_an_end(memory.jobs)

    def runs_of(job: JobEvidence) -> tuple[str, ...]:
        found = alive.get(job.job_id, ())
        return tuple(sorted(_other_runs(found, job)))

    return {key: replace(job, other_runs=runs_of(job)) for key, job in jobs.items()}


def _runs_without_an_end(records: Iterable[RememberedJob]) -> dict[str, list[RememberedJob]]:
    """Return, by job id, the records of the jobs that a cluster showed alive last."""
    living = (e for e in records if e.alive_at is not None and not is_over(e))
    return grouped((e for e in living if is_flink_rest(e.by)), lambda each: str(each.job_id))


def _other_runs(alive: Iterable[RememberedJob], job: JobEvidence) -> Iterator[str]:
    """Yield the clusters of these records that do not answer for a job, unless of its own run.

    One that showed a run alive after the end that is shown now answers for an earlier run: other
    processes have its address. A record that names other directories is of another job of the id
    (decision 20).
    """
    own = {str(each) for each in job.directories}
    runs = {each.started_at for each in job.facts}
    said = max((each.ended_at or each.started_at for each in job.facts), default=None)
    for record in alive:
        places = record.directories or record.stores_in
        is_of_job = not places or not own.isdisjoint(places)
        is_answered = record.by in job.clusters and is_of_last_run(said, record.alive_at, job.slack)
        if is_of_job and not is_answered and record.started_at not in runs:
            yield record.by


def has_run_before(job: JobEvidence, known: Iterable[RememberedJob]) -> bool:
    """Return whether a run of a living job is over, so that its id was chosen.

    Args:
        known: What earlier cycles saw of jobs of its id.
    """
    records = (each for each in placed(known, job.directories) if is_over(each))
    over = {each.started_at for each in records}
    over |= {each.started_at for each in job.after if each.is_globally_terminal}
    living = {each.started_at for each in job.after if not each.is_globally_terminal}
    return bool(over) and bool(living - over)
