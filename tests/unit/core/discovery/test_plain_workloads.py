"""Workloads without an operator: evidence of nothing, and where a JobManager may answer."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.sources.read_resources import discovery_of, plain_workloads
from orphangc.core.discovery.texts.flink_options import Reading
from support.discovered import blocks_of, namespace
from support.flink_resources import a_deployment, a_plain_deployment

RED = {"image": "ours/red:7", "command": ["java", "-cp", "/app/*", "RedJob"]}
ANY = {"image": "ours/x:1"}


def names(*documents):
    shown = namespace(documents)
    return [each.origin.name for each in plain_workloads(shown, Reading())]


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_nothing_that_a_workload_runs_or_mounts_names_a_place_or_blocks(kind) -> None:
    """A mount that is not readable, a Secret, a script, an option in an argument."""
    mounts = [{"name": "conf", "mountPath": "/opt/flink/conf"}]
    container = {
        "args": ["standalone-job", "-Dstate.checkpoints.dir=s3://${X}/y"],
        "envFrom": [{"secretRef": {"name": "aws"}}],
        "volumeMounts": mounts,
    }
    volumes = [{"name": "conf", "configMap": {"name": "absent", "optional": True}}]
    plain = a_plain_deployment(kind=kind, container=container, volumes=volumes)
    world = world_of_discovery(discovery_of([namespace([plain])], (), Reading()))
    assert (world.known_roots, world.extra_roots, blocks_of(world)) == ((), (), ())


def test_what_looks_like_flink_is_asked_at_the_names_of_its_service() -> None:
    """That of a native cluster, and that of Flink's pages on standalone ones."""
    (found,) = plain_workloads(namespace([a_plain_deployment()]), Reading())
    assert found.addresses == (
        "http://flink-jobmanager-rest.flink:8081",
        "http://flink-jobmanager.flink:8081",
    )


@pytest.mark.parametrize(
    ("name", "labels", "container", "looks"),
    [
        ("flink-jobmanager-red", {}, RED, True),
        ("red", {"component": "JobManager"}, ANY, True),
        ("history", {}, {"image": "flink:1.20", "args": ["history-server"]}, True),
        ("red", {"app": "red"}, RED, False),
        ("web", {"app": "web"}, ANY, False),
        ("flink-tm", {"component": "taskmanager"}, {}, False),
        ("flink-operator", {}, {"image": "apache/flink-kubernetes-operator:1.15"}, False),
        ("x", {"app.kubernetes.io/name": "orphangc", "team": "flink"}, ANY, False),
    ],
)
def test_a_name_a_label_or_an_image_is_enough_to_ask(name, labels, container, looks) -> None:
    """It proves nothing, and nothing but a question and a warning follows from it."""
    document = a_plain_deployment(name, labels, container=container)
    assert names(document) == ([name] if looks else [])


def test_the_pods_of_a_resource_are_not_asked_twice() -> None:
    """An operator's deployment stands for them."""
    plain = a_plain_deployment("orders")
    assert names(a_deployment(), plain) == []
    plain["metadata"]["ownerReferences"] = [{"kind": "FlinkDeployment", "name": "other"}]
    assert names(plain) == []
