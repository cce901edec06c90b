"""``run``: one scheduled pass over every configured storage root."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from cli.helpers import DAY, Bed, contents, flink, run, write
from cli.scheduled import (
    Clock,
    Configured,
    events,
    fake_clock,
    results,
    settings_of,
    started,
    swept,
    until,
)
from cli.stories import Story, make_story
from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.app.config.load import load_configuration
from orphangc.app.runner import run_root as running
from orphangc.app.runner.make_plan import PlanFiles
from orphangc.app.wiring.compose import CycleStart, state_of
from orphangc.collect.state.history import newest_records
from orphangc.core.documents.lineage_report import LINEAGES_FILE, LineageReport
from support import speed
from support.rest_server import RestServer


def other_root(folder: Path, **more: object) -> dict[str, object]:
    (folder / "other").mkdir()
    return settings_of(make_story(Bed(folder / "other"), 2), **more)


@dataclass
class Day:
    """A storage root whose job runs, looked at again and again while time passes."""

    config: Configured
    clock: Clock
    records: list[dict] = field(default_factory=list)

    def passes(self, hours: float = 0) -> dict:
        self.clock.passes(hours=hours)
        ran = self.config.run()
        assert ran.code == 0, ran.err
        self.records.append(ran.json[0])
        return ran.json[0]


@pytest.fixture
def day(undeclared, monkeypatch) -> Iterator[tuple[Day, RestServer]]:
    """The first run is yet to come."""
    job = undeclared.job
    with RestServer(flink(job, completed=8)) as server, fake_clock(monkeypatch) as clock:
        more = {"flink_rest": [server.url], "ended_job": [], "quarantine_period": "24h"}
        yield Day(Configured.of(undeclared, settings_of(undeclared, **more)), clock), server


def test_a_day_in_the_life(undeclared, day) -> None:
    """Report, quarantine, delete: each when its time has come, and the job loses nothing."""
    (of_day, server), job = day, undeclared.job
    first = of_day.passes()
    assert (first["effective_mode"], swept(first)) == ("report", {})
    second = of_day.passes(6)
    assert (second["effective_mode"], swept(second)) == ("delete", {"tombstone/done": 2})
    (due,) = second["tombstones"]["due"]
    assert due == {"day": (of_day.clock() + DAY).date().isoformat(), "objects": 2, "bytes": 84}
    assert swept(of_day.passes(6)) == {}
    late = of_day.clock.stamp(job.shared())
    of_day.clock.stamp(job.checkpoint(9, *undeclared.live, late))
    server.routes |= flink(job, completed=9)
    fourth = of_day.passes(19)
    assert swept(fourth) == {"delete/done": 2}
    assert not any(path.exists() for path in undeclared.orphans)
    fifth = of_day.passes(6)
    assert (swept(fifth), fifth["tombstones"]["objects"]) == ({}, 0)
    assert all(path.exists() for path in (*undeclared.live, late))
    check_history(of_day)


def check_history(day: Day) -> None:
    totals = day.records[-1]["totals"]
    assert totals["runs"] == {"plan/done": 5, "sweep/done": 4}
    assert totals["swept_objects"] == {"tombstone/done": 2, "delete/done": 2}
    assert day.config.records() == day.records
    for before, after in pairwise(day.records):
        assert before["totals"]["list_requests"] < after["totals"]["list_requests"]


@pytest.mark.parametrize("hours", [0.1, 48])
def test_a_clock_that_goes_back_is_no_state_of_an_earlier_day(day, hours) -> None:
    """It was ahead, or another host's is: a memory is later than what it was written after."""
    of_day, _ = day
    of_day.passes()
    of_day.passes(hours)
    of_day.passes(-hours)
    assert [of_day.passes(0.01)["blocked"] for _ in range(3)] == [None] * 3


def test_the_first_run_on_a_root_only_reports(story) -> None:
    """Whatever the mode, and though every quarantine is over at once."""
    before = contents(story.bed.root)
    ran = Configured.of(story).run()
    (record,) = ran.json
    assert (record["mode"], record["effective_mode"]) == ("delete", "report")
    assert results(record) == {"plan": "done"}
    assert contents(story.bed.root) == before
    assert not list(story.bed.state.glob("*/tombstones/*"))


