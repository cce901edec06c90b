"""Every command says the same of a job, and a run that can delete nothing says so."""

import shutil
from pathlib import Path

import pytest

from cli.helpers import AT_ONCE, DAY, Bed, run
from cli.scheduled import Configured, settings_of
from cli.stories import Story, make_story
from orphangc.app.wiring.discovering import Discovered, load_and_discover
from support.ports import free_port


def two_roots(story: Story, **more: object) -> Configured:
    """Return a file of two storage roots whose jobs need each other's files."""
    other = story.bed.job(2, below=story.bed.folder / "other")
    (other.folder / "taskowned").mkdir(parents=True)
    theirs = other.shared()
    other.checkpoint(3, theirs, story.live[0])
    other.shared()
    story.job.checkpoint(9, *story.live, theirs, age=18 * DAY)
    roots = (settings_of(story), settings_of(story, root=str(other.folder.parent), **more))
    return Configured.of(story, *roots)


def said_by_doctor(configured: Configured) -> dict[tuple[str, str], tuple[str, str]]:
    ran = run("doctor", "--config", configured.path, "--output", "json")
    return {(e["root"], e["check"]): (e["health"], e["message"]) for e in ran.json}


def test_a_statement_about_a_job_holds_wherever_the_job_is_read_from(story) -> None:
    """``all`` of each storage root lifts what its jobs would block in the other: no circle."""
    configured = two_roots(story)
    for _ in range(3):
        ran = configured.run()
        assert ran.code == 0, ran.err
        assert [each["refusals"] for each in ran.json] == [{}, {}]
    assert not any(each.exists() for each in story.orphans)
    assert all(each.exists() for each in story.live)


def test_a_statement_about_other_jobs_lifts_nothing(story) -> None:
    """The second storage root states nothing: its job keeps the files of the first."""
    configured = two_roots(story, ended_job=[])
    for _ in range(3):
        ran = configured.run()
    assert [each["refusals"] for each in ran.json] == [
        {"dependent_job": 1},
        {"job_state_unknown": 1},
    ]
    first = ran.json[0]["blocked"]
    assert (first["jobs"], first["of_jobs"], first["code"]) == (1, 1, "dependent_job")
    assert str(story.bed.folder / "other") in first["message"]
    assert "--ended-job" in first["message"]
    assert all(each.exists() for each in story.orphans)


def test_all_of_one_storage_root_is_about_no_job_of_another(story) -> None:
    """Even where its extra root holds the other storage root."""
    configured = two_roots(story, ended_job=[], search="places")
    first, second = configured.content["storage_roots"]
    first |= {"extra_roots": [str(story.bed.folder)], "search": "places"}  # beside it: other tests
    configured.content["storage_roots"] = (first, second)
    for _ in range(3):
        ran = configured.run()
    assert ran.json[1]["refusals"] == {"job_state_unknown": 1}


def test_a_run_that_can_delete_nothing_says_blocked(story) -> None:
    """In its result, its last line and the metric; the exit code stays 0."""
    textfile = story.bed.folder / "orphangc.prom"
    settings = settings_of(
        story, ended_job=[], flink_rest=[f"http://127.0.0.1:{free_port()}"], mode="report"
    )
    configured = Configured.of(story, settings, metrics={"textfile": str(textfile)})
    ran = configured.run()
    assert (ran.code, ran.json[0]["result"]) == (0, "blocked")
    assert ran.json[0]["blocked"]["code"] == "gate_not_seen"
    assert f'orphangc_run_blocked_jobs{{root="{story.bed.root}"}} 1.0' in textfile.read_text()
    shown = configured.run("--output", "table")
    results, _, steps = shown.out.partition("\n\nNext: ")
    last = " ".join(results.rpartition("\nblocked: ")[2].split())
    assert "gate_not_seen" in steps
    assert "1 of 1 jobs; gate_not_seen: no usable answer: Flink at " in last


def test_a_sweep_that_could_act_on_no_job_is_no_success(story) -> None:
    """An alert asks when a sweep last succeeded: deletion that has stopped is heard by it."""
    textfile = story.bed.folder / "orphangc.prom"
    settings = settings_of(story, ended_job=[], mode="delete")
    configured = Configured.of(story, settings, metrics={"textfile": str(textfile)})
    for _ in range(2):
        assert configured.run().json[0]["result"] == "blocked"
    sweep = f'phase="sweep",result="blocked",root="{story.bed.root}"'
    assert f"orphangc_runs_total{{{sweep}}} 1.0" in textfile.read_text()
    never = f'{{phase="sweep",root="{story.bed.root}"}} 0.0'
    assert f"orphangc_last_success_timestamp_seconds{never}" in textfile.read_text()


def test_a_sweep_that_only_waits_is_a_success(tmp_path) -> None:
    """Time ends a quiet period: no person has to act."""
    story = make_story(Bed(tmp_path, AT_ONCE))
    story.job.shared(age=DAY)
    configured = Configured.of(story, settings_of(story, quarantine_period="24h"))
    for _ in range(2):
        ran = configured.run()
    assert [each["result"] for each in ran.json[0]["phases"]] == ["done", "done"]
    assert ran.json[0]["refusals"] == {"not_quiet": 1}


def test_a_blocked_run_names_what_stops_the_most_jobs(story) -> None:
    """And not what stops the first of them alone; so does the next step."""
    for number in (0, 2):
        story.bed.job(number).shared()
    story.bed.job(2).checkpoint(1)
    config = Configured.of(story, settings_of(story, ended_job=[]))
    (record,) = config.run().json
    assert {each["refused"] and each["refused"]["guard"] for each in record["jobs"]} == {
        "no_roots",
        None,
    }
    assert (record["blocked"]["jobs"], record["blocked"]["code"]) == (3, "job_state_unknown")
    assert "Next: lift job_state_unknown" in config.run("--output", "table").out


