"""Which engine a plan takes, and ``--engine spark`` where Spark cannot run: one clear line."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from cli.helpers import run
from orphangc.app.config.validate import settings_from
from orphangc.app.wiring.compose import state_of
from orphangc.collect.state.history import kept_record
from orphangc.errors import SettingsError
from unit.app.status.records import a_phase, a_record

needs_pyspark = pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed")


@pytest.fixture(autouse=True)
def no_session(monkeypatch):
    """Take away what would be asked before this machine is."""
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "SPARK_MASTER"):
        monkeypatch.delenv(name, raising=False)


def test_missing_pyspark_is_reported_in_one_line(story, monkeypatch):
    """It is an extra of 400 MB that most people do not need."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    ran = run("plan", story.bed.root, "--engine", "spark")
    assert ran.code == 2
    assert ran.complaints == ["orphangc: engine spark needs PySpark: pip install 'orphangc[spark]'"]
    assert not ran.out


@needs_pyspark
@pytest.mark.parametrize("found", ["none", "broken", "old"])
def test_missing_java_is_reported_in_one_line(story, monkeypatch, tmp_path, found):
    """PySpark itself says so in forty lines, the first of which is a traceback's."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    if found == "none":
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(java.parent))
    else:
        said = "exit 1" if found == "broken" else "echo 'openjdk version \"11.0.2\"' >&2"
        java.write_text(f"#!/bin/sh\n{said}\n")
        java.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    ran = run("plan", story.bed.root, "--engine", "spark")
    assert ran.code == 2
    (line,) = ran.complaints
    assert line.startswith("orphangc: engine spark needs Java 17 or newer: set JAVA_HOME")
    assert not ran.out


def test_a_work_folder_is_for_spark_alone(story, tmp_path):
    """A named folder must be used."""
    ran = run("plan", story.bed.root, "--work", tmp_path / "work", "--engine", "local")
    assert ran.code == 2
    assert ran.complaints == ["orphangc: --work is for --engine spark or auto"]


# -- auto ------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(monkeypatch) -> None:
    """Name a cluster; nothing connects to it unless Spark is chosen."""
    monkeypatch.setenv("SPARK_MASTER", "spark://no.such.host.invalid:7077")
    monkeypatch.setattr("orphangc.app.wiring.engines.find_spec", lambda _: object())


def engine_of(story, *options: object) -> tuple[str, str]:
    ran = run("plan", story.bed.root, "--state", story.bed.state, "--output", "json", *options)
    made = json.loads(ran.out)
    return made["engine"], made["engine_reason"]


@pytest.mark.usefixtures("cluster")
def test_below_the_threshold_this_process_lists(story, tmp_path):
    """The first pages hold all that is there."""
    engine, reason = engine_of(story, "--work", tmp_path, "--spark-threshold", "1000")
    assert engine == "local"
    assert reason.endswith(
        " objects (first pages of the listing): fewer than --spark-threshold 1,000"
    )


@pytest.mark.usefixtures("cluster")
def test_from_the_threshold_on_spark_lists(story, tmp_path, monkeypatch):
    """As far as it goes here: the engine that is opened is Spark's."""

    def opened(root, work):
        raise SettingsError(f"Spark for {root} with {work}")

    monkeypatch.setattr("orphangc.adapters.spark.spark_engine.opened_spark_engine", opened)
    options = ("--state", story.bed.state, "--work", tmp_path, "--spark-threshold", "2")
    ran = run("plan", story.bed.root, *options)
    assert ran.complaints == [f"orphangc: Spark for {story.bed.root} with {tmp_path}"]


def test_without_a_cluster_the_size_is_not_even_asked(story, tmp_path, monkeypatch):
    """Neither the last run nor a page."""
    monkeypatch.setattr("orphangc.app.wiring.engines.estimated_objects", None)
    expected = "no cluster is configured (SPARK_MASTER or SPARK_REMOTE, and --work)"
    assert engine_of(story, "--spark-threshold", "1") == ("local", expected)
    assert engine_of(story, "--spark-threshold", "1", "--work", tmp_path) == ("local", expected)
    monkeypatch.setenv("SPARK_MASTER", "local[2]")
    assert engine_of(story, "--spark-threshold", "1") == ("local", expected)
    monkeypatch.setattr("orphangc.app.wiring.engines.find_spec", lambda _: None)
    found = engine_of(story, "--spark-threshold", "1", "--work", tmp_path)
    assert found == ("local", "PySpark is not installed")