def test_a_first_run_that_failed_is_not_the_one_that_reported(story) -> None:
    """Only a finished plan has shown anything."""
    config = Configured.of(story)
    story.bed.root.rename(story.bed.folder / "away")
    assert config.run().code == 10
    (story.bed.folder / "away").rename(story.bed.root)
    assert config.run().json[0]["effective_mode"] == "report"
    assert config.run().json[0]["effective_mode"] == "delete"


@pytest.mark.parametrize(
    ("mode", "done"),
    [("report", [{}, {}, {}]), ("quarantine", [{}, {"tombstone/done": 2}, {"delete/planned": 2}])],
)
def test_a_mode_goes_no_further(story, mode, done) -> None:
    """A root's own mode wins over the file's."""
    config = Configured.of(story, settings_of(story, mode=mode))
    assert [swept(config.run().json[0]) for _ in range(3)] == done
    assert all(path.exists() for path in story.orphans)


def test_the_record_says_all_that_the_plan_found(story) -> None:
    """Amounts by job, retained checkpoints, refusals, and they add up."""
    story.job.shared("what-is-this")
    record = Configured.of(story).run().json[0]
    (job,) = record["jobs"]
    assert job["retained_checkpoint_ids"] == [7, 8]
    assert job["state_self_sustained"] is True
    assert job["amounts"] == record["amounts"]
    assert sum(each["objects"] for each in record["amounts"]) == record["objects_listed"] == 8
    assert sum(each["bytes"] for each in record["amounts"]) == record["bytes_listed"]
    assert record["roots_read"] == 2
    assert record["grace_period_seconds"] == 259_200


def test_a_run_keeps_its_lineages_without_a_retention_policy(story) -> None:
    """The page of the run shows them, and what each of its checkpoints holds."""
    record = Configured.of(story).run().json[0]
    plan = json.loads(Path(record["plan_folder"], "plan.json").read_text())
    lineages = LineageReport.model_validate_json(
        Path(record["plan_folder"], LINEAGES_FILE).read_text()
    )
    assert lineages.policy is None
    assert lineages.expiring == ()
    assert {each.uri for each in lineages.checkpoints} == {each["uri"] for each in plan["roots"]}
    assert lineages.unneeded.model_dump(mode="json") == plan["unneeded"]


def test_what_is_in_no_job_directory_is_reported_too(story) -> None:
    """As the job without an id."""
    stray = story.bed.root / "stray"
    stray.write_bytes(b"12345")
    jobs = {each["job_id"]: each for each in Configured.of(story).run().json[0]["jobs"]}
    assert [(each["objects"], each["bytes"]) for each in jobs[""]["amounts"]] == [(1, 5)]


def test_refusals_are_counted_by_rule_and_reported_with_advice(story) -> None:
    """A refused job exits 4; the log names guard, root, job and remedy."""
    (story.job.folder / "chk-8" / "_metadata").write_bytes(b"broken")
    config = Configured.of(story)
    ran = config.run()
    (record,) = ran.json
    assert (ran.code, record["result"]) == (4, "refused")
    assert record["refusals"] == {"unreadable_root": 1, "not_quiet": 1}
    (line,) = events(ran.err, "job.refused")
    assert (line["guard"], line["job_id"]) == ("unreadable_root", story.job.id)
    assert line["root"] == str(story.bed.root)
    assert "--unsafe-acknowledge-root" in line["advice"]


def test_blocked_jobs_are_reported_with_advice(story) -> None:
    """Exit 0 for a report; the conditions stand in the record and in the log."""
    ran = Configured.of(story, settings_of(story, closed_world=False)).run()
    assert (ran.code, ran.json[0]["refusals"]) == (0, {"closed_world": 1})
    (line,) = events(ran.err, "job.blocked")
    assert (line["condition"], line["job_id"]) == ("closed_world", story.job.id)
    assert "--closed-world" in line["advice"]


def test_a_refusal_of_everything_names_its_guard(story) -> None:
    """A storage root without any job is never taken for an empty one."""
    empty = story.bed.folder / "empty"
    empty.mkdir()
    ran = Configured.of(story, settings_of(story, root=str(empty))).run()
    assert (ran.code, ran.json[0]["refusals"]) == (4, {"no_roots": 1})
    (line,) = events(ran.err, "run.refused")
    assert line["guard"] == "no_roots"
    assert "correct the storage root" in line["advice"]  # no job of it will ever have a checkpoint


