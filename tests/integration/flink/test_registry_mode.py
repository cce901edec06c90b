"""FLINK-24852 from end to end: oldest retained id, the true registry, and ids in files' names."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from integration.harness.command import Collector, Planned, installed_orphangc
from integration.harness.flinkbed.exporting import ExportingCluster, id_of
from integration.harness.flinkbed.fixtures import NEWEST, require_flink
from integration.harness.flinkbed.snapshots import entries, snapshots
from integration.harness.flinkbed.truth import older_than_retained, retained
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.orphan_workload import seen
from orphangc.core.exporter.registry_snapshot import oldest_retained, resolve

pytestmark = [pytest.mark.flink, pytest.mark.nightly]

RETAINED = 2
INTERVAL = "300 ms"


class Scene:
    """Two jobs of one base, four checkpoints at a time, and what both uploaded in vain."""

    def __init__(self, bed: ExportingCluster) -> None:
        self.bed = bed
        flink = bed.cluster
        self.named = bed.submit(with_ids=True, interval=INTERVAL)
        self.plain = bed.submit(with_ids=False, interval=INTERVAL)
        self.jobs = (self.named, self.plain)
        for job in self.jobs:
            flink.wait_for_checkpoints(job, 2)
        flink.hold()
        flink.wait_until_held(4)
        for job in self.jobs:
            wait_until("four at once", partial(self._has_four, job))
        flink.kill_taskmanager()
        lost = {job: seen(partial(bed.unnamed, job)) for job in self.jobs}
        flink.release()
        flink.start_taskmanager()
        for job in self.jobs:
            wait_until("other checkpoints", partial(self._is_over, job, lost[job]))
        # what one subtask had acknowledged was in the registry, and Flink deletes it by now
        self.lost = {job: {path for path in lost[job] if path.exists()} for job in self.jobs}

    def _has_four(self, job: str) -> bool:
        return bool(self.bed.cluster.checkpoints(job)["counts"]["in_progress"] == 4)

    def _is_over(self, job: str, lost: set[Path]) -> bool:
        """Whether every retained checkpoint is younger than the lost upload, as exported, too."""
        there = {path for path in lost if path.exists()}
        newest = snapshots(self.bed.registry, job)[-1]
        issued = min((each.at.timestamp() for each in newest.issued), default=0)
        return bool(there) and seen(
            lambda: (
                there <= older_than_retained(self.bed.base / job)
                and all(path.stat().st_mtime < issued for path in there)
            )
        )


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[ExportingCluster]:
    """A cluster whose JobManager exports registries."""
    require_flink(NEWEST)
    made = ExportingCluster(NEWEST, tmp_path / "bed", retained=RETAINED)
    with made.cluster:
        yield made


def test_orphans_go_by_id_and_registry_and_a_lost_jobmanager_proves_nothing(
    bed: ExportingCluster, tmp_path: Path
) -> None:
    scene = Scene(bed)
    lost, collector = (
        set().union(*scene.lost.values()),
        Collector(bed.base, tmp_path, installed_orphangc),
    )

    gate = "--closed-world", "--flink-rest", bed.cluster.rest_url
    derived = collector.plan(*gate)
    assert {derived.guard(job) for job in scene.jobs} == {"gate"}, "four at once"
    assert derived.removals == set()

    # on a busy machine more than half of what there is was lost
    evidence = *gate, "--registry", bed.registry, "--max-delete-share", "1"
    first = collector.plan(*evidence)
    assert_all_is_proven(scene, first)
    assert lost <= first.files("tombstone", reason="orphan")
    assert_inputs(scene)
    assert (laid := collector.sweep(first)).code == 0, str(laid)
    for job in scene.jobs:
        bed.cluster.wait_for_checkpoints(job, 1)
    second = collector.plan(*evidence)
    assert_all_is_proven(scene, second)
    assert lost <= second.files("delete", reason="quarantine_over")
    assert (done := collector.sweep(second, "--delete")).code == 0, str(done)
    assert not [path for path in lost if path.exists()]
    assert {bed.cluster.checkpoints(job)["counts"]["restored"] for job in scene.jobs} == {1}

    bed.cluster.cancel(scene.plain)
    plain = settled(bed.base / scene.plain)
    over = "--registry", bed.registry, "--ended-job", scene.plain
    bed.freeze_jobmanager()  # E1 stands
    silent = collector.plan(*over, "--registry-wait", "3s")
    assert_void(silent, scene.named, "no registry snapshot repeated the nonce within 3 s")
    void, last = planned_over_the_death_of_the_jobmanager(scene, collector, over)
    assert_void(void, scene.named, "was started again between the snapshots")

    bed.cluster.wait_for_checkpoints(scene.named, RETAINED)
    bed.cluster.cancel(scene.named)
    for checkpoint in (*plain, last, *settled(bed.base / scene.named, last)):
        bed.cluster.restore_and_check(checkpoint)


def settled(job_dir: Path, after: Path | None = None) -> list[Path]:
    """Return the checkpoints that an ended job retains, once the subsumed ones are gone."""
    earliest = 0 if after is None else checkpoint_id(after)

    def found() -> list[Path]:
        return [path for path in retained(job_dir) if checkpoint_id(path) > earliest]

    wait_until("the subsumed ones to go", lambda: len(found()) == RETAINED)
    return found()


def checkpoint_id(folder: Path) -> int:
    return int(folder.name.removeprefix("chk-"))


def assert_void(made: Planned, job: str, why: str) -> None:
    assert made.guard(job) == "registry", str(made.finished)
    assert why in made._job(job)["refused"]["message"]
    assert not {path for path in made.removals if job in path.parts}


def assert_all_is_proven(scene: Scene, made: Planned) -> None:
    """The jobs run with four at once, and nothing stands in the way."""
    assert made.code == 0, str(made.finished)
    for job in scene.jobs:
        assert (made.guard(job), made.conditions(job)) == (None, set())
    others = made.removals - set().union(*scene.lost.values())
    there = {path for path in others if path.exists()}
    needed = there.difference(*(scene.bed.unnamed(job) for job in scene.jobs))
    assert not {path for path in needed if path.exists()}, "named by a checkpoint"


def assert_inputs(scene: Scene) -> None:
    """S1 to S3: the names say ids below the oldest retained one, and the registry has them not."""
    for job in scene.jobs:
        snapshot = snapshots(scene.bed.registry, job)[-1]
        found = entries(scene.bed.registry, snapshot)
        paths = {resolve(each.path, snapshot.checkpoint_dir) for each in found}
        assert not paths & {f"file:{path}" for path in scene.lost[job]}
        assert paths
    oldest = oldest_retained(snapshots(scene.bed.registry, scene.named)[-1])
    assert oldest is not None
    assert max(map(id_of, scene.lost[scene.named])) < oldest


def planned_over_the_death_of_the_jobmanager(
    scene: Scene, collector: Collector, evidence: tuple[str | Path, ...]
) -> tuple[Planned, Path]:
    """Plan with a dead JobManager's E1; after the nonce, have another one go on with the job.

    Returns the plan, and the checkpoint from which the job goes on.
    """
    bed, flink, job = scene.bed, scene.bed.cluster, scene.named
    before = bed.nonce(job)
    last = retained(bed.base / job)[-1]
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(collector.plan, *evidence, "--registry-wait", "100s")
        wait_until("the nonce", lambda: bed.nonce(job) != before)
        flink.kill_jobmanager()
        flink.kill_taskmanager()
        flink.start_jobmanager()
        flink.start_taskmanager()
        bed.submit(
            with_ids=True,
            interval=INTERVAL,
            restore=last,
            mode="NO_CLAIM",
            config={"$internal.pipeline.job-id": job},
        )
        return running.result(), last
