"""What stands beside a field that is not understood is read, and the field blocks."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from support.discovered import ALL, SAVEPOINTS, blocks_of, found
from support.flink_resources import (
    JOB,
    a_deployment,
    a_snapshot_resource,
    a_status,
    changed,
    configuration,
)

KEPT = "s3://kept/sp/savepoint-1"
WHOLE = a_deployment(
    job={"state": "running", "initialSavepointPath": KEPT},
    config=configuration(state__savepoints__dir=SAVEPOINTS),
    status=a_status(
        job={
            "upgradeSavepointPath": "s3://kept/sp/savepoint-2",
            "savepointInfo": {
                "lastSavepoint": {"location": "s3://kept/sp/savepoint-3"},
                "savepointHistory": [
                    {"location": "s3://kept/sp/savepoint-4"},
                    {"location": "s3://kept/sp/savepoint-5"},
                ],
            },
        }
    ),
)
INFO = ("status", "jobStatus", "savepointInfo")
SAVED = {f"s3://kept/sp/savepoint-{number}" for number in range(1, 6)}


@pytest.mark.parametrize(
    ("path", "lost"),
    [
        (("status", "reconciliationStatus"), set()),
        (("spec", "job"), {KEPT}),
        (("spec", "job", "initialSavepointPath"), {KEPT}),
        (INFO, {f"s3://kept/sp/savepoint-{n}" for n in (3, 4, 5)}),
        ((*INFO, "lastSavepoint"), {"s3://kept/sp/savepoint-3"}),
        ((*INFO, "savepointHistory"), {f"s3://kept/sp/savepoint-{n}" for n in (4, 5)}),
        ((*INFO, "savepointHistory", 0), {"s3://kept/sp/savepoint-4"}),
    ],
)
def test_a_mistyped_field_takes_out_nothing_but_itself(path, lost) -> None:
    """A statement that explains it must not take out what stands beside it."""
    document = changed(WHOLE, path, [1])
    world = world_of_discovery(found([document]))
    assert blocks_of(world) == (ALL,)
    assert set(world.pins) == SAVED - lost
    assert world.extra_roots == (SAVEPOINTS,)
    assert world.clusters == ("http://orders-rest.flink:8081",)


def test_an_unknown_state_does_not_hide_the_id_of_a_job() -> None:
    """The id keeps its files by itself, and a state names no place."""
    for strange in ("NEW", [1]):
        document = changed(a_deployment(), ("status", "jobStatus", "state"), strange)
        (resource,) = found([document]).resources
        assert [job.job_id for job in resource.jobs] == [JOB]
        assert not resource.unclear


def a_snapshot(path, *, state="IN_PROGRESS", **savepoint):
    document = a_snapshot_resource(path="", state=state)
    document["spec"]["savepoint"] = {"path": path, **savepoint}
    return document


def test_the_path_of_a_snapshot_to_take_is_the_folder_around_it() -> None:
    """Flink makes a folder of its own in it, which the status names once it is complete."""
    world = world_of_discovery(found([a_snapshot(SAVEPOINTS)]))
    assert (world.extra_roots, world.pins) == ((SAVEPOINTS,), ())
    for existing in (True, False):
        shown = found([a_snapshot(SAVEPOINTS, alreadyExists=existing)])
        world = world_of_discovery(shown)
        expected = ((), (SAVEPOINTS,)) if existing else ((SAVEPOINTS,), ())
        assert (world.extra_roots, world.pins) == expected


def test_a_snapshot_that_may_exist_already_is_both() -> None:
    """Its field is mistyped: its path may be that of the savepoint, or of the folder around."""
    world = world_of_discovery(found([a_snapshot(SAVEPOINTS, alreadyExists="yes")]))
    assert (world.extra_roots, world.pins) == ((SAVEPOINTS,), (SAVEPOINTS,))


def test_a_checkpoint_that_has_no_place_names_none() -> None:
    """It is in the JobManager's memory; Flink says so in these words."""
    document = a_snapshot_resource(path="<checkpoint-not-externally-addressable>")
    document["spec"] = {"checkpoint": {}}
    assert blocks_of(world_of_discovery(found([document]))) == ()


@pytest.mark.parametrize(
    ("options", "scheme"),
    [
        ({"security.ssl.enabled": "true"}, "https"),
        ({"security.ssl.enabled": "TRUE"}, "https"),
        ({"security.ssl.rest.enabled": True}, "https"),
        ({"security.ssl.enabled": "true", "security.ssl.rest.enabled": "false"}, "http"),
        ({"security.ssl.enabled": "false"}, "http"),
    ],
)
def test_the_older_option_of_tls_counts_unless_the_newer_one_is_set(options, scheme) -> None:
    """An address of another scheme never answers."""
    config = {"state.checkpoints.dir": "s3://prod/checkpoints", **options}
    world = world_of_discovery(found([a_deployment(config=config)]))
    assert world.clusters == (f"{scheme}://orders-rest.flink:8081",)
