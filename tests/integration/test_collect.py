"""The command line collects what a real Flink leaked, and nothing that any checkpoint needs."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from integration.command import Collector, Planned, orphangc
from integration.flinkbed.cluster import Cluster
from integration.flinkbed.fixtures import VERSIONS, require_flink
from integration.flinkbed.truth import (
    named_in_metadata,
    older_than_retained,
    orphans,
    retained,
    shared_files,
)
from integration.flinkbed.waiting import wait_until

pytestmark = pytest.mark.flink

Answer = TypeVar("Answer")

# a checkpoint stays for six seconds: longer than a listing and Flink's cached answers take
RETAINED = 4
INTERVAL = "1500ms"
TWO_AT_ONCE = {
    "execution.checkpointing.max-concurrent-checkpoints": "2",
    "execution.checkpointing.min-pause": "0ms",  # a pause makes it one at a time
}


@pytest.fixture(scope="module", params=VERSIONS)
def started_flink_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A running cluster, one per version, whose checkpoints stay long enough to be looked at."""
    require_flink(request.param)
    config = {"execution.checkpointing.num-retained": str(RETAINED)}
    folder = tmp_path_factory.mktemp(f"flink-{request.param}-")
    with Cluster(request.param, folder, config=config) as cluster:
        yield cluster


def seen(look: Callable[[], Answer]) -> Answer:
    """Look at a tree in which Flink deletes; a file that goes away meanwhile: look again."""
    for _ in range(50):
        try:
            return look()
        except FileNotFoundError:
            continue
    return look()


def unnamed(base: Path, job: str) -> set[Path]:
    """Return the files in the job's ``shared`` folder that no ``_metadata`` of the base names."""
    named = named_in_metadata(base)
    return {path for path in shared_files(base / job) if path.name not in named}


def files_below(tree: Path) -> set[Path]:
    """Return every file below a folder in which Flink writes and deletes."""
    return {path for path in tree.rglob("*") if path.is_file()}


