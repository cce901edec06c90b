"""Losses by a wrong reason: a checkpoint is gone, and what looks like Flink's deletion is none."""

import json
import shutil
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, Job, Planned, flink, metadata, now, write
from cli.scheduled import fake_clock
from safety.incidents.essential import must_be_there
from support.rest_server import RestServer, as_json, listing
from unit.flinkstate.metadata import by_hand as hand
from unit.flinkstate.metadata.golden_files import golden
from unit.flinkstate.metadata.properties_by_hand import (
    NEVER_RETAINED,
    RETAINED,
    checkpoint_properties,
)

_SAVEPOINT = golden("2.3.0/classic-savepoint-props").data[-742:]


def _with_properties(number: int, paths: list[Path], block: bytes) -> bytes:
    null = b"\xac\xed\x00\x05p"
    data = metadata(number, paths)
    assert data.endswith(null)
    return data.removesuffix(null) + block


class Fleet:
    """A job that ran at an address, another one that runs there since, and what was searched."""

    def __init__(self, folder: Path) -> None:
        """Write the checkpoint of the first job, the only one that names a file of it."""
        self.bed = Bed(folder, ("--closed-world", "--max-delete-share", "1", *AT_ONCE))
        self.job = Job("a" * 32, self.bed.root / ("a" * 32))
        self.other = Job("b" * 32, self.bed.root / ("b" * 32))
        self.live = self.job.shared()
        self.orphan = self.job.shared()
        (self.job.folder / "taskowned").mkdir()

    def checkpoint(
        self, number: int, *paths: Path, flags: tuple[int, ...] = RETAINED, job: Job | None = None
    ) -> Path:
        place = (job or self.job).folder / f"chk-{number}" / "_metadata"
        return write(
            place, _with_properties(number, list(paths), checkpoint_properties(flags)), 10 * DAY
        )

    def savepoint(self, action: str) -> Path:
        folder = self.bed.root / "savepoint-aaaaaa-0123456789ab"
        block = _SAVEPOINT.replace(hand.utf("NONE"), hand.utf(action))
        write(folder / "_metadata", _with_properties(8, [], block), 9 * DAY)
        return folder

    def cycles(self, server: RestServer, times: int = 2) -> Planned:
        for _ in range(times):
            plan, _ = self.bed.cycle("--flink-rest", server.url, "--ended-job", self.job.id)
        return plan


@pytest.fixture
def fleet(tmp_path) -> Fleet:
    return Fleet(tmp_path)


def _hidden(path: Path, fleet: Fleet) -> None:
    shutil.move(path.parent, fleet.bed.folder / f"hidden-{path.parent.name}")


@pytest.mark.parametrize("action", ["NONE", "SUSPEND", "TERMINATE"])
@pytest.mark.answered_by("condition:job_directory_emptied", not_for=("SUSPEND", "TERMINATE"))
def test_a_savepoint_and_then_a_cancel_is_no_stop_with_it(fleet, action) -> None:
    """The cancelled job retained its checkpoint; a person has moved that one."""
    own = fleet.checkpoint(7, fleet.live)
    with RestServer(flink(fleet.job, completed=7)) as server:
        fleet.bed.plan("--flink-rest", server.url)
        savepoint = fleet.savepoint(action)
        server.routes = flink(fleet.other, completed=9, restored=(8, savepoint))
        fleet.checkpoint(9, job=fleet.other)
        _hidden(own, fleet)
        plan = fleet.cycles(server)
    if action == "NONE":
        must_be_there(fleet.live)
        assert plan.blocks(fleet.job) == ["job_directory_emptied"]
    else:
        assert plan.blocks(fleet.job) == []


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_another_checkpoint_at_the_path_of_one_that_was_seen_is_not_that_one(fleet) -> None:
    """A copy of another run was put over it."""
    fleet.checkpoint(7, fleet.live)
    with RestServer(flink(fleet.other, completed=9)) as server:
        fleet.checkpoint(9, job=fleet.other)
        fleet.bed.plan("--flink-rest", server.url, "--ended-job", fleet.job.id)
        fleet.checkpoint(7, fleet.job.shared())
        plan = fleet.cycles(server)
    must_be_there(fleet.live)
    assert plan.blocks(fleet.job) == ["checkpoint_not_found"]


@pytest.mark.answered_by("ends_that_were_known")
def test_what_outlived_an_end_that_was_known_did_not_go_by_it(fleet) -> None:
    """A cluster shows the job canceled; another one, which is not asked, runs it on."""
    later = fleet.checkpoint(9, fleet.live, flags=NEVER_RETAINED, job=fleet.other)
    routes = flink(fleet.other, completed=5, status="CANCELED")
    body = json.loads(routes[f"/jobs/{fleet.other.id}/checkpoints"][1])
    body["latest"]["completed"]["discarded"] = body["history"][0]["discarded"] = True
    routes[f"/jobs/{fleet.other.id}/checkpoints"] = as_json(body)
    with RestServer(routes) as server:
        fleet.bed.plan("--flink-rest", server.url, "--ended-job", fleet.job.id)
        data = later.read_bytes()
        shutil.rmtree(fleet.other.folder)
        fleet.cycles(server)
    write(later, data, DAY)
    must_be_there(fleet.live)


