"""``plan``: what it says, where it writes, and what it exits with."""

import hashlib
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.helpers import DAY, STARTING, UUID_1, UUID_2, Bed, contents, flink, run, run_process, write
from cli.stories import make_story
from orphangc import __version__
from orphangc.core.model.types import AreaName
from support.processes import finished
from support.rest_server import RestServer, as_json, configured, send

CONTRACT = {
    *("schema_version", "plan_id", "tool_version", "root", "scopes", "created_at", "engine"),
    *("bounds", "jobs", "roots", "tallies"),
    *("objects_listed", "bytes_listed", "list_requests", "duration_seconds"),
}
ADDED = {
    *("live_set_sha256", "reported", "warnings", "verdict_files", "settings"),
    *("engine_reason", "listed_at", "inventory", "extras", "world", "states"),
    *("expiry", "unneeded", "remembered_at"),
}
JOB = {
    *("job_id", "mode", "oldest_retained_checkpoint_id", "retained_checkpoint_ids"),
    *("live_objects", "cutoff", "missing", "evidence", "refused", "blocked"),
}
ADDED_TO_JOB = {
    *("areas", "held_back", "missing_count", "resources"),
    *("directories", "state", "listed_objects", "bounds", "state_self_sustained", "looks"),
}

COMMANDS = (
    ("plan",),
    ("sweep",),
    ("explain",),
    ("inspect",),
    ("registry",),
    ("registry", "export"),
    ("registry", "show"),
    ("self-sustained",),
    ("users-of",),
    ("undelete",),
    ("run",),
    ("serve",),
    ("doctor",),
    ("demo",),
)


# --- the document


def test_the_plan_has_exactly_the_keys_of_the_contract(story) -> None:
    """And those that were added to it, pinned here: a consumer may rely on either."""
    document = story.bed.plan().document
    assert set(document) == CONTRACT | ADDED
    assert set(document["bounds"]) == {
        *("cutoff", "grace_period_seconds", "quarantine_period_seconds"),
        *("checkpoint_id_margin", "clock_skew_seconds"),
    }
    assert set(document["unneeded"]) == {
        *("checkpoints", "lineages", "objects", "bytes", "last_life_at")
    }
    (job,) = document["jobs"]
    assert set(job) == JOB | ADDED_TO_JOB
    assert {frozenset(each) for each in job["evidence"]} == {
        frozenset({"source", "uri", "sequence", "taken_at"})
    }
    assert {frozenset(each) for each in document["roots"]} == {
        frozenset({"uri", "job_id", "checkpoint_id", "format_version", "references", "sha256"})
    }
    assert {frozenset(each) for each in document["tallies"]} == {
        frozenset({"scope", "action", "reason", "objects", "bytes"})
    }


def test_the_plan_says_what_was_found(story) -> None:
    plan = story.bed.plan("--grace-period", "100h", "--clock-skew", "2m")
    document = plan.document
    assert (document["schema_version"], document["tool_version"]) == (1, __version__)
    assert (document["engine"], document["scopes"]) == ("local", [each.value for each in AreaName])
    assert document["root"] == str(story.bed.root)
    assert document["bounds"]["grace_period_seconds"] == 360_000
    assert document["bounds"]["clock_skew_seconds"] == 120
    job = plan.job(story.job)
    assert (job["mode"], job["refused"], job["missing"]) == ("derived", None, [])
    assert (job["oldest_retained_checkpoint_id"], job["retained_checkpoint_ids"]) == (7, [7, 8])
    assert job["live_objects"] == 3
    assert [each["references"] for each in document["roots"]] == [2, 2]
    assert document["objects_listed"] == 7
    assert document["list_requests"] > 0


def test_refusals_and_blocks_are_written_out(undeclared) -> None:
    """Guard and message; condition and message."""
    plan = undeclared.bed.plan()
    assert {frozenset(each) for each in plan.job(undeclared.job)["blocked"]} == {
        frozenset({"condition", "message"})
    }
    (undeclared.job.folder / "shared" / "op_x_attempt_0").mkdir()
    refused = undeclared.bed.plan().job(undeclared.job)["refused"]
    assert set(refused) == {"guard", "message"}


