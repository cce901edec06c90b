"""``init``: from questions or options to a configuration that runs."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.helpers import AT_ONCE, Bed, Ran, run
from cli.stories import Story
from support import speed


def made(story: Story, *options: object) -> Ran:
    return run("init", "--root", story.bed.root, "--out", story.bed.folder / "o.yaml", *options)


def written(story: Story) -> dict:
    return yaml.safe_load((story.bed.folder / "o.yaml").read_text())["storage_roots"][0]


def test_options_alone_make_a_file_that_runs(story: Story) -> None:
    """Its first run only reports; nothing is stated that no option states."""
    ran = made(story, "--state", story.bed.state)
    assert ran.code == 0, ran.err
    assert written(story) == {
        "root": str(story.bed.root),
        "state": str(story.bed.state),
        "grace_period": "72h",
        "quarantine_period": "24h",
    }
    assert f"{story.bed.root}: 1 job directory, 2 checkpoints" in ran.err
    assert {each["check"] for each in ran.json} >= {"list", "state", "world"}
    ran = run("run", "--config", story.bed.folder / "o.yaml")
    assert (ran.code, ran.json[0]["effective_mode"]) == (0, "report")


def test_statements_have_options(story: Story) -> None:
    """And further places, clusters, the mode."""
    place = story.bed.folder / "savepoints"
    place.mkdir()
    options = ("--state", story.bed.state, "--ended-job", "all", "--closed-world")
    made(story, *options, "--extra-root", place, "--mode", "delete")
    said = written(story)
    assert (said["ended_job"], said["closed_world"]) == (["all"], True)
    assert said["extra_root"] == [str(place)]


def test_yes_answers_no_statement(story: Story) -> None:
    """It takes the proposed state location."""
    assert made(story, "--yes").code == 0
    said = written(story)
    assert said["state"] == f"{story.bed.folder}/orphangc-state"
    assert not {"closed_world", "ended_job"} & said.keys()


def test_without_a_person_a_missing_root_is_a_usage_error(tmp_path: Path) -> None:
    """It names the option, and nothing is written."""
    ran = run("init", "--out", tmp_path / "o.yaml")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "--root" in ran.complaints[0]
    assert not (tmp_path / "o.yaml").exists()


def test_paths_from_here_are_written_whole(story: Story, monkeypatch) -> None:
    """The run that reads the file begins elsewhere."""
    monkeypatch.chdir(story.bed.folder)
    (story.bed.folder / "savepoints").mkdir()
    root = story.bed.root.relative_to(story.bed.folder)
    ran = run("init", "--root", root, "--state", "ops", "--extra-root", "savepoints")
    assert ran.code == 0, ran.err
    (said,) = yaml.safe_load(Path("orphangc.yaml").read_text())["storage_roots"]
    assert (said["root"], said["state"]) == (str(story.bed.root), f"{story.bed.folder}/ops")
    assert said["extra_root"] == [f"{story.bed.folder}/savepoints"]


@pytest.mark.parametrize("root", ["", "s3:/bucket/x"])
def test_a_root_that_is_no_place_is_a_usage_error(root: str) -> None:
    ran = run("init", "--root", root)
    assert (ran.code, len(ran.complaints)) == (2, 1)


def test_what_is_bad_comes_before_a_run(story: Story) -> None:
    """The next command examines again."""
    ran = made(story, "--yes", "--flink-rest", "http://127.0.0.1:1", "--output", "table")
    assert ran.code == 10
    assert "orphangc doctor --config" in ran.out
    assert "orphangc run" not in ran.out


def test_a_file_is_never_replaced_unasked(story: Story) -> None:
    """With ``--replace`` it is."""
    file = story.bed.folder / "o.yaml"
    file.write_text("mine")
    assert made(story, "--yes").code == 2
    assert file.read_text() == "mine"
    assert made(story, "--yes", "--replace").code == 0


@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_is_asked_each_statement_with_what_it_covers(tmp_path: Path, *, agrees) -> None:
    """Only a typed yes states anything."""
    story = Story(bed := Bed(tmp_path, AT_ONCE), job := bed.job(), [job.shared()], [job.shared()])
    job.checkpoint(7, *story.live)
    answers = [str(bed.root), str(bed.state), "", "", "", *(["y"] * 2 if agrees else ["", "no"])]
    code, shown = typed(["init", "--out", str(tmp_path / "o.yaml")], answers)
    assert code == 0, shown
    assert f"No cluster shows job {job.id}. State that it is over for good?" in shown
    assert "closed world not stated" in " ".join(shown.split())
    said = written(story)
    assert said.get("closed_world", False) is agrees
    assert said.get("ended_job", []) == ([job.id] if agrees else [])
    assert f"  orphangc run --config {tmp_path}/o.yaml" in shown


def typed(words: list[str], answers: list[str]) -> tuple[int, str]:
    """Run a command in a terminal at which a person types answers."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "orphangc", *words, "--output", "table"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    os.close(theirs)
    os.write(ours, "".join(f"{each}\n" for each in answers).encode())
    shown = process.communicate(timeout=speed.command())[0]
    os.close(ours)
    return process.returncode, shown
