"""Losses by forgetting: what an earlier cycle saw, and a later one is not shown any more (L3)."""

import json
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, Job, Planned, Ran, flink, metadata, now, run, write
from cli.scheduled import Configured, fake_clock, settings_of
from cli.stories import Story, a_snapshot_of, make_story
from flink_fixtures.unpacked import unpack
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.app.wiring import compose
from orphangc.core.exporter.registry_snapshot import EntryKind, RegistryEntry
from orphangc.errors import StorageUnreachableError
from safety.incidents.essential import must_be_there
from safety.incidents.test_world import claimer
from support.exporters import Exporter
from support.kubernetes_server import a_config_map, retained
from support.rest_server import Reply, RestServer, as_json, configured, listing, send

NO_MARGINS = (
    *("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0"),
    "--allow-short-margins",
)


@pytest.fixture
def story(tmp_path) -> Story:
    """One job that is declared ended by its id, and nothing is said of others."""
    made = make_story(Bed(tmp_path))
    made.bed.options = ("--closed-world", "--ended-job", made.job.id, *AT_ONCE)
    return made


def nothing() -> dict[str, Reply]:
    """Return the routes of a cluster that has forgotten its jobs."""
    return {
        "/config": as_json({"refresh-interval": 0, "flink-version": "2.3.0"}),
        **configured({}),
        **listing(),
    }


def cycles(story: Story, *options: object, times: int = 2) -> tuple[Planned, Ran]:
    """Lay tombstones, and delete."""
    for _ in range(times - 1):
        story.bed.cycle(*options)
    return story.bed.cycle(*options)


def acknowledged(story: Story, condition: str, what: object) -> Ran:
    state = ("--state", story.bed.state)
    return run("world", "acknowledge", story.bed.root, condition, what, *state)


@pytest.mark.answered_by("memory")
def test_l3_a_claiming_job_that_rest_forgets_after_an_hour_keeps_its_files(story) -> None:
    """Its checkpoint lies in no searched place; only REST named it, once."""
    other = claimer(story, story.bed.folder / "elsewhere")
    with RestServer(flink(other, completed=9)) as server:
        story.bed.plan("--flink-rest", server.url)
        server.routes = nothing()
        cycles(story, "--flink-rest", server.url)
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("memory")
def test_l3_a_newer_checkpoint_of_such_a_job_counts_too(story) -> None:
    """The one that REST named was subsumed before it forgot the job."""
    other = claimer(story, story.bed.folder / "elsewhere")
    with RestServer(flink(other, completed=9)) as server:
        story.bed.plan("--flink-rest", server.url)
        server.routes = nothing()
        (other.folder / "chk-9").rename(other.folder / "chk-10")
        other.checkpoint(10, *story.live, story.orphans[0], age=9 * DAY)
        cycles(story, "--flink-rest", server.url)
    must_be_there(story.orphans[0])


@pytest.mark.parametrize("knows", ["REST still shows it", "REST has forgotten it"])
@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_l3_a_reported_checkpoint_that_this_machine_cannot_resolve_is_not_gone(
    story, knows
) -> None:
    """Its path is one inside a container; nobody stated an alias."""
    other = claimer(story, story.bed.folder / "elsewhere")
    inside = Job(other.id, Path("/opt/flink/no-such-checkpoints") / other.id)
    with RestServer(flink(inside, completed=9)) as server:
        story.bed.plan("--flink-rest", server.url)
        if knows == "REST has forgotten it":
            server.routes = nothing()
        plan, ran = cycles(story, "--flink-rest", server.url)
        must_be_there(story.orphans[0])
        assert plan.blocks(story.job) == ["checkpoint_not_found"]
        assert ran.code == 4
        acknowledged(story, "checkpoint_not_found", inside.folder / "chk-9")
        server.routes = nothing()
        cycles(story, "--flink-rest", server.url)
    assert not story.orphans[1].exists()


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_word_on_a_reported_checkpoint_covers_no_later_one_at_its_path(story) -> None:
    """The job id is a fixed one, so another run of it counts to the same number."""
    other = claimer(story, story.bed.folder / "elsewhere")
    inside = Job(other.id, Path("/opt/flink/no-such-checkpoints") / other.id)
    with RestServer(flink(inside, completed=9)) as server:
        asked = ("--flink-rest", server.url)
        story.bed.plan(*asked)
        acknowledged(story, "checkpoint_not_found", inside.folder / "chk-9")
        server.routes = nothing()
        assert story.bed.plan(*asked).blocks(story.job) == []
        later = int(now().timestamp() * 1000)
        server.routes = flink(inside, completed=9, started_ms=later - 1, triggered_ms=later)
        story.bed.plan(*asked)
        server.routes = nothing()
        cycles(story, *asked)
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:job_directory_emptied")
def test_a_job_directory_that_went_from_some_checkpoints_to_none_blocks(story) -> None:
    """A mount below the storage root is gone; the job beside it needs files of this one."""
    other = claimer(story, story.bed.root)
    by_id = ("--ended-job", other.id)
    story.bed.plan(*by_id)
    other.folder.rename(story.bed.folder / "not-mounted")
    plan, ran = cycles(story, *by_id)
    must_be_there(story.orphans[0])
    assert (plan.blocks(story.job), ran.code) == (["job_directory_emptied"], 4)


