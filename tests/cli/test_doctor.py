"""``doctor``: what is in place and what is not, before anything runs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.helpers import DAY, Ran, contents, flink, run, write
from cli.stories import Story
from cli.stories_on_s3 import use_s3
from contracts.servers.stub import error, stub_server
from orphangc.app.wiring.compose import state_of
from orphangc.core.model.settings import StorageRootSettings
from support.builders import ago
from support.rest_server import RestServer


def examined(story: Story, *options: object, **settings: Any) -> Ran:
    root = {"root": str(story.bed.root), "state": str(story.bed.state), "closed_world": True}
    config = story.bed.folder / "orphangc.yaml"
    config.write_text(yaml.safe_dump({"storage_roots": [root | settings]}))
    return run("doctor", "--config", config, *options)


def findings(ran: Ran) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in ran.json}


def test_everything_in_place_is_good(story) -> None:
    """Exit 0; a local storage keeps no versions, which is a warning."""
    ran = examined(story, grace_period="72h", ended_job=[story.job.id])
    health = {check: each["health"] for check, each in findings(ran).items()}
    assert ran.code == 0
    assert health == {
        **dict.fromkeys(("list", "read", "clock", "kind", "state", "world", "registry"), "good"),
        **dict.fromkeys(("lock", "plans", "search", "the only job"), "good"),
        "undo": "warning",
    }
    assert findings(ran)["list"]["message"] == "1 job directory, 2 checkpoints"


def test_margins_below_their_safe_minimum_are_a_warning_of_doctor_and_of_a_plan(story) -> None:
    """One, with what happens there; and none without them."""
    short = {"grace_period": "1h", "quarantine_period": "0", "allow_short_margins": True}
    found = findings(examined(story, **short))["margins"]
    assert (found["health"], "grace_period below 24h: " in found["message"]) == ("warning", True)
    assert "margins" not in findings(examined(story, allow_short_margins=True))
    plan = story.bed.plan("--grace-period", "1h", "--allow-short-margins")
    assert [each for each in plan.document["warnings"] if "allow_short_margins" in each] == [
        found["message"]
    ]


def test_a_halt_is_an_error_with_the_command_that_lifts_it(story) -> None:
    """Exit 4: no run deletes anything before that."""
    settings = StorageRootSettings(root=str(story.bed.root), state=str(story.bed.state))
    state_of(settings).halt("a live file had a tombstone", ago("1h"))
    ran = examined(story, ended_job=[story.job.id])
    found = findings(ran)[f"job {story.job.id}"]
    assert (ran.code, found["health"]) == (4, "bad")
    assert "blocked (halted): halted at " in found["message"]
    assert "orphangc sweep DIR --unsafe-clear-halt" in found["message"]


def test_it_changes_nothing(story) -> None:
    """The state location is tried on a throwaway name."""
    examined(story)
    before = contents(story.bed.root)
    examined(story)
    assert contents(story.bed.root) == before
    assert not [path for path in story.bed.state.rglob("*") if path.is_file()]


def test_an_absent_root_is_bad(story) -> None:
    """Exit 10; one finding says which."""
    ran = examined(story, root=str(story.bed.folder / "absent"))
    assert ran.code == 10
    assert [each["check"] for each in ran.json if each["health"] == "bad"] == ["open"]
    assert "absent" in ran.json[0]["message"]


def test_other_roots_are_examined_all_the_same(story) -> None:
    """One bad root says nothing of the next."""
    config = story.bed.folder / "orphangc.yaml"
    roots = [{"root": str(story.bed.folder / "absent")}, {"root": str(story.bed.root)}]
    config.write_text(yaml.safe_dump({"storage_roots": roots}))
    ran = run("doctor", "--config", config)
    assert ran.code == 10
    assert {each["root"] for each in ran.json} >= {each["root"] for each in roots}
    assert {each["health"] for each in ran.json if each["root"] == str(story.bed.root)} >= {"good"}


def test_what_a_statement_covers_is_said_by_the_command_that_searches_it(story) -> None:
    """The places that doctor looks at are less than what a run searches, and what is stated."""
    said = findings(examined(story, closed_world=False))["world"]["message"]
    assert said.startswith("closed world not stated (closed_world, --closed-world)")
    assert "orphangc world --config FILE shows what it covers" in said
    assert str(story.bed.root) not in said


def test_one_fault_of_a_storage_is_one_finding(tmp_path, monkeypatch) -> None:
    """What cannot be listed is examined no further: a wrong key was eleven findings."""
    with stub_server() as stub:
        use_s3(monkeypatch, stub.url)
        stub.answer = lambda _: error("InvalidAccessKeyId", 403)
        file = tmp_path / "orphangc.yaml"
        root = {"root": "s3://prod/checkpoints", "state": "s3://ops/orphangc"}
        file.write_text(yaml.safe_dump({"storage_roots": [root], "plans": str(tmp_path / "p")}))
        ran = run("doctor", "--config", file, "--output", "json")
    found = [each for each in ran.json if each["health"] == "bad"]
    assert (ran.code, [each["check"] for each in found]) == (10, ["list", "state"])
    listing, state = [each["message"] for each in found]
    assert "cannot list s3://prod: InvalidAccessKeyId" in listing
    assert "cannot create" in state, "not that a probe could not be removed again"


def test_a_state_location_that_cannot_be_opened_is_one_finding_of_its_own(story) -> None:
    """The storage root is examined all the same."""
    ran = examined(story, state="gopher://x/y")
    health = {check: each["health"] for check, each in findings(ran).items()}
    assert ran.code == 2
    assert [check for check, each in health.items() if each == "bad"] == ["state"]
    assert {check: health[check] for check in ("list", "read", "clock", "kind")} == dict.fromkeys(
        ("list", "read", "clock", "kind"), "good"
    )


def test_a_root_without_jobs_and_an_open_world_are_warnings(story) -> None:
    """Nothing would be deleted."""
    empty = story.bed.folder / "empty"
    empty.mkdir()
    found = findings(examined(story, root=str(empty), closed_world=False))
    assert {found[check]["health"] for check in ("list", "read", "world")} == {"warning"}


def test_a_state_location_that_cannot_be_written_is_bad(story) -> None:
    """A file where a folder should be."""
    write(story.bed.folder / "file", b"", DAY)
    ran = examined(story, state=str(story.bed.folder / "file" / "state"))
    assert (ran.code, findings(ran)["state"]["health"]) == (10, "bad")


def test_an_unreachable_extra_root_is_bad(story) -> None:
    """It may hold a root that protects."""
    ran = examined(story, extra_roots=[str(story.bed.folder / "absent")])
    assert (ran.code, findings(ran)["world"]["health"]) == (10, "bad")


def test_a_damaged_snapshot_is_bad(story) -> None:
    """Exit 4, as a plan would."""
    write(story.bed.folder / "snapshot", b"hello\n", DAY)
    ran = examined(story, registry=[str(story.bed.folder / "snapshot")])
    assert (ran.code, findings(ran)["registry"]["health"]) == (4, "bad")


def test_flink_is_asked(undeclared) -> None:
    """One job alive, and nothing against it."""
    with RestServer(flink(undeclared.job, completed=8)) as server:
        ran = examined(undeclared, flink_rest=[server.url])
    found = findings(ran)[f"flink {server.url}"]
    assert (ran.code, found["health"], found["message"]) == (0, "good", "Flink 2.3.0, 1 job alive")


@pytest.mark.parametrize(
    "said", [{"max_concurrent": 2}, {"version": "9.9.9"}], ids=["concurrency", "version"]
)
def test_what_would_stop_a_sweep_is_a_warning(undeclared, said) -> None:
    """Concurrency, an untested version."""
    with RestServer(flink(undeclared.job, completed=8, **said)) as server:
        ran = examined(undeclared, flink_rest=[server.url])
    assert findings(ran)[f"flink {server.url}"]["health"] == "warning"


def test_an_unreachable_flink_is_bad(story) -> None:
    """Exit 10; no password in the output."""
    ran = examined(story, flink_rest=["http://user:secret@127.0.0.1:1"])
    assert ran.code == 10
    assert "secret" not in ran.out + ran.err


BAD = {
    "a key twice": (
        "storage_roots:\n- root: /ck\n  extra_roots: [/sp]\n  extra_roots: [/other]\n",
        "'extra_roots' stands a second time at line 4",
    ),
    "a storage root in a second list": (
        "storage_roots: [{root: /ck}]\nmode: report\nstorage_roots: [{root: /other}]\n",
        "'storage_roots' stands a second time at line 3",
    ),
    "a Pushgateway with a token in its address": (
        "storage_roots: [{root: /ck}]\nmetrics: {pushgateway: 'http://host/?token=x'}\n",
        "metrics.pushgateway: the address of a Pushgateway must end with its path",
    ),
    "unknown key": ("storage_roots: [{root: /x, grace_perod: 72h}]", "grace_period"),
    "unknown key at the top": ("storage_root: [{root: /x}]", "storage_roots"),
    "no roots": ("storage_roots: []", "at least one"),
    "no mapping": ("[1, 2]", "storage_roots"),
    "a root that is no mapping": ("storage_roots: [/x]", "mapping"),
    "no yaml": ("storage_roots: [", "YAML"),
    "a bad duration": ("storage_roots: [{root: /x, grace_period: soon}]", "duration"),
    "a number for a duration": ("storage_roots: [{root: /x, grace_period: 24}]", "duration"),
    "a short grace period": ("storage_roots: [{root: /x, grace_period: 1h}]", "24h"),
    "a bad alias": ("storage_roots: [{root: /x, alias: [nothing]}]", "FROM=TO"),
    "a bad job id": ("storage_roots: [{root: /x, ended_job: [abc]}]", "32"),
    "a list where a text belongs": ("storage_roots: [{root: [/x]}]", "root"),
    "a text where a list belongs": ("storage_roots: [{root: /x, ended_job: all}]", "ended_job"),
    "a place for a list": ("storage_roots: [{root: /x, extra_roots: /y}]", "extra_root:"),
    "a text for aliases": ("storage_roots: [{root: /x, alias: a=b}]", "alias"),
    "a number for aliases": ("storage_roots: [{root: /x, alias: 7}]", "alias"),
    "a number among places": ("storage_roots: [{root: /x, pin: [7]}]", "pin"),
    "a number for a place": ("storage_roots: [{root: 7}]", "root"),
    "no root": ("storage_roots: [{state: /x}]", "root"),
    "state inside": ("storage_roots: [{root: /x, state: /x/state}]", "inside"),
    "binary": ("\x00", "YAML"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_wrong_configuration_is_said_in_one_line(tmp_path, kind) -> None:
    """Exit 2; the line names file and key, and the nearest known key."""
    text, hint = BAD[kind]
    config = Path(tmp_path / "orphangc.yaml")
    config.write_text(text)
    ran = run("doctor", "--config", config)
    assert (ran.code, len(ran.complaints), ran.out) == (2, 1, "")
    assert str(config) in ran.complaints[0]
    assert hint in ran.complaints[0]


def test_an_absent_configuration_is_said_in_one_line(tmp_path) -> None:
    """Exit 2, for a folder too."""
    for place in (tmp_path / "absent.yaml", tmp_path):
        ran = run("doctor", "--config", place)
        assert (ran.code, len(ran.complaints)) == (2, 1)


def test_it_says_what_a_search_will_list_before_the_first_run_and_after(story) -> None:
    """Keys that it counts, then those of the last run; nothing where places are searched."""
    said = findings(examined(story))["search"]["message"]
    assert f"all of {story.bed.folder} is searched: " in said
    assert " keys, 1 LIST request, 0.000 USD on S3" in said
    story.bed.plan()
    said = findings(examined(story))["search"]["message"]
    assert " keys beside the storage root in the last run, 1 LIST request" in said
    said = findings(examined(story, search="places"))["search"]["message"]
    assert said == "the named places alone are searched (search: places)"
