"""The model of a plan's cost on a cluster: the page shows it as it is."""

from pathlib import Path

import pytest

from bench.spark_costs import Inputs, inputs_table, table

pytestmark = pytest.mark.ci

PAGE = Path(__file__).parents[3] / "deploy" / "spark" / "README.md"


def test_the_page_has_the_tables_of_the_model() -> None:
    """``PYTHONPATH=tests python -m bench.spark_costs`` prints them."""
    page = PAGE.read_text()
    assert inputs_table(Inputs()) in page
    assert table(Inputs()) in page
