"""A configuration inside an image: only the REST service of the cluster shows it."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.remembered_facts import memory_of, united
from support.discovered import ALL, ROOT, blocks_of, found
from support.flink_resources import a_plain_deployment, mounted

SET = f"-Dstate.checkpoints.dir={ROOT}"
CONF = {"conf": {"flink-conf.yaml": f"state.checkpoints.dir: {ROOT}"}}
OURS = "registry.example/ours/orders:7"


def with_image(image, **more):
    return a_plain_deployment(container={"image": image, "args": ["standalone-job", SET]}, **more)


@pytest.mark.parametrize(
    ("image", "blocks"),
    [
        ("flink:1.20", ()),
        ("flink", ()),
        ("apache/flink:2.0.0-java17", ()),
        ("docker.io/library/flink@sha256:0123", ()),
        ("docker.io/apache/flink:1.20", ()),
        (OURS, (ALL,)),
        ("registry.example/flink:1.20", (ALL,)),
        ("flink-orders:1.20", (ALL,)),
        ("localhost:5000/apache/flink", (ALL,)),
    ],
)
def test_an_image_that_is_not_flinks_own_may_hold_a_configuration(image, blocks) -> None:
    """Flink's own names no place."""
    assert blocks_of(world_of_discovery(found([with_image(image)]))) == blocks


def test_a_config_map_over_the_whole_folder_hides_that_of_the_image() -> None:
    """A single file of it does not."""
    whole = mounted({"configMap": {"name": "conf"}})
    whole["container"]["image"] = OURS
    assert blocks_of(world_of_discovery(found([a_plain_deployment(**whole)], CONF))) == ()
    file = "/opt/flink/conf/flink-conf.yaml"
    part = mounted({"configMap": {"name": "conf"}}, file, subPath="flink-conf.yaml")
    part["container"]["image"] = OURS
    assert blocks_of(world_of_discovery(found([a_plain_deployment(**part)], CONF))) == (ALL,)


def shown_by_rest(discovery):
    """Return a discovery in which REST has shown the configuration."""
    resources = tuple(each.shown_by_rest() for each in discovery.resources)
    return discovery.model_copy(update={"resources": resources})


def test_what_rest_has_shown_is_remembered_while_nothing_runs() -> None:
    """Of the same image; while a pod is there it must be shown in each cycle."""
    running, stopped, other = with_image(OURS), with_image(OURS), with_image(f"{OURS}1")
    for each in (stopped, other):
        each["spec"]["replicas"] = 0
    known = united(shown_by_rest(found([running])), memory_of(found([stopped])))
    assert blocks_of(world_of_discovery(known)) == ()
    memory = memory_of(known)
    assert blocks_of(world_of_discovery(united(found([stopped]), memory))) == ()
    assert blocks_of(world_of_discovery(united(found([other]), memory))) == (ALL,)
    assert blocks_of(world_of_discovery(united(found([running]), memory))) == (ALL,)


def test_an_image_that_was_replaced_before_rest_showed_it_blocks_on() -> None:
    """Its configuration may have named another place; a person may explain it."""
    before = found([with_image(OURS)])
    now = united(found([with_image("flink:1.20")]), memory_of(before))
    assert blocks_of(world_of_discovery(now)) == (ALL,)
    (statement,) = {each.statement for one in before.resources for each in one.unclear}
    assert blocks_of(world_of_discovery(now, explained=[statement])) == ()
