"""What cannot be done is said in one line, with the right code, and nothing is written."""

import errno
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from cli.helpers import DAY, ENDED, Bed, Ran, contents, run, run_process, write
from cli.stories import make_story
from cli.stories_on_s3 import use_s3
from support import speed
from support.processes import finished

JOB = f"{1:032x}"

BAD_SETTINGS = {
    "extra root": (("--extra-root", ""), "--extra-root: '' is neither"),
    "no duration": (("--grace-period", "soon"), "duration"),
    "a duration without a unit": (("--quarantine-period", "24"), "duration"),
    "a negative duration": (("--clock-skew", "-5m"), "duration"),
    "a fraction": (("--quiet-period", "1.5d"), "duration"),
    "a duration beyond the calendar": (("--grace-period", "99999999d"), "longer"),
    "an empty duration": (("--grace-period", ""), "duration"),
    "a short grace period": (("--grace-period", "1h"), "24h"),
    "a short quarantine": (("--quarantine-period", "0"), "allow_short_margins"),
    "a negative margin": (("--checkpoint-id-margin", "-1"), "--checkpoint-id-margin: "),
    "a share above one": (("--max-delete-share", "1.1"), "--max-delete-share: "),
    "a share that is no number": (("--max-delete-share", "nan"), "--max-delete-share: "),
    "a negative limit": (("--max-deletes", "-1"), "--max-deletes: "),
    "an alias without a target": (("--alias", "file:/a"), "FROM=TO"),
    "an alias with an empty side": (("--alias", "=/x"), "alias"),
    "an alias to nothing": (("--alias", "/x="), "alias"),
    "a short job id": (("--ended-job", "abc"), "32"),
    "an upper-case job id": (("--ended-job", "A" * 32), "32"),
    "a bad owner": (("--owner", "me"), "32"),
    "a bad acknowledgement": (("--unsafe-acknowledge-root", "/x"), "URI=SHA256"),
    "an unknown scope": (("--scope", "everything"), "scope"),
    "a REST address without a port number": (("--flink-rest", "http://me:p/w@host:8081"), "URL"),
    "a REST address with a slash in its password": (("--flink-rest", "http://me:1/w@host"), "%2F"),
    "a REST address with a query": (("--flink-rest", "http://host/?key=x"), "end with its path"),
    "a REST address without http": (
        ("--flink-rest", "jobmanager:8081"),
        "--flink-rest: a Flink REST endpoint is an http or https URL, such as http://HOST:8081",
    ),
    "a state of an unknown scheme": (("--state", "gopher://x/y"), "gopher"),
    "an extra root of an unknown scheme": (("--extra-roots", "gopher://x/y"), "gopher"),
    "a snapshot of an unknown scheme": (("--registry", "gopher://x/y"), "gopher"),
    "an empty place": (("--pin", ""), "pin"),
    "a scheme without a path": (("--state", "s3:relative"), "s3:relative"),
}


def said(ran: Ran, code: int, hint: str) -> None:
    """Check that one line says it, and nothing else is shown."""
    assert ran.code == code, ran.err
    assert len(ran.complaints) == 1, ran.err
    assert hint in ran.complaints[0]
    assert ran.out == ""
    assert "Traceback" not in ran.err


def planned_badly(bed: Bed, root: object, *options: object) -> Ran:
    """Plan, and check that nothing was written anywhere."""
    before = contents(bed.folder)
    out = bed.folder / "plan-bad"
    given = () if "--state" in options else ("--state", bed.state)
    ran = run("plan", root, "--out", out, *given, *options)
    assert contents(bed.folder) == before
    return ran


@pytest.mark.parametrize("kind", BAD_SETTINGS)
def test_a_wrong_setting_is_reported(story, kind) -> None:
    """Exit 2; which setting, and what is wrong with it."""
    options, hint = BAD_SETTINGS[kind]
    said(planned_badly(story.bed, story.bed.root, *options), 2, hint)


