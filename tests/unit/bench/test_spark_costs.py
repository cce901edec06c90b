"""The model of a plan's cost on a cluster: its arithmetic, and that the page shows it as it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.spark_costs import MIB, Inputs, cost_of, inputs_table, table

pytestmark = pytest.mark.ci

PAGE = Path(__file__).parents[3] / "deploy" / "spark" / "README.md"
ROUND = Inputs(
    start_s=5,
    driver_us=1,
    worker_us=4,
    latency_s=0.1,
    streams=10,
    keys_a_list=1000,
    lists_a_second=1000,
    slice_files=10**9,
    usd_1000_lists=0.01,
    usd_core_hour=1,
)


def test_a_plan_takes_what_its_inputs_say() -> None:
    """Ten million keys on four executors of one core, by hand."""
    found = cost_of(10_000_000, 4, ROUND)
    assert found.lists == 10_000
    assert (found.cores_s, found.latency_s, found.prefix_s) == pytest.approx((10, 25, 10))
    assert (found.slices_s, found.driver_s) == pytest.approx((0, 10))
    assert found.wall_s == pytest.approx(5 + 25 + 10)
    assert found.core_hours == pytest.approx(4 * 40 / 3600)
    assert (found.usd_lists, found.usd_cores) == pytest.approx((0.1, 4 * 40 / 3600))


def test_executors_read_the_whole_live_set_for_each_file_once_it_is_sliced() -> None:
    """As ``PassTask`` does: one slice is in memory, and a file's rows need all of them."""
    sliced = replace(ROUND, slice_files=4e6, rows_a_file=1e6, live_bytes=16, network=100)
    found = cost_of(10_000_000, 4, sliced)
    assert found.slices_s == pytest.approx(10 * 5e6 * 16 / MIB / 100 / 4)


def test_no_number_of_executors_passes_the_limit_of_a_prefix() -> None:
    """More prefixes do."""
    assert cost_of(10**9, 10_000, ROUND).wall_s > 1000
    assert cost_of(10**9, 10_000, ROUND, prefixes=10).prefix_s == pytest.approx(100)


def test_the_page_has_the_tables_of_the_model() -> None:
    """``PYTHONPATH=tests python -m bench.spark_costs`` prints them."""
    page = PAGE.read_text()
    assert inputs_table(Inputs()) in page
    assert table(Inputs()) in page
