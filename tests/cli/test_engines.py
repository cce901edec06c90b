"""Which engine a plan takes, and ``--engine spark`` where Spark cannot run: one clear line."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from cli.helpers import run
from orphangc.errors import SettingsError

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
    monkeypatch.setattr("orphangc.app.wiring.auto_engine.find_spec", lambda _: object())


def engine_of(story, *options: object) -> tuple[str, str]:
    """Return the engine of a plan, and why it was chosen."""
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

    monkeypatch.setattr("orphangc.app.wiring.engines.opened_spark_engine", opened)
    options = ("--state", story.bed.state, "--work", tmp_path, "--spark-threshold", "2")
    ran = run("plan", story.bed.root, *options)
    assert ran.complaints == [f"orphangc: Spark for {story.bed.root} with {tmp_path}"]


def test_without_a_cluster_the_size_is_not_even_asked(story, tmp_path, monkeypatch):
    """Neither the last run nor a page."""
    monkeypatch.setattr("orphangc.app.wiring.auto_engine.estimated_objects", None)
    expected = "no cluster is configured (SPARK_MASTER or SPARK_REMOTE, and --work)"
    assert engine_of(story, "--spark-threshold", "1") == ("local", expected)
    assert engine_of(story, "--spark-threshold", "1", "--work", tmp_path) == ("local", expected)
    monkeypatch.setenv("SPARK_MASTER", "local[2]")
    assert engine_of(story, "--spark-threshold", "1") == ("local", expected)
    monkeypatch.setattr("orphangc.app.wiring.auto_engine.find_spec", lambda _: None)
    found = engine_of(story, "--spark-threshold", "1", "--work", tmp_path)
    assert found == ("local", "PySpark is not installed")


def test_the_operators_own_choice_needs_no_reason(story):
    """It is the operator's."""
    assert engine_of(story, "--engine", "local") == ("local", "")


@pytest.mark.usefixtures("cluster")
def test_a_scheduled_run_knows_the_size_from_the_last_one(story, tmp_path):
    """Its record stands in the state location."""
    root = {"root": str(story.bed.root), "state": str(story.bed.state)}
    root |= {"work": str(tmp_path / "work"), "spark_threshold": 10**9}
    config = tmp_path / "orphangc.yaml"
    plans = tmp_path / "plans"
    config.write_text(yaml.safe_dump({"plans": str(plans), "storage_roots": [root]}))
    reasons = []
    for _ in range(2):
        (record,) = run("run", "--config", config, "--output", "json").json
        document = json.loads((Path(record["plan_folder"]) / "plan.json").read_text())
        reasons.append((record["run_id"], document["engine_reason"]))
    (first, because), (_, because_then) = reasons
    assert "first pages of the listing" in because
    assert f"objects (run {first}): fewer than" in because_then
