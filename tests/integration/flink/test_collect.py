"""The command line collects what a real Flink leaked, and nothing that any checkpoint needs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from integration.harness.command import Collector, Planned, installed_orphangc, orphangc
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import NEWEST
from integration.harness.flinkbed.truth import (
    named_in_metadata,
    older_than_retained,
    orphans,
    retained,
)
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.orphan_workload import (
    INTERVAL,
    RETAINED,
    crash,
    crashed,
    haunted,
    restore_all,
    seen,
    unnamed,
    unnamed_exclusive,
)

pytestmark = pytest.mark.flink

Answer = TypeVar("Answer")

TWO_AT_ONCE = {
    "execution.checkpointing.max-concurrent-checkpoints": "2",
    "execution.checkpointing.min-pause": "0ms",  # any pause would make it one at a time
}

NEVER_COMPACTED = {"state.backend.rocksdb.compaction.style": "NONE"}
"""What a job has claimed it needs for as long as it runs, however slow the machine is."""


def named_by(roots: Path, tree: Path) -> set[Path]:
    named = named_in_metadata(roots)
    return {path for path in tree.rglob("*") if path.name in named and path.is_file()}


def content(files: set[Path]) -> dict[Path, tuple[int, bytes]]:
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def stored_at(path: Path) -> int:
    """Return when a file was written; of live ones the oldest is likely to stay longest."""
    return path.stat().st_mtime_ns


def are_there(files: set[Path]) -> set[bool]:
    """Return whether the files exist: one answer if they all do, or none does."""
    return {path.exists() for path in files}


def haunted_until_due(
    cluster: Cluster, base: Path, collector: Collector
) -> tuple[str, set[Path], Planned]:
    """Have such a job, and a plan by which its orphans are to be deleted now."""
    job, lost = haunted(cluster, base)
    evidence = "--closed-world", "--flink-rest", cluster.rest_url
    laid = collector.sweep(collector.plan(*evidence))
    assert laid.code == 0, str(laid)
    cluster.wait_for_checkpoints(job, 1)
    due = collector.plan(*evidence)
    assert due.files("delete") == lost, str(due.finished)
    return job, lost, due


def collected(
    collector: Collector, *options: str | Path, between: Callable[[], None] = lambda: None
) -> tuple[Planned, Planned]:
    """Plan, lay tombstones, plan again and delete, where nothing may stand in the way."""
    first = collector.plan(*options)
    assert first.code == 0, str(first.finished)
    laid = collector.sweep(first)
    assert laid.code == 0, str(laid)
    between()
    second = collector.plan(*options)
    assert second.code == 0, str(second.finished)
    done = collector.sweep(second, "--delete")
    assert done.code == 0, str(done)
    return first, second


def test_a_running_jobs_orphans_go_and_the_job_does_not_notice(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """Planned, quarantined and deleted while checkpoints go on; then every one of them restores."""
    base = tmp_path / "ckpt"
    job, lost = haunted(flink_cluster, base)
    before = content(lost)
    restarts = flink_cluster.checkpoints(job)["counts"]["restored"]
    collector = Collector(base, tmp_path, installed_orphangc)
    evidence = "--closed-world", "--flink-rest", flink_cluster.rest_url

    first = collector.plan(*evidence)
    assert first.code == 0, str(first.finished)
    assert (first.guard(job), first.conditions(job)) == (None, set())
    planned = {path for path in first.removals if path.exists()}  # Flink deletes files as well
    assert planned == first.files("tombstone", reason="orphan") & planned
    assert planned == lost
    assert planned <= seen(lambda: orphans(base / job, tree=base))

    laid = collector.sweep(first)
    assert laid.code == 0, str(laid)
    assert content(lost) == before, "a tombstone leaves the file alone"

    flink_cluster.wait_for_checkpoints(job, 1)  # and the second of quarantine is over
    second = collector.plan(*evidence)
    assert second.files("delete", reason="quarantine_over") == lost, str(second.finished)
    done = collector.sweep(second, "--delete")
    assert done.code == 0, str(done)
    assert done.document["counts"]["delete/done"]["objects"] == len(lost)
    assert are_there(lost) == {False}

    flink_cluster.wait_for_checkpoints(job, RETAINED)
    assert flink_cluster.checkpoints(job)["counts"]["restored"] == restarts
    flink_cluster.cancel(job, between_checkpoints=True)
    wait_until("the subsumed ones to go", lambda: len(retained(base / job)) == RETAINED)
    restore_all(flink_cluster, base / job)


MERGED = {
    "execution.checkpointing.file-merging.enabled": "true",
    "execution.checkpointing.file-merging.max-file-size": "32kb",
    "execution.checkpointing.data-inline-threshold": "0",
}


@pytest.mark.ci
@pytest.mark.parametrize("started_flink_cluster", [NEWEST], indirect=True)
def test_a_job_started_again_after_the_plan_keeps_its_orphans_and_all_it_needs(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """A plan is a permission, never an order: what it rests on must hold at the sweep."""
    base = tmp_path / "ckpt"
    collector = Collector(base, tmp_path)
    job, lost, due = haunted_until_due(flink_cluster, base, collector)

    flink_cluster.cancel(job)
    last = retained(base / job)[-1]
    second = flink_cluster.submit(base, last, "NO_CLAIM", interval=INTERVAL, config=TWO_AT_ONCE)
    flink_cluster.wait_for_checkpoints(second, 1)
    anew = collector.plan("--closed-world", "--flink-rest", flink_cluster.rest_url)
    assert anew.code == 4, str(anew.finished)
    assert anew.guard(second) == "gate", "of two pending, one may need what no root names (2.4)"
    assert anew.guard(job) == "dependent_job", "from whose checkpoint the other one started"
    assert anew.removals == set()
    done = collector.sweep(due, "--delete")
    assert done.code == 4, str(done)
    assert are_there(lost) == {True}

    crash(flink_cluster)
    last = retained(base / second)[-1]
    third = flink_cluster.submit(base, last, "NO_CLAIM", interval=INTERVAL)
    flink_cluster.wait_for_checkpoints(third, 1)
    done = collector.sweep(due, "--delete")
    assert done.code == 4, str(done)
    assert "job_state_unknown" in done.document["refused"][job], "to the new JobManager"
    assert are_there(lost) == {True}

    flink_cluster.cancel(third)
    oldest, *_, newest = retained(base / job)
    for checkpoint in (oldest, newest, retained(base / third)[-1]):
        flink_cluster.restore_and_check(checkpoint)


def test_files_that_only_a_claiming_job_elsewhere_names_stay(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """CLAIM: the old job's checkpoint is gone, its files serve a job in another base."""
    old_base, new_base = tmp_path / "old", tmp_path / "new"
    old, lost, last = crashed(flink_cluster, old_base)
    new = flink_cluster.submit(new_base, last, "CLAIM", interval=INTERVAL, config=NEVER_COMPACTED)
    flink_cluster.wait_for_checkpoints(new, RETAINED)
    wait_until("the claimed checkpoint to go", lambda: not last.exists())
    assert retained(old_base / old) == []

    def needed() -> set[Path]:
        """Return what the new job's checkpoints name of the old job's files."""
        return seen(lambda: named_by(new_base, old_base))

    collector = Collector(old_base, tmp_path)
    said = "--closed-world", "--ended-job", old, "--quiet-period", "0", "--max-delete-share", "1"
    asked = *said, "--flink-rest", flink_cluster.rest_url
    complete = *asked, "--extra-roots", new_base
    assert needed()

    blind = collector.plan(*asked)
    assert blind.code == 4, str(blind.finished)
    assert blind.guard(old) == "dependent_job", "Flink tells of the base that nobody named"
    assert blind.removals == set()

    plans = collected(
        collector, *complete, between=lambda: flink_cluster.wait_for_checkpoints(new, 1)
    )
    assert all(lost <= made.removals for made in plans)
    assert not any(needed() & made.removals for made in plans)
    assert are_there(lost) == {False}

    flink_cluster.wait_for_checkpoints(new, 1)
    flink_cluster.cancel(new, between_checkpoints=True)
    assert needed()
    reported = collector.plan(*asked)
    assert reported.guard(old) is None, str(reported.finished)
    assert needed() <= reported.files("keep", reason="referenced"), "as REST reports the places"
    restore_all(flink_cluster, new_base / new)


