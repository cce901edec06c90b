"""Losses by a place that somebody names and that is mounted where Flink runs, not here."""

import json
from pathlib import Path

import pytest

from cli.helpers import DAY, Job, flink, metadata, write
from safety.incidents.essential import must_be_there
from support.rest_server import Reply, RestServer, as_json

SEARCHES_STORAGES = True
CLAIMED = f"file:{{place}}/ck/{'b' * 32}/chk-3"
NAMED_BY = {
    "a job that failed": None,
    "the directory of checkpoints": ("execution.checkpointing.dir", "file://{place}/ck"),
    "the directory of savepoints": ("state.savepoints.dir", "file://{place}/ck"),
    "what a job is restored from": ("execution.savepoint.path", CLAIMED),
}


@pytest.fixture
def volume(tmp_path_factory) -> Path:
    """Return the place of a volume that is not mounted here, beside no storage root."""
    return tmp_path_factory.mktemp("machine") / "mnt" / "team-b"


def cluster(named_by: str, place: Path) -> dict[str, Reply]:
    """Return the routes of a cluster that names a place, and what it shows of no other."""
    job, option = Job("b" * 32, place / "ck" / ("b" * 32)), NAMED_BY[named_by]
    routes = flink(job, completed=3, status="FAILED", restored=(3, job.folder / "chk-3"))
    body = json.loads(routes[f"/jobs/{job.id}/checkpoints"][1])
    body |= {"counts": {"in_progress": 0, "completed": 0}, "history": []}
    body["latest"]["completed"] = None
    routes[f"/jobs/{job.id}/checkpoints"] = as_json(body)
    if option is not None:
        entry = {"key": option[0], "value": option[1].format(place=place)}
        routes |= {"/jobs": as_json({"jobs": []}), "/jobmanager/config": as_json([entry])}
    return routes


@pytest.mark.parametrize("is_mount_point", [False, True], ids=["absent", "empty"])
@pytest.mark.parametrize("named_by", NAMED_BY)
@pytest.mark.answered_by("condition:place_unreachable")
def test_a_place_that_a_cluster_names_and_that_is_not_mounted_here_blocks(
    story, volume, named_by, is_mount_point
) -> None:
    """What is stored there may need any file here; stated to be empty, it blocks no more."""
    if is_mount_point:
        volume.mkdir(parents=True)
    with RestServer(cluster(named_by, volume)) as server:
        asked = ("--flink-rest", server.url)
        plan = story.bed.plan(*asked)
        assert plan.blocks(story.job) == ["place_unreachable"]
        assert story.bed.sweep(plan, "--delete").code == 4
        must_be_there(*story.orphans)
        assert f"--empty-root {volume}/ck" in plan.job(story.job)["blocked"][0]["message"]
        plan = story.bed.plan(*asked, "--empty-root", volume / "ck")
        assert plan.blocks(story.job) == []


@pytest.mark.parametrize("spelling", ["sp", "sp/savepoint-1", "sp/savepoint-1/_metadata"])
@pytest.mark.answered_by("whole_storages", not_for=["sp/savepoint-1", "sp/savepoint-1/_metadata"])
def test_a_pin_outside_protects_however_it_is_spelled(story, volume, spelling: str) -> None:
    """The folder of savepoints, a savepoint, its metadata file."""
    orphan, other = story.orphans
    write(volume / "sp" / "savepoint-1" / "_metadata", metadata(5, [orphan]), 10 * DAY)
    pin = ("--pin", volume / spelling)
    story.bed.cycle(*pin)
    story.bed.cycle(*pin)
    must_be_there(orphan)
    assert not other.exists()


@pytest.mark.answered_by("condition:place_unreachable")
def test_a_pin_of_what_is_not_mounted_here_blocks(story, volume) -> None:
    """A pin says that something is there."""
    plan = story.bed.plan("--pin", volume / "sp" / "savepoint-1")
    assert plan.blocks(story.job) == ["place_unreachable"]


@pytest.mark.answered_by("condition:place_unreachable")
def test_a_link_to_a_mount_point_without_its_mount_blocks(story, volume) -> None:
    """The folder that it leads to is there, and empty."""
    volume.mkdir(parents=True)
    (story.bed.folder / "team-b").symlink_to(volume)
    plan = story.bed.plan()
    assert plan.blocks(story.job) == ["place_unreachable"]