@pytest.mark.parametrize(
    "options",
    [("--grace-period",), ("--checkpoint-id-margin", "x"), ("--engine", "x"), ("--colour",)],
    ids=" ".join,
)
def test_wrong_usage_is_reported(story, options) -> None:
    """Exit 2, no traceback, nothing on stdout."""
    ran = planned_badly(story.bed, story.bed.root, *options)
    assert (ran.code, ran.out) == (2, "")
    assert options[0] in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "options",
    [
        ("--grace-period", "5d", "--grace-period", "72h"),
        ("--state", "{folder}/a", "--state={folder}/b"),
        ("--report", "{folder}/plan.html", "--report", "{folder}/other.html"),
    ],
    ids=lambda options: options[0],
)
def test_of_two_values_of_one_setting_the_last_counts_and_that_is_said(story, options) -> None:
    """A shorter margin, another state, one report of two: no page would show it."""
    ran = story.bed.plan(*(each.format(folder=story.bed.folder) for each in options)).ran
    assert ran.code == 0
    assert f"warning: {options[0]} has one value: of those given the last one counts" in ran.err


def test_one_value_said_twice_is_one(story) -> None:
    """A script that adds what is there already contradicts nothing."""
    options = ("--grace-period", "72h", "--grace-period=72h", "--pin", "/a", "--pin", "/b")
    assert "has one value" not in story.bed.plan(*options).ran.err


# --- the root


@pytest.mark.parametrize(
    ("root", "code", "hint"),
    [
        ("{folder}/absent", 10, "does not exist"),
        ("{folder}/checkpoints/{job}/shared/{name}", 10, "not a folder"),
        ("{folder}/empty", 4, "no job directory"),
        ("{folder}/checkpoints/{job}/chk-8", 4, "no job directory"),
        ("http://localhost:1/x", 10, "Cannot connect to host localhost:1"),
        ("gopher://host/path", 2, "gopher"),
        ("memory://host::x/path", 2, "'::'"),
        ("s3:relative", 2, "s3:relative"),
        ("file://host/path", 2, "host"),
        ("", 2, "root"),
    ],
)
def test_a_root_that_is_none_is_reported(story, root, code, hint) -> None:
    """Absent, a file, empty, an unknown scheme."""
    (story.bed.folder / "empty").mkdir()
    folder, name = story.bed.folder, story.live[0].name
    spelled = root.format(folder=folder, job=story.job.id, name=name)
    said(planned_badly(story.bed, spelled), code, hint)


def test_a_root_that_holds_other_things_is_reported(story) -> None:
    """Objects, but no job directory: the wrong folder, most likely."""
    other = story.bed.folder / "other"
    write(other / "a" / "b.txt", b"x", DAY)
    said(planned_badly(story.bed, other), 4, "1 objects listed")


@pytest.mark.parametrize(
    ("option", "place", "code"),
    [
        ("--extra-roots", "absent/x", 10),
        ("--registry", "absent/x", 10),
        ("--registry", "absent", 4),  # a snapshot, in a folder that is there
    ],
)
def test_an_absent_source_of_evidence_is_reported(story, option, place, code) -> None:
    """What cannot be asked may hold what protects."""
    ran = planned_badly(story.bed, story.bed.root, option, story.bed.folder / place)
    said(ran, code, "absent")


def test_an_empty_folder_of_snapshots_is_reported(story) -> None:
    """The folder should hold one."""
    (story.bed.folder / "snapshots").mkdir()
    ran = planned_badly(story.bed, story.bed.root, "--registry", story.bed.folder / "snapshots")
    said(ran, 4, "no registry snapshot")


# --- the state location


@pytest.mark.parametrize(
    ("state", "words"),
    [
        *[(f"{{root}}{below}", "state") for below in ("", "/state", "/", "/../checkpoints/x")],
        ("file://{root}/a/b", "state"),
        ("{folder}", "inside the state location"),
    ],
)
def test_a_state_inside_the_root_or_around_it_is_reported(story, state, words) -> None:
    """In any spelling: two owners of one folder."""
    spelled = state.format(root=story.bed.root, folder=story.bed.folder)
    said(planned_badly(story.bed, story.bed.root, "--state", spelled), 2, words)


def test_a_link_in_the_place_of_a_metadata_is_not_called_a_folder(story) -> None:
    """It leads nowhere; one that leads to a file is called a link."""
    metadata = story.job.folder / "chk-8" / "_metadata"
    metadata.unlink()
    metadata.symlink_to("nowhere")
    message = story.bed.plan().document["jobs"][0]["refused"]["message"]
    assert f"cannot read {metadata}: a folder or a link is in the place of a _metadata" in message


def test_a_plan_below_a_file_says_what_is_in_the_way(story) -> None:
    """No folder can be made there."""
    file = write(story.bed.folder / "file", b"x", DAY)
    ran = run("plan", story.bed.root, "--state", story.bed.state, "--out", file / "plan")
    said(ran, 2, f"cannot be made: {file} is no folder that this user may write in")