def test_a_person_can_say_that_a_directory_is_gone_for_good(story) -> None:
    """For exactly this loss: when it comes back, and goes again, it blocks again."""
    other = claimer(story, story.bed.root)
    by_id = ("--ended-job", other.id)
    story.bed.plan(*by_id)
    aside = story.bed.folder / "not-mounted"
    other.folder.rename(aside)
    assert story.bed.plan(*by_id).blocks(story.job) == ["job_directory_emptied"]
    wrong = acknowledged(story, "job_directory_emptied", story.job.folder)
    assert (wrong.code, "job_directory_emptied " + str(other.folder) in wrong.err) == (2, True)
    said = acknowledged(story, "job_directory_emptied", other.folder)
    assert (said.code, said.json[0]["what"]) == (0, str(other.folder))
    assert '"world.acknowledged"' in said.err
    assert story.bed.plan(*by_id).blocks(story.job) == []
    aside.rename(other.folder)
    assert story.bed.plan(*by_id).blocks(story.job) == []
    other.folder.rename(aside)
    assert story.bed.plan(*by_id).blocks(story.job) == ["job_directory_emptied"]


def test_what_is_back_after_a_day_halts_nothing(story) -> None:
    """While it was missing, no tombstone was laid on what it needs."""
    other = claimer(story, story.bed.root)
    by_id = ("--ended-job", other.id)
    story.bed.plan(*by_id)
    aside = story.bed.folder / "not-mounted"
    other.folder.rename(aside)
    story.bed.cycle(*by_id, delete=False)
    aside.rename(other.folder)
    plan, ran = story.bed.cycle(*by_id)
    assert (plan.blocks(story.job), ran.code) == ([], 0)
    assert not list(story.bed.state.glob("*/halted.json"))


@pytest.mark.parametrize("how", ["left out of the options", "holds another job's checkpoint"])
@pytest.mark.answered_by("condition:place_lost + condition:job_directory_emptied")
def test_a_place_that_was_searched_and_is_not_any_more_blocks(story, how) -> None:
    """A slip in the configuration, or another mount."""
    place = story.bed.folder / "savepoints"
    other = claimer(story, place)
    story.bed.plan("--extra-roots", place)
    if how == "left out of the options":
        cycles(story)
    else:
        place.rename(story.bed.folder / "aside")
        story.bed.job(3, below=place).checkpoint(1)
        cycles(story, "--extra-roots", place)
    must_be_there(story.orphans[0], story.orphans[1])
    assert other.folder.name


@pytest.mark.answered_by("condition:place_replaced")
def test_a_place_on_another_file_system_blocks(story, monkeypatch) -> None:
    """An old copy lies where the checkpoints were mounted: the same names, other contents."""
    place = story.bed.folder / "savepoints"
    other = claimer(story, place)
    device = ["nfs4 server:/savepoints"]
    monkeypatch.setattr(
        compose, "device_of", lambda at: device[0] if at.name == place.name else None
    )
    story.bed.plan("--extra-roots", place)
    other.checkpoint(9, *story.live, age=10 * DAY)
    device[0] = "ext4 at /"
    plan, ran = cycles(story, "--extra-roots", place)
    must_be_there(story.orphans[0])
    assert ("place_replaced" in plan.blocks(story.job), ran.code) == (True, 4)
    assert acknowledged(story, "place_replaced", place).code == 0
    for _ in range(2):
        assert "place_replaced" not in story.bed.plan("--extra-roots", place).blocks(story.job)


