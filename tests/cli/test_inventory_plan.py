"""``plan --inventory`` and what an object store keeps beside its objects: whole commands on S3."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from cli.helpers import Job, Planned, Ran, flink, metadata, now, run
from cli.stories_on_s3 import JOB_ID, NO_MARGINS, S3Story, requests_to
from flinkstate.places.locations import Location, canonical
from orphangc.adapters.spark.spark_engine import SparkEngine
from orphangc.adapters.spark.work_folder import WorkFolder
from orphangc.app.commands.health import search_estimate
from orphangc.collect.mark import missing as confirming
from orphangc.core.model.settings import StorageRootSettings
from support.inventory_reports import CSV, ORC, PARQUET, VERSIONED, Report, a_report, row_of
from support.rest_server import RestServer
from unit.adapters.spark.spark_here import HereCluster
from unit.flinkstate.metadata.properties_by_hand import checkpoint_properties

FOLDER = "inventory/daily"


@dataclass
class Inventoried:
    """The story of an ended job in S3, and reports of its bucket in a bucket beside it."""

    story: S3Story
    bucket: str
    reports: list[Report] = field(default_factory=list)

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/{FOLDER}"

    def deliver(
        self,
        form: str = PARQUET,
        *,
        prefix: str = "",
        west: timedelta = timedelta(0),
        **changes: Any,
    ) -> Report:
        """Deliver a report of what the bucket holds now; an inventory may be of a prefix only."""
        answer = self.story.client.list_object_versions(Bucket=self.story.bucket, Prefix=prefix)
        rows = [row_of(self.story.bucket, each) for each in answer.get("Versions", ())]
        rows += [row_of(self.story.bucket, each) for each in answer.get("DeleteMarkers", ())]
        for row in rows:
            row["LastModifiedDate"] -= west
        now = datetime.now(UTC)  # noqa: TID251 - the server runs here
        facts = {"bucket": self.story.bucket, "folder": FOLDER, "at": now, **changes}
        report = a_report(rows[::2], rows[1::2], form=form, columns=VERSIONED, **facts)
        self.write(report)
        return report

    def write(self, report: Report) -> None:
        for key, data in report.objects().items():
            self.story.client.put_object(Bucket=self.bucket, Key=key, Body=data)

    def plan(self, *options: object) -> Planned:
        return self.story.plan("--inventory", self.uri, *options)

    def refused(self, *options: object) -> Ran:
        out = self.story.folder / "refused"
        ran = run(
            *("plan", self.story.root, "--state", f"s3://{self.story.bucket}/state"),
            *("--out", out, "--ended-job", "all", "--inventory", self.uri, *options),
        )
        assert not (out / "plan.json").exists()
        assert (len(ran.complaints), ran.out) == (1, ""), ran.err
        return ran

    def delete(self, key: str) -> None:
        """Remove an object below the storage root behind the inventory's back."""
        self.story.client.delete_object(Bucket=self.story.bucket, Key=f"checkpoints/{key}")

    def path(self, key: str) -> str:
        return f"s3a://{self.story.bucket}/checkpoints/{key}"


@pytest.fixture
def inventoried(on_s3: S3Story) -> Inventoried:
    bucket = f"reports-{on_s3.bucket}"
    on_s3.client.create_bucket(Bucket=bucket)
    return Inventoried(on_s3, bucket)


def job_of(plan: Planned) -> dict[str, Any]:
    (job,) = plan.document["jobs"]
    return job


# --- the same plan


@pytest.mark.parametrize("form", [PARQUET, pytest.param(CSV, marks=pytest.mark.ci)])
def test_a_plan_from_an_inventory_has_the_verdicts_of_a_plan_from_a_listing(
    inventoried: Inventoried, form: str
) -> None:
    """Row for row, in either format; in a versioned bucket, below a folder of it."""
    inventoried.story.put(f"{JOB_ID}/shared/odd name+%41", b"")
    inventoried.story.put("not-flink's", b"x")
    inventoried.story.put("not-flink's", b"newer")
    listed = inventoried.story.plan()
    inventoried.deliver(form)
    planned = inventoried.plan()
    assert planned.rows == listed.rows
    assert planned.removals() == inventoried.story.orphans
    assert planned.document["tallies"] == listed.document["tallies"]


