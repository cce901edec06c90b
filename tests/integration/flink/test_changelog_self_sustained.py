"""Real Flink with a changelog: does a job still need the snapshot that it was restored from?"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.flink.test_self_sustained import Asking, photographed
from integration.harness.command import orphangc
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import NIGHTLY, require_flink
from integration.harness.flinkbed.references import read_by_flink
from integration.harness.flinkbed.settings import CHANGELOG
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import wait_until

pytestmark = pytest.mark.flink


@pytest.fixture(scope="module", params=NIGHTLY)
def started(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, Path]]:
    """A cluster of each version, and the base of the changes, far from all checkpoints.

    Before Flink 2.0 a job cannot choose the base.
    """
    require_flink(request.param)
    work = tmp_path_factory.mktemp(f"changelog-{request.param}-")
    dstl = work / "far" / "dstl"
    config = {**CHANGELOG, "state.changelog.dstl.dfs.base-path": f"file:{dstl}"}
    with Cluster(request.param, work / "flink", config=config) as cluster:
        yield cluster, dstl


@pytest.fixture
def changelog(started: tuple[Cluster, Path]) -> Iterator[tuple[Cluster, Path]]:
    """The module's cluster, put right after each test."""
    yield started
    started[0].tidy()


@pytest.fixture
def asking(changelog: tuple[Cluster, Path], tmp_path: Path) -> Asking:
    """The command line with what the cluster says."""
    return Asking(changelog[0], tmp_path / "ckpt", tmp_path / "state")


def test_a_changelog_job_that_was_never_restored_needs_nothing_of_others(
    changelog: tuple[Cluster, Path], tmp_path: Path, asking: Asking
) -> None:
    """Its changes lie below another base, in a folder of its own id."""
    base, (cluster, dstl) = tmp_path / "ckpt", changelog
    job = cluster.submit(base, interval="1s")
    for is_confirmed in (False, True):
        cluster.wait_for_checkpoints(job, 2)
        asked = "self-sustained", base, "--job", job, *asking.options
        told = orphangc(*asked).document
        assert told["seen"]["value"] is True, told["why"]
        assert told["confirmed"] is is_confirmed
    assert list((dstl / job / "dstl").iterdir())


@pytest.mark.parametrize("kind", ["checkpoint", "savepoint"])
def test_a_changelog_job_needs_a_claimed_snapshot_as_long_as_flink_reads_a_file_of_it(
    changelog: tuple[Cluster, Path], tmp_path: Path, asking: Asking, kind: str
) -> None:
    """Flink refuses NO_CLAIM here. On the heap, one materialization replaces what was restored."""
    base, (cluster, dstl) = tmp_path / "ckpt", changelog
    config = {"state.backend.type": "hashmap"}
    first = cluster.submit(base, interval="1s", config=config)
    cluster.wait_for_checkpoints(first, 2)
    snapshot = cluster.savepoint(first, tmp_path / "savepoints", "NATIVE")
    cluster.cancel(first, between_checkpoints=True)
    snapshot = snapshot if kind == "savepoint" else retained(base / first)[-1]
    job = cluster.submit(base, snapshot, "CLAIM", interval="1s", config=config)
    own = (base / job, dstl / job / "dstl")

    def is_free() -> bool:
        cluster.wait_for_checkpoints(job, 1)
        before = foreign_of_changelog(cluster, own, tmp_path / "before")
        told = asking(job, snapshot)
        after = foreign_of_changelog(cluster, own, tmp_path / "after")
        if after:
            assert told["seen"]["value"] is not True, told["why"]
        if not before and kind == "checkpoint":  # what a savepoint holds is misplaced: FLINK-39964
            assert told["seen"]["value"] is not False, told["why"]
        return told["state_self_sustained"] is True

    wait_until("an answer that nothing of the snapshot is needed", is_free, seconds=120)
    cluster.cancel(job, between_checkpoints=True)
    shutil.rmtree(snapshot, ignore_errors=True)
    shutil.rmtree(base / first)
    shutil.rmtree(dstl / first)
    again = cluster.submit(base, retained(base / job)[-1], "CLAIM", interval="1s", config=config)
    cluster.wait_for_checkpoints(again, 1)


def foreign_of_changelog(cluster: Cluster, own: tuple[Path, ...], folder: Path) -> int:
    """Return how many files that are not in the job's folders Flink reads in its checkpoints."""
    read = read_by_flink(cluster.version, retained(photographed(own[0], folder)))
    places = (*own, folder)
    return sum(
        not any(path.is_relative_to(place) for place in places)
        for paths in read.values()
        for path in paths
    )