@pytest.mark.answered_by("condition:cluster_silent")
def test_a_cluster_that_is_not_asked_any_more_blocks(story) -> None:
    """Its job was restored from a checkpoint that is subsumed by now, and needs its files."""
    runs = story.job.checkpoint(9, *story.live, story.orphans[0], age=8 * DAY).parent
    other = story.bed.job(2, below=story.bed.folder / "unknown")
    own = RestServer(flink(story.job, completed=9))
    forked = RestServer(flink(other, completed=None, restored=(9, runs)))
    story.bed.options = ("--closed-world", *AT_ONCE)
    with own, forked:
        story.bed.plan("--flink-rest", own.url, "--flink-rest", forked.url)
        shutil.rmtree(runs)
        for number in (10, 11):
            story.job.checkpoint(number, *story.live, age=0 * DAY)
            own.routes |= flink(story.job, completed=number)
            story.bed.cycle("--flink-rest", own.url)
    must_be_there(story.orphans[0])


@dataclass(frozen=True)
class Forked:
    """A job that was restored from a checkpoint here, and stores where no cycle searches."""

    story: Story  # the job here, which runs on and subsumes that checkpoint
    own: RestServer  # its cluster
    other: RestServer  # the cluster of the restored job
    job: Job  # that job
    origin: Path  # what it was restored from

    def cycles_after(self, *, is_asked: bool = True) -> Planned:
        """Subsume what the other job was restored from, twice, and return the last plan."""
        shutil.rmtree(self.origin)
        for number in (10, 11):
            self.story.job.checkpoint(number, *self.story.live, age=0 * DAY)
            self.own.routes |= flink(self.story.job, completed=number)
            plan, _ = self.story.bed.cycle(*self.asked(is_asked=is_asked))
        return plan

    def asked(self, *, is_asked: bool = True) -> tuple[str, ...]:
        """Return the options that ask both clusters, or the job's here alone."""
        other = ("--flink-rest", self.other.url) if is_asked else ()
        return ("--flink-rest", self.own.url, *other)


@pytest.fixture
def forked(story) -> Iterator[Forked]:
    """Before its first checkpoint, which names a file of its origin; the cluster answers on."""
    origin = story.job.checkpoint(9, *story.live, story.orphans[0], age=8 * DAY).parent
    job = story.bed.job(2, below=story.bed.folder / "unknown")
    routes = flink(job, completed=None, restored=(9, origin))
    story.bed.options = ("--closed-world", *AT_ONCE)
    with RestServer(flink(story.job, completed=9)) as own, RestServer(routes) as other:
        yield Forked(story, own, other, job, origin)


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_job_that_is_forgotten_before_its_first_checkpoint_keeps_what_it_needs(forked) -> None:
    """Nothing but its origin was ever known of it; the cluster that forgot it goes on to answer."""
    assert forked.story.bed.plan(*forked.asked()).refusal(forked.story.job) == "dependent_job"
    forked.other.routes = nothing()
    plan = forked.cycles_after()
    must_be_there(forked.story.orphans[0])
    assert plan.blocks(forked.story.job) == ["checkpoint_not_found"]
    what = f"{forked.other.url}/jobs/{forked.job.id}"
    assert acknowledged(forked.story, "checkpoint_not_found", what).code == 0
    assert forked.story.bed.plan(*forked.asked()).blocks(forked.story.job) == []


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_job_that_is_forgotten_within_one_cycle_keeps_what_it_needs(forked) -> None:
    """It was listed when the cycle began, and not when it ended."""
    shown = forked.other.routes["/jobs"]

    def once(handler: BaseHTTPRequestHandler) -> None:
        forked.other.routes["/jobs"] = nothing()["/jobs"]
        send(handler, *shown)

    forked.other.routes["/jobs"] = once
    forked.story.bed.plan(*forked.asked())
    plan = forked.cycles_after()
    must_be_there(forked.story.orphans[0])
    assert plan.blocks(forked.story.job) == ["checkpoint_not_found"]


