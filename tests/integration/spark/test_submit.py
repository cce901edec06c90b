"""``spark-submit deploy/spark/main.py``, with the package packed in both ways."""

import json

import pytest

from integration.harness.sparkbed import modes, places
from support.leaks import S3_KEYS

ENGINE = ("--engine", "spark")


@pytest.mark.nightly
@pytest.mark.parametrize("packing", ["zip", "environment"])
def test_a_submitted_plan_is_the_one_made_here(packing, tmp_path):
    """Only the archive brings orphangc to the executors: their Python has none."""
    place = places.odd_folder(tmp_path / "odd", seed=3)
    places.plan(places.here, place, tmp_path / "first")  # both find the memory that it leaves
    expected = places.plan(places.here, place, tmp_path / "local", "--engine", "local")
    folder = tmp_path / "submitted"
    folder.mkdir()

    def submitted(*arguments: object):
        return modes.submit(packing, folder, *arguments)

    out = tmp_path / "plan"
    found = places.plan(submitted, place, out, *ENGINE, "--output", "json")
    assert found == expected
    assert json.loads((out / "plan.json").read_text())["engine"] == "spark"


@pytest.mark.nightly
def test_executors_at_another_endpoint_are_noticed(tmp_path, s3_url):
    """The same URI would be another storage to them: its listing proves nothing of this one."""
    place = places.odd_bucket(s3_url, S3_KEYS, seed=3, count=60)
    other = {"spark.executorEnv.AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    ran = modes.submit("zip", tmp_path, "plan", place.options[0], *ENGINE, settings=other)
    assert ran.code == 2
    said = ran.out + ran.err  # spark-submit joins what Python says on both
    assert "have another endpoint than the driver (127.0.0.1:9 instead of " in said
