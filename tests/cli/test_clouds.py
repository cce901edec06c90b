"""Storages that real Flink left, in the clouds: nothing live goes, what is orphaned does."""

import itertools
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.helpers import Planned, Ran, metadata, outcomes, run
from contracts.places import AzurePlace, GcsPlace
from contracts.servers import azurite
from contracts.servers.azurite import azurite_url
from contracts.servers.gcs import GcsServer, gcs_server, gcs_url, refusal, testbench_url
from flink_fixtures.unpacked import Storage, unpack
from support.processes import finished

__all__ = ["azurite_url", "gcs_url", "testbench_url"]

JOB_ID = f"{1:032x}"
NO_MARGINS = (
    *("--grace-period", "0", "--clock-skew", "0", "--quiet-period", "0"),
    "--allow-short-margins",
)
GIVEN = (
    "1.20.5/tm-kill",
    *(
        pytest.param(each, marks=pytest.mark.nightly)
        for each in ("1.15.4/restore-claim", "2.0.2/merge-within", "2.3.0/restore-noclaim")
    ),
)
MANY = 5_000


@dataclass
class Cloud:
    """A storage root and a state location in a cloud."""

    place: AzurePlace | GcsPlace
    folder: Path
    plans: int = 0

    def plan(self, *options: object, quarantine: str = "0") -> Planned:
        """Plan, a second after whatever was before: some stores have whole seconds only."""
        time.sleep(1.1)
        self.plans += 1
        out = self.folder / f"plan-{self.plans}"
        ran = run(
            *("plan", self.place.uri, "--out", out, "--state", self.place.state_uri),
            *("--ended-job", "all", "--closed-world", *NO_MARGINS, *options),
            *("--quarantine-period", quarantine, "--max-delete-share", "1"),
        )
        assert ran.code == 0, ran.err
        return Planned(ran, out)

    def sweep(self, plan: Planned, *options: object) -> Ran:
        return run("sweep", plan.path, *options)

    def upload(self, storage: Storage) -> None:
        """Upload a storage in the order of its times; each job takes more than a second."""
        files = [path for path in storage.tree.rglob("*") if path.is_file()]
        files.sort(key=lambda path: path.stat().st_mtime_ns)
        keys = [path.relative_to(storage.tree).as_posix() for path in files]
        jobs: dict[str, list[str]] = {}
        for key in keys:
            jobs.setdefault("/".join(key.split("/")[:2]), []).append(key)
        halves = {each[len(each) // 2] for each in jobs.values()}
        for key in keys:
            if key in halves:
                time.sleep(1.1)  # one store time for all of a job would be a copied tree
            self.place.put(key, (storage.tree / key).read_bytes())

    def story(self, orphans: int = 2) -> set[str]:
        """Write three live files, two checkpoints and some orphans; return the orphans' keys."""
        names = [f"{JOB_ID}/shared/{uuid.uuid4()}" for _ in range(3 + orphans)]
        self.place.put_all(names)
        time.sleep(1.1)
        paths = [f"{self.place.flink_uri}/{name}" for name in names[:3]]
        self.place.put(f"{JOB_ID}/chk-7/_metadata", metadata(7, paths[:2]))
        self.place.put(f"{JOB_ID}/chk-8/_metadata", metadata(8, paths[1:]))
        return set(names[3:])


CLOUDS = (
    pytest.param("azurite", marks=pytest.mark.azurite),
    "gcs",
    pytest.param("testbench", marks=pytest.mark.testbench),
)


@pytest.fixture(params=CLOUDS)
def cloud(request, monkeypatch, tmp_path) -> Cloud:
    url = request.getfixturevalue(f"{request.param}_url")
    if request.param == "azurite":
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string(url))
        return Cloud(AzurePlace(url), tmp_path)
    return use_gcs(url, monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[GcsServer]:
    with gcs_server() as found:
        yield found


@pytest.fixture
def on_gcs(server, monkeypatch, tmp_path) -> Cloud:
    return use_gcs(server.url, monkeypatch, tmp_path)


def use_gcs(url: str, monkeypatch, folder: Path) -> Cloud:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    return Cloud(GcsPlace(url), folder)


@pytest.mark.parametrize("name", GIVEN)
def test_of_a_given_storage_no_live_file_goes_and_its_orphans_do(cloud, name, tmp_path) -> None:
    """By Flink's own reading of it; tombstones first, and quarantine holds."""
    storage = unpack(name, tmp_path / "given")
    cloud.upload(storage)
    before = cloud.place.keys()
    alias = ("--alias", f"{storage.truth['run_path']}={cloud.place.uri}")
    assert cloud.sweep(cloud.plan(*alias)).code == 0
    waiting = cloud.plan(*alias, quarantine="1h")
    assert "in_quarantine" in {row["reason"] for row in waiting.rows.values()}
    assert cloud.sweep(waiting, "--delete").code == 0
    assert cloud.place.keys() == before
    plan = cloud.plan(*alias)
    assert cloud.sweep(plan, "--delete").code == 0
    gone = before - cloud.place.keys()
    truth = storage.truth
    assert not gone & {*truth["referenced"], *truth["pending"], *truth["unsafe"]}
    assert gone <= storage.removable()
    assert len(gone & {*truth["orphaned"]}) >= 0.95 * len(truth["orphaned"]) > 0


def test_the_metadata_may_spell_the_place_in_another_way(cloud) -> None:
    """Flink's plug-ins have schemes of their own for one bucket."""
    orphans = cloud.story()
    before = cloud.place.keys()
    plan = cloud.plan()
    assert plan.document["jobs"][0]["live_objects"] == 3
    assert plan.document["jobs"][0]["missing"] == []
    cloud.sweep(plan, "--delete")
    plan = cloud.plan()
    assert cloud.sweep(plan, "--delete").code == 0
    assert before - cloud.place.keys() == orphans
    assert outcomes(plan) == dict.fromkeys(orphans, "done")


def test_every_spelling_of_a_name_protects_its_file(cloud) -> None:
    """Of an account that is another's too: what may be meant stays."""
    top = cloud.place.flink_uri.partition("://")[2]
    bucket, _, folder = top.partition("/")
    container, _, host = bucket.partition("@")
    spelled = [f"{cloud.place.uri}/.//x/..", f"{cloud.place.uri.upper()[:4]}{cloud.place.uri[4:]}"]
    spelled += [f"{cloud.place.uri.partition('://')[0]}://another-bucket/{folder}", "/mnt/cp"]
    if host:
        spelled += [f"az://{container}/{folder}", f"ABFSS://{bucket.upper()}/{folder}"]
        spelled += [f"wasb://{container}@{name}.{host.partition('.')[2]}/{folder}" for name in "ab"]
    names = [f"{JOB_ID}/shared/{uuid.uuid4()}" for _ in spelled]
    cloud.place.put_all(names)
    time.sleep(1.1)
    paths = [f"{each}/{name}" for each, name in zip(spelled, names, strict=True)]
    for number in (7, 8):
        cloud.place.put(f"{JOB_ID}/chk-{number}/_metadata", metadata(number, paths))
    plan = cloud.plan()
    assert {plan.rows[name]["reason"] for name in names} == {"referenced"}
    cloud.sweep(plan, "--delete")
    assert {*names} <= cloud.place.keys()


@pytest.mark.azurite
def test_a_pin_under_another_name_of_the_container_blocks(
    azurite_url, monkeypatch, tmp_path
) -> None:
    """Without its account it named another place, and what was pinned was an orphan."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string(azurite_url))
    cloud = Cloud(AzurePlace(azurite_url), tmp_path)
    orphans, top = cloud.story(), f"az://{cloud.place.container}"
    pin = ("--pin", f"{top}/{cloud.place.prefix}{JOB_ID}/shared")
    for _ in range(2):
        plan = cloud.plan(*pin)
        cloud.sweep(plan, "--delete")
    assert [each["condition"] for each in plan.document["jobs"][0]["blocked"]] == [
        "place_unreachable"
    ]
    assert orphans <= cloud.place.keys()
    plan = cloud.plan(*pin, "--alias", f"{top}={cloud.place.uri.removesuffix('/cp')}")
    assert not plan.document["jobs"][0]["blocked"]
    assert {plan.rows[each]["reason"] for each in orphans} == {"referenced"}


@pytest.mark.azurite
def test_what_azure_refuses_fails_alone(azurite_url, monkeypatch, tmp_path) -> None:
    """Exit 3: the others are gone, and the blob with a lease is there and named."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string(azurite_url))
    cloud = Cloud(AzurePlace(azurite_url), tmp_path)
    one_is_refused(cloud, cloud.place.hold)


def test_what_google_refuses_fails_alone(on_gcs, server) -> None:
    """An object under a hold."""
    bucket = server.buckets[on_gcs.place.bucket]
    one_is_refused(on_gcs, lambda key: bucket.held.add(on_gcs.place.prefix + key))


def one_is_refused(cloud: Cloud, hold: Callable[[str], object]) -> None:
    """Sweep four orphans, one of which the store does not let go."""
    orphans = cloud.story(4)
    cloud.sweep(cloud.plan(), "--delete")
    plan = cloud.plan()
    held = min(orphans)
    hold(held)
    swept = cloud.sweep(plan, "--delete")
    assert swept.code == 3
    assert outcomes(plan) == {key: "failed" if key == held else "done" for key in orphans}
    assert cloud.place.keys() & orphans == {held}


def test_an_orphan_that_was_written_anew_stays(cloud) -> None:
    """Between plan and sweep: another object has the key now."""
    orphans = cloud.story()
    cloud.sweep(cloud.plan(), "--delete")
    plan = cloud.plan()
    renewed = min(orphans)
    cloud.place.put(renewed, b"bytes")
    assert cloud.sweep(plan, "--delete").code == 0
    assert outcomes(plan)[renewed] == "changed"
    assert cloud.place.keys() & orphans == {renewed}


def test_a_store_that_keeps_nothing_brings_nothing_back(cloud) -> None:
    """Each object says so; nothing else is touched."""
    orphans = cloud.story()
    cloud.sweep(cloud.plan(), "--delete")
    plan = cloud.plan()
    cloud.sweep(plan, "--delete")
    before = cloud.place.keys()
    ran = run("undelete", plan.path)
    assert ran.code == 3
    assert {each["key"] for each in ran.json["failed"]} == orphans
    assert all("has kept no deleted version" in each["error"] for each in ran.json["failed"])
    assert cloud.place.keys() == before


CRASH = """
import os
from orphangc.collect.runs.journal import Journal
Journal.write_outcomes = lambda *_: os.kill(os.getpid(), 9)
from orphangc.app.cli import main
main()
"""


@pytest.mark.ci
def test_a_run_that_is_killed_loses_nothing_and_the_next_one_goes_on(cloud) -> None:
    """SIGKILL after the first batch, before its outcomes are written."""
    orphans = cloud.story(6)
    before = cloud.place.keys()
    cloud.sweep(cloud.plan(), "--delete")
    plan = cloud.plan()
    command = [sys.executable, "-c", CRASH, "sweep", str(plan.path), "--delete"]
    own = {**os.environ, "TMPDIR": str(cloud.folder)}  # it leaves its temporary folder behind
    ended = finished(command, env=own)
    assert ended.returncode == -9, ended.stderr
    again = cloud.sweep(plan, "--delete")
    assert again.code == 0, again.err
    assert before - cloud.place.keys() == orphans


@pytest.mark.ci
def test_five_thousand_orphans_go_in_batches_of_a_store_that_is_busy(on_gcs, server) -> None:
    """Every one of them, and no other; each request of the store's is counted."""
    orphans = on_gcs.story(MANY)
    before = on_gcs.place.keys()
    on_gcs.sweep(on_gcs.plan(), "--delete")
    plan = on_gcs.plan()
    busy = itertools.cycle([False] * 6 + [True])
    server.requests.clear()
    server.fault = lambda request: (
        refusal(429, "slow down") if request.path == "/batch/storage/v1" and next(busy) else None
    )
    assert on_gcs.sweep(plan, "--delete", "--delete-rate", "1000000").code == 0
    assert before - on_gcs.place.keys() == orphans
    assert len(server.asked("POST", "/batch/")) < MANY / 50
    assert server.asked("DELETE", "shared") == []


def test_what_was_deleted_comes_back_from_a_versioned_bucket(on_gcs) -> None:
    """With the same bytes; what has the name meanwhile stays as it is."""
    on_gcs.place.enable_versions()
    orphans = on_gcs.story(3)
    on_gcs.sweep(on_gcs.plan(), "--delete")
    plan = on_gcs.plan()
    before = on_gcs.place.keys()
    assert on_gcs.sweep(plan, "--delete").code == 0
    assert before - on_gcs.place.keys() == orphans
    renewed, *others = sorted(orphans)
    on_gcs.place.put(renewed, b"renewed")
    dry = run("undelete", plan.path, "--dry-run")
    assert dry.json["counts"] == {"already_there": 1, "restorable": 2}
    ran = run("undelete", plan.path)
    assert (ran.code, ran.json["counts"]) == (0, {"already_there": 1, "restored": 2})
    assert on_gcs.place.get(renewed) == b"renewed"
    assert {on_gcs.place.get(key) for key in others} == {b"bytes"}


@pytest.mark.nightly  # minutes
@pytest.mark.azurite
def test_five_thousand_orphans_go_in_batches_of_azure(azurite_url, monkeypatch, tmp_path) -> None:
    """Every one of them, and no other."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string(azurite_url))
    cloud = Cloud(AzurePlace(azurite_url), tmp_path)
    orphans = cloud.story(MANY)
    before = cloud.place.keys()
    cloud.sweep(cloud.plan(), "--delete")
    plan = cloud.plan()
    assert cloud.sweep(plan, "--delete").code == 0
    assert before - cloud.place.keys() == orphans
