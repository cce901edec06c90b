"""Deployments of one name in two namespaces are two: neither hides the other."""

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, successions, united
from orphangc.core.discovery.sources.read_resources import discovery_of
from orphangc.core.discovery.texts.flink_options import Reading
from support.discovered import namespace
from support.flink_resources import a_deployment, a_status, made_maps


def test_one_name_in_two_namespaces_is_two_deployments() -> None:
    """Also for the memory, and when each runs another job: a job of one is no successor in the
    other, even if the API server gave both one identity.
    """
    both = [
        (place, a_deployment(config={"state.checkpoints.dir": root}, status=a_status(job * 32)))
        for place, root, job in (("flink-a", "s3://a/ck", "a"), ("flink-b", "s3://b/ck", "b"))
    ]
    shown = [namespace([each], made_maps(each), name=place) for place, each in both]
    now = discovery_of(shown, [], Reading())
    known = united(discovery_of(shown[1:], [], Reading()), memory_of(now))
    world = world_of_discovery(known, namespaces=["flink-a", "flink-b"])
    assert set(world.storage_roots) == {"s3://a/ck", "s3://b/ck"}
    assert set(world_of_discovery(now).clusters) == {
        "http://orders-rest.flink-a:8081",
        "http://orders-rest.flink-b:8081",
    }
    assert {each.origin.resource for each in known.resources} == {
        "FlinkDeployment/flink-a/orders",
        "FlinkDeployment/flink-b/orders",
    }
    assert successions(known) == ()