@pytest.mark.parametrize("place", ["its place is searched", "it is configured to store here"])
def test_a_job_whose_place_is_searched_asks_nothing_when_it_is_forgotten(forked, place) -> None:
    """It left no checkpoint there, or one that is found: an ordinary redeploy."""
    story = forked.story
    if place == "its place is searched":
        forked.job.checkpoint(9, *story.live, forked.job.shared(), age=10 * DAY)
        story.bed.options += ("--extra-roots", forked.job.folder.parent)
        story.bed.options += ("--ended-job", forked.job.id)
    else:
        forked.other.routes |= storing_in(story.bed.root)
    story.bed.plan(*forked.asked())
    forked.other.routes = nothing()
    assert forked.cycles_after().blocks(story.job) == []
    assert not story.orphans[1].exists()


def storing_in(folder: Path) -> dict[str, Reply]:
    """Return the configuration of a cluster that stores checkpoints in a folder."""
    return configured({"execution.checkpointing.dir": f"file://{folder}"})


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_job_that_showed_discarded_checkpoints_alone_keeps_its_files(story) -> None:
    """Their path is one inside a container, and the cluster forgets the job."""
    other = claimer(story, story.bed.folder / "elsewhere")
    inside = Job(other.id, Path("/opt/flink/no-such-checkpoints") / other.id)
    routes = flink(inside, completed=9)
    statistics = f"/jobs/{other.id}/checkpoints"
    routes[statistics] = (200, routes[statistics][1].replace(b": false}", b": true}"))
    with RestServer(routes) as server:
        plan = story.bed.plan("--flink-rest", server.url)
        assert [each["uri"] for each in plan.document["world"]["outside"]] == [str(inside.folder)]
        server.routes = nothing()
        plan, ran = cycles(story, "--flink-rest", server.url)
    must_be_there(story.orphans[0])
    assert (plan.blocks(story.job), ran.code) == (["checkpoint_not_found"], 4)


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_copied_checkpoint_that_is_lost_blocks_what_it_spells_otherwise(story) -> None:
    """It names files by the path of a mount that this machine does not have."""
    place = story.bed.folder / "savepoints"
    write(place / "other" / "_metadata", metadata(1, []), 9 * DAY)
    mounted = f"/mnt/checkpoints/{story.job.id}/shared/{story.orphans[0].name}"
    copy = write(place / "copies" / "mine" / "_metadata", metadata(9, [mounted]), 9 * DAY)
    story.bed.plan("--extra-roots", place)
    shutil.rmtree(copy.parent)
    plan, ran = cycles(story, "--extra-roots", place)
    must_be_there(story.orphans[0])
    assert (plan.blocks(story.job), ran.code) == (["checkpoint_not_found"], 4)


@pytest.mark.answered_by("condition:cluster_silent")
def test_a_cluster_that_is_silent_blocks_what_its_jobs_need_and_nothing_else(forked) -> None:
    """Another job of this storage root is collected meanwhile."""
    third = forked.story.bed.job(3)
    orphan, live = third.shared(), third.shared()
    third.checkpoint(5, live)
    forked.story.bed.options += ("--ended-job", third.id)
    forked.story.bed.plan(*forked.asked())
    plan = forked.cycles_after(is_asked=False)
    must_be_there(forked.story.orphans[0])
    assert (plan.blocks(forked.story.job), plan.blocks(third)) == (["cluster_silent"], [])
    assert not orphan.exists()