def test_a_root_that_holds_the_default_state_is_reported(story, monkeypatch) -> None:
    """Say where it shall be."""
    monkeypatch.setenv("XDG_STATE_HOME", str(story.bed.root))
    before = contents(story.bed.folder)
    ran = run("plan", story.bed.root, "--out", story.bed.folder / "plan-bad")
    said(ran, 2, "--state")
    assert contents(story.bed.folder) == before


def test_a_state_inside_the_root_through_a_link_is_reported(story) -> None:
    """A link is another spelling."""
    link = story.bed.folder / "link"
    link.symlink_to(story.bed.root)
    said(planned_badly(story.bed, story.bed.root, "--state", link / "state"), 2, "state")
    said(planned_badly(story.bed, link, "--state", story.bed.root / "state"), 2, "state")


def test_a_state_location_that_is_a_file_is_reported(story) -> None:
    """By the sweep, though the plan found none there."""
    plan = story.bed.plan()
    shutil.rmtree(story.bed.state, ignore_errors=True)  # the memory of what the plan saw
    write(story.bed.state, b"", DAY)
    before = contents(story.bed.folder)
    said(story.bed.sweep(plan), 10, str(story.bed.state))
    assert contents(story.bed.folder) == before


# --- places to write


def test_an_audit_log_inside_the_root_is_reported(story) -> None:
    """A name of a checkpoint, by a slip: its bytes would grow by a line for each object."""
    story.bed.cycle()
    plan, before = story.bed.plan(), contents(story.bed.root)
    place = story.job.folder / "chk-8" / "_metadata"
    said(story.bed.sweep(plan, "--delete", "--audit-log", place), 2, "inside the storage root")
    assert contents(story.bed.root) == before


@pytest.mark.parametrize("out", ["file", "file/below", "filled"])
def test_a_place_for_the_plan_that_is_none_is_reported(story, out) -> None:
    """A file, below a file, a folder that holds something."""
    write(story.bed.folder / "file", b"", DAY)
    write(story.bed.folder / "filled" / "x", b"", DAY)
    before = contents(story.bed.folder)
    ran = run(
        *("plan", story.bed.root, "--state", story.bed.state), *("--out", story.bed.folder / out)
    )
    said(ran, 2, out)
    assert contents(story.bed.folder) == before


@pytest.mark.parametrize("command", ["sweep", "undelete"])
@pytest.mark.parametrize("place", ["absent", "checkpoints", "file", "broken"])
def test_a_folder_without_a_plan_is_reported(story, command, place) -> None:
    write(story.bed.folder / "file", b"", DAY)
    write(story.bed.folder / "broken" / "plan.json", b"{", DAY)
    before = contents(story.bed.folder)
    code = 4 if place == "broken" else 2
    said(run(command, story.bed.folder / place), code, place)
    assert contents(story.bed.folder) == before


@pytest.mark.parametrize("out", ["file/snapshot", "."])
def test_a_place_for_a_snapshot_that_is_none_is_reported(story, out) -> None:
    write(story.bed.folder / "file", b"", DAY)
    before = contents(story.bed.folder)
    ran = run(
        *("registry", "export", story.bed.root, "--job", story.job.id),
        *("--out", story.bed.folder / out),
    )
    said(ran, 2, "cannot be written")
    assert contents(story.bed.folder) == before


def test_a_snapshot_is_never_written_below_the_root(story) -> None:
    """ROOT belongs to Flink."""
    before = contents(story.bed.folder)
    out = story.job.folder / "snapshot"
    ran = run("registry", "export", story.bed.root, "--job", story.job.id, "--out", out)
    said(ran, 2, "inside the storage root")
    assert contents(story.bed.folder) == before


def test_a_snapshot_never_replaces_a_file(story) -> None:
    """As ``declare`` does: what is there may be the wrong file, or another job's evidence."""
    out = story.bed.folder / "snapshot"
    write(out, b"kept", DAY)
    ran = run("registry", "export", story.bed.root, "--job", story.job.id, "--out", out)
    said(ran, 2, "exists and is left as it is: give a new file")
    assert out.read_bytes() == b"kept"