def test_an_unreachable_root_does_not_stop_the_next(story, tmp_path) -> None:
    """Exit 10, the worst; the other has its record."""
    absent = settings_of(story, root=str(tmp_path / "absent"))
    config = Configured.of(story, absent, settings_of(story))
    ran = config.run()
    assert ran.code == 10
    assert [each["result"] for each in ran.json] == ["unreachable", "blocked"]
    assert "absent" in ran.json[0]["error"]


def test_an_unexpected_fault_is_a_record_of_one_line(story, tmp_path, monkeypatch) -> None:
    """It does not stop the next root; its traceback is for those who ask."""
    make_plan = running.make_plan

    def broken(start: CycleStart, *args: object, **more: object) -> object:
        if "other" not in start.settings.root:
            raise ZeroDivisionError("two\nlines")
        return make_plan(start, *args, **more)

    monkeypatch.setattr(running, "make_plan", broken)
    config = Configured.of(story, settings_of(story), other_root(tmp_path))
    ran = config.run()
    assert (ran.code, [each["result"] for each in ran.json]) == (1, ["failed", "done"])
    assert ran.json[0]["error"] == "ZeroDivisionError: two lines"
    assert "Traceback" not in ran.err
    assert "exception" not in ran.err
    verbose = run("--verbose", "run", "--config", config.path)
    (line,) = events(verbose.err, "run.crashed")
    assert line["exception"][0]["exc_type"] == "ZeroDivisionError"
    assert "locals" not in verbose.err


def test_refused_is_no_longer_4_where_another_root_lost_something(story, tmp_path) -> None:
    """Exit 4 promises that nothing was deleted."""
    config = Configured.of(story, settings_of(story), other_root(tmp_path))
    assert [config.run().code for _ in range(2)] == [0, 0]
    checkpoints = tmp_path / "other" / "checkpoints"
    (checkpoints / f"{2:032x}").rename(checkpoints / "orders")
    ran = config.run()
    assert [each["result"] for each in ran.json] == ["done", "refused"]
    assert swept(ran.json[0]) == {"delete/done": 2}
    assert ran.code == 1
    assert config.run().code == 4


def test_one_root_alone_can_be_run(story, tmp_path) -> None:
    """By its URI; one that is not configured is named with the nearest."""
    other = other_root(tmp_path)
    config = Configured.of(story, settings_of(story), other)
    ran = config.run("--only", f"file://{other['root']}")
    assert [each["root"] for each in ran.json] == [other["root"]]
    wrong = config.run("--only", f"{other['root']}s")
    assert (wrong.code, wrong.out) == (2, "")
    assert str(other["root"]) in wrong.complaints[0].partition("did you mean")[2]


def test_only_the_newest_plans_are_kept(story) -> None:
    """Foreign files there stay."""
    config = Configured.of(story, keep_plans=2)
    config.run()
    (folder,) = (story.bed.folder / "plans").iterdir()
    (folder / "mine").mkdir()
    for _ in range(3):
        config.run()
    kept = [each["plan_folder"] for each in config.records()][-2:]
    assert sorted(map(str, folder.iterdir())) == sorted([*kept, str(folder / "mine")])


def test_plans_never_lie_in_a_storage_root(story) -> None:
    """A link to it is only another spelling."""
    (story.bed.folder / "link").symlink_to(story.bed.root)
    before = contents(story.bed.root)
    ran = Configured.of(story, plans=str(story.bed.folder / "link" / "plans")).run()
    assert (ran.code, "inside the storage root" in ran.complaints[0]) == (2, True)
    assert contents(story.bed.root) == before


def test_a_record_that_cannot_be_written_does_not_fail_the_run(story) -> None:
    """It is printed and logged all the same."""
    config = Configured.of(story)
    config.run()
    (records,) = story.bed.state.glob("*/records")
    records.rename(records.with_name("moved"))
    records.write_bytes(b"in the way")
    ran = config.run()
    assert (ran.code, ran.json[0]["result"]) == (10, "unreachable")
    records.unlink()
    records.with_name("moved").rename(records)
    records.chmod(0o500)
    assert config.run().code == 0


def test_records_of_other_versions_are_skipped(story) -> None:
    """They are no reason to restart, nor to fail."""
    config = Configured.of(story)
    config.run()
    (folder,) = story.bed.state.glob("*/records")
    (folder / "99999999T999999999999Z-00000000.json").write_text('{"schema_version": 2}')
    (folder / "99999999T999999999998Z-00000000.json").write_bytes(b"\xff")
    ran = config.run()
    assert ran.json[0]["effective_mode"] == "delete"
    assert ran.json[0]["totals"]["runs"] == {"plan/done": 2, "sweep/done": 1}