def test_verdict_files_have_exactly_the_columns_of_the_contract(story) -> None:
    """Names, order and types: other engines write the same."""
    plan = story.bed.plan()
    (file,) = (plan.path / "verdicts").iterdir()
    schema = pq.read_schema(file)
    assert schema.names == [
        *("job_id", "key", "scope", "size", "modified_at", "etag", "checkpoint_id"),
        *("action", "reason"),
    ]
    assert schema.types == [
        *(pa.string(), pa.string(), pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")),
        *(pa.string(), pa.int64(), pa.string(), pa.string()),
    ]
    assert not any(key.startswith("/") for key in plan.rows)


def test_the_printed_plan_is_the_saved_one(story) -> None:
    """JSON where stdout is no terminal."""
    plan = story.bed.plan()
    assert plan.ran.json == plan.document
    assert story.bed.plan("--output", "json").ran.json["objects_listed"] == 7


def test_the_report_and_the_summary_are_written_on_request(story) -> None:
    """One file each, where they were asked for."""
    report, summary = story.bed.folder / "new" / "report.html", story.bed.folder / "summary.md"
    ran = story.bed.plan("--report", report, "--summary", summary).ran
    assert ran.code == 0
    assert story.job.id in report.read_text()
    assert story.job.id in summary.read_text()


# --- what it leaves alone


def test_a_plan_writes_nothing_below_the_root_and_what_it_saw_into_the_state(story) -> None:
    """Not a byte, not a time; --out holds the plan and nothing else does."""
    before = contents(story.bed.root)
    plan = story.bed.plan()
    assert contents(story.bed.root) == before
    written = [each for each in story.bed.state.rglob("*") if each.is_file()]
    (remembered,) = (each for each in written if each.name != "remembers.json")
    assert (remembered.parent.name, len(written)) == ("world", 2)
    (file,) = plan.path.glob("verdicts/part-00000-*.parquet")
    assert sorted(contents(plan.path)) == ["plan.json", "verdicts", f"verdicts/{file.name}"]


def test_a_plan_without_out_is_only_printed_and_remembered(story) -> None:
    """Nothing is written but what it saw, into the state location."""
    before = contents(story.bed.folder)
    ran = run("plan", story.bed.root, "--state", story.bed.state)
    after = contents(story.bed.folder)
    assert (ran.code, {name: after[name] for name in before}) == (0, before)
    assert {name.partition("/")[0] for name in after.keys() - before.keys()} == {"state"}


@pytest.mark.parametrize("option", ["--out", "--report", "--summary"])
def test_a_plan_is_never_written_below_the_root(story, option) -> None:
    """ROOT belongs to Flink."""
    before = contents(story.bed.folder)
    ran = run(
        *("plan", story.bed.root, "--state", story.bed.state),
        *(option, story.bed.root / story.job.id / "plan"),
    )
    assert (ran.code, len(ran.complaints), contents(story.bed.folder)) == (2, 1, before)


@pytest.mark.parametrize("option", ["--report", "--summary"])
@pytest.mark.parametrize("place", ["file/report", "."])
def test_a_report_that_cannot_be_written_stops_the_plan_before_it_begins(
    story, option, place
) -> None:
    """A plan whose report fails would look failed, and lie there all the same."""
    write(story.bed.folder / "file", b"", DAY)
    before = contents(story.bed.folder)
    ran = story.bed.plan(option, story.bed.folder / place).ran
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert contents(story.bed.folder) == before


@pytest.mark.parametrize(
    ("option", "name", "said"),
    [("--report", "plan.md", "html"), ("--summary", "plan.html", "markdown")],
)
def test_a_report_is_what_its_name_says_or_nothing_is_planned(story, option, name, said) -> None:
    """A page in a file for Markdown reads as if it were broken."""
    path = story.bed.folder / name
    ran = story.bed.plan(option, path).ran
    assert (ran.code, path.exists()) == (2, False)
    assert ran.complaints == [f"orphangc: {option} {path}: it is written as {said}: name it so"]


# --- verdicts


def test_areas_that_are_not_named_are_reported_and_kept(story) -> None:
    """``--scope`` says what is collected; of a savepoint's folder no rule says anything."""
    job = story.job.folder
    paths = [
        write(job / "taskowned" / UUID_1, b"t", 30 * DAY),
        write(job / "chk-3" / UUID_2, b"e", 30 * DAY),
        write(story.bed.root / "savepoint-123456-0123456789ab" / UUID_1, b"s", 30 * DAY),
    ]
    plan = story.bed.plan("--scope", "shared")
    assert {plan.verdict(path) for path in paths} == {("keep", "report_only")}
    assert plan.removals() == {str(p.relative_to(story.bed.root)) for p in story.orphans}
    reported = {each["scope"]: each for each in plan.document["reported"]}
    assert reported["taskowned"]["unreferenced_objects"] == 1
    assert reported["exclusive"]["unreferenced_objects"] == 1
    assert plan.document["scopes"] == ["shared"]
    plan = story.bed.plan("--scope", "taskowned,exclusive")
    assert plan.removals() == {str(p.relative_to(story.bed.root)) for p in paths[:2]}
    assert plan.document["scopes"] == ["taskowned", "exclusive"]
    kept = {each["area"]: each["kept_because"] for each in plan.job(story.job)["areas"]}
    assert kept == {
        "shared": "the setting scope does not name shared",
        "exclusive": None,
        "taskowned": None,
    }


def test_a_pinned_file_and_a_pinned_folder_are_kept(story) -> None:
    """Whatever refers to them."""
    plan = story.bed.plan("--pin", story.orphans[0])
    assert plan.verdict(story.orphans[0]) == ("keep", "referenced")
    assert plan.verdict(story.orphans[1]) == ("tombstone", "orphan")
    plan = story.bed.plan("--pin", story.job.folder / "shared")
    assert {plan.verdict(path)[1] for path in story.orphans} == {"referenced"}


@pytest.mark.parametrize("what", ["shared", "shared/{orphan}", "", ".."])
def test_a_pin_keeps_its_files_whatever_link_the_storage_root_is_named_by(story, what) -> None:
    """Flink and the pin may name the folder itself."""
    real, orphan = story.bed.root, story.orphans[0]
    story.bed.root = story.bed.folder / "link"
    story.bed.root.symlink_to(real)
    pin = story.job.folder / what.format(orphan=orphan.name)
    for _ in range(2):
        story.bed.cycle("--pin", pin)
    assert orphan.exists()


def test_a_pin_keeps_what_it_spells_whatever_an_alias_makes_of_it(story) -> None:
    """An alias is about paths in checkpoints; here it moves the storage root itself."""
    moved = story.bed.folder / "moved"
    Bed(story.bed.folder).job(2, below=moved).checkpoint(3)
    alias, pin = f"{story.bed.root}={moved}", story.job.folder / "shared"
    for _ in range(2):
        story.bed.cycle("--alias", alias, "--pin", pin)
    assert all(each.exists() for each in story.orphans)


@pytest.mark.parametrize("spelling", ["shred", "chk-*", "chk%2D8", "SHARED"])
def test_a_pin_at_which_nothing_is_says_so(story, spelling) -> None:
    """It keeps nothing: a path is no pattern, and is spelled as the listing spells it."""
    pin = story.job.folder / spelling
    warned = story.bed.plan("--pin", pin).document["warnings"]
    assert f"the pin {pin} keeps nothing, for nothing is there: mistyped?" in warned
    for right in (story.job.folder / "shared", story.job.folder / "chk-8", story.orphans[0]):
        warned = story.bed.plan("--pin", right).document["warnings"]
        assert not any("keeps nothing" in each for each in warned)


def test_an_ended_job_that_is_nowhere_says_so(story) -> None:
    """One digit is wrong: the job that was meant is not declared, and nothing said so."""
    wrong = "f" * 32

    def warned(*ids: str) -> list[str]:
        given = (word for each in ids for word in ("--ended-job", each))
        said = story.bed.plan("--closed-world", *given).document["warnings"]
        return [each for each in said if "--ended-job" in each]

    assert warned("all") == warned(story.job.id) == []
    (said,) = warned(story.job.id, wrong)
    assert said.startswith(
        f"--ended-job {wrong}: no storage, no cluster and no earlier cycle shows"
    )


def test_the_root_may_be_one_job_directory(story) -> None:
    """Its own name gives the owner."""
    story.bed.root = story.job.folder
    plan = story.bed.plan()
    assert plan.document["jobs"][0]["job_id"] == story.job.id
    assert plan.removals() == {f"shared/{path.name}" for path in story.orphans}


def test_the_root_may_lie_above_the_job_directories(story) -> None:
    """Any number of folders between."""
    story.bed.root = story.bed.folder
    story.bed.state = story.bed.folder.parent / f"{story.bed.folder.name}-state"
    ran = run(
        *("plan", story.bed.folder, "--state", story.bed.state, "--output", "json"),
        *("--ended-job", "all", "--search", "places"),  # around it are the folders of other tests
    )
    tallies = {each["reason"]: each["objects"] for each in ran.json["tallies"]}
    assert (ran.code, tallies["orphan"]) == (0, 2)


# --- refusals


def test_one_refused_job_of_two_is_no_refused_plan(story) -> None:
    """Exit 0; the refused one stands in the plan and on stderr."""
    other = make_story(story.bed, 2)
    (other.job.folder / "shared" / "strange").mkdir()
    plan = story.bed.plan()
    assert plan.ran.code == 0
    assert (plan.refusal(story.job), plan.refusal(other.job)) == (None, "unproven_layout")
    assert "job.refused" in plan.ran.err
    assert other.job.id in plan.ran.err
    assert plan.removals() == {str(p.relative_to(story.bed.root)) for p in story.orphans}


def test_an_acknowledged_broken_root_protects_what_its_bytes_name(story) -> None:
    """And its whole directory; other jobs go on."""
    other = make_story(story.bed, 2)
    metadata = other.job.folder / "chk-8" / "_metadata"
    broken = metadata.read_bytes() + str(story.orphans[0]).encode()
    write(metadata, broken, 20 * DAY)
    statement = f"{metadata}={hashlib.sha256(broken).hexdigest()}"
    plan = story.bed.plan("--unsafe-acknowledge-root", statement)
    assert plan.refusal(other.job) == "acknowledged_root"
    assert plan.verdict(story.orphans[0])[0] == "keep"
    assert plan.verdict(story.orphans[1]) == ("tombstone", "orphan")


# --- the command itself


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_text_has_an_example(command) -> None:
    """One that can be pasted and changed."""
    ran = run(*command, "--help")
    assert ran.code == 0
    assert "Example" in ran.out
    assert "orphangc" in ran.out


def test_the_module_is_the_command() -> None:
    """``python -m orphangc`` says the same."""
    ran = run_process("--version")
    assert (ran.code, ran.out.strip()) == (0, f"orphangc {__version__}")


def test_a_closed_pipe_shows_no_traceback(story) -> None:
    """``orphangc plan … | head`` is what people type."""
    command = f"{sys.executable} -m orphangc plan {story.bed.root} | true"
    done = finished(["bash", "-c", command])
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("is_kept", "guard"), [(True, "gate"), (False, None)])
def test_an_answer_that_a_proxy_keeps_is_no_second_one(undeclared, is_kept, guard) -> None:
    """It shows nothing of what the job completed while its checkpoints were listed (R11)."""
    job = undeclared.job
    with RestServer(flink(job, completed=8)) as server:
        kept = server.routes[f"/jobs/{job.id}"]
        if is_kept:
            server.routes[f"/jobs/{job.id}"] = lambda handler: send(handler, *kept)
        plan = undeclared.bed.plan("--flink-rest", server.url)
    assert plan.refusal(job) == guard


@pytest.mark.parametrize("has_leftover", [False, True])
def test_a_job_that_waits_for_resources_may_need_any_file(undeclared, has_leftover) -> None:
    """Flink shows no origin of it yet; it claimed a checkpoint, and stores elsewhere."""
    waiting = undeclared.bed.job(2)
    if has_leftover:
        waiting.checkpoint(3)
    routes = flink(waiting, completed=None, status="CREATED", **STARTING) | configured({})
    details = json.loads(routes[f"/jobs/{waiting.id}"][1])
    details["timestamps"]["CREATED"] = 0
    routes[f"/jobs/{waiting.id}"] = as_json(details)
    by = ("--closed-world", "--ended-job", undeclared.job.id)
    with RestServer(routes) as server:
        plan = undeclared.bed.plan("--flink-rest", server.url, *by)
        assert plan.refusal(undeclared.job) == "dependent_job"
        routes.update(flink(waiting, completed=None) | configured({}))
        plan = undeclared.bed.plan("--flink-rest", server.url, *by)
        assert plan.refusal(undeclared.job) is None
        assert len(plan.removals()) == len(undeclared.orphans)