@pytest.mark.parametrize("job", ["", "abc", "A" * 32, JOB + "0", "../" + JOB[3:]])
def test_a_job_that_is_none_is_reported(story, job) -> None:
    """32 lower-case hexadecimal digits."""
    out = story.bed.folder / "snapshot"
    ran = run("registry", "export", story.bed.root, "--job", job, "--out", out)
    said(ran, 2, "job id")
    assert not out.exists()


def test_a_full_disk_is_reported_with_the_file(story, monkeypatch) -> None:
    """The system's own words name none; nothing of the file is left."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = story.bed.folder / "snapshots" / "snapshot"
    monkeypatch.setattr(os, "fsync", full)
    ran = run("registry", "export", story.bed.root, "--job", story.job.id, "--out", out)
    said(ran, 1, f"cannot write {out}: No space left on device")
    plan = story.bed.folder / "plan-full"
    ran = run("plan", story.bed.root, "--state", story.bed.state, "--out", plan)
    said(ran, 1, f"cannot write {plan}/.listing: No space left on device")
    assert list(out.parent.iterdir()) == []
    declared = story.bed.folder / "declarations.yaml"
    ran = run("declare", story.job.folder / "chk-8", "--out", declared)
    said(ran, 1, f"{declared} cannot be written")
    assert not declared.exists()


# --- other stores


def test_s3_without_credentials_is_reported_at_once(tmp_path) -> None:
    """Exit 10 within seconds, nothing sent to anybody, and what to set."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment["AWS_ENDPOINT_URL"] = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = (
        "http://127.0.0.1:9"  # this machine may be a cloud's, whose service has credentials
    )
    done = finished(
        [sys.executable, "-m", "orphangc", "plan", "s3://bucket/ck", "--out", str(tmp_path / "p")],
        env=environment,
    )
    said(Ran(done.returncode, done.stdout, done.stderr), 10, "AWS_ACCESS_KEY_ID")
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_is_none_is_reported(s3_server, monkeypatch, story) -> None:
    """Exit 10; an empty one is no storage root either, exit 4."""
    client = use_s3(monkeypatch, s3_server)
    said(planned_badly(story.bed, f"s3://absent-{uuid.uuid4()}/ck"), 10, "absent-")
    bucket = f"empty-{uuid.uuid4()}"
    client.create_bucket(Bucket=bucket)
    said(planned_badly(story.bed, f"s3://{bucket}/ck"), 4, "no job directory")
    ran = planned_badly(story.bed, f"s3://{bucket}/ck", "--state", f"s3://{bucket}/ck/state")
    said(ran, 2, "inside the storage root")


def test_an_extra_root_without_an_object_is_a_place_without_checkpoints(
    s3_server, monkeypatch, story
) -> None:
    """A wrong prefix: the plan is a report that says so, as for an empty folder."""
    client = use_s3(monkeypatch, s3_server)
    bucket = f"empty-{uuid.uuid4()}"
    client.create_bucket(Bucket=bucket)
    plan = story.bed.plan("--extra-roots", f"s3://{bucket}/savepoints")
    assert plan.ran.code == 0, plan.ran.err
    assert plan.blocks(story.job) == ["place_without_checkpoints"]


def test_a_server_that_is_not_there_is_reported(monkeypatch, story) -> None:
    """Exit 10, without the keys in it."""
    use_s3(monkeypatch, "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-tell")
    ran = planned_badly(story.bed, "s3://bucket/ck")
    said(ran, 10, "bucket")
    assert "do-not-tell" not in ran.err


def test_flink_that_does_not_answer_blocks_and_is_reported(undeclared) -> None:
    """The plan is a report all the same; nothing of it would be deleted."""
    bed = undeclared.bed
    bed.options += ("--closed-world", "--flink-rest", "http://127.0.0.1:1")
    plan = bed.plan()
    assert plan.ran.code == 0
    assert "gate_not_seen" in plan.blocks(undeclared.job)
    assert "Traceback" not in plan.ran.err


# --- odd contents


def test_metadata_that_is_a_folder_a_link_or_a_pipe_refuses(story) -> None:
    """A root that cannot be read may name anything."""
    for number, make in enumerate((Path.mkdir, os.mkfifo, _link)):
        place = story.job.folder / f"chk-{20 + number}" / "_metadata"
        place.parent.mkdir()
        make(place)
        plan = story.bed.plan()
        assert (plan.ran.code, plan.refusal(story.job)) == (4, "unreadable_root")
        place.rmdir() if make is Path.mkdir else place.unlink()