@pytest.mark.answered_by("condition:cluster_silent")
@pytest.mark.parametrize("is_asked", [True, False])
def test_a_namespace_that_shows_nothing_any_more_does_not_end_its_jobs(
    story, kubernetes, is_asked
) -> None:
    """It retained a checkpoint that no searched place holds; another context shows nothing."""
    story.bed.options = ("--closed-world", "--ended-job", story.job.id, *AT_ONCE)
    ha = ("--kubernetes-ha", "flink")
    kubernetes.add(a_config_map(f"orders-{story.job.id}-config-map", *retained(7, 8, 9), "counter"))
    assert "held_by_ha" in story.bed.plan(*ha).blocks(story.job)
    kubernetes.objects.clear()
    cycles(story, *(ha if is_asked else ()))
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_job_that_ha_metadata_forgets_unread_keeps_its_files(story, kubernetes) -> None:
    """It retained a checkpoint in no searched place, and was cancelled."""
    other = claimer(story, story.bed.folder / "elsewhere")
    story.bed.options = (*story.bed.options, "--ended-job", other.id, "--kubernetes-ha", "flink")
    kubernetes.add(a_config_map("orders-cluster-config-map"))
    kubernetes.add(a_config_map(f"orders-{other.id}-config-map", *retained(8, 9), "counter"))
    assert story.bed.plan().refusal(story.job) == "retained_root_missing"
    del kubernetes.objects["configmaps"][f"orders-{other.id}-config-map"]
    plan, _ = cycles(story)
    must_be_there(story.orphans[0])
    assert plan.blocks(story.job) == ["checkpoint_not_found"]
    what = f"kubernetes:flink/jobs/{other.id}"
    assert acknowledged(story, "checkpoint_not_found", what).code == 0
    assert story.bed.plan().blocks(story.job) == []


def exporting(other: Job, folder: Path, *entries: Path) -> Exporter:
    snapshot = a_snapshot_of(
        other, entries=tuple(RegistryEntry(f"file:{e}", EntryKind.FILE, 1, 1, 1) for e in entries)
    )
    exporter = Exporter(folder, snapshot, now())
    exporter.export()
    return exporter


@pytest.mark.parametrize(
    "how", ["removed by hand", "another folder", "left out of the options", "through a link"]
)
@pytest.mark.answered_by("condition:place_lost")
def test_registry_snapshots_that_are_gone_keep_what_they_named(story, how) -> None:
    """A claimer on another machine: its checkpoints are not searched, its registry was read."""
    other = Job("b" * 32, story.bed.folder / "elsewhere" / ("b" * 32))
    entry = story.orphans[0]
    if how == "through a link":  # where that machine mounts the storage, and left out, too
        link = story.bed.folder / "link"
        link.symlink_to(story.bed.root)
        entry = link / entry.relative_to(story.bed.root)
    exporter = exporting(other, story.bed.folder / "registry", entry)
    third = Job("c" * 32, story.bed.folder / "elsewhere" / ("c" * 32))
    exporting(third, story.bed.folder / "registry")
    exporting(third, story.bed.folder / "another")
    asked = ["--registry-wait", "1s", "--registry", exporter.folder]
    story.bed.plan(*asked)
    if how == "removed by hand":
        shutil.rmtree(exporter.place)
    elif how == "another folder":
        asked[-1] = story.bed.folder / "another"
    else:
        asked = []
    plan, ran = cycles(story, *asked)
    must_be_there(story.orphans[0])
    assert (plan.blocks(story.job), ran.code) == (["place_lost"], 4)
    ended = ("--ended-job", other.id)
    assert story.bed.plan(*asked, *ended).blocks(story.job) == []
    plan = story.bed.plan(*asked)
    (message,) = (each["message"] for each in plan.job(story.job)["blocked"])
    assert run(*shlex.split(message.partition("run: ")[2])[1:]).code == 0
    cycles(story, *asked)
    assert not story.orphans[1].exists()


def forgotten(story: Story) -> tuple[Job, Configured]:
    """Return a claiming job that only the memory knows, and the configured storage root."""
    other = claimer(story, story.bed.root)
    ended = {"ended_job": [story.job.id, other.id]}
    configured = Configured.of(story, settings_of(story, **ended))
    configured.run()
    other.folder.rename(story.bed.folder / "not-mounted")
    return other, configured


@pytest.mark.answered_by("condition:memory_unreadable + remembered_cycles")
def test_a_memory_that_is_damaged_is_not_an_empty_one(story) -> None:
    """A disk that was full, or a person's editor."""
    _, configured = forgotten(story)
    (file,) = story.bed.state.glob("*/world/*.json")
    file.write_bytes(file.read_bytes()[:-20])
    for _ in range(3):
        configured.run()
    must_be_there(story.orphans[0])
    name = str(file.relative_to(story.bed.state))
    assert acknowledged(story, "memory_unreadable", name).code == 0
    assert story.bed.plan().blocks(story.job) == []
    assert not file.exists()