def test_what_the_storage_refuses_to_delete_is_said_with_the_next_step(story, monkeypatch) -> None:
    """No time has to pass: the same command goes on where the storage allows it."""
    config = Configured.of(story)
    config.run()
    config.run()

    def refuse(*_: object) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(LocalStorage, "_unlink", refuse)
    ran = config.run("--output", "table")
    assert ran.code == 3
    assert "Next: 2 objects failed" in ran.out
    assert "Next: from" not in ran.out


def test_an_orphan_in_quarantine_is_an_orphan_of_the_table(story) -> None:
    """As of the status page: the day after its tombstone there is no orphan less."""
    config = Configured.of(story, settings_of(story, quarantine_period="24h"))
    found = [
        re.search(r"(\d+) \(\d+ B\)\D+(\d+)\D+(\d+)", config.run("--output", "table").out)
        for _ in range(3)
    ]
    counts = [each.groups() for each in found if each is not None]
    assert counts == [("2", "0", "0"), ("2", "2", "0"), ("2", "2", "0")]


def test_every_deletion_is_one_line_of_the_audit_log(story) -> None:
    """With key, size, reason and ETag; every line of a run names run and root."""
    config = Configured.of(story, log={"level": "warning", "format": "json", "audit_log": "stderr"})
    config.run()
    config.run()
    ran = config.run()
    lines = events(ran.err, "object.deleted")
    keys = {str(path.relative_to(story.bed.root)) for path in story.orphans}
    assert {line["key"] for line in lines} == keys
    assert all(line["reason"] == "quarantine_over" and line["etag"] for line in lines)
    assert {(line["size"], line["outcome"]) for line in lines} == {(42, "done")}
    (last,) = events(ran.err, "run.finished")
    assert last["swept"] == {"delete/done": {"objects": 2, "bytes": 84}}
    assert (last["result"], last["plan_id"]) == ("done", ran.json[0]["plan_id"])
    for line in [json.loads(each) for each in ran.err.splitlines()]:
        assert (line["run_id"], line["root"]) == (ran.json[0]["run_id"], str(story.bed.root))


