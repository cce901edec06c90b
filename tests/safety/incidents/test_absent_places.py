"""Losses by a place that somebody names and that is mounted where Flink runs, not here."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from cli.helpers import DAY, Job, flink, metadata, write
from cli.scheduled import Configured
from cli.stories import Story
from safety.incidents.essential import must_be_there
from support.rest_server import Reply, RestServer, configured, listing

SEARCHES_STORAGES = True
CLAIMED = f"file:{{place}}/ck/{'b' * 32}/chk-3"
NAMED_BY = {
    "a job that failed": None,
    "the directory of checkpoints": ("execution.checkpointing.dir", "file://{place}/ck"),
    "the directory of savepoints": ("state.savepoints.dir", "file://{place}/ck"),
    "what a job is restored from": ("execution.savepoint.path", CLAIMED),
}
HOMES = [each for each in NAMED_BY if "savepoints" not in each]
"""Where jobs keep, or kept, their checkpoints."""


@pytest.fixture
def volume(tmp_path_factory) -> Path:
    """Return the place of a volume that is not mounted here, beside no storage root."""
    return tmp_path_factory.mktemp("machine") / "mnt" / "team-b"


def cluster(named_by: str, place: Path) -> dict[str, Reply]:
    """Return the routes of a cluster that names a place, and what it shows of no other."""
    job, option = Job("b" * 32, place / "ck" / ("b" * 32)), NAMED_BY[named_by]
    if option is not None:
        return naming((option[0], option[1].format(place=place)))
    return flink(job, completed=None, status="FAILED", restored=(3, job.folder / "chk-3"))


def must_block_until_stated_empty(story: Story, place: Path, asked: Sequence[str]) -> None:
    """Plan and sweep, and plan again with the statement that the message names."""
    plan = story.bed.plan(*asked)
    assert plan.blocks(story.job) == ["place_unreachable"]
    assert story.bed.sweep(plan, "--delete").code == 4
    must_be_there(*story.orphans)
    assert f"--empty-root {place}" in plan.job(story.job)["blocked"][0]["message"]
    plan = story.bed.plan(*asked, "--empty-root", place)
    assert plan.blocks(story.job) == []


@pytest.mark.parametrize("place", ["absent", "empty", "absent, of places alone"])
@pytest.mark.parametrize("named_by", NAMED_BY)
@pytest.mark.answered_by("condition:place_unreachable")
def test_a_place_that_a_cluster_names_and_that_is_not_mounted_here_blocks(
    story, volume, named_by, place
) -> None:
    """What is stored there may need any file here; stated to be empty, it blocks no more."""
    if place == "empty":
        volume.mkdir(parents=True)
    search = "places" if place.endswith("alone") else "storage"
    with RestServer(cluster(named_by, volume)) as server:
        asked = ("--flink-rest", server.url, "--search", search)
        must_block_until_stated_empty(story, volume / "ck", asked)


@pytest.mark.parametrize("where", ["beside", "beside, of places alone", "in the storage"])
@pytest.mark.parametrize("named_by", HOMES)
@pytest.mark.parametrize("has_note", [False, True], ids=["empty", "with a note"])
@pytest.mark.answered_by("condition:place_unreachable")
def test_a_mount_point_without_its_mount_blocks_whatever_is_in_it_and_around_it(
    story, volume, named_by, where, *, has_note
) -> None:
    """It may be in a storage that is searched, and a note in it says that the volume is absent."""
    place = story.bed.folder / "team-b" if where == "in the storage" else volume
    search = "places" if where.endswith("alone") else "storage"
    (place / "ck").mkdir(parents=True)
    if has_note:
        write(place / "ck" / "NOT-MOUNTED", b"", 30 * DAY)
    with RestServer(cluster(named_by, place)) as server:
        asked = ("--flink-rest", server.url, "--search", search)
        must_block_until_stated_empty(story, place / "ck", asked)


@pytest.mark.parametrize("named_by", HOMES)
@pytest.mark.answered_by("condition:place_unreachable")
def test_what_is_not_there_may_be_in_a_mount_point_without_its_mount(story, named_by) -> None:
    """The folder around it is there, and holds nothing of Flink's."""
    place = story.bed.root / "team-b"
    place.mkdir()
    with RestServer(cluster(named_by, place)) as server:
        plan = story.bed.plan("--flink-rest", server.url)
        story.bed.sweep(plan, "--delete")
        must_be_there(*story.orphans)
        assert plan.blocks(story.job) == ["place_unreachable"]


@pytest.mark.parametrize("named_by", HOMES)
def test_what_is_not_there_is_no_mount_point(story, named_by) -> None:
    """A person, or this program, removed a folder in which no job stores anything any more."""
    with RestServer(cluster(named_by, story.bed.root)) as server:
        assert story.bed.plan("--flink-rest", server.url).blocks(story.job) == []


def naming(*options: tuple[str, str]) -> dict[str, Reply]:
    """Return the routes of a cluster that shows no job, and a configuration with these options."""
    routes = flink(Job("b" * 32, Path("/nowhere")), completed=3)
    return routes | listing() | configured(dict(options))


