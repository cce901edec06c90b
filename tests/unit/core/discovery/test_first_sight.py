"""A deployment whose cluster never showed its configuration, and clusters that may run unseen."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from support.discovered import ALL, ROOT, SAVEPOINTS, acknowledged, blocks_of, found
from support.flink_resources import a_blue_green, a_deployment, a_plain_deployment, a_status

HIDDEN = {"flink-config-orders": {"config.yaml": f"state.savepoints.dir: {SAVEPOINTS}"}}
GONE = {"jobManagerDeploymentStatus": "MISSING", "lifecycleState": "SUSPENDED"}


def gone(**more):
    status = a_status(state="FINISHED", **GONE)
    return a_deployment(status=status, job={"state": "suspended"}, **more)


def world(*documents, maps=None, memory=None):
    now = found(documents, maps)
    return world_of_discovery(now if memory is None else united(now, memory))


@pytest.mark.parametrize("status", [{}, a_status(state="FINISHED", **GONE)])
def test_the_operators_defaults_of_a_cluster_that_was_never_seen_block_everything(status) -> None:
    """They may name a savepoint directory, a second store, HA services: the spec says none."""
    assert blocks_of(world(a_deployment(status=status))) == (ALL,)


def test_a_configuration_that_was_seen_once_is_enough_while_nothing_runs() -> None:
    """Its savepoint directory stays in the world."""
    memory = memory_of(found([a_deployment()], HIDDEN))
    later = world(gone(), memory=memory)
    assert (later.extra_roots, blocks_of(later)) == ((SAVEPOINTS,), ())
    blocked = memory_of(found([gone()]))
    shown = world(a_deployment(), maps=HIDDEN, memory=blocked)
    assert blocks_of(shown) == ()


def test_a_deployment_that_was_remembered_without_its_configuration_blocks_on() -> None:
    """Its checkpoint directory is known, and the operator's defaults are not."""
    memory = memory_of(found([gone()]))
    assert blocks_of(world(gone(), memory=memory)) == (ALL,)
    unread = memory_of(found([a_deployment()], {"flink-config-orders": {}}))
    assert blocks_of(world(gone(), memory=unread)) == (ALL,)


def test_a_configuration_that_is_seen_explains_no_deployment_made_anew() -> None:
    """Under its name, with an identity of its own."""
    memory = memory_of(found([a_deployment()], HIDDEN))
    anew = gone()
    anew["metadata"]["uid"] = "uid-of-another"
    assert blocks_of(world(anew, memory=memory)) == (ALL,)


def test_a_running_cluster_without_its_configuration_blocks_everything() -> None:
    """Also where an earlier cycle read one: it may have been made anew."""
    hidden = {"flink-config-orders": {"log4j.properties": ""}}
    memory = memory_of(found([a_deployment()], HIDDEN))
    assert blocks_of(world(a_deployment(), maps=hidden, memory=memory)) == (ALL,)


def test_a_person_may_acknowledge_the_defaults_of_one_deployment() -> None:
    shown = found([gone(), a_deployment("other", status={})])
    both = acknowledged(shown)
    assert blocks_of(world_of_discovery(shown, acknowledged=both)) == ()
    assert blocks_of(world_of_discovery(shown, acknowledged=both[:1])) == (ALL,)


@pytest.mark.parametrize("config", [{"parallelism.default": "2"}, None])
def test_a_pair_without_children_blocks_everything(config) -> None:
    """Neither of its deployments shows a configuration."""
    made = {"flink-config-pair-blue": {}}
    assert blocks_of(world(a_blue_green(config=config), maps=made)) == (ALL,)


@pytest.mark.parametrize("colour", ["blue", "green"])
def test_a_pair_with_a_child_is_known_by_it(colour) -> None:
    """The child has the configuration of the cluster."""
    child = a_deployment(f"pair-{colour}")
    made = {"flink-config-pair-blue": {}, f"flink-config-pair-{colour}": {"config.yaml": ""}}
    shown = world(a_blue_green(config={"parallelism.default": "2"}), child, maps=made)
    assert (shown.storage_roots, blocks_of(shown)) == ((ROOT,), ())


def test_the_configuration_of_a_child_that_is_gone_is_that_of_its_pair() -> None:
    """As long as its ConfigMap is there."""
    maps = {"flink-config-pair-green": {"flink-conf.yaml": f"state.savepoints.dir: {SAVEPOINTS}"}}
    shown = world(a_blue_green(), maps=maps)
    assert (shown.extra_roots, blocks_of(shown)) == ((SAVEPOINTS,), ())


def job_manager(**more):
    document = a_plain_deployment("orders", {"component": "jobmanager"}, **more)
    owner = {"kind": "FlinkDeployment", "name": "orders"}
    document["metadata"]["ownerReferences"] = [owner]
    return document


def test_a_job_manager_that_is_there_is_asked_whatever_the_status_says() -> None:
    """The status may be of before its start."""
    shown = world(gone(), job_manager(), maps=HIDDEN)
    assert shown.clusters == ("http://orders-rest.flink:8081",)
    assert world(gone(), maps=HIDDEN).clusters == ()


def test_a_job_manager_that_is_there_may_write_where_no_cycle_has_read() -> None:
    """So its configuration must be seen in this cycle."""
    memory = memory_of(found([a_deployment()], HIDDEN))
    assert blocks_of(world(gone(), job_manager(), memory=memory)) == (ALL,)


@pytest.mark.parametrize("status", [None, {}, {"jobStatus": {}}])
def test_a_deployment_that_no_operator_has_seen_has_no_cluster_to_ask(status) -> None:
    """As in a namespace that the operator does not watch: its silence would block for ever."""
    unseen = a_deployment()
    unseen |= {"status": status}
    assert world(unseen).clusters == ()
    assert world(unseen, job_manager()).clusters == ("http://orders-rest.flink:8081",)