@pytest.mark.parametrize("form", [PARQUET, pytest.param(CSV, marks=pytest.mark.nightly)])
def test_spark_reads_an_inventory_as_this_process_does(
    inventoried: Inventoried, form: str, monkeypatch
) -> None:
    """The same rows and the same document, and the storage root is listed by neither."""
    inventoried.story.put(f"{JOB_ID}/shared/odd name+%41", b"")
    inventoried.story.put("not-flink's", b"x")
    inventoried.deliver(form)
    here = inventoried.plan()
    clusters = on_a_cluster_here(monkeypatch, inventoried.story.folder / "work")
    there = inventoried.plan("--engine", "spark")
    assert (here.document["engine"], there.document["engine"]) == ("local", "spark")
    assert there.rows == here.rows
    assert there.removals() == inventoried.story.orphans
    same = ("inventory", "tallies", "objects_listed", "list_requests")
    assert [there.document[each] for each in same] == [here.document[each] for each in same]
    (cluster,) = clusters
    assert [len(parts) for parts in cluster.given[0]] == [1, 1]


def on_a_cluster_here(monkeypatch: pytest.MonkeyPatch, work: Path) -> list[HereCluster]:
    """Let engine Spark run its tasks in this process; return the clusters that it opens."""
    clusters: list[HereCluster] = []

    @contextmanager
    def opened(root: Location, _: Location | None) -> Iterator[SparkEngine]:
        folder = WorkFolder(canonical(str(work)))
        session = SimpleNamespace(conf=SimpleNamespace(get=lambda _, default: default))
        engine = SparkEngine(session, folder, root)
        engine._cluster = HereCluster(folder, is_flaky=True)
        clusters.append(engine._cluster)
        yield engine

    monkeypatch.setattr("orphangc.adapters.spark.spark_engine.opened_spark_engine", opened)
    return clusters


def test_a_damaged_inventory_is_refused_by_spark_too(inventoried: Inventoried, monkeypatch) -> None:
    """One data file that is not the manifest's, and nothing is planned."""
    report = inventoried.deliver()
    key = max(report.files)
    report.files[key] = report.files[key][:-2]
    inventoried.write(report)
    on_a_cluster_here(monkeypatch, inventoried.story.folder / "work")
    ran = inventoried.refused("--engine", "spark")
    assert ran.code == 4
    assert "is not the one that the manifest names" in ran.complaints[0]


def test_a_plan_says_which_inventory_it_is_from(inventoried: Inventoried) -> None:
    """In the plan, in its bounds, on the page and in the summary."""
    report = inventoried.deliver()
    page, summary = inventoried.story.folder / "page.html", inventoried.story.folder / "s.md"
    plan = inventoried.plan("--report", page, "--summary", summary)
    part = plan.document["inventory"]
    begun = datetime.fromisoformat(part["created_at"])
    assert part["uri"] == f"{inventoried.uri}/{report.name}/manifest.json"
    assert int(begun.timestamp() * 1000) == int(report.manifest["creationTimestamp"])
    assert part["objects"] == plan.document["objects_listed"]
    bounds = {each["name"]: each["at"] for each in job_of(plan)["bounds"]}
    assert datetime.fromisoformat(bounds["inventory"]) == begun
    for shown in (page.read_text(), summary.read_text()):
        assert f"inventory begun {begun:%Y-%m-%d %H:%M:%S} UTC" in shown
    assert inventoried.story.plan().document["inventory"] is None


def test_what_is_younger_than_the_inventory_is_no_orphan(inventoried: Inventoried) -> None:
    """The inventory is a bound: here it was begun before anything was stored."""
    inventoried.deliver(at=datetime.now(UTC) - timedelta(hours=1))  # noqa: TID251
    plan = inventoried.plan()
    assert plan.removals() == set()
    key = next(iter(inventoried.story.orphans))
    assert (plan.rows[key]["action"], plan.rows[key]["reason"]) == ("keep", "too_young")


# --- what an inventory cannot know


def test_files_that_are_younger_than_the_inventory_are_not_missing(
    inventoried: Inventoried,
) -> None:
    """R8: the latest checkpoint names them, the inventory does not show them, the store does."""
    inventoried.deliver()
    new = f"{JOB_ID}/shared/00000000-0000-4000-8000-0000000000aa"
    inventoried.story.put(new, b"new")
    inventoried.story.put(f"{JOB_ID}/chk-9/_metadata", metadata(9, [inventoried.path(new)]))
    job = job_of(inventoried.plan())
    assert (job["refused"], job["missing"]) == (None, [])