@pytest.mark.answered_by("condition:state_lost")
def test_a_state_location_that_was_emptied_is_not_a_new_one(story) -> None:
    """The plans of earlier runs knew another one."""
    _, configured = forgotten(story)
    shutil.rmtree(story.bed.state)
    for _ in range(4):
        configured.run()
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:state_lost")
def test_a_word_on_a_state_that_was_not_mounted_covers_no_later_time(story) -> None:
    """It was mounted again and used, so what lies below it knows less the next time."""
    configured = Configured.of(story, settings_of(story, ended_job=[story.job.id]))
    configured.run()
    mounted, below = story.bed.state, story.bed.folder / "below the mount"
    aside = mounted.rename(story.bed.folder / "state, not mounted")
    configured.run()
    (marker,) = aside.glob("*/remembers.json")
    assert acknowledged(story, "state_lost", json.loads(marker.read_text())["state"]).code == 0
    mounted.rename(below)
    aside.rename(mounted)
    other = claimer(story, story.bed.root)
    configured.content["storage_roots"][0]["ended_job"].append(other.id)
    configured.run()
    other.folder.rename(story.bed.folder / "not-mounted")
    mounted.rename(aside)
    below.rename(mounted)
    for _ in range(3):
        configured.run()
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:state_lost")
def test_a_state_location_that_was_set_back_knows_less_than_it_did(story) -> None:
    """A backup of it was put back; it bears the same name, and the newest plan knew more."""
    configured = Configured.of(story, settings_of(story, ended_job=[story.job.id]))
    configured.run()
    backup = shutil.copytree(story.bed.state, story.bed.folder / "backup")
    other = claimer(story, story.bed.root)
    configured.content["storage_roots"][0]["ended_job"].append(other.id)
    configured.run()
    other.folder.rename(story.bed.folder / "not-mounted")
    shutil.rmtree(story.bed.state)
    backup.rename(story.bed.state)
    for _ in range(4):
        configured.run()
    must_be_there(story.orphans[0])
    assert story.bed.plan().blocks(story.job) == ["state_lost"]
    (memory,) = story.bed.state.glob("*/world/*.json")
    (fact,) = json.loads(memory.read_text())["standing"]
    assert acknowledged(story, "state_lost", fact["what"]).code == 0
    assert story.bed.plan().blocks(story.job) == []
    assert story.bed.plan().blocks(story.job) == []


@pytest.mark.answered_by("condition:state_lost")
def test_a_state_that_was_set_back_is_missed_though_a_clock_was_ahead_once(
    story, monkeypatch
) -> None:
    """The plan of that run is no newer than those that were made since."""
    configured = Configured.of(story, settings_of(story, ended_job=[story.job.id]))
    with fake_clock(monkeypatch) as clock:
        clock.passes(days=9)
        configured.run()
        clock.passes(days=-9)
        backup = shutil.copytree(story.bed.state, story.bed.folder / "backup")
        other = claimer(story, story.bed.root)
        configured.content["storage_roots"][0]["ended_job"].append(other.id)
        configured.run()
        other.folder.rename(story.bed.folder / "not-mounted")
        shutil.rmtree(story.bed.state)
        backup.rename(story.bed.state)
        for _ in range(4):
            clock.passes(hours=1)
            configured.run()
    must_be_there(story.orphans[0])


@pytest.mark.answered_by("condition:state_lost")
def test_a_plan_is_not_swept_with_another_state_than_it_was_made_with(story) -> None:
    """Tombstones of an older state are there, and the memory is not."""
    other = claimer(story, story.bed.root)
    by_id = ("--ended-job", other.id)
    story.bed.cycle(*by_id)
    (root,) = story.bed.state.iterdir()
    plan = story.bed.plan(*by_id)
    other.folder.rename(story.bed.folder / "not-mounted")
    shutil.rmtree(root / "world")
    ran = story.bed.sweep(plan, "--delete")
    assert ran.code == 4