def facts(files: set[Path]) -> dict[Path, tuple[int, bytes]]:
    """Return times and bytes."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def haunted(cluster: Cluster, base: Path) -> tuple[str, set[Path]]:
    """Start a job and kill its TaskManager between upload and acknowledgement.

    Returns the job, which goes on, and what was uploaded in vain: by now older than any
    checkpoint that is retained.
    """
    job = cluster.submit(base, interval=INTERVAL)
    cluster.wait_for_checkpoints(job, 2)
    cluster.hold()
    cluster.wait_until_held()
    cluster.kill_taskmanager()
    lost = seen(lambda: unnamed(base, job))
    cluster.release()
    cluster.start_taskmanager()
    wait_until(
        "checkpoints that are all younger than the lost upload",
        lambda: seen(lambda: lost <= older_than_retained(base / job)),
    )
    assert lost
    return job, lost


def crash(cluster: Cluster) -> None:
    """Kill JobManager and TaskManager, and start others that know of nothing."""
    cluster.kill_jobmanager()
    cluster.kill_taskmanager()
    cluster.release()
    cluster.start_jobmanager()
    cluster.start_taskmanager()


def restore_all(cluster: Cluster, job_dir: Path) -> None:
    """Prove that Flink restores from every retained checkpoint of a job that has ended."""
    found = retained(job_dir)
    assert found
    for checkpoint in found:
        cluster.restore_and_check(checkpoint)


def test_a_running_jobs_orphans_go_and_the_job_does_not_notice(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """Planned, quarantined and deleted while the job checkpoints; then all restores."""
    base = tmp_path / "ckpt"
    job, lost = haunted(flink_cluster, base)
    collector = Collector(base, tmp_path)
    evidence = "--closed-world", "--flink-rest", flink_cluster.rest_url
    before = facts(lost)
    restored = flink_cluster.checkpoints(job)["counts"]["restored"]

    first = collector.accepted_plan(*evidence, jobs={job})
    assert first.conditions(job) == set()
    planned = {path for path in first.removals if path.exists()}  # Flink deletes files as well
    assert planned == lost == first.files("tombstone", reason="orphan")
    assert planned <= seen(lambda: orphans(base / job, tree=base))

    collector.accepted_sweep(first)
    assert facts(lost) == before, "a tombstone leaves the file alone"

    flink_cluster.wait_for_checkpoints(job, 1)  # the second of quarantine is over long since
    second = collector.accepted_plan(*evidence, jobs={job})
    assert second.files("delete", reason="quarantine_over") == lost
    done = collector.accepted_sweep(second, "--delete")
    assert done.document["counts"]["delete/done"]["objects"] == len(lost)
    assert not any(path.exists() for path in lost)

    flink_cluster.wait_for_checkpoints(job, RETAINED)
    assert flink_cluster.checkpoints(job)["counts"]["restored"] == restored, "no restart"
    flink_cluster.cancel(job, between_checkpoints=True)
    wait_until("subsumed checkpoints to go", lambda: len(retained(base / job)) == RETAINED)
    restore_all(flink_cluster, base / job)


@dataclass(frozen=True, slots=True)
class Scene:
    """A running job whose orphans are due: only evidence stands between them and deletion."""

    cluster: Cluster
    base: Path
    job: str
    lost: set[Path]
    collector: Collector
    due: Planned


@pytest.fixture(scope="class")
def scene(
    started_flink_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """One job for all tests that change nothing of it."""
    cluster, work = started_flink_cluster, tmp_path_factory.mktemp("scene")
    base = work / "ckpt"
    job, lost = haunted(cluster, base)
    collector = Collector(base, work)
    evidence = "--closed-world", "--flink-rest", cluster.rest_url
    collector.accepted_sweep(collector.accepted_plan(*evidence, jobs={job}))
    cluster.wait_for_checkpoints(job, 1)
    due = collector.accepted_plan(*evidence, jobs={job})
    assert due.files("delete") == lost
    yield Scene(cluster, base, job, lost, collector, due)
    cluster.tidy()


class TestARunningJobWithOrphans:
    """What may be asked about it, and what does not suffice to delete anything of it."""

    def test_without_a_closed_world_orphans_are_shown_and_stay(self, scene: Scene) -> None:
        """Nobody said that there are no other roots (R3a)."""
        made = scene.collector.accepted_plan(
            "--flink-rest", scene.cluster.rest_url, jobs={scene.job}
        )
        assert made.files("delete") == scene.lost
        assert made.conditions(scene.job) == {"closed_world"}
        done = scene.collector.sweep(made, "--delete")
        assert done.code == 4, str(done)
        assert all(path.exists() for path in scene.lost)

    def test_a_job_that_nobody_saw_keeps_its_orphans(self, scene: Scene) -> None:
        """Neither Flink nor the operator spoke of the job: it may run with any settings (R13)."""
        made = scene.collector.accepted_plan("--closed-world", jobs={scene.job})
        assert made.files("delete") == scene.lost
        assert made.conditions(scene.job) == {"job_state_unknown"}
        done = scene.collector.sweep(made, "--delete")
        assert done.code == 4, str(done)
        assert all(path.exists() for path in scene.lost)

    def test_a_job_declared_ended_that_runs_is_refused(self, scene: Scene) -> None:
        """The operator says over, Flink says alive."""
        made = scene.collector.plan(
            *("--closed-world", "--flink-rest", scene.cluster.rest_url),
            *("--ended-job", scene.job, "--quiet-period", "0"),
        )
        assert made.finished.code == 4, str(made.finished)
        assert made.guard(scene.job) == "ended_job_is_running"
        assert not made.removals

    def test_its_registry_can_be_exported_and_shown(
        self, scene: Scene, tmp_path: Path
    ) -> None:
        """The exported entries are what the retained checkpoints name."""
        file = tmp_path / "registry.jsonl"
        done = orphangc(
            *("registry", "export", scene.base, "--job", scene.job),
            *("--flink-rest", scene.cluster.rest_url, "--out", file),
        )
        assert done.code == 0, str(done)
        shown = orphangc("registry", "show", file)
        assert shown.code == 0, str(shown)
        assert shown.document == done.document
        assert shown.document["flink_version"] == scene.cluster.version
        assert shown.document["max_concurrent"] == 1
        assert len(shown.document["retained_checkpoint_ids"]) in {RETAINED, RETAINED + 1}
        text = file.read_text()
        assert all(path.name not in text for path in scene.lost)
        newest = retained(scene.base / scene.job)[-1]
        assert f"/{newest.name}" in text or shown.document["retained_checkpoint_ids"]

    def test_its_newest_checkpoint_can_be_inspected(self, scene: Scene) -> None:
        """Its document lists the stored files whose names stand in its raw bytes, no other."""
        job_dir = scene.base / scene.job
        checkpoint = retained(job_dir)[-1]
        named = named_in_metadata(checkpoint)
        stored = {path for path in files_below(job_dir) if path.name in named}
        done = orphangc("inspect", checkpoint, "--output", "jsonl")
        assert done.code == 0, str(done)
        document = done.document
        assert document["checkpoint_id"] == int(checkpoint.name.removeprefix("chk-"))
        files = {Path(each["path"].removeprefix("file://")) for each in document["files"]}
        assert files == stored != set()
        assert {"ledger"} <= {each["uid"] for each in document["operators"]}, document["operators"]

    def test_why_an_orphan_goes_and_a_live_file_stays_is_explained(self, scene: Scene) -> None:
        """From the saved plan: the roots that name it, or that none does."""
        orphan = min(scene.lost)
        gone = orphangc("explain", orphan, "--plan", scene.due.folder)
        assert gone.code == 0, str(gone)
        assert gone.document["verdict"] == {"action": "delete", "reason": "quarantine_over"}
        assert gone.document["referenced_by"] == []
        assert gone.document["tombstone"] is not None

        live = min(path for path in scene.due.files("keep", reason="referenced") if path.exists())
        kept = orphangc("explain", live, "--plan", scene.due.folder)
        assert kept.code == 0, str(kept)
        assert kept.document["verdict"] == {"action": "keep", "reason": "referenced"}

    def test_with_default_margins_a_fresh_orphan_is_too_young(self, scene: Scene) -> None:
        """The grace period is three days unless someone insists."""
        done = orphangc(
            *("explain", min(scene.lost), "--flink-rest", scene.cluster.rest_url),
            *("--state", scene.collector.work / "other-state"),
        )
        assert done.code == 0, str(done)
        assert done.document["verdict"]["action"] == "keep"


def test_two_checkpoints_at_once_are_refused_and_so_is_the_state_they_rest_on(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """With two pending, one may need a file that no retained checkpoint names (section 2.4)."""
    base = tmp_path / "ckpt"
    job, lost = haunted(flink_cluster, base)
    flink_cluster.cancel(job, between_checkpoints=True)
    last = retained(base / job)[-1]
    collector = Collector(base, tmp_path)
    options = (
        *("--closed-world", "--flink-rest", flink_cluster.rest_url),
        *("--ended-job", job, "--quiet-period", "0"),
    )
    ended = collector.accepted_plan(*options, jobs={job})
    assert ended.files("tombstone") == lost, "what the following refusal keeps"

    successor = flink_cluster.submit(base, last, "CLAIM", interval=INTERVAL, config=TWO_AT_ONCE)
    flink_cluster.wait_for_checkpoints(successor, 1)
    made = collector.plan(*options)
    assert made.finished.code == 4, str(made.finished)
    assert made.guard(successor) == "gate"
    assert made.guard(job) == "dependent_job"
    assert not made.removals
    done = collector.sweep(ended, "--delete")
    assert done.code == 4, str(done)
    assert all(path.exists() for path in lost)


def test_a_job_started_again_after_the_plan_keeps_all_that_it_needs(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """A plan is a permission, never an order: what it rests on must still hold at the sweep."""
    base = tmp_path / "ckpt"
    job, lost = haunted(flink_cluster, base)
    collector = Collector(base, tmp_path)
    evidence = "--closed-world", "--flink-rest", flink_cluster.rest_url
    collector.accepted_sweep(collector.accepted_plan(*evidence, jobs={job}))
    flink_cluster.wait_for_checkpoints(job, 1)
    due = collector.accepted_plan(*evidence, jobs={job})
    assert due.files("delete") == lost

    flink_cluster.cancel(job)
    last = retained(base / job)[-1]
    second = flink_cluster.submit(base, last, "CLAIM", interval=INTERVAL)
    flink_cluster.wait_for_checkpoints(second, 1)
    done = collector.sweep(due, "--delete")
    print("cancelled and resubmitted:", done)
    assert all(path.exists() for path in lost), "over, says Flink, but not quiet for seven days"

    crash(flink_cluster)
    last = retained(base / second)[-1]
    third = flink_cluster.submit(base, last, "CLAIM", interval=INTERVAL)
    flink_cluster.wait_for_checkpoints(third, 1)
    done = collector.sweep(due, "--delete")
    print("JobManager lost:", done)
    assert done.code == 4, str(done)
    assert all(path.exists() for path in lost), "the new JobManager knows nothing of that job"

    flink_cluster.cancel(third, between_checkpoints=True)
    restore_all(flink_cluster, base / third)


def test_files_that_only_a_claiming_job_elsewhere_names_stay(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """CLAIM: the old job's checkpoint is gone, its files serve a job in another base."""
    old_base, new_base = tmp_path / "old", tmp_path / "new"
    old = flink_cluster.submit(old_base, interval=INTERVAL)
    flink_cluster.wait_for_checkpoints(old, 1)
    flink_cluster.hold()
    flink_cluster.wait_until_held()
    crash(flink_cluster)
    *others, last = retained(old_base / old)
    for other in others:
        shutil.rmtree(other)  # as with one retained checkpoint
    lost = unnamed(old_base, old)
    assert lost

    new = flink_cluster.submit(new_base, last, "CLAIM", interval=INTERVAL)
    flink_cluster.wait_for_checkpoints(new, RETAINED + 1)
    wait_until("the claimed checkpoint to go", lambda: not last.exists())
    assert not retained(old_base / old)

    def needed() -> set[Path]:
        """Return what the new job's checkpoints name of the old job's files."""
        named = named_in_metadata(new_base)
        return {path for path in shared_files(old_base / old) if path.name in named}

    assert seen(needed)
    collector = Collector(old_base, tmp_path)
    ended = "--closed-world", "--ended-job", old, "--quiet-period", "0", "--max-delete-share", "1"
    running = *ended, "--flink-rest", flink_cluster.rest_url
    complete = *running, "--extra-roots", new_base

    blind = collector.plan(*running)
    print("without extra roots:", blind.job(old)["refused"], blind.job(old)["blocked"])
    assert not blind.removals & seen(needed)
    assert blind.guard(old) == "dependent_job"

    laid = collector.accepted_plan(*complete, jobs={old})
    assert laid.conditions(old) == set()
    assert laid.files("tombstone") >= lost
    assert not laid.removals & seen(needed)
    collector.accepted_sweep(laid)
    flink_cluster.wait_for_checkpoints(new, 1)
    due = collector.accepted_plan(*complete, jobs={old})
    assert due.files("delete") >= lost
    collector.accepted_sweep(due, "--delete")
    assert not any(path.exists() for path in lost)
    assert seen(needed) == shared_files(old_base / old)

    flink_cluster.wait_for_checkpoints(new, 1)
    flink_cluster.cancel(new, between_checkpoints=True)
    assert seen(needed)
    reported = collector.plan(*running)
    print("ended, reported:", reported.job(old)["refused"], reported.job(old)["blocked"])
    assert not reported.removals & needed()
    restore_all(flink_cluster, new_base / new)


