"""HA services in another namespace than the JobManager's, or behind another API server."""

import pytest

from orphangc.core.discovery.discovered_facts import CLUSTER, Discovery, Origin, gathered_facts
from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.sources.cluster_services import configured_facts
from orphangc.core.discovery.sources.read_resources import FileText
from orphangc.core.discovery.texts.flink_options import Reading
from support.discovered import ALL, ROOT, blocks_of, found
from support.flink_resources import a_blue_green, a_deployment, configuration

HA = {"state.checkpoints.dir": ROOT, "high-availability.type": "kubernetes"}


def of_cluster(options):
    """Return the world that a cluster's REST service shows."""
    origin = Origin(kind=CLUSTER, namespace="", name="http://x:8081")
    shown = gathered_facts(origin, configured_facts(options, origin, Reading()))
    return world_of_discovery(Discovery(resources=(shown,)))


def of_file(options):
    text = "\n".join(f"{name}: {value}" for name, value in options.items())
    return world_of_discovery(found([], files=[FileText(path="/c/flink-conf.yaml", text=text)]))


@pytest.mark.parametrize("world", [of_file(HA), of_cluster(HA)], ids=["file", "REST"])
def test_flinks_own_namespace_is_read_where_no_option_names_one(world) -> None:
    """It is not that of the pod: Flink's client takes ``default``."""
    assert world.kubernetes_ha == ("default",)


@pytest.mark.parametrize("kind", [a_deployment, a_blue_green])
def test_the_operator_sets_the_namespace_of_its_clusters(kind) -> None:
    """Whatever the resource says."""
    document = kind()
    spec = document["spec"].get("template", document)["spec"]
    spec["flinkConfiguration"] = {**configuration(), **HA}
    assert world_of_discovery(found([document])).kubernetes_ha == ("flink",)


@pytest.mark.parametrize(
    ("world", "option", "blocks"),
    [
        (of_cluster, "kubernetes.config.file", (ALL,)),
        (of_file, "kubernetes.config.file", (ALL,)),
        (of_file, "kubernetes.context", (ALL,)),
        (of_cluster, "kubernetes.context", ()),
    ],
)
def test_ha_services_behind_another_api_server_block(world, option, blocks) -> None:
    """Which jobs they hold cannot be seen here; a pod has no file that its client's word is of."""
    assert blocks_of(world({**HA, option: "other"})) == blocks
    assert blocks_of(world({"state.checkpoints.dir": ROOT, option: "other"})) == ()
