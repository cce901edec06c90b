"""What is not searched, read or shown blocks every storage root: claims cross roots."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.sources.read_resources import FileText
from support.discovered import ALL, blocks_of, found
from support.flink_resources import (
    a_deployment,
    a_plain_deployment,
    a_session_job,
    configuration,
)

TEMPLATED = {"state.savepoints.dir": "s3://kept/${TEAM}/x"}


def blocks(*documents, **more):
    return blocks_of(world_of_discovery(found(documents, **more)))


@pytest.mark.parametrize(
    "config",
    [
        {"state.checkpoints.dir": "s3://prod/${TEAM}/x"},
        {"state.checkpoints.dir": "file:///data/x"},
        {"state.checkpoints.dir": "s3://prod/x", "s3.endpoint": "http://minio:9000"},
    ],
)
def test_a_checkpoint_directory_that_is_not_searched_blocks_every_root(config) -> None:
    """Its checkpoints may refer to files of any root."""
    assert blocks(a_deployment(config=config)) == (ALL,)
    assert blocks(a_session_job(config=config)) == (ALL,)


def test_a_savepoint_directory_that_is_not_searched_blocks_its_places_only() -> None:
    """Beside a checkpoint directory that is known."""
    config = {**configuration(), **TEMPLATED}
    assert blocks(a_deployment(config=config)) == (("s3://kept/", "s3://prod/checkpoints"),)


NO_DIRECTORY = {
    "deployment": ([a_deployment(config=TEMPLATED)], ()),
    "workload": (
        [
            a_plain_deployment(
                container={"args": ["jobmanager", "-Dstate.savepoints.dir=s3://a/%x"]}
            )
        ],
        (),
    ),
    "session job": ([a_session_job(config=TEMPLATED)], ()),
    "file": (
        [],
        (FileText(path="/x/config.yaml", text="state.savepoints.dir: s3://kept/${TEAM}/x"),),
    ),
}


@pytest.mark.parametrize("name", NO_DIRECTORY)
def test_another_part_does_not_hide_that_no_checkpoint_directory_is_named(name) -> None:
    """In each of the sources."""
    documents, files = NO_DIRECTORY[name]
    assert ALL in blocks(*documents, files=files)


@pytest.mark.parametrize(
    "more",
    [
        {"config": {"high-availability.type": "com.acme.Ha"}},
        {
            "config": {"a": "b"},
            "podTemplate": {
                "spec": {
                    "containers": [
                        {"name": "flink-main-container", "lifecycle": {"postStart": {"exec": {}}}}
                    ]
                }
            },
        },
        {"config": "text"},
    ],
)
def test_an_explained_part_does_not_explain_what_is_missing(more) -> None:
    """The directory is still not named."""
    shown = found([a_deployment(**more)])
    stated = [each.statement for one in shown.resources for each in one.unclear if each.statement]
    missing = [e.statement for one in shown.resources for e in one.unclear if e.is_absence]
    explained = set(stated) - set(missing)
    assert explained
    assert blocks_of(world_of_discovery(shown, explained=explained)) == (ALL,)