def _link(place: Path) -> None:
    place.symlink_to("/absent")


def test_names_that_are_no_text_are_counted_and_kept(story) -> None:
    """A parquet string must be UTF-8; a file name need not be."""
    odd = os.fsencode(story.job.folder / "shared") + b"/\xff\xfe"
    with open(odd, "wb"):  # noqa: PTH123 - a name that is no text
        pass
    os.utime(odd, (1_700_000_000, 1_700_000_000))
    plan = story.bed.plan()
    assert plan.ran.code == 0
    assert plan.rows[f"{story.job.id}/shared/\\xff\\xfe"]["reason"] == "unrecognised"


def test_a_process_says_it_in_one_line_too(story) -> None:
    said(run_process("plan", story.bed.folder / "absent", *ENDED), 10, "does not exist")


# --- streams


def _started(*args: object, streams: str = "", **environment: str) -> Ran:
    """Run the command line as a process with other streams or another environment."""
    command = [sys.executable, "-m", "orphangc", *map(str, args)]
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *command],
        capture_output=True,
        timeout=speed.command(),
        check=False,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
    )
    return Ran(done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1"))


def test_a_terminal_without_utf_8_is_shown_everything_that_was_deleted(bed) -> None:
    """What its encoding lacks is spelled out: an error after the deletion would hide it."""
    story = make_story(Bed(bed.folder / "\u00e9t\u00e9-\u65e5\u672c", bed.options))
    story.bed.cycle(delete=False)
    plan = story.bed.plan()
    ran = _started(
        *("sweep", plan.path, "--delete", "--output", "table"), PYTHONIOENCODING="latin-1"
    )
    assert (ran.code, "\u00e9t\u00e9-\\u65e5\\u672c" in ran.out) == (0, True), ran.err
    assert [file.exists() for file in story.orphans] == [False, False]


@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_command_needs_no_open_stream(story, streams: str) -> None:
    """A scheduler may close them all."""
    out = story.bed.folder / "plan-1"
    options = ("--state", story.bed.state, "--out", out, *story.bed.options)
    ran = _started("plan", story.bed.root, *options, streams=streams)
    assert (ran.code, ran.out, "Traceback" in ran.err) == (0, "", False), ran.err
    assert (out / "plan.json").is_file()


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_an_error_that_cannot_be_shown_keeps_its_code(streams: str) -> None:
    """The exit code is all that is left then."""
    ran = _started("plan", "s3:relative", streams=streams)
    assert (ran.code, ran.out, ran.err) == (2, "", "")


@pytest.mark.parametrize("name", ["root.json", "tombstones"])
def test_what_is_damaged_in_the_state_location_says_what_lifts_it(story, name) -> None:
    """And that does: nothing goes before, and no quarantine is taken for over afterwards."""
    bed = story.bed
    bed.sweep(bed.plan())
    (damaged,) = (
        path
        for path in bed.state.glob(f"*/{name}*")
        for path in [path, *path.glob("*")]
        if path.is_file()
    )
    damaged.write_bytes(damaged.read_bytes()[:-9])
    plan = bed.plan()
    complaints = plan.ran.complaints or bed.sweep(plan, "--delete").complaints
    assert len(complaints) == 1
    assert str(damaged.parent) in complaints[0]
    assert "remove" in complaints[0]
    damaged.unlink()
    plan, ran = bed.cycle()
    assert (ran.code, ran.complaints, plan.blocks(story.job)) == (0, [], [])
    assert [each.exists() for each in story.orphans] == [name == "tombstones"] * 2


@pytest.mark.parametrize(
    "command", [("plan", "x", "--output", "yaml"), ("config", "schema", "--of", "yaml")]
)
def test_a_choice_that_there_is_not_is_said_in_plain_words(command) -> None:
    """Not in those of a library."""
    ran = run(*command)
    assert ran.code == 2
    assert f"Invalid value for '{command[2]}': 'yaml' is not one of" in ran.err


@pytest.mark.parametrize("snapshot", ["/", "s3:///", "s3:"])
def test_a_snapshot_that_is_no_folder_is_reported(story, snapshot: str) -> None:
    """Once its last slash is gone, nothing is left of some."""
    assert run("users-of", snapshot, story.bed.root).complaints
    ran = run("self-sustained", story.bed.root, "--job", JOB, "--snapshot", snapshot)
    assert "--pin" not in ran.err
