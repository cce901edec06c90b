"""``--engine spark`` where Spark cannot run: one clear line, and the exit code for settings."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from cli.helpers import run
from cli.stories import bed, story

__all__ = ["bed", "story"]

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
    ran = run("plan", story.bed.root, "--work", tmp_path / "work")
    assert ran.code == 2
    assert ran.complaints == ["orphangc: --work is for --engine spark"]