def test_a_run_says_what_comes_next_of_what_it_ran(story, monkeypatch) -> None:
    """Discovery that is asked again afterwards may answer otherwise, or not at all."""
    asked: list[Path] = []

    def once(path: Path, **options: bool) -> Discovered:
        asked.append(path)
        return load_and_discover(path, **options)

    monkeypatch.setattr("orphangc.app.runner.run_root.load_and_discover", once)
    assert "Next: " in Configured.of(story).run("--output", "table").out
    assert len(asked) == 1


def test_a_run_that_can_delete_says_done(story) -> None:
    """The metric is 0 then."""
    textfile = story.bed.folder / "orphangc.prom"
    configured = Configured.of(story, metrics={"textfile": str(textfile)})
    ran = configured.run()
    assert (ran.json[0]["result"], ran.json[0]["blocked"]) == ("done", None)
    assert f'orphangc_run_blocked_jobs{{root="{story.bed.root}"}} 0.0' in textfile.read_text()


def test_doctor_says_what_a_run_says_of_a_lost_state(story) -> None:
    """The newest plan knows the state location that is gone."""
    configured = Configured.of(story)
    assert configured.run().code == 0
    shutil.rmtree(story.bed.state)
    said = said_by_doctor(configured)
    health, message = said[str(story.bed.root), f"job {story.job.id}"]
    assert (health, "state_lost" in message) == ("warning", True)
    assert configured.run().json[0]["refusals"] == {"state_lost": 1}


def test_doctor_says_what_only_a_listing_shows(story) -> None:
    """A directory in ``shared/`` is a layout that no checkpoint shows."""
    (story.job.folder / "shared" / "dmf_1").mkdir()
    configured = Configured.of(story, settings_of(story, ended_job=[]))
    _, message = said_by_doctor(configured)[str(story.bed.root), f"job {story.job.id}"]
    refused = configured.run().json[0]["jobs"][0]["refused"]
    assert refused is not None
    assert refused["guard"] in message


def test_doctor_says_what_passes_by_itself(tmp_path) -> None:
    """A young directory of an ended job is not collected now, and that is no good finding."""
    story = make_story(Bed(tmp_path, AT_ONCE))
    story.job.shared(age=DAY)
    configured = Configured.of(story, settings_of(story, quarantine_period="24h"))
    health, message = said_by_doctor(configured)[str(story.bed.root), f"job {story.job.id}"]
    assert health == "warning"
    assert message.startswith("not collected now (not_quiet)")


def test_a_place_that_was_never_there_is_not_remembered(story) -> None:
    """A mistyped storage root blocks while the file names it, and no longer."""
    other = settings_of(story, root=str(story.bed.folder / "misspelled"))
    configured = Configured.of(story, settings_of(story), other)
    said = configured.run().json[0]["blocked"]
    assert said["code"] == "place_unreachable"
    assert "checkpoints and" not in said["message"]
    configured.content["storage_roots"] = (settings_of(story),)
    for _ in range(2):
        assert configured.run().json[0]["refusals"] == {}
    assert not any(each.exists() for each in story.orphans)


def test_self_sustained_of_an_ended_job_says_from_when_on_one_check_suffices(tmp_path) -> None:
    """Its directory is young; a shorter quiet period confirms at once."""
    story = make_story(Bed(tmp_path))
    story.job.shared(age=DAY)
    command = ("self-sustained", story.bed.root, "--job", story.job.id, "--ended-job", "all")
    ran = run(*command)
    assert (ran.json["state_self_sustained"], ran.json["confirmed"]) == (None, False)
    assert "one check suffices from" in ran.json["why"]
    sure = run(*command, "--quiet-period", "12h", "--allow-short-margins")
    assert (sure.code, sure.json["state_self_sustained"]) == (0, True)


def test_lineage_never_says_that_a_job_is_ended_and_not_over(tmp_path) -> None:
    """It names what is missing to an end, which another statement of the end would not lift."""
    story = make_story(Bed(tmp_path))
    story.job.shared(age=DAY)
    options = (story.bed.root, "--closed-world", "--ended-job", "all")
    ran = run("lineage", *options)
    why = {each["why"] for one in ran.json["lineages"] for each in one["checkpoints"]}
    assert why == {f"job {story.job.id} is said to be over, and is not proven to be (not_quiet)"}
    shown = run("expire", *options, "--output", "table").out
    assert "orphangc plan says what stops the work" in " ".join(shown.split())


def test_an_endpoint_without_scheme_is_one_line(tmp_path, monkeypatch) -> None:
    """Exit 2, with the way to write it."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:7481")
    ran = run("plan", "s3://bucket/checkpoints", "--state", tmp_path / "state")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "http://127.0.0.1:7481" in ran.complaints[0]


@pytest.mark.parametrize(
    ("key", "where"),
    [("ended_job", "storage_roots[]"), ("port", "http"), ("closed_world", "storage_roots[]")],
)
def test_a_key_at_the_wrong_level_says_where_it_belongs(story, key, where) -> None:
    ran = Configured.of(story, **{key: ["all"]}).run()
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert where in ran.complaints[0]


def test_a_key_of_the_file_in_a_storage_root_says_where_it_belongs(story) -> None:
    configured = Configured.of(story, settings_of(story, plans=str(Path("plans"))))
    ran = configured.run()
    assert (ran.code, "at the top" in ran.complaints[0]) == (2, True)