def test_files_that_are_gone_from_the_store_are_missing(inventoried: Inventoried) -> None:
    """R8 again: the same look-up finds the damage."""
    lost = f"{JOB_ID}/shared/00000000-0000-4000-8000-0000000000bb"
    inventoried.story.put(f"{JOB_ID}/chk-9/_metadata", metadata(9, [inventoried.path(lost)]))
    inventoried.deliver()
    out = inventoried.story.folder / "damaged"
    ran = run(
        *("plan", inventoried.story.root, "--state", f"s3://{inventoried.story.bucket}/state"),
        *("--out", out, "--inventory", inventoried.uri, "--flink-rest", "http://127.0.0.1:9"),
    )
    assert ran.code == 4
    job = job_of(Planned(ran, out))
    assert job["missing"] == [lost]
    assert job["refused"]["guard"] == "damaged_latest_root"


def test_an_inventory_of_a_part_of_the_storage_root_is_refused(
    inventoried: Inventoried, monkeypatch
) -> None:
    """Its filter is narrower: the live files that it lacks are older than itself."""
    monkeypatch.setattr(confirming, "_LASTING", timedelta(0))
    inventoried.deliver(prefix="checkpoints/elsewhere")
    other = a_report(
        [{**row_of(inventoried.story.bucket, _fake()), "Key": "checkpoints/elsewhere/x"}],
        columns=VERSIONED,
        bucket=inventoried.story.bucket,
        folder=FOLDER,
        at=datetime.now(UTC) + timedelta(minutes=2),  # noqa: TID251 - named by another minute
    )
    inventoried.write(other)
    ran = inventoried.refused()
    assert ran.code == 4
    assert "covers only a part" in ran.complaints[0]


def _fake() -> dict[str, Any]:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return {"Key": "", "VersionId": "v", "IsLatest": True, "Size": 1, "LastModified": at}


# --- sweeping


def test_orphans_of_an_inventory_go_in_two_cycles(inventoried: Inventoried, s3_server) -> None:
    """Exactly they, and none that was replaced since, of another ETag; neither plan nor sweep lists
    what is in ``shared/``, says the endpoint.
    """
    replaced = f"{JOB_ID}/shared/00000000-0000-4000-8000-0000000000cc"
    inventoried.story.put(replaced, b"a third orphan")
    before = inventoried.story.contents()
    inventoried.deliver()
    with requests_to(s3_server) as paths:
        assert inventoried.story.sweep(inventoried.plan(), "--delete").code == 0
        assert inventoried.story.contents() == before
        plan = inventoried.plan()
        assert plan.removals() == {*inventoried.story.orphans, replaced}
        inventoried.story.put(replaced, b"somebody else's")
        time.sleep(1.1)  # within the same second the directory would not be still
        swept = inventoried.story.sweep(plan, "--delete")
    assert swept.code == 0, swept.err
    assert set(before) - set(inventoried.story.contents()) == inventoried.story.orphans
    asked = [parse_qs(urlsplit(path).query) for path in paths]
    listings = [each for each in asked if "list-type" in each]
    below = [each for each in listings if each.get("prefix", [""])[0].startswith("checkpoints/")]
    assert not [each for each in below if "/shared/" in each["prefix"][0]]
    parts = {"delimiter", "start-after", "max-keys"}
    whole = [each for each in below if not parts & each.keys()]
    assert len(whole) == 1, "by the test itself"


def test_a_sweep_never_reads_the_inventory(inventoried: Inventoried) -> None:
    """Whatever became of it since the plan."""
    inventoried.deliver()
    plan = inventoried.plan()
    for each in inventoried.story.client.list_objects_v2(Bucket=inventoried.bucket)["Contents"]:
        inventoried.story.client.delete_object(Bucket=inventoried.bucket, Key=each["Key"])
    assert inventoried.story.sweep(plan).json["counts"] == {
        "tombstone/done": {"objects": 2, "bytes": 14}
    }


@pytest.mark.ci
def test_times_of_another_zone_delete_nothing(inventoried: Inventoried) -> None:
    """ORC's name no zone and are taken for UTC. Hours too old, they pass each bound of age; but no
    object in the store is the one that was judged.
    """
    inventoried.deliver(ORC, west=timedelta(hours=7))
    before = inventoried.story.contents()
    for _ in range(2):
        plan = inventoried.plan()
        assert plan.removals() == inventoried.story.orphans
        inventoried.story.sweep(plan, "--delete")
    assert inventoried.story.contents() == before


