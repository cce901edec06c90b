"""Both engines give the same plan of the same storage, wherever Spark runs."""

from __future__ import annotations

from collections import Counter

import pytest

from integration.harness.sparkbed import places
from integration.harness.sparkbed.deciding import Generated, drawn, spark_fates
from orphangc.core.model.types import Action, Reason

WORLDS = 400


@pytest.fixture(scope="module")
def generated() -> Generated:
    """Rows of many generated worlds."""
    return drawn(WORLDS)


def test_spark_gives_the_same_plan_as_this_process(spark_mode, place_and_plan, tmp_path):
    """A second statement of any rule would show as one row that differs."""
    place, expected = place_and_plan
    found = places.plan(spark_mode, place, tmp_path / "plan", "--engine", "spark")
    assert found.code == expected.code
    assert found.rows == expected.rows
    assert found.document == expected.document


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
