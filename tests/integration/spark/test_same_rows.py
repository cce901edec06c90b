"""Both engines give the same plan of the same storage, wherever Spark runs."""

import json
from collections import Counter

import pytest

from integration.harness.sparkbed import places
from integration.harness.sparkbed.deciding import Generated, drawn, spark_fates
from integration.harness.sparkbed.modes import ELSEWHERE
from integration.spark.conftest import FIXTURES, IN_A_FOLDER, IN_S3
from orphangc.core.model.types import Action, Reason

WORLDS = 400


@pytest.fixture(scope="module")
def generated() -> Generated:
    return drawn(WORLDS)


@pytest.mark.parametrize(
    ("spark_mode", "place_and_plan"),
    [
        ("local", IN_A_FOLDER),
        *(pytest.param("local", each, marks=pytest.mark.ci) for each in (IN_S3, *FIXTURES)),
        *(
            pytest.param(mode, each, marks=pytest.mark.nightly)
            for mode in ELSEWHERE
            for each in (IN_A_FOLDER, IN_S3, *FIXTURES)
        ),
    ],
    indirect=True,
)
def test_spark_gives_the_same_plan_as_this_process(spark_mode, place_and_plan, tmp_path):
    """A second statement of any rule would show as one row that differs."""
    place, expected = place_and_plan
    found = places.plan(spark_mode, place, tmp_path / "plan", "--engine", "spark")
    assert found.code == expected.code
    assert found.rows == expected.rows
    assert found.document == expected.document


@pytest.mark.parametrize("spark_mode", ["local"], indirect=True)
def test_auto_takes_spark_from_the_threshold_on_and_not_below(spark_mode, made, tmp_path):
    """With a cluster in the environment and a folder for its files; the rows are the same."""
    place, expected = made(IN_A_FOLDER)
    auto = ("--engine", "auto", "--work", tmp_path / "work", "--spark-threshold")
    for threshold, engine, word in ((50, "spark", "at least"), (10**6, "local", "fewer than")):
        out = tmp_path / engine
        found = places.plan(spark_mode, place, out, *auto, str(threshold))
        assert (found.code, found.rows) == (expected.code, expected.rows)
        assert found.document == expected.document
        document = json.loads((out / "plan.json").read_text())
        assert document["engine"] == engine
        assert document["engine_reason"].endswith(f"{word} --spark-threshold {threshold:,}")


@pytest.mark.parametrize(
    "spark_mode",
    ["local", *(pytest.param(each, marks=pytest.mark.nightly) for each in ELSEWHERE)],
    indirect=True,
)
def test_the_rule_the_kernel_and_spark_say_the_same_of_every_generated_row(
    spark_mode, generated, tmp_path
):
    """Directly, not by way of each other; and every reason and action there is."""
    expected = list(generated.rule())
    assert {each.reason for each in expected} == set(Reason)
    assert {each.action for each in expected} == set(Action)
    assert list(generated.columns()) == expected
    found = spark_fates(spark_mode, generated, tmp_path)
    assert Counter(found) == Counter(expected)