@pytest.mark.answered_by("condition:state_lost")
def test_a_memory_that_was_removed_beside_its_tombstones_is_lost(story) -> None:
    """No saved plan knows of it; a marker beside it does, until a person has said so."""
    other = claimer(story, story.bed.root)
    by_id = ("--ended-job", other.id)
    story.bed.plan(*by_id)
    (memory,) = story.bed.state.glob("*/world")
    shutil.rmtree(memory)
    other.folder.rename(story.bed.folder / "not-mounted")
    plan, ran = cycles(story, *by_id, times=3)
    must_be_there(story.orphans[0])
    assert (plan.blocks(story.job), ran.code) == (["state_lost"], 4)
    (message,) = (each["message"] for each in plan.job(story.job)["blocked"])
    assert run(*shlex.split(message.partition("run: ")[2])[1:]).code == 0
    assert story.bed.plan(*by_id).blocks(story.job) == []


def test_a_new_state_location_says_so(story) -> None:
    """Once; a plan cannot know better."""
    first, second = story.bed.plan(), story.bed.plan()
    assert any("is this the right state?" in each for each in first.document["warnings"])
    assert not any("is this the right state?" in each for each in second.document["warnings"])


def test_a_plan_that_cannot_remember_says_so(story, monkeypatch) -> None:
    """The state location is not writable, and the plan is as sound as ever."""

    def write(*_: object) -> None:
        raise StorageUnreachableError("read-only file system")

    monkeypatch.setattr(LocalStateFiles, "write", write)
    plan = story.bed.plan()
    assert plan.ran.code == 0
    assert any("is not remembered" in each for each in plan.document["warnings"])
    assert plan.document["states"] == []


@pytest.mark.answered_by("remembered_cycles")
def test_what_no_cycle_could_write_down_keeps_its_files(story, monkeypatch) -> None:
    """The state location has room for its small files; what a run saw it cannot tell the next."""
    configured = Configured.of(story, settings_of(story, ended_job=[story.job.id]))
    configured.run()
    real = LocalStateFiles.write

    def write(files: LocalStateFiles, name: str, data: bytes) -> None:
        if "/world/" in name:
            raise StorageUnreachableError("no space left on device")
        real(files, name, data)

    monkeypatch.setattr(LocalStateFiles, "write", write)
    other = claimer(story, story.bed.root)
    configured.content["storage_roots"][0]["ended_job"].append(other.id)
    configured.run()
    other.folder.rename(story.bed.folder / "not-mounted")
    codes = [configured.run().code for _ in range(3)]
    must_be_there(*story.orphans)
    assert codes == [4, 4, 4]


@pytest.mark.parametrize("name", ["1.15.4/restore-claim", "2.3.0/restore-claim"])
@pytest.mark.answered_by("condition:job_directory_emptied + condition:place_lost")
def test_l3_a_claiming_job_of_real_flink_that_disappears_keeps_its_files(name, tmp_path) -> None:
    """Its directory is hidden after one plan; all jobs are declared ended by their ids."""
    storage = unpack(name, tmp_path)
    root = storage.tree / "checkpoints"
    newest = max(storage.references["other_jobs"], key=lambda each: int(each.split("-")[-1]))
    claiming = newest.split("/")[1]  # the last job of the chain
    for folder in root.glob("*/chk-*"):
        if folder.parent.name != claiming:  # Flink removes a claimed checkpoint once subsumed
            shutil.rmtree(folder)
    claimed = [path for path in root.glob("*/shared/*") if is_named(path, root / claiming)]
    assert claimed
    bed = Bed(tmp_path, ("--alias", f"{storage.truth['run_path']}={storage.tree}"))
    bed.root = root
    by_id = tuple(part for job in storage.ended_jobs for part in ("--ended-job", job))
    bed.options += ("--closed-world", *by_id, *NO_MARGINS, *AT_ONCE, "--max-delete-share", "1")
    bed.plan()
    (root / claiming).rename(tmp_path / "not-mounted")
    for _ in range(2):
        bed.sweep(bed.plan(), "--delete")
    must_be_there(*claimed)


def is_named(path: Path, by: Path) -> bool:
    """Return whether a checkpoint of a job names a file of another one."""
    named = (each.read_bytes() for each in by.glob("chk-*/_metadata"))
    return by not in path.parents and any(path.name.encode() in each for each in named)
