"""Both engines give the same plan of the same storage, wherever Spark runs."""

from __future__ import annotations

from integration.sparkbed import places


def test_spark_gives_the_same_plan_as_this_process(spark_mode, place_and_plan, tmp_path):
    """A second statement of any rule would show as one row that differs."""
    place, expected = place_and_plan
    found = places.plan(spark_mode, place, tmp_path / "plan", "--engine", "spark")
    assert found.code == expected.code
    assert found.rows == expected.rows
    assert found.document == expected.document