def test_the_operators_own_choice_needs_no_reason(story):
    assert engine_of(story, "--engine", "local") == ("local", "")


@pytest.mark.usefixtures("cluster")
def test_a_first_plan_takes_the_usual_rate(story, tmp_path):
    """No run has measured it, and six hours are the schedule of no configuration."""
    engine, reason = engine_of(story, "--work", tmp_path)
    assert engine == "local"
    assert reason.endswith(
        " objects (first pages of the listing): one process plans 100,000 a second (usual) and"
        " needs 0 s, within half of the 21,600 s between two runs"
    )


@pytest.fixture
def planned(story, tmp_path, monkeypatch, cluster):  # noqa: ARG001 - named, not used
    """Makes a scheduled run, and returns the engine that it took, and why."""
    config, state = tmp_path / "orphangc.yaml", {"state": str(story.bed.state)}
    root = {"root": str(story.bed.root), "work": str(tmp_path / "work"), **state}
    opened = []

    def opened_spark(*_):
        opened.append("spark")
        raise SettingsError("it goes no further here")

    monkeypatch.setattr("orphangc.adapters.spark.spark_engine.opened_spark_engine", opened_spark)

    def plan(schedule: str, **record: object) -> tuple[str, str]:
        if record:
            kept = a_record(root=str(story.bed.root), **record)
            kept_record(state_of(settings_from({"root": root["root"], **state})), kept)
        document = {"plans": str(tmp_path / "plans"), "storage_roots": [root]}
        config.write_text(yaml.safe_dump({**document, "schedule": schedule}))
        opened.clear()
        ran = run("run", "--config", config, "--output", "json")
        lines = [line for line in ran.err.splitlines() if "engine.chosen" in line]
        (chosen,) = map(json.loads, lines)
        assert opened == (["spark"] if chosen["engine"] == "spark" else [])
        if not opened:
            folder = Path(ran.json[0]["plan_folder"])
            made = json.loads((folder / "plan.json").read_text())
            assert (made["engine"], made["engine_reason"]) == ("local", chosen["reason"])
        return chosen["engine"], chosen["reason"]

    return plan


def test_a_scheduled_run_takes_spark_where_one_process_is_late(planned):
    """Size and rate are those of the last run: 100 objects a second, of which 90,000 take 900 s."""
    last = {"objects_listed": 90_000, "phases": (a_phase(seconds=900),), "engine": "local"}
    engine, reason = planned("1799s", **last)
    assert engine == "spark"
    run_id = a_record().run_id
    assert reason == (
        f"90,000 objects (run {run_id}): one process plans 100 a second (run {run_id}) and needs"
        " 900 s, longer than half of the 1,799 s between two runs"
    )


@pytest.mark.parametrize(
    ("schedule", "seconds", "chosen"),
    [  # a second more than the test above; cron: the shortest time between two runs of a day
        ("1800s", 900, ("local", "needs 900 s, within half of the 1,800 s between two runs")),
        ("0 8,9 * * *", 3600, ("spark", "longer than half of the 3,600 s between two runs")),
    ],
)
def test_the_time_between_two_runs_chooses(planned, schedule, seconds, chosen):
    last = {"objects_listed": 90_000, "phases": (a_phase(seconds=seconds),), "engine": "local"}
    engine, reason = planned(schedule, **last)
    assert (engine, reason[-len(chosen[1]) :]) == chosen


def test_the_rate_is_that_of_the_last_run_of_one_process(planned):
    """What Spark did, or a version that did not say what planned, shows no rate of one process."""
    planned("1s", objects_listed=1000, phases=(a_phase(seconds=100),), engine="local")
    planned("1s", number=2, objects_listed=2000, engine=None)
    engine, reason = planned("500s", number=3, objects_listed=2600, engine="spark")
    one, three = a_record().run_id, a_record(3).run_id
    assert engine == "spark"
    assert reason.startswith(f"2,600 objects (run {three}): one process plans 10 a second")
    assert f"(run {one}) and needs 260 s, longer than half of the 500 s" in reason


def test_a_scheduled_run_leaves_what_the_next_one_asks(planned):
    planned("6h")
    _, reason = planned("6h")
    assert reason.count("(run 2") == 2
    assert "first pages" not in reason