@pytest.mark.answered_by("condition:job_directory_emptied")
def test_an_end_that_a_clock_dated_ahead_is_none_of_a_later_run(fleet, monkeypatch) -> None:
    """The job runs on under its id, of a cluster that is forgotten and a folder not mounted."""
    ended = ("--ended-job", fleet.job.id)
    with fake_clock(monkeypatch) as clock, RestServer(flink(fleet.other, completed=5)) as server:
        asked = ("--flink-rest", server.url, *ended)
        fleet.checkpoint(7, fleet.job.shared())
        fleet.checkpoint(5, job=fleet.other)
        fleet.bed.plan(*asked)
        clock.passes(days=9)
        server.routes = flink(fleet.other, completed=5, status="FINISHED")
        fleet.bed.plan(*asked)
        clock.passes(days=-9, hours=1)
        fleet.checkpoint(9, fleet.live, job=fleet.other)
        server.routes = flink(fleet.other, completed=9)
        fleet.bed.plan(*asked)
        shutil.move(fleet.other.folder, fleet.bed.folder / "not-mounted")
        server.routes = {**server.routes, **listing()}
        for _ in range(3):
            clock.passes(hours=1)
            plan, _ = fleet.bed.cycle(*asked)
    must_be_there(fleet.live)
    assert plan.blocks(fleet.job) == ["job_directory_emptied"]


@pytest.mark.answered_by("condition:checkpoint_not_found")
def test_a_leftover_of_a_higher_id_does_not_replace_a_newer_checkpoint(fleet) -> None:
    """It was stored by an earlier run of the same job id, a year ago."""
    left = fleet.checkpoint(4711, fleet.job.shared())
    write(left, left.read_bytes(), 365 * DAY)
    own = fleet.checkpoint(7, fleet.live)
    with RestServer(flink(fleet.job, completed=7)) as server:
        fleet.bed.plan("--flink-rest", server.url)
        server.routes = flink(fleet.other, completed=9)
        fleet.checkpoint(9, job=fleet.other)
        _hidden(own, fleet)
        plan = fleet.cycles(server)
    must_be_there(fleet.live)
    assert "checkpoint_not_found" in plan.blocks(fleet.job)


@pytest.mark.answered_by("condition:job_directory_emptied")
def test_a_claim_from_an_earlier_run_explains_no_checkpoint_of_a_later_one(fleet) -> None:
    """A job was restored from chk-7 weeks ago; a new run of the id wrote that path again since."""
    own = fleet.checkpoint(7, fleet.live)
    fleet.checkpoint(9, fleet.job.shared(), fleet.other.shared(), job=fleet.other)
    began = round((now() - 20 * DAY).timestamp() * 1000)
    claimer = flink(fleet.other, completed=9, started_ms=began, restored=(7, own.parent))
    with RestServer(claimer) as server:
        fleet.bed.plan("--flink-rest", server.url)
        _hidden(own, fleet)
        fleet.cycles(server)
    must_be_there(fleet.live)


@pytest.mark.parametrize("discarded", [True, False])
def test_a_checkpoint_that_its_own_cluster_shows_discarded_asks_nothing(fleet, discarded) -> None:
    """Flink says that it deleted exactly this one."""
    fleet.checkpoint(7, fleet.live)
    gone = fleet.checkpoint(8, fleet.live)
    with RestServer(flink(fleet.job, completed=8)) as server:
        fleet.bed.plan("--flink-rest", server.url)
        _hidden(gone, fleet)
        route = f"/jobs/{fleet.job.id}/checkpoints"
        shown = json.loads(server.routes[route][1])
        for each in (shown["latest"]["completed"], *shown["history"]):
            each["discarded"] = discarded
        server.routes[route] = as_json(shown)
        plan = fleet.bed.plan("--flink-rest", server.url)
    assert ("checkpoint_not_found" in plan.blocks(fleet.job)) is not discarded


@pytest.mark.parametrize("is_full", [True, False])
def test_a_full_checkpoint_whose_claimer_has_gone_on_asks_nothing(fleet, is_full) -> None:
    """All of its files lay in its own folder; an incremental one may not have been claimed."""
    inside = fleet.job.folder / "chk-7" / fleet.live.name
    own = fleet.checkpoint(7, inside if is_full else fleet.live)
    began, origin = round((now() - 5 * DAY).timestamp() * 1000), (7, own.parent)
    with RestServer(flink(fleet.job, completed=7)) as server:
        fleet.bed.plan("--flink-rest", server.url)
        server.routes = flink(fleet.other, completed=9, started_ms=began, restored=origin)
        place = fleet.checkpoint(9, job=fleet.other)
        write(place, place.read_bytes(), 1 * DAY)
        shutil.rmtree(own.parent)
        plan = fleet.cycles(server)
    assert ("job_directory_emptied" in plan.blocks(fleet.job)) is not is_full
