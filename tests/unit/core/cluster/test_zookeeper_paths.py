"""Paths of ZooKeeper's nodes, newer and older layout, and what is no job."""

import pytest

from orphangc.core.cluster.zookeeper_paths import zookeeper_facts

JOB = "5d2f1c0e9a8b7c6d5e4f3a2b1c0d9e8f"
ID = "0000000000000000042"


def facts(*paths: str):
    return zookeeper_facts("zookeeper://zk:2181/flink", "zk:2181", paths)


@pytest.mark.parametrize("cluster", ["/flink/default", "/flink/team/a/orders", "/x"])
def test_the_newer_layout_tells_cluster_job_ids_and_counter(cluster: str) -> None:
    """Flink 1.14-2.3."""
    base = f"{cluster}/jobs/{JOB}"
    (hold,) = facts(
        f"{cluster}/jobs",
        base,
        f"{base}/checkpoints",
        f"{base}/checkpoints/{ID}",
        f"{base}/checkpoints/0000000000000000043",
        f"{base}/checkpoint_id_counter",
        f"{cluster}/leader/{JOB}/connection_info",
    ).holds
    assert (hold.job_id, hold.cluster) == (JOB, f"zookeeper://zk:2181{cluster}")
    assert hold.retained_ids == {42, 43}
    assert hold.uri == f"zookeeper://zk:2181{cluster}#{JOB}"


def test_the_older_layout_tells_the_same() -> None:
    """Flink up to 1.13."""
    (hold,) = facts(
        f"/flink/default/checkpoints/{JOB}",
        f"/flink/default/checkpoints/{JOB}/{ID}",
        f"/flink/default/checkpoint-counter/{JOB}",
        f"/flink/default/jobgraphs/{JOB}",
    ).holds
    assert (hold.job_id, hold.cluster) == (JOB, "zookeeper://zk:2181/flink/default")
    assert hold.retained_ids == {42}


def test_nodes_that_options_name_tell_the_same() -> None:
    """``high-availability.zookeeper.path.checkpoints`` and the like; what it is called is free."""
    (hold,) = facts(
        f"/flink/default/ours/{JOB}",
        f"/flink/default/ours/{JOB}/{ID}",
        f"/flink/default/our-counters/{JOB}",
    ).holds
    assert (hold.job_id, hold.cluster) == (JOB, "zookeeper://zk:2181/flink/default")
    assert hold.retained_ids == {42}


@pytest.mark.parametrize(
    ("path", "count"),
    [
        (f"/flink/default/jobs/{JOB}", 1),
        (f"/flink/default/jobgraphs/{JOB}", 1),
        ("/flink/default/leader/rest_server/connection_info", 1),  # Flink 1.15-2.3
        ("/flink/default/leader/dispatcher", 1),
        ("/flink/default/leaderlatch/resource_manager_lock", 1),  # up to 1.14
        (f"/flink/default/checkpoints/{JOB}/{ID}", 1),  # up to 1.13
        (f"/tasks/{JOB}", 0),
        ("/flink/default", 0),
        ("/flink/default/jobs", 0),
        ("/kafka/brokers/ids/0", 0),
        ("/druid/overlord/leader/_OVERLORD", 0),
    ],
)
def test_only_nodes_of_flinks_are_counted(path: str, count: int) -> None:
    """None is an answer, and worth a look: the path may be mistyped, or another program's."""
    assert [facts(*[path] * number).things for number in range(3)] == [0, count, 2 * count]


@pytest.mark.parametrize("node", ["jobgraphs", "execution-plans"])
def test_a_job_whose_graph_is_kept_is_held(node: str) -> None:
    """The next JobManager starts it."""
    (hold,) = facts(f"/flink/default/{node}/{JOB}").holds
    assert hold.job_id == JOB


@pytest.mark.parametrize(
    "path",
    [
        f"/flink/default/leader/{JOB}",
        f"/flink/default/leader/{JOB}/job_manager_lock",
        f"/flink/default/running_job_registry/{JOB}",
        f"/flink/default/leaderlatch/{JOB}",
        f"/flink/default/applications/{JOB}",  # the id of an application, from Flink 2.3 on
        "/flink/default/jobs",
        f"/flink/default/jobs/{JOB[:31]}",
        f"/flink/default/jobs/{JOB.upper()}",
    ],
)
def test_other_nodes_hold_nobody(path: str) -> None:
    """Leaders' nodes outlive their jobs; a name that is no id is of no job."""
    assert facts(path).holds == ()


def test_two_clusters_of_one_job_id_are_two() -> None:
    """Application clusters before 1.16 all used the same one."""
    found = facts(f"/flink/a/jobs/{JOB}", f"/flink/b/jobs/{JOB}").holds
    assert {hold.cluster for hold in found} == {
        "zookeeper://zk:2181/flink/a",
        "zookeeper://zk:2181/flink/b",
    }


def test_below_a_checkpoint_lie_only_locks() -> None:
    """They are no checkpoints, however they are spelt."""
    locks = facts(f"/flink/d/jobs/{JOB}/checkpoints/{ID}/locks/{ID}").holds
    assert locks[0].retained_ids == frozenset()
