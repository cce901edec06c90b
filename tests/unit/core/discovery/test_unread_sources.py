"""A source that could not be read blocks until it is read, not until it is named no more."""

from typing import Any

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from orphangc.core.discovery.texts.configuration_texts import options_of_file
from orphangc.core.discovery.texts.strict_fields import UnclearFieldError
from support.discovered import ALL, ROOT, blocks_of, found
from support.flink_resources import (
    a_deployment,
    a_plain_deployment,
    a_session_job,
    configuration,
    mounted,
)

SET = f"-Dstate.checkpoints.dir={ROOT}"
CONF = {"configMap": {"name": "conf"}}
BEFORE = a_plain_deployment(**mounted(CONF, "/opt/flink/conf", SET))
AFTER = a_plain_deployment(container={"args": ["standalone-job", SET]})
READ = {"conf": {"flink-conf.yaml": "state.savepoints.dir: s3://prod/sp"}}
FROM_KEY = {
    "name": "FLINK_PROPERTIES",
    "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "flink-conf.yaml"}},
}


def later(first, second, maps=None):
    """Return what a cycle blocks after another one, and the one after it."""
    known = united(found(second, maps), memory_of(found(first)))
    again = united(found(second, maps), memory_of(known))
    shown = [blocks_of(world_of_discovery(each)) for each in (known, again)]
    assert shown[0] == shown[1]
    return shown[0]


def test_a_config_map_that_is_mounted_no_more_was_never_read() -> None:
    """The job that ran with it may have its savepoints in any place."""
    assert later([BEFORE], [AFTER]) == (ALL,)


def test_a_config_map_that_is_read_explains_itself() -> None:
    """Where it is mounted still, and where it is read in another way."""
    assert later([BEFORE], [BEFORE], READ) == ()
    by_key = a_plain_deployment(container={"args": ["standalone-job", SET], "env": [FROM_KEY]})
    assert later([BEFORE], [by_key], READ) == ()
    other = a_plain_deployment(**mounted({"configMap": {"name": "new"}}, "/opt/flink/conf", SET))
    assert later([BEFORE], [other], {"new": READ["conf"]}) == (ALL,)


def test_a_pod_template_of_an_operators_resource_is_no_other() -> None:
    """Its ConfigMap was not readable, and is not mounted any more."""
    container = {
        "name": "flink-main-container",
        "volumeMounts": [{"name": "v", "mountPath": "/opt/flink/conf"}],
    }
    pod = {"spec": {"containers": [container], "volumes": [{"name": "v", **CONF}]}}
    assert later([a_deployment(podTemplate=pod)], [a_deployment()]) == (ALL,)
    assert later([a_deployment(podTemplate=pod)], [a_deployment(podTemplate=pod)], READ) == ()


def test_a_session_cluster_that_is_named_no_more_was_never_seen() -> None:
    """A job that runs in another one now had the first one's directories."""
    other = a_deployment("other")
    first, second = (a_session_job(cluster=name) for name in ("session", "other"))
    assert later([first], [second, other]) == (ALL,)
    assert later([first], [first, a_deployment("session")]) == ()
    assert later([first], [second, other, a_deployment("session")]) == ()


def test_bytes_that_are_no_text_block_on() -> None:
    """What they said is not known once they are replaced."""
    shown = found([BEFORE], {"conf": {"flink-conf.yaml": None}})
    known = united(found([BEFORE], READ), memory_of(shown))
    assert blocks_of(world_of_discovery(known)) == (ALL,)
    (statement,) = {e.statement for one in shown.resources for e in one.unclear}
    assert blocks_of(world_of_discovery(known, explained=[statement])) == ()


@pytest.mark.parametrize("config", [configuration(), {"execution.checkpointing.dir": ROOT}])
def test_a_storage_in_memory_that_rest_never_confirmed_blocks_on(config) -> None:
    """The job's code may have chosen a directory before its options named one."""
    memory = {"state.checkpoint-storage": "jobmanager"}
    assert later([a_deployment(config=memory)], [a_deployment(config=config)]) == (ALL,)


def test_a_storage_in_memory_that_rest_confirms_is_explained() -> None:
    """Also after a cycle in which REST did not answer."""
    shown = found([a_deployment(config={"state.checkpoint-storage": "jobmanager"})])
    (resource,) = shown.resources
    confirmed = shown.model_copy(update={"resources": (resource.confirmed_by_rest(),)})
    known = united(confirmed, memory_of(shown))
    assert blocks_of(world_of_discovery(known)) == ()
    named = united(found([a_deployment()]), memory_of(known))
    assert blocks_of(world_of_discovery(named)) == ()


def test_a_variable_in_the_name_of_an_option_blocks() -> None:
    """Flink's image replaces variables in the whole file."""
    shown = found([a_deployment(config={**configuration(), "${WHERE}.dir": "s3://prod/x"})])
    assert blocks_of(world_of_discovery(shown)) == (ALL,)


@pytest.mark.parametrize("part", ["config", "podTemplate", "job"])
def test_a_resource_that_is_nested_too_deeply_blocks_everything(part) -> None:
    """Anyone who may write into the namespace can make one."""
    deep: Any = {}
    for _ in range(5_000):
        deep = {"x": deep}
    shown = world_of_discovery(found([a_deployment("other"), a_deployment(**{part: deep})]))
    assert ALL in blocks_of(shown)


def test_a_file_of_open_brackets_is_refused_before_it_is_read() -> None:
    """Its reading would take minutes."""
    with pytest.raises(UnclearFieldError, match="brackets"):
        options_of_file("config.yaml", "[" * 100_000)
