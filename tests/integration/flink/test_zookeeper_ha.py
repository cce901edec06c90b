"""A real Flink keeps its HA metadata in a real ZooKeeper: what its nodes say is what REST says."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from integration.harness.command import Collector
from integration.harness.flinkbed.cluster import Cluster
from integration.harness.flinkbed.fixtures import NEWEST, require_flink
from integration.harness.flinkbed.settings import ON_REQUEST
from integration.harness.flinkbed.truth import retained
from integration.harness.flinkbed.waiting import wait_until
from integration.harness.flinkbed.zookeeper import ZooKeeper
from orphangc.adapters.flink.ha_metadata import ZooKeeperHa
from orphangc.core.cluster.ha_facts import HaFacts
from orphangc.errors import RegistryUnavailableError
from support import speed

pytestmark = [pytest.mark.flink, pytest.mark.ci]


@pytest.fixture(scope="module", params=[NEWEST])
def version(request: pytest.FixtureRequest) -> str:
    require_flink(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def zookeeper(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """The server that stands in for an ensemble."""
    with ZooKeeper(version, tmp_path_factory.mktemp("zookeeper-")) as server:
        yield server


def observed(zookeeper: ZooKeeper, path: str = "/flink") -> HaFacts:
    return ZooKeeperHa(
        zookeeper.address + path, timeout=timedelta(seconds=speed.answer())
    ).observe()


def test_what_flink_keeps_is_read_while_it_runs_and_after_it_was_killed(
    version: str, zookeeper: ZooKeeper, tmp_path: Path
) -> None:
    """Job, cluster and retained ids; a job whose processes are gone is suspended, not dead."""
    config = {
        "high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": zookeeper.address,
        "high-availability.storageDir": f"file://{tmp_path}/ha",
        "high-availability.cluster-id": "/team/orders",
        "execution.checkpointing.num-retained": "2",
    }
    base = tmp_path / "ckpt"
    with Cluster(version, tmp_path / "flink", config=config) as cluster:
        job = cluster.submit(base, interval=ON_REQUEST)
        cluster.wait_for_checkpoints(job, 2)
        wait_until("one moment", lambda: agree(zookeeper, cluster, base / job, job))
        cluster.kill_jobmanager()
        cluster.kill_taskmanager()
        suspended = observed(zookeeper)
        (hold,) = suspended.holds
        assert hold.retained_ids <= {int(each.name[4:]) for each in retained(base / job)}
        assert len(hold.retained_ids) == 2
        collector = Collector(base, tmp_path)
        stated = ("--ended-job", "all", "--closed-world")
        ours = collector.plan(*stated, "--zookeeper-ha", f"{zookeeper.address}/flink")
        assert ours.guard(job) is None, str(ours.finished)
        assert ours.conditions(job) == {"held_by_ha"}


def agree(zookeeper: ZooKeeper, cluster: Cluster, folder: Path, job: str) -> bool:
    """Return whether nodes, REST and storage were seen at one moment, in which they agree."""
    before = cluster.latest_completed(job)
    facts = observed(zookeeper)
    stored = {int(each.name[4:]) for each in retained(folder)}
    after = cluster.latest_completed(job)
    assert before is not None
    assert after is not None
    (hold,) = facts.holds
    assert hold.job_id == job
    assert hold.cluster == f"zookeeper://{zookeeper.address}/flink/team/orders"
    return before["id"] == after["id"] == max(hold.retained_ids) and hold.retained_ids == stored


@contextmanager
def nodes_of(zookeeper: ZooKeeper) -> Iterator[Callable[[str], object]]:
    """Lend what creates a node, and those above it."""
    client = KazooClient(zookeeper.address)
    client.start()
    try:
        yield partial(client.create, makepath=True)
    finally:
        client.stop()
        client.close()


def test_every_path_above_a_cluster_shows_the_same(zookeeper: ZooKeeper) -> None:
    """The root, a folder of clusters, or one cluster; a newer and an older layout."""
    job, other = "1" * 32, "2" * 32
    number = "0000000000000000007"
    with nodes_of(zookeeper) as create:
        create(f"/others/a/b/jobs/{job}/checkpoints/{number}/locks/x")
        create(f"/others/a/b/checkpoints/{other}/{number}")
        create("/forbidden")
    for path in ("/others", "/others/a", "/others/a/b/"):
        found = {(hold.job_id, hold.cluster) for hold in observed(zookeeper, path).holds}
        cluster = f"zookeeper://{zookeeper.address}/others/a/b"
        assert found == {(job, cluster), (other, cluster)}
        assert {hold.retained_ids for hold in observed(zookeeper, path).holds} == {frozenset({7})}
    assert observed(zookeeper, "/forbidden").holds == ()


def test_a_cluster_whose_id_is_spelt_as_a_checkpoint_is_shows_its_jobs(
    zookeeper: ZooKeeper,
) -> None:
    """A time in nanoseconds has nineteen digits, too: ``cluster-id: $(date +%s%N)``."""
    job, cluster = "3" * 32, "1764282635123456789"
    with nodes_of(zookeeper) as create:
        create(f"/timed/{cluster}/jobs/{job}/checkpoints/0000000000000000007")
    (hold,) = observed(zookeeper, "/timed").holds
    assert (hold.job_id, hold.retained_ids) == (job, {7})


def test_the_top_is_a_path_too(zookeeper: ZooKeeper) -> None:
    """``high-availability.zookeeper.path.root: /``; only without any path it is Flink's default."""
    job = "4" * 32
    with nodes_of(zookeeper) as create:
        create(f"/orders/jobs/{job}/checkpoints/0000000000000000007")
    found = {(hold.job_id, hold.cluster) for hold in observed(zookeeper, "/").holds}
    assert (job, f"zookeeper://{zookeeper.address}/orders") in found


def test_a_path_that_is_not_there_is_unknown(zookeeper: ZooKeeper) -> None:
    """A mistyped one would show no job alive."""
    with pytest.raises(RegistryUnavailableError, match="no node /mistyped"):
        observed(zookeeper, "/mistyped")


def test_a_server_that_does_not_answer_is_unknown_in_time(zookeeper: ZooKeeper) -> None:
    """Whether it listens or not."""
    zookeeper.pause()
    try:
        for address in (zookeeper.address, "127.0.0.1:1"):
            began = time.monotonic()
            with pytest.raises(RegistryUnavailableError, match="who is alive is unknown"):
                ZooKeeperHa(address, timeout=timedelta(seconds=1)).observe()
            assert time.monotonic() - began < speed.patience()
    finally:
        zookeeper.go_on()