def test_an_ended_jobs_shared_folder_keeps_only_what_its_checkpoints_name(
    flink_cluster: Cluster, tmp_path: Path
) -> None:
    """One cancelled, one killed, both with a checkpoint pending; their young orphans go too."""
    base = tmp_path / "ckpt"
    jobs = [flink_cluster.submit(base, interval=INTERVAL) for _ in range(2)]
    for job in jobs:
        flink_cluster.wait_for_checkpoints(job, 2)
    flink_cluster.hold()
    flink_cluster.wait_until_held(4)
    flink_cluster.cancel(jobs[0])
    crash(flink_cluster)
    lost = {path for job in jobs for path in unnamed(base, job)}
    assert unnamed(base, jobs[1])

    collector = Collector(base, tmp_path)
    options = (
        *("--closed-world", "--quiet-period", "0", "--flink-rest", flink_cluster.rest_url),
        *(word for job in jobs for word in ("--ended-job", job)),
    )
    laid = collector.accepted_plan(*options, jobs=set(jobs))
    assert [laid.conditions(job) for job in jobs] == [set(), set()]
    assert laid.removals == lost
    collector.accepted_sweep(laid)
    assert all(path.exists() for path in lost)
    due = collector.accepted_plan(*options, jobs=set(jobs))
    assert due.files("delete") == lost
    collector.accepted_sweep(due, "--delete")
    assert [unnamed(base, job) for job in jobs] == [set(), set()]
    for job in jobs:
        restore_all(flink_cluster, base / job)