@pytest.mark.ci
def test_a_job_below_shared_that_is_younger_than_the_inventory_keeps_what_it_claimed(
    inventoried: Inventoried,
) -> None:
    """Its checkpoints are in a folder that no scan enters, as the inventory shows of another's."""
    story, below = inventoried.story, f"{0xA:032x}/shared"
    story.put(f"{below}/{0xB:032x}/chk-3/_metadata", metadata(3, []))
    inventoried.deliver()
    story.put(f"{below}/{0xC:032x}/chk-9/_metadata", story.checkpoint(9))
    inventoried.delete(f"{JOB_ID}/chk-8/_metadata")
    before = story.contents()
    for _ in range(2):
        story.sweep(inventoried.plan("--max-delete-share", "1"), "--delete")
    assert set(before) - set(story.contents()) <= story.orphans


@pytest.mark.ci
def test_a_folder_in_shared_that_is_younger_than_the_inventory_stops_the_sweep(
    inventoried: Inventoried,
) -> None:
    """R35: only Flink's own layouts are known, so the ended job can no longer be judged."""
    inventoried.deliver()
    inventoried.story.sweep(inventoried.plan(), "--delete")
    plan = inventoried.plan()
    inventoried.story.put(f"{JOB_ID}/shared/of_a_fork/db/file", b"live")
    before = inventoried.story.contents()
    time.sleep(1.1)
    swept = inventoried.story.sweep(plan, "--delete")
    assert swept.code == 4
    assert "of_a_fork" in swept.json["refused"][JOB_ID]
    assert inventoried.story.contents() == before


def test_a_checkpoint_that_is_younger_than_the_inventory_protects_what_it_names(
    inventoried: Inventoried,
) -> None:
    """Roots are read fresh, by the plan and by the sweep."""
    named, other = sorted(inventoried.story.orphans)
    inventoried.deliver()
    root = metadata(9, [inventoried.path(named)])
    inventoried.story.put(f"{JOB_ID}/chk-9/_metadata", root)
    assert inventoried.plan().removals() == {other}


@pytest.mark.parametrize("state", ["state", "another"])
def test_a_quarantine_that_the_inventory_does_not_show_keeps_what_it_names(
    inventoried: Inventoried, state: str
) -> None:
    """R44: the markers of an expiry are younger, and stand in folders that each cycle looks at."""
    story = inventoried.story
    inventoried.deliver()
    time.sleep(1.1)  # within the same second the directory would not be still
    options = (story.root, "--ended-job", "all", "--closed-world")
    policy = ("--dead", JOB_ID, "--ended-for", "0", *NO_MARGINS, "--quarantine-period", "24h")
    out, place = story.folder / "expiry", f"s3://{story.bucket}"
    assert run("expire", *options, "--state", f"{place}/state", *policy, "--out", out).code == 0
    assert run("sweep", out, "--delete").code == 0
    before = set(story.contents())
    assert not [key for key in before if key.endswith("_metadata")]
    for number in range(2):
        time.sleep(1.1)  # S3 has whole seconds: a plan within this one finds no quarantine over
        plan = Planned(
            run(
                *("plan", *options, *NO_MARGINS, "--max-delete-share", "1"),
                *("--state", f"{place}/{state}", "--inventory", inventoried.uri),
                *("--out", story.folder / f"after-{number}"),
            ),
            story.folder / f"after-{number}",
        )
        blocked = {each["condition"] for each in job_of(plan)["blocked"]}
        assert ("state_lost" in blocked) == (state == "another")
        story.sweep(plan, "--delete")
    gone = before - set(story.contents())
    assert gone == (set() if state == "another" else story.orphans)


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_checkpoint_that_lost_a_file_since_the_inventory_stands_for_nothing(
    inventoried: Inventoried, is_lost
) -> None:
    """R41: three are to stay, and of those that can be restored there are three with the oldest."""
    story, (old, new) = inventoried.story, ("7c1e90fb" * 4, "3a41c2d9" * 4)
    for shown in ("Versions", "DeleteMarkers"):
        for each in story.client.list_object_versions(Bucket=story.bucket).get(shown, ()):
            named = {"Key": each["Key"], "VersionId": each["VersionId"]}
            story.client.delete_object(Bucket=story.bucket, **named)
    files, properties = {}, checkpoint_properties()
    for job, number in ((old, 7), (old, 8), (new, 9), (new, 10)):
        if number == 9:
            began = int(now().timestamp() * 1000)
        files[number] = f"{job}/shared/00000000-0000-4000-8000-{number:012x}"
        story.put(files[number], b"state")
        time.sleep(1.1)
        data = metadata(number, [inventoried.path(files[number])], properties=properties)
        story.put(f"{job}/chk-{number}/_metadata", data)
    inventoried.deliver()
    time.sleep(1.1)
    if is_lost:
        inventoried.delete(files[9])
    place = Path(f"/{story.bucket}/checkpoints")
    routes = flink(
        Job(new, place / new),
        completed=10,
        restored=(8, place / old / "chk-8"),
        restored_ms=began,
        started_ms=began,
    )
    routes = {
        path: (code, body.replace(b"file:/", b"s3://")) for path, (code, body) in routes.items()
    }
    with RestServer(routes) as server:
        root = {
            "root": story.root,
            "state": f"s3://{story.bucket}/state",
            "closed_world": True,
            "ended_job": [old],
            "flink_rest": [server.url],
            "inventory": inventoried.uri,
            "expire": {"keep_last": 3, "ended_for": "0"},
            "allow_short_margins": True,
            **dict.fromkeys(("grace_period", "quiet_period", "clock_skew"), "0"),
        }
        file = story.folder / "orphangc.yaml"
        plans = str(story.folder / "plans")
        file.write_text(yaml.safe_dump({"mode": "delete", "plans": plans, "storage_roots": [root]}))
        for _ in range(2):  # the first one only reports
            ran = run("run", "--config", file)
            assert ran.code == 0, ran.err
    assert (f"{old}/chk-7/_metadata" in story.contents()) == is_lost


