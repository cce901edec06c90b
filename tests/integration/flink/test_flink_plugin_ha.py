"""The plugin with real high availability: a JobManager dies, and the next one takes over."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import VERSIONS, require_flink
from integration.harness.flinkbed.plugin import FACTORY, STORAGE, plugin_jar
from integration.harness.flinkbed.snapshots import echo, snapshots
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.flinkbed.zookeeper import ZooKeeper
from orphangc.core.exporter.registry_snapshot import oldest_retained

pytestmark = [pytest.mark.flink, pytest.mark.nightly]


@pytest.fixture(scope="module", params=VERSIONS)
def zookeeper(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A version of Flink, and the address of the ZooKeeper that its jars hold."""
    require_flink(request.param)
    with ZooKeeper(request.param, tmp_path_factory.mktemp("zookeeper-")) as server:
        yield request.param, server.address


@pytest.mark.parametrize("way", ["factory", "agent"])
def test_the_next_jobmanager_exports_under_another_epoch(
    zookeeper: tuple[str, str], way: str, tmp_path: Path
) -> None:
    version, address = zookeeper
    registry, data = tmp_path / "registry", tmp_path / "data"
    jar = plugin_jar(version)
    config = {
        "high-availability.type": "zookeeper" if way == "agent" else FACTORY,
        "orphangc.high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": address,
        "high-availability.zookeeper.path.root": f"/{tmp_path.name}",
        "high-availability.storageDir": f"file://{tmp_path / 'ha'}",
        "orphangc.registry.dir": f"file://{registry}",
        "orphangc.registry.min-pause": "100 ms",
        "orphangc.registry.nonce-interval": "100 ms",
        "orphangc.registry.num-retained": "1000",
    }
    options = [f"-javaagent:{jar}"] if way == "agent" else []
    cluster = Cluster(
        version, tmp_path / "flink", config=config, libraries=[jar], jobmanager_options=options
    )
    with cluster as flink:
        job = flink.submit(data, config={"execution.checkpointing.storage": STORAGE})
        flink.wait_for_checkpoints(job, 4)
        before = echo(registry, job)
        assert not before.restored

        flink.kill_jobmanager()
        left = retained(data / job)
        flink.start_jobmanager()
        wait_until("the job to go on", lambda: runs(flink, job))
        after = echo(registry, job)

        assert after.jm_epoch != before.jm_epoch
        assert [(each.path, each.mode) for each in after.restored] == [(f"file:{left[-1]}", None)]
        first = next(each for each in snapshots(registry, job) if each.jm_epoch == after.jm_epoch)
        assert (first.sequence, first.checkpoint_dir) == (1, before.checkpoint_dir)
        assert (oldest_retained(first) or 0) >= (oldest_retained(before) or 0)
        flink.wait_for_checkpoints(job, 2)
        flink.cancel(job)


def runs(flink: Cluster, job: str) -> bool:
    try:
        return flink.rest.is_running(job)
    except httpx.HTTPStatusError:
        return False