@pytest.mark.ci
@pytest.mark.parametrize("started_flink_cluster", [NEWEST], indirect=True)
def test_an_ended_jobs_shared_folder_keeps_only_what_its_checkpoints_name(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """One cancelled, one killed, both with a checkpoint pending; their youngest orphans go too."""
    base = tmp_path / "ckpt"
    jobs = [flink_cluster.submit(base, interval=INTERVAL) for _ in range(2)]
    for job in jobs:
        flink_cluster.wait_for_checkpoints(job, 1)
    flink_cluster.hold()
    flink_cluster.wait_until_held(4)
    flink_cluster.cancel(jobs[0])
    crash(flink_cluster)
    lost = {path for job in jobs for path in unnamed(base, job)}
    assert lost - older_than_retained(base / jobs[1])
    lost |= {path for job in jobs for path in unnamed_exclusive(base, job)}

    first, second = collected(
        Collector(base, tmp_path),
        *("--closed-world", "--quiet-period", "0", "--flink-rest", flink_cluster.rest_url),
        *(word for job in jobs for word in ("--ended-job", job)),
    )
    assert [(first.guard(job), first.conditions(job)) for job in jobs] == [(None, set())] * 2
    assert first.removals == second.files("delete") == lost
    assert [unnamed(base, job) for job in jobs] == [set(), set()]
    for job in jobs:
        restore_all(flink_cluster, base / job)


@dataclass(frozen=True, slots=True)
class Scene:
    """A running job whose orphans are due: only evidence stands between them and deletion."""

    cluster: Cluster
    base: Path
    job: str
    lost: set[Path]
    collector: Collector

    @property
    def job_dir(self) -> Path:
        return self.base / self.job

    @property
    def rest(self) -> tuple[str, str]:
        return "--flink-rest", self.cluster.rest_url


@pytest.fixture(scope="class")
def scene(
    started_flink_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """One job for all tests that change nothing of it."""
    work = tmp_path_factory.mktemp("scene")
    collector = Collector(work / "ckpt", work)
    try:
        job, lost, _ = haunted_until_due(started_flink_cluster, collector.root, collector)
        yield Scene(started_flink_cluster, collector.root, job, lost, collector)
    finally:
        started_flink_cluster.tidy()


class TestARunningJobWithOrphans:
    """What may be asked of it, and what does not suffice to delete anything of it."""

    def test_without_a_closed_world_orphans_are_shown_and_stay(self, scene: Scene) -> None:
        """Nobody said that there are no other roots (R3a)."""
        made = scene.collector.plan(*scene.rest)
        assert made.code == 0, str(made.finished)
        assert made.files("delete") == scene.lost
        assert made.conditions(scene.job) == {"closed_world"}
        done = scene.collector.sweep(made, "--delete")
        assert done.code == 4, str(done)
        assert "closed_world" in done.document["refused"][scene.job]
        assert are_there(scene.lost) == {True}

    def test_a_job_that_nobody_saw_keeps_its_orphans(self, scene: Scene) -> None:
        """Neither Flink nor the operator spoke of it: it may run, and with any settings (R13)."""
        made = scene.collector.plan("--closed-world")
        assert made.code == 0, str(made.finished)
        assert made.files("delete") == scene.lost
        assert made.conditions(scene.job) == {"job_state_unknown", "cluster_silent"}
        done = scene.collector.sweep(made, "--delete")
        assert done.code == 4, str(done)
        assert "job_state_unknown" in done.document["refused"][scene.job]
        assert are_there(scene.lost) == {True}

    def test_a_job_declared_ended_that_runs_is_refused(self, scene: Scene) -> None:
        """The operator says over, Flink says alive: nothing is known."""
        said = "--closed-world", "--ended-job", scene.job, "--quiet-period", "0"
        made = scene.collector.plan(*said, *scene.rest)
        assert made.code == 4, str(made.finished)
        assert made.guard(scene.job) == "ended_job_is_running"
        assert made.removals == set()

    def test_its_registry_can_be_exported_and_shown(self, scene: Scene, tmp_path: Path) -> None:
        """The entries are the shared files that the listed checkpoints name."""
        file = tmp_path / "registry.jsonl"
        asked = "registry", "export", scene.base, "--job", scene.job, *scene.rest, "--out", file
        exported = orphangc(*asked)
        newest = retained(scene.job_dir)[-1]
        needed = named_by(newest, scene.job_dir / "shared")
        assert exported.code == 0, str(exported)
        shown = orphangc("registry", "show", file)
        assert shown.code == 0, str(shown)
        assert shown.document == exported.document
        assert shown.document["flink_version"] == scene.cluster.version
        assert shown.document["max_concurrent"] == 1
        assert len(shown.document["retained_checkpoint_ids"]) >= RETAINED
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        entries = {scene.job_dir / line["path"] for line in lines if line["type"] == "entry"}
        assert not entries & scene.lost
        if newest.name == f"chk-{shown.document['retained_checkpoint_ids'][-1]}":
            assert needed <= entries