# --- refusals


def test_an_inventory_that_cannot_be_used_is_refused_with_its_exit_code(
    inventoried: Inventoried,
) -> None:
    """2 for what an operator configured, 4 for what is damaged or too old; nothing is planned."""
    assert inventoried.refused().code == 2
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)  # noqa: TID251 - the server runs here
    report = inventoried.deliver(at=an_hour_ago)
    assert inventoried.refused("--inventory-max-age", "30m").code == 4
    report.manifest["fileSchema"] = "message s3.inventory { required binary bucket (STRING);}"
    inventoried.write(report)
    ran = inventoried.refused()
    assert (ran.code, "lacks Key" in ran.complaints[0]) == (2, True)
    report = inventoried.deliver(CSV)
    key = next(iter(report.files))
    report.files[key] = report.files[key][:-2]
    inventoried.write(report)
    ran = inventoried.refused()
    assert (ran.code, "nothing was planned" in ran.complaints[0]) == (4, True)


def test_a_local_root_has_no_inventory(tmp_path) -> None:
    """Exit 2, before anything is looked at."""
    ran = run("plan", tmp_path, "--inventory", "s3://reports/daily")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "inventory" in ran.complaints[0]


# --- beside the objects


def test_what_an_object_store_keeps_beside_its_objects_is_reported(on_s3: S3Story) -> None:
    """Uploads always; versions if asked for, because they take a second listing."""
    key = f"checkpoints/{JOB_ID}/shared/leaked"
    upload = on_s3.client.create_multipart_upload(Bucket=on_s3.bucket, Key=key)["UploadId"]
    on_s3.client.upload_part(
        Bucket=on_s3.bucket, Key=key, UploadId=upload, PartNumber=1, Body=b"12345"
    )
    on_s3.put(f"{JOB_ID}/shared/", b"")
    on_s3.put("state-of-nobody", b"old")
    on_s3.put("state-of-nobody", b"new")
    before = on_s3.contents()
    extras = on_s3.plan().document["extras"]
    assert (extras["uploads"], extras["versions"]) == ("counted", "not_asked")
    (area,) = extras["areas"]
    assert (area["scope"], area["job_id"]) == ("shared", JOB_ID)
    assert (area["uploads"], area["upload_bytes"], area["directory_markers"]) == (1, 5, 1)
    assert area["noncurrent_versions"] is None
    extras = on_s3.plan("--noncurrent-versions").document["extras"]
    assert extras["versions"] == "counted"
    sums = {each["scope"]: each["noncurrent_bytes"] for each in extras["areas"]}
    assert sums == {"shared": 0, "other": 3}
    assert on_s3.contents() == before


def test_a_local_plan_reports_no_uploads(tmp_path) -> None:
    job = tmp_path / "root" / f"{1:032x}" / "shared"
    job.mkdir(parents=True)
    ran = run("plan", tmp_path / "root", "--state", tmp_path / "state", "--output", "json")
    assert json.loads(ran.out)["extras"] is None


@pytest.mark.ci
def test_doctor_says_that_an_inventory_lists_the_storage_root(on_s3) -> None:
    """What is beside it is listed all the same."""
    estimate = search_estimate(StorageRootSettings(root=on_s3.root, inventory="s3://other/daily"))
    assert estimate.startswith(f"all of s3://{on_s3.bucket}/ is searched: ")
    assert estimate.endswith(", less what is below the storage root: the inventory lists that")