def test_no_credential_is_in_any_line(story, monkeypatch) -> None:
    """Not in the log, on stdout, in the record, the plan or the shown configuration."""
    monkeypatch.setenv("REST_PASSWORD", "hunter2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "topsecret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAKEY")
    settings = settings_of(story, flink_rest=["http://me:${REST_PASSWORD}@127.0.0.1:1/"])
    push = {"pushgateway": "http://me:${REST_PASSWORD}@127.0.0.1:1"}
    config = Configured.of(story, settings, metrics=push, log={"level": "debug"})
    ran = [run("--verbose", "run", "--config", config.path) for _ in range(2)]
    shown = run("config", "show", "--config", config.path)
    written = [
        path.read_bytes().decode(errors="replace")
        for folder in (story.bed.state, story.bed.folder / "plans")
        for path in folder.rglob("*")
        if path.is_file()
    ]
    said = "".join([*(each.out + each.err for each in ran), shown.out, shown.err, *written])
    assert ran[1].code in {0, 4}, ran[1].err
    assert "127.0.0.1:1" in said
    for secret in ("hunter2", "topsecret", "AKIAKEY", "me:"):
        assert secret not in said


def test_metrics_are_left_in_a_file(story, tmp_path) -> None:
    """Of all storage roots, also of those that did not run this time."""
    file = tmp_path / "orphangc.prom"
    other = other_root(tmp_path)
    config = Configured.of(story, settings_of(story), other, metrics={"textfile": str(file)})
    config.run()
    config.run("--only", other["root"])
    lines = file.read_text().splitlines()
    runs = {
        root: f'orphangc_runs_total{{phase="plan",result="done",root="{root}"}}'
        for root in (str(story.bed.root), other["root"])
    }
    assert f"{runs[str(story.bed.root)]} 1.0" in lines
    assert f"{runs[other['root']]} 2.0" in lines
    assert [each.name for each in tmp_path.glob("orphangc.prom*")] == ["orphangc.prom"]


def test_metrics_that_cannot_be_left_do_not_fail_the_run(story, tmp_path) -> None:
    """Nor a Pushgateway that is away."""
    places = {"textfile": str(tmp_path / "no" / "file"), "pushgateway": "http://127.0.0.1:1"}
    ran = Configured.of(story, metrics=places).run()
    assert ran.code == 0
    assert events(ran.err, "metrics.not_written")
    assert events(ran.err, "metrics.not_pushed")


def test_a_second_run_says_who_holds_the_lock(story, tmp_path) -> None:
    """Exit 11; the record is printed and counted, and stands nowhere else."""
    config = Configured.of(story)
    config.run()
    config.run()
    stall = tmp_path / "stall"
    with started("run", "--config", config.path, err=tmp_path / "err", stall=stall) as first:
        until(stall.exists)
        ran = config.run()
        (record,) = ran.json
        assert (ran.code, record["result"], results(record)) == (11, "locked", {"plan": "locked"})
        assert f"process {first.process.pid} on " in record["error"]
        assert record["totals"]["runs"] == {"plan/done": 2, "sweep/done": 1, "plan/locked": 1}
        assert len(config.records()) == 2
        doctor = run("doctor", "--config", config.path)
        (lock,) = [each for each in doctor.json if each["check"] == "lock"]
        assert (lock["health"], f"process {first.process.pid} " in lock["message"]) == (
            "warning",
            True,
        )
        stall.unlink()
        assert first.process.wait(timeout=speed.command()) == 0
    assert not any(path.exists() for path in story.orphans)
    assert len(config.records()) == 3


def test_sigterm_ends_a_run_in_order(story, tmp_path) -> None:
    """The batch is finished, the lock given back, the record written, the exit code 143."""
    other = other_root(tmp_path)
    config = Configured.of(story, settings_of(story), other, log={"audit_log": "stderr"})
    config.run()
    config.run()
    stall = tmp_path / "stall"
    with started("run", "--config", config.path, err=tmp_path / "err", stall=stall) as process:
        until(stall.exists)
        process.process.terminate()
        stall.unlink()
        assert process.process.wait(timeout=speed.command()) == 143
        assert process.process.stdout is not None
        (printed,) = json.load(process.process.stdout)
        log = process.log
    record = config.records()[-1]
    assert record == printed
    assert (record["result"], record["exit_code"]) == ("interrupted", 143)
    assert results(record) == {"plan": "done", "sweep": "interrupted"}
    assert "Traceback" not in log
    locks = [path.read_bytes() for path in story.bed.state.glob("*/lock/*.json")]
    assert not any(b"token" in each for each in locks)
    assert swept(record) == {"delete/done": 2}
    assert len(events(log, "object.deleted")) == 2
    ran = config.run()
    assert (ran.code, any(path.exists() for path in story.orphans)) == (0, False)


@pytest.mark.usefixtures("kills")
def test_a_killed_run_is_followed_by_one_that_finishes(story, tmp_path) -> None:
    """Nothing is lost, nothing is done twice, and the counters know of all that was recorded."""
    config = Configured.of(story, log={"audit_log": "stderr"})
    config.run()
    config.run()
    stall = tmp_path / "stall"
    with started("run", "--config", config.path, err=tmp_path / "err", stall=stall) as process:
        until(stall.exists)
        process.process.kill()
        process.process.wait()
    ran = config.run()
    assert (ran.code, any(path.exists() for path in story.orphans)) == (0, False)
    assert all(path.exists() for path in story.live)
    assert swept(ran.json[0]) == {"delete/done": 2}
    assert len(events(ran.err, "object.deleted")) == 2
    assert ran.json[0]["totals"]["swept_objects"]["delete/done"] == 2


def test_an_interrupted_listing_is_gone_on_with(story, monkeypatch) -> None:
    """The next run takes over the folder that the plan was to go to."""
    config = Configured.of(story)
    make_plan = running.make_plan

    def interrupted(_: object, files: PlanFiles, **__: object) -> object:
        (files.out / ".listing").mkdir(parents=True)
        (files.out / ".listing" / "left").touch()
        raise SystemExit(143)

    monkeypatch.setattr(running, "make_plan", interrupted)
    assert config.run().code == 143
    (before,) = (story.bed.folder / "plans").glob("*/*")
    monkeypatch.setattr(running, "make_plan", make_plan)
    ran = config.run()
    assert (ran.code, before.exists()) == (0, False)
    assert not (Path(ran.json[0]["plan_folder"]) / ".listing").exists()


def test_records_are_read_back_as_they_were_printed(story) -> None:
    """By the daemon too, through a child."""
    config = Configured.of(story)
    ran = config.run()
    (settings,) = load_configuration(config.path).storage_roots
    (record,) = newest_records(state_of(settings))
    assert record.model_dump(mode="json") == ran.json[0]
    assert record.root == str(canonical(str(story.bed.root)))
    listed = run("records", "--config", config.path)
    assert listed.json == {record.root: {"error": None, "records": ran.json}}
    assert record.ended_at - record.started_at < timedelta(minutes=1)


def test_a_short_grace_period_is_refused_here_too(story: Story) -> None:
    """Exit 2, in one line."""
    ran = Configured.of(
        story, settings_of(story, grace_period="1h", allow_short_margins=False)
    ).run()
    assert (ran.code, len(ran.complaints)) == (2, 1)


# --- between the cycle and the first deletion


@dataclass
class Due:
    """Two orphans that the next run deletes, and what happens when it has made its cycle."""

    story: Story
    config: Configured
    monkeypatch: pytest.MonkeyPatch

    def deletes_after(self, action: Callable[[], object]) -> dict[str, object]:
        """Run, with an action between the plan and the sweep; return the record."""
        make_plan = running.make_plan

        def made(*args: object, **more: object) -> object:
            plan = make_plan(*args, **more)
            assert {each.action for each in plan.plan.tallies} == {"keep", "delete"}
            action()
            return plan

        self.monkeypatch.setattr(running, "make_plan", made)
        ran = self.config.run()
        return ran.json[0]

    @property
    def left(self) -> list[bool]:
        return [path.exists() for path in self.story.orphans]


@pytest.fixture
def due(story, monkeypatch) -> Due:
    """The run that reports and the one that lays tombstones are over."""
    config = Configured.of(story)
    assert [config.run().code for _ in range(2)] == [0, 0]
    return Due(story, config, monkeypatch)


def test_verdicts_that_change_on_disk_after_the_cycle_delete_nothing(due) -> None:
    """No other cycle must agree, so the files must be those that this one wrote."""

    def altered() -> None:
        (file,) = (due.story.bed.folder / "plans").glob("*/*/verdicts/*.parquet")
        rows = pq.read_table(file)
        live = pc.equal(rows["key"], str(due.story.live[0].relative_to(due.story.bed.root)))
        action = pc.if_else(live, "delete", rows["action"])
        pq.write_table(rows.set_column(rows.schema.names.index("action"), "action", action), file)

    for plan in (due.story.bed.folder / "plans").glob("*/*"):
        shutil.rmtree(plan)
    record = due.deletes_after(altered)
    assert (swept(record), due.left) == ({}, [True, True])
    assert "not the file that was planned" in record["error"]


def an_object_changes(due: Due) -> None:
    write(due.story.orphans[0], b"renewed", 30 * DAY)


def a_checkpoint_appears(due: Due) -> None:
    due.story.job.checkpoint(9, due.story.orphans[0], age=18 * DAY)


def a_job_directory_appears(due: Due) -> None:
    due.story.bed.job(2).checkpoint(1, due.story.orphans[0])


@pytest.mark.parametrize(
    "change", [an_object_changes, a_checkpoint_appears, a_job_directory_appears]
)
def test_what_changes_after_the_cycle_is_kept(due, change) -> None:
    """Objects are compared, and checkpoints read again, right before the first batch (R18)."""
    record = due.deletes_after(partial(change, due))
    assert swept(record) == {"delete/changed": 1, "delete/done": 1}
    assert due.left == [True, False]


def test_a_job_that_claims_a_checkpoint_after_the_cycle_protects(story, monkeypatch) -> None:
    """Flink reports where its checkpoint is, outside every searched place (R4)."""
    other = story.bed.job(2, below=story.bed.folder / "elsewhere")
    claimed = other.checkpoint(3, story.orphans[0]).parent
    calm = flink(other, completed=3) | {"/jobs": (200, b'{"jobs":[]}')}
    with RestServer(calm) as server:
        settings = settings_of(story, flink_rest=[server.url], search="places")
        config = Configured.of(story, settings)
        assert [config.run().code for _ in range(2)] == [0, 0]
        due = Due(story, config, monkeypatch)
        starts = flink(other, completed=4, restored=(3, claimed))
        record = due.deletes_after(lambda: server.routes.update(starts))
    assert (swept(record), due.left) == ({"delete/changed": 1, "delete/done": 1}, [True, False])