@pytest.mark.parametrize("option", ["execution.checkpointing.dir", "state.savepoints.dir"])
@pytest.mark.parametrize(
    "text",
    ["ck", "./ck/", "file://${HOME}/ck", "$HOME/ck", "C:\\flink\\ck", "file:ck", "[a, b]", "/x\0y"],
)
@pytest.mark.answered_by("condition:place_unreachable")
def test_a_directory_that_no_one_can_read_blocks(story, text, option) -> None:
    """It may be any place; a person says which, or that none is there."""
    with RestServer(naming((option, text))) as server:
        asked = ("--flink-rest", server.url)
        plan = story.bed.plan(*asked)
        assert plan.blocks(story.job) == ["place_unreachable"]
        assert story.bed.sweep(plan, "--delete").code == 4
        must_be_there(*story.orphans)
        said = plan.job(story.job)["blocked"][0]["message"]
        _, alias, meant, *_ = shlex.split(said[said.index("say with --alias ") + 4 :])
        assert alias == "--alias"
        meant = meant.replace("PLACE", str(story.bed.root))
        assert story.bed.plan(*asked, "--alias", meant).blocks(story.job) == []
        stated = meant.partition("=")[0]
        assert story.bed.plan(*asked, "--empty-root", stated).blocks(story.job) == []


@pytest.mark.parametrize("search", ["storage", "places"])
@pytest.mark.parametrize("named_by", ["the directory of checkpoints", "a job that failed"])
@pytest.mark.answered_by("whole_storages")
def test_a_place_that_a_cluster_names_is_searched(story, volume, named_by, search) -> None:
    """Also where places alone are searched: it is a named one."""
    orphan, other = story.orphans
    write(volume / "ck" / ("d" * 32) / "chk-5" / "_metadata", metadata(5, [orphan]), 10 * DAY)
    with RestServer(cluster(named_by, volume)) as server:
        for _ in range(2):
            story.bed.cycle("--flink-rest", server.url, "--search", search)
    must_be_there(orphan)
    assert not other.exists()


@pytest.mark.parametrize(
    "option",
    ["high-availability.storageDir", "dstl.dfs.base-path", "state.backend.forst.primary-dir"],
)
@pytest.mark.answered_by("whole_storages")
def test_a_storage_of_flinks_that_another_option_names_is_searched(story, volume, option) -> None:
    """A job's own code may keep its checkpoints there, beside what the option is for."""
    orphan, other = story.orphans
    (volume / "ha").mkdir(parents=True)
    write(volume / "ha" / "completedCheckpoint7", b"java", 10 * DAY)
    write(volume / "ck" / ("b" * 32) / "chk-5" / "_metadata", metadata(5, [orphan]), 10 * DAY)
    with RestServer(naming((option, f"file://{volume}/ha"))) as server:
        for _ in range(2):
            story.bed.cycle("--flink-rest", server.url)
    must_be_there(orphan)
    assert not other.exists()


OTHERS = ("high-availability.storageDir", "dstl.dfs.base-path", "state.backend.forst.primary-dir")


@pytest.mark.parametrize("place", ["absent", "empty", "mounted"])
@pytest.mark.parametrize("option", OTHERS)
@pytest.mark.answered_by(
    "condition:place_unreachable", not_for=[f"{each}-mounted" for each in OTHERS]
)
def test_a_storage_that_discovery_finds_and_that_is_not_mounted_here_blocks(
    story, volume, option, place
) -> None:
    """No checkpoint is expected in that very folder; that says nothing of what lies beside it."""
    named, file = (option, f"file://{volume}/ha"), story.bed.folder / "config.yaml"
    file.write_text(yaml.safe_dump(dict([named])))
    if place != "absent":
        (volume / "ha").mkdir(parents=True)
    if place == "mounted":
        write(volume / "ha" / "completedCheckpoint7", b"java", 10 * DAY)
    with RestServer(naming(named)) as server:
        asked = Configured.of(
            story,
            discovery={
                "files": [str(file)],
                "flink_rest": [server.url],  # says the same
                "alias": [f"{volume}={volume}"],
            },
        )
        codes = [asked.run().code for _ in range(3)]  # the first one reports
    assert codes[-1] == (0 if place == "mounted" else 4)
    if place != "mounted":
        must_be_there(*story.orphans)


@pytest.mark.parametrize("search", ["storage", "places"])
@pytest.mark.answered_by("condition:place_unreachable")
def test_a_storage_that_cannot_be_opened_blocks_until_it_is_left_out(story, search) -> None:
    """No package reads it here; the message has the option that lifts it."""
    with RestServer(naming(("state.checkpoints.dir", "maprfs:///ck"))) as server:
        asked = ("--flink-rest", server.url, "--search", search)
        plan = story.bed.plan(*asked)
        assert plan.blocks(story.job) == ["place_unreachable"]
        assert "--search-except" in plan.job(story.job)["blocked"][0]["message"]
        plan = story.bed.plan(*asked, "--search-except", "maprfs:///ck")
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


@pytest.mark.parametrize("named_by", ["the settings", "a cluster"])
@pytest.mark.answered_by("whole_storages")
def test_a_place_that_is_stated_to_be_empty_leaves_its_storage_searched(
    story, volume, named_by
) -> None:
    """The statement is about exactly that folder, and a job beside it claimed a checkpoint."""
    orphan, other = story.orphans
    write(volume / "sp" / "readme", b"no savepoint yet", DAY)
    write(volume / "ck" / ("d" * 32) / "chk-5" / "_metadata", metadata(5, [orphan]), 10 * DAY)
    with RestServer(naming(("state.savepoints.dir", f"file://{volume}/sp"))) as server:
        by = ("--extra-root", volume / "sp")
        named = by if named_by == "the settings" else ("--flink-rest", server.url)
        for _ in range(2):
            story.bed.cycle(*named, "--empty-root", volume / "sp")
    must_be_there(orphan)
    assert not other.exists()
