"""A Flink job that leaves orphans behind, and what is known of them without asking orphangc."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.settings import DEFAULT_RETAINED, ON_REQUEST
from integration.harness.flinkbed.truth import (
    named_in_metadata,
    older_than_retained,
    retained,
    shared_files,
)
from integration.harness.flinkbed.waiting import wait_until

Answer = TypeVar("Answer")

INTERVAL = ON_REQUEST
RETAINED = int(DEFAULT_RETAINED)


def seen(look: Callable[[], Answer]) -> Answer:
    """Look at a tree in which Flink deletes: when a file goes away meanwhile, look again."""
    for _ in range(50):
        try:
            return look()
        except FileNotFoundError:
            continue
    return look()


def unnamed(base: Path, job: str) -> set[Path]:
    named = named_in_metadata(base)
    return {path for path in shared_files(base / job) if path.name not in named}


def unnamed_exclusive(base: Path, job: str) -> set[Path]:
    named = {*named_in_metadata(base), "_metadata"}
    return {path for path in (base / job).glob("chk-*/*") if path.name not in named}


def haunted(cluster: Cluster, base: Path) -> tuple[str, set[Path]]:
    """Start a job and kill its TaskManager between upload and acknowledgement.

    Returns the job, which goes on, and what was uploaded in vain: older by now than every
    retained checkpoint.
    """
    job = cluster.submit(base, interval=INTERVAL)
    cluster.wait_for_checkpoints(job, 2)
    cluster.hold()
    cluster.wait_until_held()
    cluster.kill_taskmanager()
    lost = seen(lambda: unnamed(base, job))
    assert lost
    cluster.release()
    cluster.start_taskmanager()
    cluster.wait_for_checkpoints(job, RETAINED)
    wait_until(
        "checkpoints that are all younger than the lost upload",
        lambda: seen(lambda: lost <= older_than_retained(base / job)),
    )
    return job, lost


def crash(cluster: Cluster) -> None:
    """Kill JobManager and TaskManager, and start others that know of nothing."""
    cluster.kill_jobmanager()
    cluster.kill_taskmanager()
    cluster.release()
    cluster.start_jobmanager()
    cluster.start_taskmanager()


def crashed(cluster: Cluster, base: Path) -> tuple[str, set[Path], Path]:
    """Have a job end by the loss of both processes while a checkpoint is pending.

    Returns the job, what it uploaded in vain, and its only retained checkpoint.
    """
    job = cluster.submit(base, interval=INTERVAL)
    cluster.wait_for_checkpoints(job, 1)
    cluster.hold()
    cluster.wait_until_held()
    crash(cluster)
    *others, last = retained(base / job)
    for other in others:
        shutil.rmtree(other)  # as if one were retained
    lost = unnamed(base, job)
    assert lost
    return job, lost, last


def restore_all(cluster: Cluster, job_dir: Path) -> None:
    found = retained(job_dir)
    assert found
    for checkpoint in found:
        cluster.restore_and_check(checkpoint)
